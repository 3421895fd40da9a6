/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/workload_memory.c - memory as a workload, a cache line between two cpus, and the bare loop: their probes,
 * reads and writes; all workloads refuse wrong options.
 */
#include "workload.h"

#include <sched.h>
#include <sys/resource.h>

static void loop(void) {
  struct workload l;
  if (!workload_open(&l, "loop", 500)) return;

  workload_set(&l, "n", 300);
  CHECK(workload_go(&l, NULL) == 0, "300 hits: %s", l.run.error);
  CHECK(l.samples[0].n == 300 && l.probe[0].skipped == 0, "leave 300 samples");
  workload_phases_in_order(&l, 1);

  workload_set(&l, "n", 800);
  CHECK(workload_go(&l, NULL) == 0 && l.samples[0].n == 500 && l.probe[0].skipped == 300,
        "hits beyond the capacity are skipped and counted");

  workload_set(&l, "n", 100);
  l.run.phase = NULL;
  CHECK(workload_go(&l, NULL) == 0, "100 hits");
  l.samples[0].n = 0;
  l.probe[0].operation = workload_failing_operation;
  CHECK(l.w->run(&l.run) == -EIO && *l.run.error, "a failing operation ends the run: %s", l.run.error);
  workload_close(&l);
}

static void run_of(struct workload *l, double n, double repeats) {
  workload_set(l, "n", n);
  workload_set(l, "repeats", repeats);
  int err = workload_go(l, NULL);
  CHECK(err == 0 && workload_value(l, "error") < 1e-13, "%g elements, %g repetitions validate (%g) %s", n, repeats,
        workload_value(l, "error"), l->run.error);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static void out_of_memory(struct workload *l) {
  (void)l;
  SKIP("sanitizers need the address space that this test takes away");
}
#else
static void out_of_memory(struct workload *l) {
  struct rlimit old, tight = {.rlim_cur = (rlim_t)1 << 30, .rlim_max = 0};
  getrlimit(RLIMIT_AS, &old);
  tight.rlim_max = old.rlim_max;
  workload_set(l, "n", 1e8);
  setrlimit(RLIMIT_AS, &tight);
  int err = workload_go(l, NULL);
  setrlimit(RLIMIT_AS, &old);
  CHECK(err == -ENOMEM && strstr(l->run.error, "MB"), "too large for the memory: %s", l->run.error);
}
#endif

static void stream(void) {
  struct workload l;
  if (!workload_open(&l, "stream", 1000)) return;
  CHECK(l.nsites == 5, "five sites");
  run_of(&l, 400, 3);
  CHECK(l.samples[0].n == 400, "a probe after each element of one copy");
  for (unsigned i = 1; i < l.nsites; i++) CHECK(l.samples[i].n == 3, "three after the vectors of %s", l.w->site[i]);
  workload_phases_in_order(&l, 1 + 4 * 3);
  const char *const rate[] = {"copy_rate", "scale_rate", "add_rate", "triad_rate"};
  for (unsigned i = 0; i < 4; i++) CHECK(workload_value(&l, rate[i]) > 0, "a %s", rate[i]);

  run_of(&l, 3e6, 2);
  CHECK(l.samples[0].n == 1000 && l.probe[0].skipped == 0, "no more elements are probed than there is room for");
  run_of(&l, 1, 1);
  run_of(&l, 1000, 2000);
  CHECK(l.samples[1].n == 1000 && l.probe[1].skipped == 1000, "more vectors than room are skipped and counted");
  workload_set(&l, "n", 0);
  workload_refuses(&l, -EINVAL, "n");
  out_of_memory(&l);
  workload_set(&l, "n", 1000);
  workload_close(&l);
}

static void one_cycle(struct workload *l, double bytes, double stride) {
  workload_defaults(l);
  workload_set(l, "bytes", bytes);
  workload_set(l, "stride", stride);
  if (!CHECK(workload_go(l, NULL) == 0, "%g bytes are walked in strides of %g %s", bytes, stride, l->run.error)) return;
  CHECK(workload_value(l, "cycle") == floor(bytes / stride), "through each slot once: %g", workload_value(l, "cycle"));
  CHECK(l->samples[0].n == 100 && l->samples[0].value[0] > 0, "100 samples");
  CHECK(workload_value(l, "huge_bytes") <= 0, "no huge page where small ones are wanted");
  workload_phases_in_order(l, 1);
}

static void chase(void) {
  struct workload l;
  if (!workload_open(&l, "chase", 100)) return;
  const double bytes[] = {128, 4096, 100000, 5 << 20}, stride[] = {8, 64, 4160};
  for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
    for (size_t k = 0; k < sizeof stride / sizeof *stride; k++)
      if (bytes[i] >= 2 * stride[k]) one_cycle(&l, bytes[i], stride[k]);

  workload_defaults(&l);
  workload_set(&l, "bytes", 8 << 20);
  workload_text(&l, "pages", "huge");
  int err = workload_go(&l, NULL);
  if (err)
    SKIP(l.run.error);
  else
    CHECK(workload_value(&l, "huge_bytes") <= (8 << 20) + (4 << 20), "the account of huge pages belongs to the area");

  workload_refuses_text(&l, "pages", "medium", "medium");
  workload_set(&l, "stride", 12);
  workload_refuses(&l, -EINVAL, "multiple");
  workload_close(&l);
}

#define PASSES 5
#define GROUP (4 * 4096)

static void bandwidth(void) {
  struct workload l;
  cpu_set_t allowed, after;
  if (!workload_open(&l, "bandwidth", PASSES)) return;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) SKIP("more cpus than a fixed set has");
  int cpus = CPU_COUNT(&allowed);
  for (int threads = 1; threads <= cpus && threads <= 4; threads++)
    for (int writes = 0; writes <= 4; writes++) {
      workload_defaults(&l);
      workload_set(&l, "threads", threads);
      workload_set(&l, "bytes", 50 * GROUP + 5000);
      workload_set(&l, "writes", writes);
      if (!CHECK(workload_go(&l, NULL) == 0, "%d threads, %d of 4 written %s", threads, writes, l.run.error)) continue;
      CHECK(l.samples[0].n == PASSES && l.samples[0].value[0] > 0, "%zu passes", l.samples[0].n);
      double unit = 50.0 * GROUP / 4 * threads;
      CHECK(workload_value(&l, "written") == unit * writes && workload_value(&l, "read") == unit * (4 - writes),
            "%g bytes read, %g written", workload_value(&l, "read"), workload_value(&l, "written"));
      workload_phases_in_order(&l, 1);
    }
  CHECK(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&allowed, &after), "the caller is not pinned");
  workload_defaults(&l);
  workload_set(&l, "threads", cpus + 1);
  workload_refuses(&l, -EINVAL, "threads");
  workload_close(&l);
}

