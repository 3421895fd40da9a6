/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/loop.c - nothing but the probe, n times: the cost of an operation that has all caches to itself. */
#include "workload.h"

enum { N };

static int run(struct pml_workload_run *r) {
  size_t n = 0;
  pml_region_t region;
  int err = workload_size(r, N, "n", 1, 1e12, &n);
  if (!err) err = workload_region(r, "loop", &region);
  if (err) return err;

  uint64_t enter = pml_clock_ticks();
  for (size_t i = 0; i < n && !err; i++) {
    pml_probe_hit(&r->probe[0]);
    if ((i & 1023) == 0) err = workload_stopped(r, 1);
  }
  workload_phase(r, region, enter, pml_clock_ticks());
  if (!err) err = workload_stopped(r, 1);
  workload_result(r, "hits", "", (double)n);
  return err;
}

const struct pml_workload pml_workload = {
    .abi = PML_WORKLOAD_ABI,
    .name = "loop",
    .help = "a bare loop around the measured operation",
    .site = {"loop"},
    .option = {[N] = {"n", "number of operations", 1e6, NULL}},
    .run = run,
};
