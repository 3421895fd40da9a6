/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/intercept_left.c - intercepted calls left by a longjmp from a signal handler, at each of their instructions.
 *
 * A call is single-stepped, and at its k-th instruction the handler jumps out of it: once for each k, or for some.
 * Later calls must be recorded normally, with their values and on the plain path, and a thread that removes an event
 * must not wait for an abandoned read.
 */
#include "check.h"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

#include "adapter/intercept/pml_intercept.h"
#include "adapter/intercept/pml_intercept_events.h"
#include "intercept/library.h"
#include "intercept/sparing.h"
#include "read/recording/pml_recording_read_private.h"
#include "record/events/pml_recording_file.h"
#include "source/sde/pml_sde_private.h"

#include <setjmp.h>

#define TRAP_FLAG 0x100
#define STEPS_MAX 20000u
#define FOLLOWING 3u /* calls after each that was left */

static int64_t work;
static char dir[] = "/tmp/pmlua-left-XXXXXX";

static bool holds(bool is, const char *what) {
  if (!is) printf("# not so: %s\n", what);
  return is;
}

static int nested = 1; /* intercepted calls in each, one in the other */

static int works_inside(void *arg) {
  work += 1;
  return (int)(intptr_t)arg;
}
static int works(void *arg) {
  int cleaned;
  work += 3;
  return nested > 1 ? lib_guard(works_inside, arg, &cleaned) : (int)(intptr_t)arg;
}
static void call(void) {
  lib_back(works, NULL);
}

static sigjmp_buf out;
static volatile unsigned steps, leave_at;
static unsigned stride; /* calls are left at every such step; each takes all steps before it */
#ifdef __SANITIZE_ADDRESS__
#define SPARSELY 23u /* a call has five times the instructions, and takes as many squared */
#else
#define SPARSELY 1u
#endif

static void on_step(int sig) {
  (void)sig;
  if (++steps == leave_at) siglongjmp(out, 1);
}

/* The red zone is not ours to push into. */
__attribute__((noinline)) static void call_stepped(void) {
  char below[256];
  __asm__ volatile("" ::"r"(below) : "memory");
  __asm__ volatile("pushfq\n\torq %0, (%%rsp)\n\tpopfq" ::"i"(TRAP_FLAG) : "memory", "cc");
  call();
  __asm__ volatile("pushfq\n\tandq %0, (%%rsp)\n\tpopfq" ::"i"(~TRAP_FLAG) : "memory", "cc");
}

/* False: the call ended before. */
static bool is_left_at(unsigned step) {
  steps = 0;
  leave_at = step;
  if (sigsetjmp(out, 1) != 0) return true;
  call_stepped();
  return false;
}

static uint64_t events, plainly, wrong;
static int depth;
static bool counted;

static void take(uint64_t value) {
  wrong += counted && value != (uint64_t)work;
  events++;
}
static void entered(void *data, const struct pml_stream_event *e) {
  (void)data;
  wrong += ++depth > nested;
  take(e->metrics != NULL ? e->values[0] : UINT64_MAX);
}
static void left(void *data, const struct pml_stream_event *e) {
  (void)data;
  wrong += --depth < 0;
  take(e->metrics != NULL ? e->values[0] : UINT64_MAX);
}
static uint64_t entered_valued(void *data, const struct pml_stream_event *e) {
  plainly++;
  entered(data, e);
  return 0;
}
static uint64_t left_valued(void *data, const struct pml_stream_event *e) {
  plainly++;
  left(data, e);
  return 0;
}
static uint64_t entered_plainly(void *data, pml_region_t region, uint64_t ticks) {
  const struct pml_stream_event e = {.region = region, .ticks = ticks};
  return entered_valued(data, &e);
}
static uint64_t left_plainly(void *data, pml_region_t region, uint64_t ticks) {
  const struct pml_stream_event e = {.region = region, .ticks = ticks};
  return left_valued(data, &e);
}
SPARING_FAST(entered_sparingly, entered_plainly);
SPARING_FAST(left_sparingly, left_plainly);
SPARING_VALUES(entered_valued_sparingly, entered_valued);
SPARING_VALUES(left_valued_sparingly, left_valued);

