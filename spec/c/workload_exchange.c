/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/workload_exchange.c - a line between two cpus: no store is lost, a known delay is found, nothing hangs. */
#include "workload.h"

#include <sched.h>

#define N 400
#define CPUS_MAX 65536

/* The first one from @cpu on that the process may use; CPU_SETSIZE if there is none. */
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

/* No sample is shorter than the delay; the shortest of them was not disturbed. */
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

int main(void) {
  struct workload l;
  cpu_set_t allowed;
  if (!workload_open(&l, "exchange", N)) return check_done();
  CHECK(pml_clock_init() == 0, "the spec has the same clock");
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) SKIP("more cpus than a fixed set has");
  size_t first = next_cpu(&allowed, 0), second = next_cpu(&allowed, first + 1);
  if (second < CPU_SETSIZE) {
    between(&l, first, second);
    CHECK(workload_go(&l, NULL) == 0, "a line goes to and fro %s", l.run.error);
    CHECK(l.samples[0].n == N, "%zu samples", l.samples[0].n);
    CHECK(workload_value(&l, "stores") == 2.0 * 100 * N, "each store is answered: %g", workload_value(&l, "stores"));
    workload_phases_in_order(&l, 1);
    finds_delay(&l, first, second, 50000);
    between(&l, first, second);
    workload_set(&l, "trips", 1e9);
    workload_set(&l, "patience", 20);
    CHECK(workload_go(&l, NULL) == -ETIMEDOUT && strstr(l.run.error, "in time"), "it ends: %s", l.run.error);
    cpu_set_t after;
    CHECK(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&allowed, &after), "the caller is not pinned");
  } else {
    SKIP("this process has one cpu");
  }
  between(&l, first, CPUS_MAX - 1);
  CHECK(workload_go(&l, NULL) < 0 && strstr(l.run.error, "cpu 65535"), "no such cpu: %s", l.run.error);
  between(&l, first, first);
  CHECK(workload_go(&l, NULL) == -EINVAL && strstr(l.run.error, "two cpus"), "refused: %s", l.run.error);
  const char *const option[] = {"from", "to", "trips", "hold", "patience"};
  for (size_t i = 0; i < sizeof option / sizeof *option; i++) workload_refuses(&l, option[i]);
  workload_stops(&l);
  workload_close(&l);
  return check_done();
}
