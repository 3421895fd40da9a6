/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/timers.c - the cost of reading a clock, its steps from one reading to the next, whether it goes
 * back.
 *
 * Sites: `cost`, ticks of a batch of 100 readings; `step`, the differences of readings that follow each other, in the
 * clock's own unit; `at` and `said`, the first of them: ticks, and what the clock said, both since the first reading.
 * Then a thread on every cpu compares its readings with the latest one of all.
 */
#include "cpus.h"
#include "workload.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/time.h>

enum { CLOCK, READS, THREADS };
enum { COST, STEP, AT, SAID, SITES };

#define BATCH 100
#define WANTED_STEPS 5
#define PATIENCE_NS 100000000u /* for a clock that hardly moves */

#define FROM_CLOCK(id)                                                                                                 \
  static inline uint64_t read_##id(void) {                                                                             \
    struct timespec t;                                                                                                 \
    clock_gettime(id, &t);                                                                                             \
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;                                                     \
  }
FROM_CLOCK(CLOCK_MONOTONIC)
FROM_CLOCK(CLOCK_MONOTONIC_RAW)
FROM_CLOCK(CLOCK_MONOTONIC_COARSE)
FROM_CLOCK(CLOCK_BOOTTIME)
FROM_CLOCK(CLOCK_REALTIME)
FROM_CLOCK(CLOCK_REALTIME_COARSE)
FROM_CLOCK(CLOCK_TAI)
FROM_CLOCK(CLOCK_PROCESS_CPUTIME_ID)
FROM_CLOCK(CLOCK_THREAD_CPUTIME_ID)

static inline uint64_t read_ticks(void) {
  return pml_clock_ticks();
}

static inline uint64_t read_ticks_ordered(void) {
  return pml_clock_ticks_ordered();
}

static inline uint64_t read_ns(void) {
  return pml_clock_ns();
}

static inline uint64_t read_gettimeofday(void) {
  struct timeval t;
  gettimeofday(&t, NULL);
  return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_usec;
}

/* The clock of the C library: processor time. */
static inline uint64_t read_clock(void) {
  return (uint64_t)clock();
}

typedef uint64_t reader(void);

static inline __attribute__((always_inline)) void cost_of(struct pml_samples *s, reader *read) {
  while (s->n < s->capacity) {
    uint64_t begin = pml_clock_ticks_ordered(), last = 0;
    for (unsigned i = 0; i < BATCH; i++) {
      last = read();
      __asm__ volatile("" : : "r"(last)); /* every reading is wanted */
    }
    s->value[s->n++] = pml_clock_ticks_ordered() - begin;
  }
}

struct steps {
  uint64_t reads, still, back, worst_back, least, most;
};

static inline __attribute__((always_inline)) void steps_of(struct pml_workload_run *r, size_t reads, struct steps *out,
                                                           reader *read) {
  struct pml_samples *step = r->probe[STEP].samples, *at = r->probe[AT].samples, *said = r->probe[SAID].samples;
  uint64_t begin = pml_clock_ticks(), first = read(), last = first, moved = 0;
  *out = (struct steps){.least = UINT64_MAX};
  for (;;) {
    uint64_t now = read(), d = now - last;
    if (at->n < at->capacity) {
      pml_samples_push(at, pml_clock_ticks() - begin);
      pml_samples_push(said, now >= first ? now - first : 0);
    }
    out->reads++;
    if (now < last) {
      out->back++;
      if (last - now > out->worst_back) out->worst_back = last - now;
    } else {
      pml_samples_push(step, d);
      out->still += d == 0;
      moved += d > 0;
      if (d > 0 && d < out->least) out->least = d;
      if (d > out->most) out->most = d;
    }
    last = now;
    if (out->reads < reads) continue;
    if (moved >= WANTED_STEPS || pml_clock_ticks_to_ns(pml_clock_ticks() - begin) > PATIENCE_NS) return;
    if (r->stop && *r->stop) return;
  }
}

struct across {
  _Alignas(64) _Atomic uint64_t latest;
  _Alignas(64) atomic_uint ready;
  unsigned threads;
  size_t reads;
};

struct across_thread {
  struct across *shared;
  void (*compare)(struct across_thread *t);
  pthread_t thread;
  size_t cpu;
  uint64_t back, worst_back;
  int error;
};

/*
 * A reading after another thread's reading was seen must not be earlier. The fence keeps the counter from being
 * read before the load; for other clocks a system call or the vDSO's fence does so.
 */
