/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/workload_stream.c - STREAM's operations: where they are probed, that they validate, and what they refuse. */
#include "workload.h"

#include <sys/resource.h>

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

int main(void) {
  struct workload l;
  if (!workload_open(&l, "stream", 1000)) return check_done();
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
  workload_refuses(&l, "n");
  workload_refuses(&l, "repeats");
  workload_set(&l, "n", 0);
  CHECK(workload_go(&l, NULL) == -EINVAL, "nothing to do is refused: %s", l.run.error);
  workload_defaults(&l);
  workload_set(&l, "n", 1000);
  workload_stops(&l);
  out_of_memory(&l);
  workload_close(&l);
  return check_done();
}
