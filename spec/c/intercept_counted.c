/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/intercept_counted.c - values of an event at the enter and the leave of intercepted calls, exact at each call,
 * by every way of delivery. The event is a variable that the calls themselves increment.
 *
 * Calls are counted once in a process: each claim has its own.
 */
#include "adapter/intercept/pml_intercept.h"
#include "adapter/intercept/pml_intercept_events.h"
#include "base/stream/pml_stream_private.h"
#include "check.h"
#include "intercept/library.h"
#include "intercept/sparing.h"
#include "read/recording/pml_recording_read_private.h"
#include "record/events/pml_recording_file.h"
#include "record/pml_buffer.h"

#include <math.h>
#include <semaphore.h>
#include <sys/syscall.h>

#define ROUNDS 1000
#define FIRST 8 /* events of a thread in which it learns who takes them */

/* Whether calls with values are handed out plainly, to consumers that leave r8 to r11 alone. */
#ifdef __SANITIZE_THREAD__
#define PLAINLY false
#else
#define PLAINLY true
#endif
static int64_t work;
static double share_of_work;
static struct pml_sde_library *library;
static const struct pml_stream_metrics *metrics;
static char dir[] = "/tmp/pmlua-counted-XXXXXX";

static bool holds(bool is, const char *what) {
  if (!is) printf("# not so: %s\n", what);
  return is;
}

static bool in_child(bool (*claim)(void)) {
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    bool is = claim();
    fflush(stdout);
    _exit(is ? 3 : 4);
  }
  return exit_of(pid) == 3;
}

/* ---- calls ---- */

/* A call of lib_back() adds 3, then 7 in one of lib_guard(), then 2. Its four events are at: */
static const uint64_t at[4] = {0, 3, 10, 12};
static int works_inside(void *arg) {
  work += 7;
  return (int)(intptr_t)arg;
}
static int works(void *arg) {
  int cleaned;
  work += 3;
  int rc = lib_guard(works_inside, arg, &cleaned);
  work += 2;
  return rc;
}
static void call(void) {
  lib_back(works, NULL);
}

static bool begin_counting(const char *event) {
  static const struct pml_intercept_options o = {.lib = "libintercept", .sym = "lib_back:lib_guard"};
  int err = pml_intercept_count(&event, 1, NULL, &metrics);
  if (err == 0) err = pml_intercept_install(&o);
  if (err < 0) printf("# %s\n", pml_error_detail(err));
  return err == 0;
}

/* ---- consumers: values arrive in the order of the four events, starting at @base ---- */

static __thread uint64_t events, plainly, wrong, base, value_of_last;
static uint64_t every = UINT64_MAX; /* one of this number of events is declined */

static uint64_t expected(uint64_t event) {
  return base + event / 4 * at[3] + at[event % 4];
}
static void take(uint64_t value) {
  value_of_last = value;
  wrong += value != expected(events++);
}
static bool declines(void) {
  return events % every == every - 1;
}
static void fully(void *data, const struct pml_stream_event *e) {
  (void)data;
  take(e->metrics == metrics ? e->values[0] : UINT64_MAX);
}
static uint64_t without_values(void *data, pml_region_t region, uint64_t ticks) {
  (void)data, (void)region, (void)ticks;
  wrong++;
  return 0;
}
static uint64_t with_values(void *data, const struct pml_stream_event *e) {
  if (declines()) return e->ticks;
  plainly++;
  fully(data, e);
  return 0;
}
static uint64_t counts_events(void *data, pml_region_t region, uint64_t ticks) {
  (void)data, (void)region, (void)ticks;
  plainly++;
  events++;
  return 0;
}
SPARING_FAST(without_values_sparingly, without_values);
SPARING_FAST(counts_events_sparingly, counts_events);
SPARING_VALUES(with_values_sparingly, with_values);

static void *begin(void *arg, uint64_t thread) {
  (void)thread;
  return arg;
}
static bool add(bool valued) {
  uint64_t id;
  struct pml_stream_consumer c = {.thread_begin = begin, .event = {fully, fully, NULL}, .arg = &work};
  c.fast[PML_STREAM_ENTER] = c.fast[PML_STREAM_LEAVE] = valued ? without_values_sparingly : counts_events_sparingly;
  if (valued) c.fast_values[PML_STREAM_ENTER] = c.fast_values[PML_STREAM_LEAVE] = with_values_sparingly;
  return pml_stream_add(&c, &id) == 0;
}

static void begin_again(void) {
  events = plainly = wrong = base = 0;
}