static void *begin(void *arg, uint64_t thread) {
  (void)thread;
  return arg;
}
static bool add(void) {
  uint64_t id;
  const struct pml_stream_consumer c = {.thread_begin = begin,
                                        .event = {entered, left, NULL},
                                        .fast = {entered_sparingly, left_sparingly},
                                        .fast_values = {entered_valued_sparingly, left_valued_sparingly},
                                        .arg = &work};
  return pml_stream_add(&c, &id) == 0;
}

static bool goes_on(unsigned step) {
  call();
  call();
  events = plainly = wrong = 0;
  depth = 0;
  for (unsigned i = 0; i < FOLLOWING; i++) call();
  bool all = events == 2u * FOLLOWING * (unsigned)nested && wrong == 0 && depth == 0 && plainly == events;
  bool nobody = pml__sde_wait_for_readers(NULL, 0, false);
  if (!all || !nobody)
    printf("# left at step %u: %llu events, %llu plainly, %llu wrong; %s reader\n", step, (unsigned long long)events,
           (unsigned long long)plainly, (unsigned long long)wrong, nobody ? "no" : "a");
  return all && nobody;
}

static bool wherever_it_is_left(void) {
  unsigned step = 0;
  bool before_its_end = true, on = true;
  for (int i = 0; i < 100; i++) call();
  while (before_its_end && on && step < STEPS_MAX) {
    step += stride;
    before_its_end = is_left_at(step);
    on = goes_on(step);
  }
  printf("# %u steps\n", step);
  return on && holds(!before_its_end && step > 50, "the last step is reached");
}

static bool begin_calls(const char *event) {
  static const struct pml_intercept_options o = {.lib = "libintercept", .sym = "lib_back:lib_guard"};
  const struct pml_stream_metrics *metrics;
  int err = event != NULL ? pml_intercept_count(&event, 1, NULL, &metrics) : 0;
  if (err == 0) err = pml_intercept_install(&o);
  if (err < 0) printf("# %s\n", pml_error_detail(err));
  counted = event != NULL;
  return err == 0;
}

static struct pml_recording *recording;
static char process[16];
static bool record(const char *const *name, size_t n) {
  const struct pml_recording_limits limits = {.metrics = name, .nmetrics = n};
  snprintf(process, sizeof process, "%d", (int)getpid());
  return pml_recording_open(&recording, dir, process) == 0 && (n == 0 || pml_recording_sum(recording, name, n) == 0) &&
         pml_recording_trace(recording, &limits) == 0;
}

static int64_t open_calls, traced, last_ticks;
static int event_of(void *arg, void *lane, const struct pml__recording_event *e) {
  (void)arg, (void)lane;
  if (e->kind > PML_STREAM_LEAVE) return 0;
  open_calls += e->kind == PML_STREAM_ENTER ? 1 : -1;
  wrong += open_calls < 0 || open_calls > nested || (int64_t)e->ticks < last_ticks;
  last_ticks = (int64_t)e->ticks;
  traced++;
  return 0;
}

/* Each call adds 3 before its nested call, which adds 1. */
static uint64_t calls(void) {
  return (uint64_t)work * (uint64_t)nested / (nested > 1 ? 4 : 3);
}

static uint64_t summed;
static int add_sum(const struct pml_recording_function_sums *f, void *arg) {
  (void)arg;
  summed += f->sum[0];
  return 0;
}

static bool all_are_recorded(size_t nmetrics) {
  const struct pml__recording_listener to = {.event = event_of, .nmetrics = (uint32_t)nmetrics, .arg = &work};
  struct pml_recording_reader *r;
  char path[64];
  wrong = 0;
  pml_recording_close(recording);
  snprintf(path, sizeof path, "%s/%s.pmlog", dir, process);
  if (pml_recording_read_open(&r, path) < 0) return false;
  (void)pml__recording_listen(r, &to);
  if (nmetrics > 0) (void)pml_recording_read_sums(r, add_sum, NULL);
  pml_recording_read_close(r);
  printf("# %lld events of %llu calls in the trace, %llu wrong, %lld open\n", (long long)traced,
         (unsigned long long)calls(), (unsigned long long)wrong, (long long)open_calls);
  bool sums = nmetrics == 0 || (summed <= (uint64_t)work && summed + 8 * steps >= (uint64_t)work);
  if (nmetrics > 0) printf("# %llu of %lld in the sums\n", (unsigned long long)summed, (long long)work);
  return holds(wrong == 0 && open_calls == 0, "the trace is balanced") && holds(sums, "the sums have all calls");
}

