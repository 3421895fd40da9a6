/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/soak.c - threads that start, count, record, intern, parse, sort, fork and exit at random, with sums that must
 * add up. SOAK_SECONDS (8) is the duration, SOAK_SEED the seed of the random numbers.
 *
 * The time is divided into rounds of about two seconds. In each, all threads write a trace; at the end of the round all
 * threads have ended, and descriptors, memory and sums are checked.
 *
 * Slow: it runs for SOAK_SECONDS.
 */
#include "check.h"
#include "events.h"
#include <malloc.h>

#include "base/pml_thread.h"
#include "record/pml_samples.h"
#include "substrate/flow/pml_flow.h"

#include <sched.h>

#define SOAK_THREADS 6
#define SOAK_NAMES 3000u

struct worker {
  uint64_t seed;
  struct pml_otf2_location *location; /* handed on from thread to thread by their joins */
  _Atomic int tid;
  _Atomic bool done;
  bool running;
  pthread_t thread;
};

static struct {
  struct worker worker[SOAK_THREADS];
  struct pml_otf2 *trace;
  pml_region_t region[SOAK_NAMES];
  pthread_rwlock_t forks; /* written by who forks, read by who counts faults */
  _Atomic bool stop;
  struct pml_flow *flow;                      /* the round's */
  _Atomic uint64_t entered;                   /* calls in it */
  _Atomic uint64_t attempted, refused;        /* records in this round */
  _Atomic uint64_t faults, children, threads; /* in all rounds */
  _Atomic uint64_t kept, broken, strays;
  uint64_t written, dropped;
} soak;

static void soak_add(_Atomic uint64_t *sum, uint64_t n) {
  atomic_fetch_add_explicit(sum, n, memory_order_relaxed);
}

/* A promise looked at, by any thread; the first few broken ones are named. */
#define soak_expect(condition, text) soak__expect((condition), __LINE__, (text))
static void soak__expect(bool good, int line, const char *text) {
  soak_add(&soak.kept, 1);
  if (good) return;
  if (atomic_fetch_add(&soak.broken, 1) < 10) fprintf(stderr, "soak.c:%d: not so: %s\n", line, text);
}

/* Never fewer than were touched; a few more are the kernel's, which moves pages in memory: counted, and bounded at the
 * end.
 */
static bool soak_is_faults(uint64_t counted, uint64_t expected) {
  if (is_faults(counted, expected)) return true;
  if (counted < expected || counted > expected + 8) return false;
  soak_add(&soak.strays, 1);
  return true;
}

static uint64_t soak_random(struct worker *w) {
  w->seed ^= w->seed << 13;
  w->seed ^= w->seed >> 7;
  w->seed ^= w->seed << 17;
  return w->seed >> 11;
}

static double soak_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void soak_name(char name[32], uint64_t k) {
  snprintf(name, 32, "region %llu", (unsigned long long)k);
}