static bool all_right(uint64_t rounds, uint64_t least_plainly) {
  printf("# %llu events, %llu of them plainly, %llu wrong\n", (unsigned long long)events, (unsigned long long)plainly,
         (unsigned long long)wrong);
  return holds(events == 4 * rounds && wrong == 0, "each value is right") &&
         holds(plainly >= least_plainly && (least_plainly > 0 || plainly == 0), "so many come plainly");
}

static bool calls_are_right(uint64_t least_plainly) {
  for (int i = 0; i < ROUNDS; i++) call();
  return all_right(ROUNDS, least_plainly);
}

static bool exact(void) {
  return begin_counting("sde:::COUNTED::WORK") && add(true) && calls_are_right(PLAINLY * (4 * ROUNDS - FIRST));
}
static bool declining(void) {
  every = 3;
  return begin_counting("sde:::COUNTED::WORK") && add(true) && calls_are_right(PLAINLY * 2 * ROUNDS);
}
static bool not_valued(void) {
  return begin_counting("sde:::COUNTED::WORK") && add(false) && calls_are_right(PLAINLY * (4 * ROUNDS - FIRST));
}
static bool after_the_consumer(void) {
  return add(true) && begin_counting("sde:::COUNTED::WORK") && calls_are_right(PLAINLY * (4 * ROUNDS - FIRST));
}

/* ---- the time of reading is in no call ---- */

static uint64_t read_from, read_to; /* the last reading, by the clock */
static int reads_slowly(void *set, uint64_t *value) {
  (void)set;
  read_from = pml_clock_ticks();
  while ((read_to = pml_clock_ticks()) - read_from < 1000) {
  }
  *value = expected(events);
  return 0;
}
SPARING(pml__stream_read, reads_slowly_sparingly, reads_slowly, int, (void *set, uint64_t *value), set, value);
static uint64_t entered(void *data, const struct pml_stream_event *e) {
  wrong += e->ticks < read_to;
  return with_values(data, e);
}
static uint64_t left(void *data, const struct pml_stream_event *e) {
  wrong += e->ticks > read_from;
  return with_values(data, e);
}
SPARING_VALUES(entered_sparingly, entered);
SPARING_VALUES(left_sparingly, left);
static bool out_of_calls(void) {
  uint64_t id, value;
  struct pml_stream_consumer c = {.thread_begin = begin, .event = {fully, fully, NULL}, .arg = &work};
  c.fast[PML_STREAM_ENTER] = c.fast[PML_STREAM_LEAVE] = without_values_sparingly;
  c.fast_values[PML_STREAM_ENTER] = entered_sparingly;
  c.fast_values[PML_STREAM_LEAVE] = left_sparingly;
  if (!begin_counting("sde:::COUNTED::WORK") || pml_stream_add(&c, &id) < 0) return false;
  call(); /* the thread opens its own set */
  pml__stream_count_by(reads_slowly_sparingly, NULL, metrics, &value);
  begin_again();
  base = at[3];
  return calls_are_right(PLAINLY * (4 * ROUNDS - FIRST));
}

/* ---- beside a profile, which does without values ---- */

static uint64_t profiled;
static int visit(const struct pml_profile_node *node, void *arg) {
  (void)arg;
  profiled += node->count;
  return 0;
}
static bool beside_a_profile(void) {
  struct pml_profile *p;
  if (!begin_counting("sde:::COUNTED::WORK") || !add(true) || pml_profile_open(&p) < 0) return false;
  bool right = calls_are_right(PLAINLY * (4 * ROUNDS - FIRST));
  (void)pml_profile_visit(p, visit, NULL);
  return holds(profiled == 2 * ROUNDS, "the profile has all calls") && right;
}

/* ---- events that take more than a load ---- */

static int64_t calls_back(void *arg) {
  return *(int64_t *)arg;
}
static bool by_callback(void) {
  (void)pml_sde_register_callback(library, "CALLED", PML_SDE_RO, PML_TYPE_INT64, calls_back, &work);
  return begin_counting("sde:::COUNTED::CALLED") && add(true) && calls_are_right(0);
}

