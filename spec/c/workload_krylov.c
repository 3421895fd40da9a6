/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/workload_krylov.c - the Krylov library as a workload: options, results, refusals. */
#include "workload.h"

static void text(struct workload *l, const char *option, const char *v) {
  for (unsigned i = 0; i < PML_WORKLOAD_MAX && l->w->option[i].name; i++)
    if (strcmp(l->w->option[i].name, option) == 0) l->text[i] = v;
}

static void refuses_text(struct workload *l, const char *option, const char *v) {
  workload_defaults(l);
  text(l, option, v);
  int err = workload_go(l, NULL);
  CHECK(err < 0 && strstr(l->run.error, option), "%s %s is refused: %s", option, v, l->run.error);
}

int main(void) {
  struct workload l;
  if (!workload_open(&l, "krylov", 4)) return check_done();
  text(&l, "matrix", "poisson2d:20");
  text(&l, "preconditioner", "ilu0");
  CHECK(workload_go(&l, NULL) == 0 && workload_value(&l, "outcome") == 0 && workload_value(&l, "rows") == 400,
        "a system is solved: %s", l.run.error);
  CHECK(workload_value(&l, "true_residual") <= 10 * workload_value(&l, "final_residual") &&
            workload_value(&l, "iterations") > 0 && l.samples[0].n == 1 && l.samples[1].n == 1,
        "with its results, and a hit after each phase");
  workload_phases_in_order(&l, 2);
  text(&l, "rhs", "zero");
  CHECK(workload_go(&l, NULL) == 0 && workload_value(&l, "iterations") == 0,
        "a zero right-hand side needs no iteration");
  refuses_text(&l, "matrix", "/nonexistent.mtx");
  refuses_text(&l, "matrix", "");
  refuses_text(&l, "solver", "gauss");
  refuses_text(&l, "preconditioner", "ilu9");
  refuses_text(&l, "rhs", "left");
  workload_refuses(&l, "iterations");
  workload_refuses(&l, "restart");
  workload_refuses(&l, "s");
  workload_set(&l, "tolerance", NAN);
  CHECK(workload_go(&l, NULL) == -EINVAL, "%s", l.run.error);
  workload_defaults(&l);
  workload_stops(&l);
  workload_close(&l);
  return check_done();
}
