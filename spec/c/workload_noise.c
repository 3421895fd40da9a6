/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/workload_noise.c - quanta hold what they should, a planted thread is seen, the caller is not pinned. */
#include "workload.h"

#include <sched.h>

#define N 300
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
  bool whole = s[QUANTUM].n == N && s[UNITS].n == N;
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
  CHECK(workload_value(l, "lost") == 0 || s[AT].n == N, "none is left out while there is room");
  workload_phases_in_order(l, 1);
}

static void fixed_work(struct workload *l, size_t cpu) {
  workload_defaults(l);
  workload_set(l, "cpu", (double)cpu);
  workload_set(l, "units", 500);
  if (!CHECK(workload_go(l, NULL) == 0, "quanta of fixed work %s", l->run.error)) return;
  bool equal = l->samples[UNITS].n == N;
  for (size_t i = 0; i < l->samples[UNITS].n; i++) equal = equal && l->samples[UNITS].value[i] == 500;
  CHECK(equal, "each has the units asked for");
}

/* How often a detour is at least as long as what was planted: once a turn of the planted thread, or nearly. */
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

int main(void) {
  struct workload l;
  cpu_set_t allowed, after;
  if (!workload_open(&l, "noise", N)) return check_done();
  CHECK(pml_clock_init() == 0, "the spec has the same clock");
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) SKIP("more cpus than a fixed set has");
  size_t cpu = 0;
  while (!CPU_ISSET(cpu, &allowed)) cpu++;
  fixed_time(&l, cpu);
  fixed_work(&l, cpu);
  planted(&l, cpu);
  CHECK(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&allowed, &after), "the caller is not pinned");
  workload_defaults(&l);
  workload_set(&l, "cpu", 65535);
  CHECK(workload_go(&l, NULL) < 0 && strstr(l.run.error, "cpu 65535"), "no such cpu: %s", l.run.error);
  workload_defaults(&l);
  workload_set(&l, "cpu", (double)cpu);
  workload_set(&l, "plant_period", 1000);
  workload_set(&l, "plant_length", 501);
  CHECK(workload_go(&l, NULL) == -EINVAL && strstr(l.run.error, "plant_length"), "refused: %s", l.run.error);
  const char *const option[] = {"cpu", "quantum", "units", "threshold", "plant_period", "plant_length"};
  for (size_t i = 0; i < sizeof option / sizeof *option; i++) workload_refuses(&l, option[i]);
  workload_stops(&l);
  workload_close(&l);
  return check_done();
}
