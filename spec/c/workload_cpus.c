/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/workload_cpus.c - a line between two cpus, the noise of one, and its clocks, as workloads. */
#include "workload.h"

#include <sched.h>

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

#define QUANTA 300
enum { QUANTUM, UNITS, AT, LENGTH, STATE };

static double ns_of(uint64_t ticks) {
  return (double)pml_clock_ticks_to_ns(ticks) - (double)pml_clock_ticks_to_ns(0);
}

static void fixed_time(struct workload *l, size_t cpu) {
  workload_defaults(l);
  workload_set(l, "cpu", (double)cpu);
  workload_set(l, "quantum", 200000);
  if (!CHECK(workload_go(l, NULL) == 0, "quanta of fixed time %s", l->run.error)) return;
  const struct pml_samples *s = l->samples;
  bool whole = s[QUANTUM].n == QUANTA && s[UNITS].n == QUANTA;
  for (size_t i = 0; i < s[QUANTUM].n && whole; i++)
    if (ns_of(s[QUANTUM].value[i]) < 199000 || s[UNITS].value[i] == 0) whole = false;
  CHECK(whole, "%zu quanta, none shorter than asked for", s[QUANTUM].n);
  CHECK(s[AT].n == s[LENGTH].n && s[AT].n == s[STATE].n, "each detour has its moment, length and state");
  uint64_t before = 0;
  bool ordered = true;
  for (size_t i = 0; i < s[AT].n; i++) {
    if (s[AT].value[i] < before || s[STATE].value[i] >> 4 >= 65536) ordered = false;
    before = s[AT].value[i] + s[LENGTH].value[i];
  }
  CHECK(ordered, "%zu detours, one after the other", s[AT].n);
  CHECK(workload_value(l, "lost") == 0 || s[AT].n == QUANTA, "none is left out while there is room");
  workload_phases_in_order(l, 1);
}

static void fixed_work(struct workload *l, size_t cpu) {
  workload_defaults(l);
  workload_set(l, "cpu", (double)cpu);
  workload_set(l, "units", 500);
  if (!CHECK(workload_go(l, NULL) == 0, "quanta of fixed work %s", l->run.error)) return;
  bool equal = l->samples[UNITS].n == QUANTA;
  for (size_t i = 0; i < l->samples[UNITS].n; i++) equal = equal && l->samples[UNITS].value[i] == 500;
  CHECK(equal, "each has the units asked for");
}

static void planted(struct workload *l, size_t cpu) {
  workload_defaults(l);
  workload_set(l, "cpu", (double)cpu);
  workload_set(l, "plant_period", 10e6);
  workload_set(l, "plant_length", 1e6);
  workload_set(l, "threshold", 500e3); /* a busy machine has more short ones than there is room for */
  if (!CHECK(workload_go(l, NULL) == 0, "with a planted thread %s", l->run.error)) return;
  double times = workload_value(l, "plant_times"), length = workload_value(l, "plant_length");
  unsigned found = 0;
  for (size_t i = 0; i < l->samples[LENGTH].n; i++)
    if (ns_of(l->samples[LENGTH].value[i]) >= 1e6) found++;
  CHECK(times >= 5 && length >= 1e6, "it ran %g times, for %g ns", times, length);
  CHECK(found >= 0.3 * times, "%u detours of that length, it ran %g times", found, times);
  bool other = false;
  for (size_t i = 0; i < l->samples[STATE].n; i++)
    if (ns_of(l->samples[LENGTH].value[i]) >= 1e6 && (l->samples[STATE].value[i] & 1)) other = true;
  CHECK(other, "the kernel counted a switch meanwhile");
}

static void noise(void) {
  struct workload l;
  cpu_set_t allowed, after;
  if (!workload_open(&l, "noise", QUANTA)) return;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) SKIP("more cpus than a fixed set has");
  size_t cpu = 0;
  while (!CPU_ISSET(cpu, &allowed)) cpu++;
  fixed_time(&l, cpu);
  fixed_work(&l, cpu);
  planted(&l, cpu);
  CHECK(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&allowed, &after), "the caller is not pinned");
  workload_defaults(&l);
  workload_set(&l, "cpu", 65535);
  workload_refuses(&l, 0, "cpu 65535");
  workload_set(&l, "cpu", (double)cpu);
  workload_set(&l, "plant_period", 1000);
  workload_set(&l, "plant_length", 501);
  workload_refuses(&l, -EINVAL, "plant_length");
  workload_close(&l);
}