static inline __attribute__((always_inline)) void compare_of(struct across_thread *t, reader *read) {
  struct across *s = t->shared;
  for (size_t i = 0; i < s->reads; i++) {
    uint64_t seen = atomic_load_explicit(&s->latest, memory_order_acquire);
    pml__clock_fence();
    uint64_t now = read();
    if (now < seen) {
      t->back++;
      if (seen - now > t->worst_back) t->worst_back = seen - now;
    }
    while (seen < now &&
           !atomic_compare_exchange_weak_explicit(&s->latest, &seen, now, memory_order_acq_rel, memory_order_acquire))
      ;
  }
}

/* name, reader, clockid (-1: none), nanoseconds of a unit (0: a tick), whether threads share it */
#define CLOCKS(X)                                                                                                      \
  X("ticks", ticks, -1, 0, true)                                                                                       \
  X("ticks-ordered", ticks_ordered, -1, 0, true)                                                                       \
  X("ns", ns, -1, 1, true)                                                                                             \
  X("MONOTONIC", CLOCK_MONOTONIC, CLOCK_MONOTONIC, 1, true)                                                            \
  X("MONOTONIC_RAW", CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_RAW, 1, true)                                                \
  X("MONOTONIC_COARSE", CLOCK_MONOTONIC_COARSE, CLOCK_MONOTONIC_COARSE, 1, true)                                       \
  X("BOOTTIME", CLOCK_BOOTTIME, CLOCK_BOOTTIME, 1, true)                                                               \
  X("REALTIME", CLOCK_REALTIME, CLOCK_REALTIME, 1, true)                                                               \
  X("REALTIME_COARSE", CLOCK_REALTIME_COARSE, CLOCK_REALTIME_COARSE, 1, true)                                          \
  X("TAI", CLOCK_TAI, CLOCK_TAI, 1, true)                                                                              \
  X("gettimeofday", gettimeofday, -1, 1000, true)                                                                      \
  X("PROCESS_CPUTIME_ID", CLOCK_PROCESS_CPUTIME_ID, CLOCK_PROCESS_CPUTIME_ID, 1, true)                                 \
  X("THREAD_CPUTIME_ID", CLOCK_THREAD_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, 1, false)                                   \
  X("clock", clock, -1, 1e9 / CLOCKS_PER_SEC, true)

#define FUNCTIONS(name, id, clockid, unit_ns, shared)                                                                  \
  static void cost_##id(struct pml_samples *s) {                                                                       \
    cost_of(s, read_##id);                                                                                             \
  }                                                                                                                    \
  static void steps_##id(struct pml_workload_run *r, size_t reads, struct steps *out) {                                \
    steps_of(r, reads, out, read_##id);                                                                                \
  }                                                                                                                    \
  static void compare_##id(struct across_thread *t) {                                                                  \
    compare_of(t, read_##id);                                                                                          \
  }
CLOCKS(FUNCTIONS)

#define ROW(name, id, clockid, unit_ns, shared) {name, clockid, unit_ns, shared, cost_##id, steps_##id, compare_##id},
static const struct timer {
  const char *name;
  int clockid;
  double unit_ns;
  bool shared;
  void (*cost)(struct pml_samples *s);
  void (*steps)(struct pml_workload_run *r, size_t reads, struct steps *out);
  void (*compare)(struct across_thread *t);
} timer[] = {CLOCKS(ROW)};

static int choose(struct pml_workload_run *r, const struct timer **out) {
  for (size_t i = 0; i < sizeof timer / sizeof *timer; i++)
    if (strcmp(r->text[CLOCK], timer[i].name) == 0) {
      struct timespec t;
      *out = &timer[i];
      if (timer[i].unit_ns == 0 && pml__clock.kind != PML_CLOCK_COUNTER)
        return workload_fail(r, -ENOTSUP, "the kernel does not trust the cpu's counter as a clock");
      if (timer[i].clockid >= 0 && clock_gettime(timer[i].clockid, &t) != 0)
        return workload_fail(r, -errno, "clock_gettime refuses it: %s", pml_error_text(-errno));
      return 0;
    }
  return workload_fail(
      r, -EINVAL,
      "option clock is %.40s, it must be ticks, ticks-ordered, ns, gettimeofday, clock or the end of CLOCK_...",
      r->text[CLOCK]);
}

static void *compare(void *arg) {
  struct across_thread *t = arg;
  t->error = cpus_pin(t->cpu);
  atomic_fetch_add(&t->shared->ready, 1);
  while (atomic_load(&t->shared->ready) < t->shared->threads) sched_yield();
  if (!t->error) t->compare(t);
  return NULL;
}

