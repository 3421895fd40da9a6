/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/workload_bandwidth.c - what is read is what was written, bytes are those asked for, each mix and number of
 * threads. */
#include "workload.h"

#include <sched.h>

#define N 5
#define GROUP (4 * 4096)

int main(void) {
  struct workload l;
  cpu_set_t allowed, after;
  if (!workload_open(&l, "bandwidth", N)) return check_done();
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) SKIP("more cpus than a fixed set has");
  int cpus = CPU_COUNT(&allowed);
  for (int threads = 1; threads <= cpus && threads <= 4; threads++)
    for (int writes = 0; writes <= 4; writes++) {
      workload_defaults(&l);
      workload_set(&l, "threads", threads);
      workload_set(&l, "bytes", 50 * GROUP + 5000);
      workload_set(&l, "writes", writes);
      if (!CHECK(workload_go(&l, NULL) == 0, "%d threads, %d of 4 written %s", threads, writes, l.run.error)) continue;
      CHECK(l.samples[0].n == N && l.samples[0].value[0] > 0, "%zu passes", l.samples[0].n);
      double unit = 50.0 * GROUP / 4 * threads;
      CHECK(workload_value(&l, "written") == unit * writes && workload_value(&l, "read") == unit * (4 - writes),
            "%g bytes read, %g written", workload_value(&l, "read"), workload_value(&l, "written"));
      workload_phases_in_order(&l, 1);
    }
  CHECK(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&allowed, &after), "the caller is not pinned");
  workload_defaults(&l);
  workload_set(&l, "threads", cpus + 1);
  CHECK(workload_go(&l, NULL) == -EINVAL && strstr(l.run.error, "threads"), "more threads than cpus: %s", l.run.error);
  const char *const option[] = {"threads", "bytes", "writes"};
  for (size_t i = 0; i < sizeof option / sizeof *option; i++) workload_refuses(&l, option[i]);
  workload_stops(&l);
  workload_close(&l);
  return check_done();
}