#define TRIPS 400
#define CPUS_MAX 65536

static size_t next_cpu(const cpu_set_t *set, size_t cpu) {
  while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, set)) cpu++;
  return cpu;
}

static void between(struct workload *l, size_t from, size_t to) {
  workload_defaults(l);
  workload_set(l, "from", (double)from);
  workload_set(l, "to", (double)to);
  workload_set(l, "patience", 60000);
}

static void finds_delay(struct workload *l, size_t from, size_t to, double hold_ns) {
  between(l, from, to);
  workload_set(l, "trips", 1);
  workload_set(l, "hold", hold_ns);
  if (!CHECK(workload_go(l, NULL) == 0, "answers after %g ns %s", hold_ns, l->run.error)) return;
  uint64_t least = UINT64_MAX;
  for (size_t i = 0; i < l->samples[0].n; i++)
    if (l->samples[0].value[i] < least) least = l->samples[0].value[i];
  double ns = (double)pml_clock_ticks_to_ns(least);
  CHECK(ns >= 0.99 * hold_ns && ns <= 1.05 * hold_ns, "a delay of %g ns is found: %g", hold_ns, ns);
}

static void exchange(void) {
  struct workload l;
  cpu_set_t allowed;
  if (!workload_open(&l, "exchange", TRIPS)) return;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) SKIP("more cpus than a fixed set has");
  size_t first = next_cpu(&allowed, 0), second = next_cpu(&allowed, first + 1);
  if (second < CPU_SETSIZE) {
    between(&l, first, second);
    CHECK(workload_go(&l, NULL) == 0, "a line goes to and fro %s", l.run.error);
    CHECK(l.samples[0].n == TRIPS, "%zu samples", l.samples[0].n);
    CHECK(workload_value(&l, "stores") == 2.0 * 100 * TRIPS, "each store is answered: %g",
          workload_value(&l, "stores"));
    workload_phases_in_order(&l, 1);
    finds_delay(&l, first, second, 50000);
    between(&l, first, second);
    workload_set(&l, "trips", 1e9);
    workload_set(&l, "patience", 20);
    workload_refuses(&l, -ETIMEDOUT, "in time");
    cpu_set_t after;
    CHECK(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&allowed, &after), "the caller is not pinned");
  } else {
    SKIP("this process has one cpu");
  }
  between(&l, first, CPUS_MAX - 1);
  workload_refuses(&l, 0, "cpu 65535");
  between(&l, first, first);
  workload_refuses(&l, -EINVAL, "two cpus");
  workload_close(&l);
}

/* spec/scripts/noise_spec.lua, timers_spec.lua and recorder_overhead_spec.lua check their results. */
static void others(void) {
  static const char *const name[] = {"noise", "timers", "recorder"};
  struct workload l;
  for (size_t i = 0; i < 3; i++)
    if (workload_open(&l, name[i], 40000)) workload_close(&l);
}

int main(void) {
  CHECK(pml_clock_init() == 0, "the spec has the same clock");
  loop();
  stream();
  chase();
  bandwidth();
  exchange();
  others();
  return check_done();
}
