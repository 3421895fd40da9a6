/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/krylov_told.c - what the library tells by its events is what its report says, and it can be told to stop. */
#include "krylov.h"

#define POLLS 20000

static double told(const char *name) {
  char full[96];
  struct pml_sde_event *ev;
  struct pml_value v = {.type = PML_TYPE_DOUBLE, .d = NAN};
  snprintf(full, sizeof full, "sde:::KRYLOV::%s", name);
  if (pml_sde_find(full, &ev, NULL) < 0) return NAN;
  if (pml_sde_read(ev, &v) < 0) v = (struct pml_value){.type = PML_TYPE_DOUBLE, .d = NAN};
  pml_sde_release(ev);
  return pml_value_number(&v);
}

static void tells(struct system *y) {
  const struct krylov_report *r = &y->report;
  CHECK(told("numiter_I") == (double)r->iterations && told("SpmvCount_I") == (double)r->spmv,
        "iterations and products");
  CHECK(told("InitialResidual_D") == r->initial_residual && told("FinalResidual_D") == r->final_residual &&
            told("IterativeResidual_D") == r->final_residual && told("TrueResidual_D") == r->true_residual,
        "residuals");
  CHECK(told("SolverRuntime_D") == r->runtime_s && told("SetupRuntime_D") == r->setup_s && r->runtime_s > 0, "times");
  CHECK(told("MatrixRows_I") == (double)y->a.rows && told("MatrixNonzeros_I") == (double)y->a.nonzeros, "the matrix");
  CHECK(told("Outcome_I") == (double)r->outcome && told("IterativeResidual_RCRD_D:CNT") == (double)r->iterations + 1,
        "the outcome, and a residual for every iteration");
}

static void keeps_the_series(struct system *y) {
  struct pml_sde_event *ev;
  struct pml_sde_info info;
  double first[2] = {0}, last = 0;
  if (!CHECK(pml_sde_find("KRYLOV::IterativeResidual_RCRD_D", &ev, NULL) == 0 && pml_sde_info(ev, &info) == 0 &&
                 info.recorder,
             "the series has a recorder"))
    return;
  size_t n = (size_t)pml_recorder_count(info.recorder);
  CHECK(pml_recorder_copy(info.recorder, 0, first, 2) == 2 && pml_recorder_copy(info.recorder, n - 1, &last, 1) == 1 &&
            first[0] == y->report.initial_residual && last == y->report.final_residual,
        "it begins and ends where the solver did: %g, %g", first[0], last);
  pml_sde_release(ev);
}

static void *stopper(void *finding) {
  struct pml_sde_event *iterations, *stop;
  struct pml_value one = {.type = PML_TYPE_INT64, .i = 1}, now = {.type = PML_TYPE_INT64};
  int err = pml_sde_find("KRYLOV::numiter_I", &iterations, NULL);
  if (!err) err = pml_sde_find("KRYLOV::Stop_I", &stop, NULL);
  for (int i = 0; i < POLLS && !err && now.i < 10; i++) {
    usleep(100);
    err = pml_sde_read(iterations, &now);
  }
  if (!err) err = pml_sde_write(stop, &one);
  pml_sde_release(iterations);
  pml_sde_release(stop);
  *(int *)finding = err;
  return NULL;
}

/* The system is so large that the other thread gets a cpu long before the residual is 0. */
static void stops_when_told(struct system *y) {
  pthread_t thread;
  int finding = 1;
  y->options.iterations = 100000000; /* without being stopped it would not end */
  y->options.tolerance = 1e-300;
  struct krylov_report *r = &y->report;
  /* numiter_I is still that of the solve before: this one has to be under way first */
  y->options.iterations = 1;
  system_solve(y, KRYLOV_IDR, false);
  y->options.iterations = 100000000;
  if (!CHECK(pthread_create(&thread, NULL, stopper, &finding) == 0, "a second thread")) return;
  int err = system_solve(y, KRYLOV_IDR, false);
  pthread_join(thread, NULL);
  CHECK(finding == 0 && err == 0 && r->outcome == KRYLOV_STOPPED && r->iterations >= 10,
        "a write to Stop_I by another thread ends a solve (%s after %zu: %s)", krylov_outcome_name(r->outcome),
        r->iterations, r->why);
}

int main(void) {
  struct system y;
  if (!system_open(&y, "convdiff2d:30")) return check_done();
  CHECK(told("numiter_I") == -1, "before the first solve its events are placeholders");
  for (int ilu = 0; ilu < 2; ilu++)
    for (int solver = 0; solver < KRYLOV_LOBPCG; solver++) {
      if (solver == KRYLOV_CG) continue;
      CHECK(system_solve(&y, (enum krylov_solver)solver, ilu) == 0, "%s",
            krylov_solver_name((enum krylov_solver)solver));
      tells(&y);
    }
  keeps_the_series(&y);
  system_close(&y);
  if (!system_open(&y, "convdiff2d:300")) return check_done();
  stops_when_told(&y);
  system_close(&y);
  return check_done();
}
