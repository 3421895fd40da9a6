/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/noise.c - what takes the processor away from a thread that only computes.
 *
 * The thread reads the clock after each unit of work. A gap longer than `threshold` is a detour: the sites `at` and
 * `length` have its moment and the gap, `state` has the cpu after it and what the kernel counted of the thread
 * meanwhile. The site `quantum` takes the time of each quantum and `units` the units in it: a quantum is over after a
 * number of units (fixed work), or after a time.
 *
 * A planted thread on the same cpu computes for `plant_length` every `plant_period`.
 */
#include "cpus.h"
#include "workload.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>

enum { CPU, QUANTUM, UNITS, THRESHOLD, PLANT_PERIOD, PLANT_LENGTH };
enum { SITE_QUANTUM, SITE_UNITS, SITE_AT, SITE_LENGTH, SITE_STATE, SITES };
/* The bits of a state; the cpu is above them. */
enum { PREEMPTED = 1, SLEPT = 2, MOVED = 4, FAULTED = 8, STATE_BITS = 4 };

#define STEPS 32 /* per unit: some 100 cycles, so that the clock is a small part of it */

struct plant {
  pthread_t thread;
  size_t cpu, period_ns, length_ns;
  atomic_bool ready, over;
  bool runs;
  uint64_t first, last, times; /* written by the thread, read after it was joined */
  double total_ticks;
};

struct noise {
  struct pml_workload_run *run;
  struct plant plant;
  size_t cpu, quantum_ns, units, threshold_ns;
  uint64_t begin, threshold, state, lost;
  struct rusage seen;
};

static inline uint64_t work(uint64_t x) {
  for (int i = 0; i < STEPS; i++) { /* xorshift, G. Marsaglia (2003): each step depends on the previous one */
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}

static uint64_t ticks_of(size_t ns) {
  return (uint64_t)((double)ns * pml__clock.ticks_per_second / 1e9);
}

static void timespec_add(struct timespec *t, size_t ns) {
  t->tv_sec += (time_t)(ns / 1000000000u);
  t->tv_nsec += (long)(ns % 1000000000u);
  if (t->tv_nsec >= 1000000000L) t->tv_sec++, t->tv_nsec -= 1000000000L;
}

/*
 * With a planted thread both are real-time threads if the user is permitted, because other programs would hide the
 * planted detours. The planted thread has the higher priority.
 */
static void real_time(int priority) {
  struct sched_param fifo = {.sched_priority = priority};
  pthread_setschedparam(pthread_self(), SCHED_FIFO, &fifo);
}

static void *plant_main(void *arg) {
  struct plant *p = arg;
  struct timespec next;
  uint64_t length = ticks_of(p->length_ns);
  real_time(2);
  int pinned = cpus_pin(p->cpu);
  atomic_store(&p->ready, true);
  if (pinned != 0) return NULL;
  clock_gettime(CLOCK_MONOTONIC, &next);
  while (!atomic_load(&p->over)) {
    timespec_add(&next, p->period_ns);
    if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) != 0) continue;
    uint64_t start = pml_clock_ticks(), now = start;
    while (now - start < length) now = pml_clock_ticks();
    if (p->times++ == 0) p->first = start;
    p->last = start;
    p->total_ticks += (double)(now - start);
  }
  return NULL;
}

static int plant_start(struct pml_workload_run *r, struct plant *p) {
  if (p->period_ns == 0) return 0;
  if (p->length_ns == 0 || p->length_ns > p->period_ns / 2)
    return workload_fail(r, -EINVAL, "option plant_length is %zu, it must be from 1 to half of plant_period",
                         p->length_ns);
  int err = -pthread_create(&p->thread, NULL, plant_main, p);
  if (err) return workload_fail(r, err, "a thread: %s", pml_error_text(err));
  p->runs = true;
  /* Behind a real-time thread on this cpu it might never begin. */
  while (!atomic_load(&p->ready)) sched_yield();
  return 0;
}

static void plant_stop(struct pml_workload_run *r, struct plant *p) {
  if (!p->runs) return;
  atomic_store(&p->over, true);
  pthread_join(p->thread, NULL);
  double ns = 1e9 / pml__clock.ticks_per_second;
  workload_result(r, "plant_times", "", (double)p->times);
  if (p->times < 2) return;
  workload_result(r, "plant_period", "ns", (double)(p->last - p->first) * ns / (double)(p->times - 1));
  workload_result(r, "plant_length", "ns", p->total_ticks * ns / (double)p->times);
}

/* The events of this thread that the kernel has counted since the last call, and the current cpu. */
static uint64_t state_of(struct noise *n) {
  struct rusage now;
  int cpu = sched_getcpu();
  uint64_t state = (uint64_t)(cpu < 0 ? 0 : cpu) << STATE_BITS;
  if (getrusage(RUSAGE_THREAD, &now) != 0) return state;
  if (now.ru_nivcsw != n->seen.ru_nivcsw) state |= PREEMPTED;
  if (now.ru_nvcsw != n->seen.ru_nvcsw) state |= SLEPT;
  if (now.ru_minflt + now.ru_majflt != n->seen.ru_minflt + n->seen.ru_majflt) state |= FAULTED;
  if (cpu >= 0 && (size_t)cpu != n->cpu) state |= MOVED;
  n->seen = now;
  return state;
}