static struct pml_profile *profile;
static uint64_t profiled, deepest;
static int visit(const struct pml_profile_node *node, void *arg) {
  (void)arg;
  profiled += node->count;
  if (node->depth > deepest) deepest = node->depth;
  return 0;
}

/* The profile may or may not contain an abandoned call, but must contain all others. */
static bool all_are_profiled(void) {
  (void)pml_profile_visit(profile, visit, NULL);
  printf("# %llu of %llu calls, %llu deep\n", (unsigned long long)profiled, (unsigned long long)calls(),
         (unsigned long long)deepest);
  return holds(profiled + 2 * steps >= calls() && profiled <= calls() + 2 * steps, "the profile has all calls") &&
         holds(deepest + 1 == (unsigned)nested, "none inside one that was left");
}

static bool plain(void) {
  return begin_calls(NULL) && add() && wherever_it_is_left();
}
static bool with_a_profile(void) {
  return begin_calls(NULL) && add() && pml_profile_open(&profile) == 0 && wherever_it_is_left() && all_are_profiled();
}
static bool with_all(void) {
  return begin_calls(NULL) && add() && pml_profile_open(&profile) == 0 && record(NULL, 0) && wherever_it_is_left() &&
         all_are_profiled() && all_are_recorded(0);
}
static bool with_values(void) {
  return begin_calls("sde:::LEFT::WORK") && add() && wherever_it_is_left();
}
static bool with_values_and_all(void) {
  static const char *name[] = {"sde:::LEFT::WORK"};
  return begin_calls(name[0]) && add() && pml_profile_open(&profile) == 0 && record(name, 1) && wherever_it_is_left() &&
         all_are_profiled() && all_are_recorded(1);
}

static bool in_child(bool (*claim)(void), int calls_nested, unsigned every) {
  int status = 0;
  nested = calls_nested;
  stride = every * SPARSELY;
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    alarm(120);
    bool is = claim();
    fflush(stdout);
    _exit(is ? 3 : 4);
  }
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) printf("# it ended by signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 3;
}

int main(void) {
  struct pml_sde_library *library;
  struct sigaction sa = {.sa_handler = on_step};
  char command[64];
  sigaction(SIGTRAP, &sa, NULL);
  if (mkdtemp(dir) == NULL || pml_sde_library(&library, "LEFT") < 0) return 1;
  (void)pml_sde_register(library, "WORK", PML_SDE_RO, PML_TYPE_INT64, &work);
  (void)is_left_at(STEPS_MAX);
  if (steps == 0) {
    SKIP("nothing can be single-stepped here (an emulator?)");
    return check_done();
  }
  work = 0;
  CHECK(in_child(plain, 1, 1), "wherever a call is left by longjmp, those that follow are whole");
  CHECK(in_child(with_a_profile, 1, 1), "with a profile");
  CHECK(in_child(with_all, 1, 1), "with a profile and a trace");
  CHECK(in_child(with_values, 1, 1), "with the values of an event");
  CHECK(in_child(with_values_and_all, 1, 3), "with these, a profile, sums and a trace, at every third instruction");
  CHECK(in_child(with_all, 2, 5), "of a call in a call, at every fifth, with a profile and a trace");
  CHECK(in_child(with_values_and_all, 2, 7), "and at every seventh, with values, a profile, sums and a trace");
  snprintf(command, sizeof command, "rm -rf %s", dir);
  return system(command) == 0 ? check_done() : 1;
}

#else

int main(void) {
  SKIP("single steps are x86-64's, and ThreadSanitizer's are not a call's");
  return check_done();
}

#endif