static double sum_of_doubles;
static void add_double(void *data, const struct pml_stream_event *e) {
  double d;
  (void)data;
  if (e->metrics == NULL || !pml_stream_metrics_real(e->metrics, 0)) wrong++;
  if (e->metrics == NULL) return;
  memcpy(&d, &e->values[0], sizeof d);
  sum_of_doubles += d;
}
static uint64_t add_double_plainly(void *data, const struct pml_stream_event *e) {
  (void)data, (void)e;
  wrong++;
  return 0;
}
SPARING_VALUES(add_double_sparingly, add_double_plainly);
static int adds_half(void *arg) {
  share_of_work += 0.5;
  return (int)(intptr_t)arg;
}
static bool doubles(void) {
  uint64_t id;
  struct pml_stream_consumer c = {.thread_begin = begin, .event = {add_double, add_double, NULL}, .arg = &work};
  c.fast[PML_STREAM_ENTER] = c.fast[PML_STREAM_LEAVE] = without_values_sparingly;
  c.fast_values[PML_STREAM_ENTER] = c.fast_values[PML_STREAM_LEAVE] = add_double_sparingly;
  (void)pml_sde_register(library, "SHARE", PML_SDE_RO, PML_TYPE_DOUBLE, &share_of_work);
  if (!begin_counting("sde:::COUNTED::SHARE") || pml_stream_add(&c, &id) < 0) return false;
  for (int i = 0; i < ROUNDS; i++) lib_back(adds_half, NULL);
  return holds(wrong == 0 && sum_of_doubles == 0.5 * ROUNDS * ROUNDS, "the sum of all doubles");
}

static bool late(void) {
  if (!begin_counting("sde:::COUNTED::LATE") || !add(true)) return false;
  for (int i = 0; i < ROUNDS; i++) call();
  bool absent = holds(wrong == 4 * ROUNDS && plainly == 0, "there is no value yet");
  (void)pml_sde_register(library, "LATE", PML_SDE_RO, PML_TYPE_INT64, &work);
  begin_again();
  base = (uint64_t)work;
  return calls_are_right(PLAINLY * (4 * ROUNDS - FIRST)) && absent;
}

/* A counter that several threads add to: then it is a sum. Its values come otherwise in the midst. */
static struct pml_sde_counter *created;
static void *adds(void *arg) {
  (void)pml_sde_increment(created, 1000);
  return arg;
}
static int adds_inside(void *arg) {
  (void)pml_sde_increment(created, 12);
  return (int)(intptr_t)arg;
}
static bool shared(void) {
  uint64_t last[2];
  (void)pml_sde_create(library, "CREATED", PML_SDE_RW, &created);
  if (!begin_counting("sde:::COUNTED::CREATED") || !add(true)) return false;
  for (int i = 0; i < ROUNDS; i++) lib_back(adds_inside, NULL);
  last[0] = plainly;
  in_threads(1, adds, NULL, 0);
  for (int i = 0; i < ROUNDS; i++) lib_back(adds_inside, NULL);
  last[1] = plainly;
  return holds(!PLAINLY || last[0] >= 2 * ROUNDS - FIRST, "as long as one thread adds, they come plainly") &&
         holds(last[1] == last[0] && events == 4 * ROUNDS, "and all come") &&
         holds(value_of_last == 2 * ROUNDS * 12 + 1000, "with what all threads added");
}

/* It goes while another thread makes calls: who takes it away waits for no more than the reading under way. */
static bool under_way; /* atomic */
static void *goes(void *arg) {
  while (!__atomic_load_n(&under_way, __ATOMIC_RELAXED)) usleep(1000);
  *(int *)arg = pml_sde_unregister(library, "WORK");
  return NULL;
}
static bool gone(void) {
  pthread_t t;
  int err = 1;
  if (!begin_counting("sde:::COUNTED::WORK") || !add(true)) return false;
  pthread_create(&t, NULL, goes, &err);
  for (int i = 0; i < 5000000 && wrong == 0; i++) {
    call();
    if (i == 100) __atomic_store_n(&under_way, true, __ATOMIC_RELAXED);
  }
  pthread_join(t, NULL);
  return holds(err == 0 && wrong > 0, "it goes, and has no value then") &&
         holds(!PLAINLY || plainly > 0, "until then events come plainly");
}

/* ---- threads and processes ---- */

/* Emit events like other adapters, so that the thread's list has the consumers. */
static void raise_others(void) {
  const struct pml_stream_event e = {.ticks = 1, .region = 1};
  for (int i = 0; i < 2; i++) {
    pml_stream_emit(PML_STREAM_ENTER, &e);
    pml_stream_emit(PML_STREAM_LEAVE, &e);
  }
}

static void *calls_in_thread(void *arg) {
  raise_others();
  begin_again();
  *(bool *)arg = calls_are_right(PLAINLY * (4 * ROUNDS - FIRST));
  return NULL;
}
static bool in_turn(void) {
  bool right = begin_counting("sde:::COUNTED::WORK") && add(true);
  for (int i = 0; right && i < 4; i++) { /* a block that a thread left is the next one's */
    bool its = false;
    in_threads(1, calls_in_thread, &its, 0);
    right = its;
  }
  begin_again();
  return right && calls_are_right(PLAINLY * (4 * ROUNDS - FIRST));
}