enum { COST, STEP, BEGAN, SAID };

static void choose(struct workload *l, const char *clock_name, double reads) {
  workload_defaults(l);
  workload_text(l, "clock", clock_name);
  workload_set(l, "reads", reads);
}

/* Steps, and those that were not pushed because they went back, are all the readings; their sum is the way gone. */
static void reads(struct workload *l, const char *name, bool shared) {
  choose(l, name, 900);
  int err = workload_go(l, NULL);
  if (err == -ENOTSUP) {
    SKIP(l->run.error);
    return;
  }
  if (!CHECK(err == 0, "%s is read %s", name, l->run.error)) return;
  double all = workload_value(l, "reads"), still = 0, kept = (double)l->samples[STEP].n;
  uint64_t least = UINT64_MAX;
  for (size_t i = 0; i < l->samples[STEP].n; i++) {
    still += l->samples[STEP].value[i] == 0;
    if (l->samples[STEP].value[i] && l->samples[STEP].value[i] < least) least = l->samples[STEP].value[i];
  }
  CHECK(l->samples[COST].n == 1000 && all >= 900 && kept <= all, "%s: samples of its cost, and %g steps", name, all);
  CHECK(still <= workload_value(l, "still") && workload_value(l, "still") <= all &&
            (least == UINT64_MAX || workload_value(l, "least") <= (double)least),
        "%g of them are none, and none is smaller than the smallest, %g", workload_value(l, "still"),
        workload_value(l, "least"));
  CHECK(workload_value(l, "unit") > 0 && workload_value(l, "claimed") > 0, "with its unit and what it claims");
  double cpus = workload_value(l, "across_cpus");
  CHECK(workload_value(l, "across_reads") == 900 * cpus && (shared || cpus == 0) && cpus != 1,
        "%g cpus compare 900 readings each", cpus);
  bool forward = l->samples[BEGAN].n == l->samples[SAID].n && l->samples[BEGAN].n > 0;
  for (size_t i = 1; i < l->samples[BEGAN].n; i++)
    if (l->samples[BEGAN].value[i] < l->samples[BEGAN].value[i - 1]) forward = false;
  CHECK(forward, "the first readings have their ticks, in order");
}

/* What POSIX promises is held here; a machine where it is not has a broken clock. */
static void never_back(struct workload *l, const char *name) {
  choose(l, name, 100000);
  if (!CHECK(workload_go(l, NULL) == 0, "%s is read 100000 times %s", name, l->run.error)) return;
  CHECK(workload_value(l, "back") == 0 && workload_value(l, "across_back") == 0,
        "it never goes back: %g in a row, %g across cpus", workload_value(l, "back"), workload_value(l, "across_back"));
}

static void timers(void) {
  struct workload l;
  if (!workload_open(&l, "timers", 1000)) return;
  const char *const name[] = {"ticks",     "ticks-ordered",    "ns",
                              "MONOTONIC", "MONOTONIC_RAW",    "BOOTTIME",
                              "REALTIME",  "MONOTONIC_COARSE", "REALTIME_COARSE",
                              "TAI",       "gettimeofday",     "PROCESS_CPUTIME_ID",
                              "clock"};
  for (size_t i = 0; i < sizeof name / sizeof *name; i++) reads(&l, name[i], true);
  reads(&l, "THREAD_CPUTIME_ID", false);
  never_back(&l, "MONOTONIC");
  never_back(&l, "MONOTONIC_RAW");

  choose(&l, "sundial", 100);
  workload_refuses(&l, -EINVAL, "sundial");
  choose(&l, "ns", 100);
  workload_set(&l, "threads", 65537);
  workload_refuses(&l, -EINVAL, "threads");
  workload_close(&l);
}

int main(void) {
  CHECK(pml_clock_init() == 0, "the spec has the same clock");
  exchange();
  noise();
  timers();
  return check_done();
}