static bool soak_prepare(uint64_t seed) {
  char name[32];
  pthread_rwlockattr_t fair;
  pthread_rwlockattr_init(&fair);
  pthread_rwlockattr_setkind_np(&fair, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(&soak.forks, &fair);
  for (uint64_t i = 0; i < SOAK_THREADS; i++) soak.worker[i].seed = (seed + i) * 2654435761u + 1;
  for (uint32_t k = 0; k < SOAK_NAMES; k++) {
    soak_name(name, k);
    if (pml_region_intern(name, "soak.c", k, &soak.region[k]) < 0) return false;
  }
  return true;
}

/* The pages that counting itself writes: the set's, the stack's, and ours, which a fork has made faults again. */
static void soak_warm(struct worker *w, struct pml_eventset *s) {
  uint64_t v[PML_EVENTSET_MAX] = {0};
  pml_eventset_accum(s, v);
  pml_eventset_accum(s, v);
  pml_eventset_read(s, v);
  (void)soak_random(w);
  soak_expect(true, "");
  pml_eventset_stop(s, v);
}

static long soak_descriptors(void) {
  long n = 0;
  for (int fd = 0; fd < 256; fd++) n += fcntl(fd, F_GETFD) >= 0;
  return n;
}

/* Bytes in use; a sanitizer's allocator tells nothing here and looks for leaks itself. */
static long soak_memory(void) {
  struct mallinfo2 m = mallinfo2();
  return (long)(m.uordblks + m.hblkhd);
}

static void soak_tell(double seconds, unsigned rounds) {
  printf("# %.0f s, %u rounds: %llu threads, %llu children, %llu faults, %llu records and %llu dropped; %llu of %llu "
         "promises broken\n",
         seconds, rounds, (unsigned long long)soak.threads, (unsigned long long)soak.children,
         (unsigned long long)soak.faults, (unsigned long long)soak.written, (unsigned long long)soak.dropped,
         (unsigned long long)soak.broken, (unsigned long long)soak.kept);
  fflush(stdout);
}

/* If the kernel may not be counted, count user space. */
static const char *const *event_names(void) {
  static const char *const all[] = {"page-faults", "clock::ticks", "task-clock", "clock::ns", "context-switches"};
  static const char *const own[] = {"page-faults:u", "clock::ticks", "task-clock:u", "clock::ns", "context-switches:u"};
  return counts_kernel() ? all : own;
}

static void count_faults(struct worker *w) {
  struct pml_eventset *s;
  uint64_t v[5] = {0}, sum[5] = {0}, touched = 0;
  size_t n = 1 + soak_random(w) % 5;
  struct pml_eventset_options o = {.flags = soak_random(w) % 3 == 0 ? PML_EVENTSET_UNGROUPED : 0};
  struct fresh f = fresh_open(400);
  pthread_rwlock_rdlock(&soak.forks); /* a fork would make every page of ours fault once more */
  int err = pml_eventset_open(&s, event_names(), n, &o);
  soak_expect(err == 0, "a set opens");
  if (err == 0) {
    soak_warm(w, s);
    pml_eventset_start(s);
    for (int i = 0; i < 20; i++) {
      touched += fresh_touch(&f, soak_random(w) % 20);
      soak_expect(pml_eventset_accum(s, sum) >= 0, "a set accumulates");
    }
    soak_expect(soak_is_faults(sum[0], touched), "accums add up to the faults");
    uint64_t more = fresh_touch(&f, soak_random(w) % 20);
    soak_expect(pml_eventset_read(s, v) >= 0 && soak_is_faults(v[0], more), "a read tells those since the last accum");
    soak_expect(pml_eventset_stop(s, v) >= 0 && soak_is_faults(v[0], more), "and so does a stop");
    pml_eventset_close(s);
  }
  pthread_rwlock_unlock(&soak.forks);
  fresh_close(&f);
  soak_add(&soak.faults, touched);
}

static void record(struct worker *w) {
  pml_region_t open[8];
  unsigned depth = 0;
  uint64_t value[2] = {w->seed, 2};
  for (uint64_t i = 0, n = soak_random(w) % 2000; i < n || depth > 0; i++) {
    unsigned what = (unsigned)soak_random(w) % 3;
    int rc;
    if (what == 0 && depth < 8 && i < n) {
      open[depth] = soak.region[soak_random(w) % SOAK_NAMES];
      rc = pml_otf2_enter(w->location, pml_clock_ticks(), open[depth]);
      depth++;
    } else if (what == 1 && depth > 0) {
      depth--;
      rc = pml_otf2_leave(w->location, pml_clock_ticks(), open[depth]);
    } else {
      rc = pml_otf2_metric(w->location, pml_clock_ticks(), value);
    }
    soak_add(&soak.attempted, 1);
    soak_add(&soak.refused, rc == PML_EFULL);
    soak_expect(rc == 0 || rc == PML_EFULL, "a record is kept or dropped");
  }
}

static void intern(struct worker *w) {
  char name[32];
  for (int i = 0; i < 50; i++) {
    struct pml_region_info info;
    pml_region_t id;
    uint64_t k = soak_random(w) % SOAK_NAMES;
    soak_name(name, k);
    soak_expect(pml_region_intern(name, "soak.c", (uint32_t)k, &id) == 0 && id == soak.region[k],
                "a name keeps its id");
    soak_expect(pml_region_describe(id, &info) == 0 && strcmp(info.name, name) == 0, "and an id its name");
  }
}

static void parse(struct worker *w) {
  static const char *const names[] = {
      "cycles", "perf::TASK-CLOCK", "msr/tsc/", "page-fautls", "skx::L2_RQSTS:MISS", "mem:environ:w", "clock::ns"};
  struct pml_event ev;
  int err = pml_event_parse(&ev, names[soak_random(w) % 7]);
  soak_expect(err <= 0 && (err == 0 || *pml_error_detail(err)), "a name parses, or a sentence says why not");
}

static void sort(struct worker *w) {
  struct pml_samples s;
  uint64_t sum = 0;
  if (pml_samples_open(&s, 1000) < 0) return;
  for (int i = 0; i < 1000; i++) {
    uint64_t v = soak_random(w) >> (soak_random(w) % 64);
    sum += v;
    pml_samples_push(&s, v);
  }
  bool sorted = pml_samples_sort(&s) == 0;
  for (size_t i = 0; i < s.n; i++) {
    sorted = sorted && (i == 0 || s.value[i - 1] <= s.value[i]);
    sum -= s.value[i];
  }
  soak_expect(sorted && sum == 0, "the sorted values are in order and complete");
  pml_samples_close(&s);
}

static void watch(struct worker *w) {
  struct pml_event ev = task_clock();
  struct pml_counter c;
  struct pml_reading r;
  struct pml_target t = {.pid = atomic_load(&soak.worker[soak_random(w) % SOAK_THREADS].tid)};
  if (t.pid == 0) return;
  int err = pml_counter_open(&c, &ev, 0, &t, NULL, 0);
  soak_expect(err == 0 || err == -ESRCH, "a thread is watched, or is no more");
  if (err < 0) return;
  soak_expect(pml_counter_read(&c, &r) == 0, "a watched thread is read");
  pml_counter_close(&c);
}

static int child(struct worker *w, uint64_t parent_id) {
  struct pml_eventset *s;
  struct fresh f = fresh_open(10);
  uint64_t v = 0;
  pml_region_t id;
  alarm(60);
  if (pml_thread_self()->id == parent_id) return 1;
  if (pml_region_intern("region 1", "soak.c", 1, &id) < 0 || id != soak.region[1]) return 2;
  if (pml_eventset_open(&s, event_names(), 1, NULL) < 0) return 3;
  soak_warm(w, s);
  pml_eventset_start(s);
  size_t n = fresh_touch(&f, 10);
  pml_eventset_stop(s, &v);
  pml_eventset_close(s);
  return soak_is_faults(v, n) ? 0 : 4;
}

/* The allocator of gcc 12's sanitizers has a lock that stays locked in the child if another thread holds it at the
 * fork. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) ||               \
    __has_feature(thread_sanitizer)
#define FORKS false
#else
#define FORKS true
#endif

static void fork_child(struct worker *w) {
  int status = 0;
  if (!FORKS) return;
  uint64_t id = pml_thread_self()->id;
  pthread_rwlock_wrlock(&soak.forks);
  pid_t pid = fork();
  if (pid == 0) _exit(child(w, id));
  pthread_rwlock_unlock(&soak.forks);
  soak_expect(pid > 0 && waitpid(pid, &status, 0) == pid, "a child is born and ends");
  if (status != 0) fprintf(stderr, "a child ended with status 0x%x\n", (unsigned)status);
  soak_expect(status == 0, "a child counts for itself");
  soak_add(&soak.children, 1);
}

static void raise_calls(struct worker *w) {
  struct pml_stream_event outer = {.ticks = 1, .region = soak.region[soak_random(w) % 2]}, inner = outer;
  for (uint64_t i = 0, n = soak_random(w) % 50; i < n; i++) {
    pml_stream_emit(PML_STREAM_ENTER, &outer);
    uint64_t turns = soak_random(w) % 4;
    for (uint64_t k = 0; k < turns; k++) {
      inner.region = soak.region[k % 2];
      pml_stream_emit(PML_STREAM_ENTER, &inner);
      pml_stream_emit(PML_STREAM_LEAVE, &inner);
    }
    pml_stream_emit(PML_STREAM_LEAVE, &outer);
    soak_add(&soak.entered, 1 + turns);
  }
}

static void *work(void *arg) {
  static void (*const action[])(struct worker *) = {count_faults, record, record, record, intern,     intern,
                                                    parse,        sort,   watch,  watch,  fork_child, raise_calls};
  struct worker *w = arg;
  atomic_store(&w->tid, pml_thread_self()->tid);
  for (uint64_t n = 1 + soak_random(w) % 20; n > 0 && !atomic_load(&soak.stop); n--)
    action[soak_random(w) % (sizeof action / sizeof *action)](w);
  soak_add(&soak.threads, 1);
  atomic_store(&w->tid, 0);
  atomic_store(&w->done, true);
  return NULL;
}

/* ---- rounds ---- */

static bool open_round(const char *dir) {
  static const struct pml_otf2_metric metric[] = {{.name = "a"}, {.name = "b"}};
  char command[96], name[32];
  snprintf(command, sizeof command, "rm -rf %s/*", dir);
  if (system(command) != 0 || pml_otf2_open(&soak.trace, dir, metric, 2) < 0) return false;
  for (int i = 0; i < SOAK_THREADS; i++) {
    snprintf(name, sizeof name, "worker %d", i);
    if (pml_otf2_location(soak.trace, name, &soak.worker[i].location) < 0) return false;
  }
  soak.attempted = soak.refused = soak.entered = 0;
  if (pml_flow_open(&soak.flow, NULL) < 0) return false;
  atomic_store(&soak.stop, false);
  return true;
}

static bool start(struct worker *w) {
  atomic_store(&w->done, false);
  w->running = pthread_create(&w->thread, NULL, work, w) == 0;
  return w->running;
}

static bool run_round(double until) {
  bool all = true;
  while (soak_now() < until) {
    for (int i = 0; i < SOAK_THREADS; i++) {
      struct worker *w = &soak.worker[i];
      if (w->running && !atomic_load(&w->done)) continue;
      if (w->running) pthread_join(w->thread, NULL);
      all = start(w) && all;
    }
    nanosleep(&(struct timespec){0, 500000}, NULL);
  }
  atomic_store(&soak.stop, true);
  for (int i = 0; i < SOAK_THREADS; i++) {
    if (soak.worker[i].running) pthread_join(soak.worker[i].thread, NULL);
    soak.worker[i].running = false;
  }
  return all;
}

static void close_flow(void) {
  uint64_t entered = 0;
  size_t n;
  soak_expect(pml_flow_stop(soak.flow) == 0, "a flow is stopped");
  const struct pml_flow_graph *const *g = pml_flow_graphs(soak.flow, &n);
  for (size_t i = 0; i < n; i++) {
    entered += g[i]->nthreads * g[i]->missing;
    for (uint32_t k = 0; k < g[i]->nedges; k++) entered += g[i]->nthreads * g[i]->edge[k].count;
  }
  bool all = pml_flow_refused(soak.flow) == 0;
  soak_expect(all ? entered == soak.entered : entered < soak.entered, "a flow has every call that was entered");
  pml_flow_close(soak.flow);
}

static void close_round(void) {
  struct pml_otf2_stats s;
  close_flow();
  pml_otf2_stats(soak.trace, &s);
  soak_expect(s.written + s.dropped == soak.attempted, "written and dropped add up to the recorded number");
  soak_expect(s.dropped == soak.refused && s.unmatched == 0, "the dropped number is the reported one");
  soak_expect(pml_otf2_close(soak.trace) == 0, "the trace is closed");
  soak.written += s.written;
  soak.dropped += s.dropped;
}

int main(void) {
  const char *given = getenv("SOAK_SECONDS"), *seed = getenv("SOAK_SEED");
  double seconds = given ? atof(given) : 8, began = soak_now(), told = began;
  char dir[] = "/tmp/pmlua-soak-XXXXXX", command[96];
  uint64_t first = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
  if (!CHECK(mkdtemp(dir) && pml_clock_init() == 0 && soak_prepare(first), "prepared, SOAK_SEED=%llu",
             (unsigned long long)first))
    return check_done();
  long descriptors = 0, memory = 0;
  unsigned rounds = 0;
  bool all = true;
  do {
    all = open_round(dir) && run_round(soak_now() + (seconds < 4 ? seconds / 2 : 2));
    close_round();
    if (rounds++ == 0) { /* by now the libraries have set up everything that they set up once */
      descriptors = soak_descriptors();
      memory = soak_memory();
    }
    soak_expect(soak_descriptors() == descriptors, "no descriptor is left open");
    if (soak_now() - told < 10) continue;
    told = soak_now();
    soak_tell(told - began, rounds);
  } while (all && soak_now() - began < seconds);
  soak_tell(soak_now() - began, rounds);
  long grown = soak_memory() - memory;
  if (!FORKS) SKIP("children are not forked under a sanitizer: its allocator may lock up in them");
  CHECK(all, "every thread started");
  CHECK(soak.broken == 0, "%llu promises were looked at, %llu were broken", (unsigned long long)soak.kept,
        (unsigned long long)soak.broken);
  CHECK(soak.strays * 10000 <= soak.faults, "%llu counts had faults of the kernel's own, beside %llu of ours",
        (unsigned long long)soak.strays, (unsigned long long)soak.faults);
  CHECK(pml_region_count() == SOAK_NAMES, "%u regions of %u names", pml_region_count(), SOAK_NAMES);
  CHECK(grown < 256 * 1024, "memory has grown by %ld bytes over %u rounds", grown, rounds);
  snprintf(command, sizeof command, "rm -rf %s", dir);
  if (system(command) != 0) perror(command);
  return check_done();
}
