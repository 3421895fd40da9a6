/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/workload_lu.c - the LU factorisation solves systems of all shapes, phase by phase. */
#include "workload.h"

static void solves(struct workload *l, double n, double nb) {
  workload_set(l, "n", n);
  workload_set(l, "nb", nb);
  int err = workload_go(l, NULL);
  double residual = workload_value(l, "residual"), panels = ceil(n / nb);
  CHECK(err == 0 && residual >= 0 && residual < 16, "n = %g, nb = %g: scaled residual %.3g %s", n, nb, residual,
        l->run.error);
  bool hits = true;
  for (unsigned i = 0; i < l->nsites; i++) hits = hits && (double)l->samples[i].n == panels;
  CHECK(hits && workload_value(l, "panels") == panels, "each of the four phases is probed %g times", panels);
  workload_phases_in_order(l, (size_t)panels * 4);
}

int main(void) {
  struct workload l;
  if (!workload_open(&l, "lu", 1000)) return check_done();
  CHECK(l.nsites == 4, "four phases");
  const double shape[][2] = {{1, 1}, {1, 64}, {2, 1}, {3, 2}, {5, 4}, {64, 64}, {100, 7}, {129, 64}, {200, 256}};
  for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) solves(&l, shape[i][0], shape[i][1]);
  workload_set(&l, "n", 96);
  workload_set(&l, "nb", 32);
  workload_set(&l, "repeats", 5);
  CHECK(workload_go(&l, NULL) == 0 && l.samples[0].n == 15 && workload_value(&l, "residual") < 16,
        "five systems one after the other: %s", l.run.error);
  CHECK(workload_value(&l, "rate") > 0, "a rate");
  workload_defaults(&l);
  workload_refuses(&l, "n");
  workload_refuses(&l, "nb");
  workload_refuses(&l, "repeats");
  workload_refuses(&l, "seed");
  workload_set(&l, "n", 0);
  CHECK(workload_go(&l, NULL) == -EINVAL, "no unknowns are refused: %s", l.run.error);
  workload_set(&l, "n", 64);
  workload_set(&l, "nb", 0);
  CHECK(workload_go(&l, NULL) == -EINVAL, "a panel of no columns is refused: %s", l.run.error);
  workload_set(&l, "nb", 8);
  workload_stops(&l);
  workload_close(&l);
  return check_done();
}
