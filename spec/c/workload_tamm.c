/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/workload_tamm.c - the contraction library as a workload: options, results, refusals. */
#include "workload.h"

static void text(struct workload *l, const char *option, const char *v) {
  for (unsigned i = 0; i < PML_WORKLOAD_MAX && l->w->option[i].name; i++)
    if (strcmp(l->w->option[i].name, option) == 0) l->text[i] = v;
}

static void refuses_text(struct workload *l, const char *option, const char *v, const char *says) {
  workload_defaults(l);
  text(l, option, v);
  int err = workload_go(l, NULL);
  CHECK(err < 0 && strstr(l->run.error, says), "%s %s is refused: %s", option, v, l->run.error);
  workload_defaults(l);
}

/* Of each spin one tile of occupied orbitals and two of virtual ones: what must come out can be counted by hand. */
static void contracts(struct workload *l) {
  workload_set(l, "occupied", 3);
  workload_set(l, "virtual", 5);
  workload_set(l, "tile", 3);
  workload_set(l, "threads", 2);
  text(l, "contraction", "t2_8");
  CHECK(workload_go(l, NULL) == 0, "a contraction is made: %s", l->run.error);
  CHECK(workload_value(l, "error") < 1e-13, "and is right: relative error %.2g", workload_value(l, "error"));
  CHECK(workload_value(l, "tasks") == 6 * 2 * 2, "a task for each block: 6 spin cases of 2 x 2 virtual tiles");
  CHECK(workload_value(l, "dgemms") == 2 * 4 * 4 + 4 * 4 * 8 && workload_value(l, "longest") == 8,
        "chains of 4 where both spins are alike, else of 8");
  CHECK(workload_value(l, "flops") == 20.0 * 3 * 3 * 5 * 5 * 5 * 5, "10 spin cases of o^2 v^4 pairs of operations");
  for (unsigned i = 0; i < 3; i++) CHECK(l->samples[i].n == 1, "a hit after %s", l->w->site[i]);
  workload_phases_in_order(l, 3);
}

int main(void) {
  struct workload l;
  if (!workload_open(&l, "tamm", 4)) return check_done();
  contracts(&l);
  refuses_text(&l, "contraction", "t2_9", "contraction");
  refuses_text(&l, "contraction", "", "contraction");
  refuses_text(&l, "blas", "/nonexistent/libblas.so", "/nonexistent");
  refuses_text(&l, "blas", "", "blas is empty");
  workload_refuses(&l, "occupied");
  workload_refuses(&l, "virtual");
  workload_refuses(&l, "unpaired");
  workload_refuses(&l, "tile");
  workload_refuses(&l, "threads");
  workload_set(&l, "unpaired", 8);
  CHECK(workload_go(&l, NULL) == -EINVAL, "%s", l.run.error);
  workload_defaults(&l);
  workload_stops(&l);
  workload_close(&l);
  return check_done();
}