/* Off the loop: it runs once for each detour. */
static __attribute__((noinline)) void detour(struct noise *n, uint64_t at, uint64_t length) {
  struct pml_probe *p = n->run->probe;
  uint64_t state = state_of(n);
  if (pml_samples_push(p[SITE_LENGTH].samples, length) != 0) {
    n->lost++;
    return;
  }
  pml_samples_push(p[SITE_AT].samples, at - n->begin);
  pml_samples_push(p[SITE_STATE].samples, state);
}

static void quantum(struct noise *n, uint64_t limit) {
  struct pml_probe *p = n->run->probe;
  uint64_t x = n->state, units = 0, begin = pml_clock_ticks(), before = begin, left_out = 0;
  for (;;) {
    x = work(x);
    uint64_t now = pml_clock_ticks(), gap = now - before;
    units++;
    before = now;
    if (PML_UNLIKELY(gap > n->threshold)) {
      detour(n, now - gap, gap);
      before = pml_clock_ticks();
      left_out += before - now; /* the time of noting it is no detour */
    }
    if (n->units ? units == n->units : before - begin - left_out >= limit) break;
  }
  n->state = x;
  pml_samples_push(p[SITE_QUANTUM].samples, before - begin - left_out);
  pml_samples_push(p[SITE_UNITS].samples, units);
}

static int measure(struct noise *n) {
  struct pml_samples *s = n->run->probe[SITE_QUANTUM].samples;
  uint64_t limit = ticks_of(n->quantum_ns);
  int err = 0;
  n->state = 88172645463325252u;
  state_of(n);
  n->begin = pml_clock_ticks();
  while (s->n < s->capacity && !err) {
    quantum(n, limit);
    err = workload_stopped(n->run, SITES);
  }
  workload_result(n->run, "begin", "ns", (double)pml_clock_ticks_to_ns(n->begin));
  workload_result(n->run, "took", "ns", (double)pml_clock_ticks_to_ns(pml_clock_ticks() - n->begin));
  workload_result(n->run, "lost", "detours", (double)n->lost);
  return err;
}

static int pinned(struct noise *n) {
  struct cpus before;
  struct pml_workload_run *r = n->run;
  int err = cpus_get(&before);
  if (!err) err = cpus_pin(n->cpu);
  if (err) return workload_fail(r, err, "cpu %zu: %s", n->cpu, pml_error_text(err));
  err = plant_start(r, &n->plant);
  int policy = SCHED_OTHER;
  struct sched_param priority;
  pthread_getschedparam(pthread_self(), &policy, &priority);
  if (n->plant.runs) real_time(1);
  if (!err) err = measure(n);
  if (n->plant.runs) pthread_setschedparam(pthread_self(), policy, &priority);
  plant_stop(r, &n->plant);
  cpus_set(&before);
  return err;
}

static int run(struct pml_workload_run *r) {
  struct noise n = {.run = r};
  pml_region_t region;
  int err = workload_size(r, CPU, "cpu", 0, CPUS_MAX - 1, &n.cpu);
  if (!err) err = workload_size(r, QUANTUM, "quantum", 1000, 1e9, &n.quantum_ns);
  if (!err) err = workload_size(r, UNITS, "units", 0, 1e9, &n.units);
  if (!err) err = workload_size(r, THRESHOLD, "threshold", 1, 1e9, &n.threshold_ns);
  if (!err) err = workload_size(r, PLANT_PERIOD, "plant_period", 0, 1e10, &n.plant.period_ns);
  if (!err) err = workload_size(r, PLANT_LENGTH, "plant_length", 0, 1e10, &n.plant.length_ns);
  if (!err) err = workload_region(r, "quanta", &region);
  if (!err) err = workload_stopped(r, SITES);
  if (err) return err;
  n.plant.cpu = n.cpu;
  n.threshold = ticks_of(n.threshold_ns);
  uint64_t enter = pml_clock_ticks();
  err = pinned(&n);
  workload_phase(r, region, enter, pml_clock_ticks());
  return err;
}

const struct pml_workload pml_workload = {
    .abi = PML_WORKLOAD_ABI,
    .name = "noise",
    .help = "quanta of fixed work or fixed time on one cpu, and the gaps in which the thread did not run",
    .site = {"quantum", "units", "at", "length", "state"},
    .option = {[CPU] = {"cpu", "where it runs", 0, NULL},
               [QUANTUM] = {"quantum", "nanoseconds of a quantum of fixed time", 1e6, NULL},
               [UNITS] = {"units", "units of a quantum of fixed work; 0: fixed time", 0, NULL},
               [THRESHOLD] = {"threshold", "nanoseconds from which a gap is a detour", 1000, NULL},
               [PLANT_PERIOD] = {"plant_period", "nanoseconds between two runs of a planted thread; 0: none", 0, NULL},
               [PLANT_LENGTH] = {"plant_length", "nanoseconds that the planted thread takes", 0, NULL}},
    .run = run,
};