/* A thread that cannot open counters reuses the block of an ended thread, whose stack a third thread has by then. */
static sem_t has_stack, ends;
static const void *stack_of_ended, *stack_of_next;

static void *has_counts(void *arg) {
  call();
  stack_of_ended = &pml__stream_own;
  return arg;
}
static void *only_waits(void *right) {
  stack_of_next = &pml__stream_own;
  sem_post(&has_stack);
  while (sem_wait(&ends) != 0) continue;
  *(bool *)right = pml__stream_own.call.event.region == 0 && pml__stream_own.call.event.ticks == 0;
  return NULL;
}
static void *opens_nothing(void *arg) {
  pml_intercept_confine(false);
  raise_others();
  begin_again();
  for (int i = 0; i < ROUNDS; i++) call();
  return arg;
}
static bool after_an_ended_one(void) {
  pthread_t next;
  bool untouched = false;
  if (!begin_counting("sde:::COUNTED::WORK") || !add(true)) return false;
  sem_init(&has_stack, 0, 0), sem_init(&ends, 0, 0);
  in_threads(1, has_counts, NULL, 0);
  pthread_create(&next, NULL, only_waits, &untouched);
  while (sem_wait(&has_stack) != 0) continue;
  in_threads(1, opens_nothing, NULL, 0);
  sem_post(&ends);
  pthread_join(next, NULL);
  if (stack_of_next != stack_of_ended) printf("# the next thread has another stack\n");
  return holds(untouched, "a thread without counters writes nothing in the place of an ended one");
}

/* Before its first call, so that its counters are opened during a call that began on the plain path. */
static bool known_before(void) {
  if (!begin_counting("sde:::COUNTED::WORK") || !add(true)) return false;
  raise_others();
  begin_again();
  return calls_are_right(PLAINLY * (4 * ROUNDS - FIRST));
}

static bool in_the_child(void) {
  begin_again();
  return add(true) && calls_are_right(PLAINLY * (4 * ROUNDS - FIRST));
}
static bool forked(void) {
  if (!begin_counting("sde:::COUNTED::WORK") || !add(true)) return false;
  for (int i = 0; i < ROUNDS; i++) call();
  bool child = holds(in_child(in_the_child), "in a child they begin again");
  for (int i = 0; i < ROUNDS; i++) call();
  return child && all_right(2 * ROUNDS, PLAINLY * (8 * ROUNDS - FIRST));
}

/* A call that began in the parent and is left in the child: its leave reads nothing, and opens nothing. */
static int forks(void *arg) {
  *(pid_t *)arg = fork();
  begin_again();
  return *(pid_t *)arg == 0 && !add(true);
}
static bool left_in_the_child(void) {
  pid_t pid;
  int status = 0;
  if (!begin_counting("sde:::COUNTED::WORK") || !add(true)) return false;
  call(); /* the parent has its counters */
  fflush(stdout);
  lib_back(forks, &pid);
  if (pid != 0) return waitpid(pid, &status, 0) == pid && status == 3 << 8;
  bool unread = holds(events == 1 && plainly == 0 && value_of_last == UINT64_MAX, "its leave comes without a value");
  begin_again();
  unread &= holds(calls_are_right(PLAINLY * (4 * ROUNDS - FIRST)), "calls that begin in the child are counted from 0");
  fflush(stdout);
  _exit(unread ? 3 : 4);
}

static bool cloned(void) {
  int status = 0;
  if (!begin_counting("sde:::COUNTED::WORK") || !add(true)) return false;
  for (int i = 0; i < ROUNDS; i++) call();
  fflush(stdout);
  long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) {
    begin_again();
    _exit(add(true) && calls_are_right(PLAINLY * (4 * ROUNDS - FIRST)) ? 3 : 4);
  }
  waitpid((pid_t)pid, &status, 0);
  for (int i = 0; i < ROUNDS; i++) call();
  return holds(WIFEXITED(status) && WEXITSTATUS(status) == 3, "in a child without fork handlers") &&
         all_right(2 * ROUNDS, PLAINLY * (8 * ROUNDS - FIRST));
}

/* ---- pmlua's own consumers ---- */

static uint64_t searched(void) {
  return __atomic_load_n(&pml__stream_self->slow, __ATOMIC_RELAXED);
}
static bool rounds_plainly(void) {
  call();
  call();
  uint64_t before = searched();
  for (int i = 2; i < ROUNDS; i++) call();
  uint64_t searches = searched() - before;
  if (PLAINLY && searches > 0) printf("# %llu passes looked for consumers\n", (unsigned long long)searches);
  return holds(!PLAINLY || searches < ROUNDS / 10, "its events come plainly");
}

