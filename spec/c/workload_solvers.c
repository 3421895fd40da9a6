/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/workload_solvers.c - solvers and kernels as workloads: options, phases, known results. */
#include "workload.h"

static void krylov(void) {
  struct workload l;
  if (!workload_open(&l, "krylov", 4)) return;
  workload_text(&l, "matrix", "poisson2d:20");
  workload_text(&l, "preconditioner", "ilu0");
  CHECK(workload_go(&l, NULL) == 0 && workload_value(&l, "outcome") == 0 && workload_value(&l, "rows") == 400,
        "a system is solved: %s", l.run.error);
  CHECK(workload_value(&l, "true_residual") <= 10 * workload_value(&l, "final_residual") &&
            workload_value(&l, "iterations") > 0 && l.samples[0].n == 1 && l.samples[1].n == 1,
        "with its results, and a hit after each phase");
  workload_phases_in_order(&l, 2);
  workload_text(&l, "rhs", "zero");
  CHECK(workload_go(&l, NULL) == 0 && workload_value(&l, "iterations") == 0,
        "a zero right-hand side needs no iteration");
  static const char *const bad[][2] = {
      {"matrix", "/nonexistent.mtx"}, {"matrix", ""}, {"solver", "gauss"}, {"preconditioner", "ilu9"}, {"rhs", "left"}};
  for (size_t i = 0; i < 5; i++) workload_refuses_text(&l, bad[i][0], bad[i][1], bad[i][0]);
  workload_close(&l);
}

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

static void lu(void) {
  struct workload l;
  if (!workload_open(&l, "lu", 1000)) return;
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
  workload_set(&l, "n", 0);
  workload_refuses(&l, -EINVAL, "n");
  workload_set(&l, "n", 64);
  workload_set(&l, "nb", 0);
  workload_refuses(&l, -EINVAL, "nb");
  workload_set(&l, "nb", 8);
  workload_close(&l);
}

/* Each spin has one tile of occupied orbitals and two tiles of virtual orbitals: the result can be counted by hand. */
static void contracts(struct workload *l) {
  workload_set(l, "occupied", 3);
  workload_set(l, "virtual", 5);
  workload_set(l, "tile", 3);
  workload_set(l, "threads", 2);
  workload_text(l, "contraction", "t2_8");
  CHECK(workload_go(l, NULL) == 0, "a contraction is made: %s", l->run.error);
  CHECK(workload_value(l, "error") < 1e-13, "and is right: relative error %.2g", workload_value(l, "error"));
  CHECK(workload_value(l, "tasks") == 6 * 2 * 2, "a task for each block: 6 spin cases of 2 x 2 virtual tiles");
  CHECK(workload_value(l, "dgemms") == 2 * 4 * 4 + 4 * 4 * 8 && workload_value(l, "longest") == 8,
        "chains of 4 where both spins are alike, else of 8");
  CHECK(workload_value(l, "flops") == 20.0 * 3 * 3 * 5 * 5 * 5 * 5, "10 spin cases of o^2 v^4 pairs of operations");
  for (unsigned i = 0; i < 3; i++) CHECK(l->samples[i].n == 1, "a hit after %s", l->w->site[i]);
  workload_phases_in_order(l, 3);
}

static void tamm(void) {
  struct workload l;
  if (!workload_open(&l, "tamm", 4)) return;
  contracts(&l);
  workload_refuses_text(&l, "contraction", "t2_9", "contraction");
  workload_refuses_text(&l, "contraction", "", "contraction");
  workload_refuses_text(&l, "blas", "/nonexistent/libblas.so", "/nonexistent");
  workload_refuses_text(&l, "blas", "", "blas is empty");
  workload_set(&l, "unpaired", 8);
  workload_refuses(&l, -EINVAL, "");
  workload_close(&l);
}

/* Operations and numbers read and written per element, as the paper's sources have them. */
static const struct {
  const char *name;
  double flops, numbers;
} formula[] = {{"add", 1, 3}, {"mult", 1, 3}, {"fma", 2, 3},  {"divide", 1, 3}, {"sqrt", 1, 2},
               {"mix", 5, 3}, {"copy", 0, 2}, {"load", 0, 1}, {"peak", 2, 0}};

static void tells(struct workload *l, const char *build) {
  for (size_t i = 0; i < sizeof formula / sizeof *formula; i++) {
    workload_defaults(l);
    workload_text(l, "kernel", formula[i].name);
    workload_text(l, "build", build);
    workload_text(l, "precision", i % 2 ? "single" : "double");
    workload_set(l, "n", 768);
    workload_set(l, "batch_ns", 5000);
    workload_set(l, "samples", 3);
    int err = workload_go(l, NULL);
    if (err == -ENOTSUP && strstr(l->run.error, "cannot run")) {
      SKIP(l->run.error);
      return;
    }
    CHECK(err == 0 && l->samples[0].n == 3 && workload_value(l, "flops") == 768 * formula[i].flops &&
              workload_value(l, "bytes") == 768 * formula[i].numbers * (i % 2 ? 4 : 8),
          "%s in build %s: three samples, %g operations, %g bytes %s", formula[i].name, build,
          workload_value(l, "flops"), workload_value(l, "bytes"), l->run.error);
    CHECK(workload_value(l, "calls") >= 1 && workload_value(l, "overhead") > 0 && workload_value(l, "spread") >= 1 &&
              workload_value(l, "calls_made") > 3 * workload_value(l, "calls") && workload_value(l, "cores") >= 1,
          "with the calls of a batch (%g), and what calling costs", workload_value(l, "calls"));
  }
}

static void kernels(void) {
  struct workload l;
  if (!workload_open(&l, "kernels", 100)) return;
  const char *const build[] = {"scalar", "128", "256", "512"};
  for (unsigned i = 0; i < 4; i++) tells(&l, build[i]);
  static const char *const bad[][2] = {
      {"kernel", "sin"}, {"kernel", "empty"}, {"precision", "half"}, {"build", "1024"}};
  for (size_t i = 0; i < 4; i++) workload_refuses_text(&l, bad[i][0], bad[i][1], bad[i][0]);
  workload_set(&l, "copies", 1e5);
  workload_refuses(&l, -EINVAL, "copies");
  workload_text(&l, "kernel", "peak");
  workload_set(&l, "n", 100);
  workload_refuses(&l, -EINVAL, "384"); /* the peak has its lengths */
  workload_set(&l, "copies", 1);
  CHECK(workload_go(&l, NULL) == 0 && workload_value(&l, "cores") == 1, "one copy runs on the calling thread");
  workload_phases_in_order(&l, 1);
  workload_close(&l);
}

int main(void) {
  krylov();
  lu();
  tamm();
  kernels();
  return check_done();
}