/* Threads on different cpus, or none at all where there is one cpu. */
static int across(struct pml_workload_run *r, const struct timer *w, size_t reads, size_t threads) {
  struct cpus allowed;
  int err = cpus_get(&allowed);
  if (err) return workload_fail(r, err, "the cpus of this process: %s", pml_error_text(err));
  unsigned cpus = cpus_count(&allowed);
  if (threads > cpus)
    return workload_fail(r, -EINVAL, "option threads is %zu; this process has %u cpus", threads, cpus);
  if (threads == 0) threads = cpus;
  if (!w->shared || threads < 2) threads = 0;
  struct across shared = {.threads = (unsigned)threads, .reads = reads};
  struct across_thread *t = calloc(threads + 1, sizeof *t);
  if (!t) return workload_out_of_memory(r, (double)(threads * sizeof *t));
  uint64_t back = 0, worst = 0;
  size_t started = 0, cpu = 0;
  for (; started < threads && !err; started += !err, cpu++) {
    cpu = cpus_next(&allowed, cpu);
    t[started] = (struct across_thread){.shared = &shared, .compare = w->compare, .cpu = cpu};
    err = -pthread_create(&t[started].thread, NULL, compare, &t[started]);
  }
  if (err) atomic_fetch_add(&shared.ready, (unsigned)(threads - started)); /* releases the waiting threads */
  for (size_t i = 0; i < started; i++) {
    pthread_join(t[i].thread, NULL);
    if (!err) err = t[i].error;
    back += t[i].back;
    if (t[i].worst_back > worst) worst = t[i].worst_back;
  }
  free(t);
  if (err) return workload_fail(r, err, "threads on %zu cpus: %s", threads, pml_error_text(err));
  workload_result(r, "across_cpus", "", (double)threads);
  workload_result(r, "across_reads", "", (double)(threads * reads));
  workload_result(r, "across_back", "", (double)back);
  workload_result(r, "across_worst", "units", (double)worst);
  return 0;
}

static void tell(struct pml_workload_run *r, const struct timer *w, const struct steps *s) {
  struct timespec t;
  double claimed =
      w->clockid >= 0 && clock_getres(w->clockid, &t) == 0 ? (double)t.tv_sec * 1e9 + (double)t.tv_nsec : 0;
  double unit = w->unit_ns > 0 ? w->unit_ns : 1e9 / pml__clock.ticks_per_second;
  workload_result(r, "unit", "ns", unit);
  workload_result(r, "claimed", "ns", claimed > 0 ? claimed : unit);
  workload_result(r, "reads", "", (double)s->reads);
  workload_result(r, "still", "", (double)s->still);
  workload_result(r, "back", "", (double)s->back);
  workload_result(r, "worst_back", "units", (double)s->worst_back);
  workload_result(r, "least", "units", s->least == UINT64_MAX ? 0 : (double)s->least);
  workload_result(r, "most", "units", (double)s->most);
}

static int run(struct pml_workload_run *r) {
  const struct timer *w = NULL;
  size_t reads = 0, threads = 0;
  struct steps s;
  pml_region_t region;
  int err = choose(r, &w);
  if (!err) err = workload_size(r, READS, "reads", 1, 1e10, &reads);
  if (!err) err = workload_size(r, THREADS, "threads", 0, 1e6, &threads);
  if (!err) err = workload_region(r, w->name, &region);
  if (!err) err = workload_stopped(r, SITES);
  if (err) return err;
  uint64_t enter = pml_clock_ticks();
  w->cost(r->probe[COST].samples);
  w->steps(r, reads, &s);
  tell(r, w, &s);
  err = across(r, w, reads, threads);
  workload_phase(r, region, enter, pml_clock_ticks());
  return err ? err : workload_stopped(r, SITES);
}

const struct pml_workload pml_workload = {
    .abi = PML_WORKLOAD_ABI,
    .name = "timers",
    .help =
        "a clock: ticks for 100 readings, its steps in its own unit, whether it ever goes back, on one cpu and across",
    .site = {"cost", "step", "at", "said"},
    .option = {[CLOCK] = {"clock", "ticks, ticks-ordered, ns, gettimeofday, clock, or MONOTONIC and its like", 0,
                          "ticks"},
               [READS] = {"reads", "successive readings, also of each thread", 1e5, NULL},
               [THREADS] = {"threads", "cpus that compare their readings; 0: all", 0, NULL}},
    .run = run,
};