static int drained(const struct pml_buffer_event *e, void *arg) {
  (void)arg;
  take(e->metrics == metrics ? e->values[0] : UINT64_MAX);
  return 0;
}
/* The buffer has room for exactly one set of values, so the room of drained events must be reused. */
static bool buffered(void) {
  const struct pml_buffer_options o = {.records = 4 * ROUNDS * 3};
  struct pml_buffer *b;
  if (!begin_counting("sde:::COUNTED::WORK") || pml_buffer_open(&b, &o) < 0) return false;
  bool right = true;
  for (int i = 0; right && i < 4; i++) {
    right = rounds_plainly();
    (void)pml_buffer_drain(b, drained, NULL);
  }
  struct pml_buffer_stats s;
  pml_buffer_stats(b, &s);
  return holds(s.dropped == 0, "there is room") && all_right(4 * ROUNDS, 0) && right;
}

static uint64_t summed;
static int add_sum(const struct pml_recording_function_sums *f, void *arg) {
  struct pml_region_info info;
  (void)arg;
  bool is_back = pml_region_describe(f->region, &info) == 0 && strcmp(info.name, "lib_back") == 0;
  summed += f->sum[0] == (is_back ? 5u : 7u) * ROUNDS;
  return 0;
}
static int listened(void *arg, void *lane, const struct pml__recording_event *e) {
  (void)arg, (void)lane;
  if (e->kind == PML_STREAM_METRIC) take(e->values[0]);
  return 0;
}

/* The consumers of `pmlua record --trace --event`: a profile, sums and a trace. */
static bool recorded(void) {
  static const char *name[] = {"sde:::COUNTED::WORK"};
  const struct pml_recording_limits limits = {.metrics = name, .nmetrics = 1};
  struct pml_recording *s;
  struct pml_recording_reader *r = NULL;
  struct pml_profile *p;
  char path[64];
  if (!begin_counting(name[0]) || pml_profile_open(&p) < 0 || pml_recording_open(&s, dir, "1") < 0 ||
      pml_recording_sum(s, name, 1) < 0 || pml_recording_trace(s, &limits) < 0)
    return false;
  bool right = rounds_plainly();
  pml_recording_close(s);
  snprintf(path, sizeof path, "%s/1.pmlog", dir);
  if (pml_recording_read_open(&r, path) < 0) return false;
  const struct pml__recording_listener to = {.event = listened, .nmetrics = 1, .arg = &work};
  (void)pml_recording_read_sums(r, add_sum, NULL);
  (void)pml__recording_listen(r, &to);
  pml_recording_read_close(r);
  return holds(summed == 2, "each function's sum is its own") && all_right(ROUNDS, 0) && right;
}

int main(void) {
  char command[64];
  if (mkdtemp(dir) == NULL || pml_sde_library(&library, "COUNTED") < 0) return 1;
  (void)pml_sde_register(library, "WORK", PML_SDE_RO, PML_TYPE_INT64, &work);
  CHECK(in_child(exact), "each call's values are exact, at its enter and at its leave");
  CHECK(in_child(declining), "also where every third event is taken otherwise: each comes once");
  CHECK(in_child(not_valued), "and to a consumer whose fast functions take no values");
  CHECK(in_child(after_the_consumer), "a consumer from before has values as soon as calls are counted");
  CHECK(in_child(out_of_calls), "the time of a read is in no call");
  CHECK(in_child(beside_a_profile), "beside a profile");
  CHECK(in_child(by_callback), "the counts of a callback are exact");
  CHECK(in_child(doubles), "and doubles");
  CHECK(in_child(late), "an event that is registered when calls are counted already");
  CHECK(in_child(shared), "a counter that other threads begin to add to");
  CHECK(in_child(gone), "an event goes while calls are made");
  CHECK(in_child(in_turn), "threads begin with 0, one after the other");
  CHECK(in_child(after_an_ended_one), "and without the counters of an ended one");
  CHECK(in_child(known_before), "and one that has raised other events before");
  CHECK(in_child(forked), "so does the child of a fork, and its parent continues");
  CHECK(in_child(cloned), "and a child without fork handlers");
  CHECK(in_child(left_in_the_child), "a call that is left in a child where it did not begin has no counts there");
  CHECK(in_child(buffered), "a buffer has every value");
  CHECK(in_child(recorded), "so have a trace and the sums beside a profile");
  snprintf(command, sizeof command, "rm -rf %s", dir);
  return system(command) == 0 ? check_done() : 1;
}
