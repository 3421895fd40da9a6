/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/krylov/telemetry.c - the library's software-defined events, under sde:::KRYLOV::.
 *
 * The names and their suffixes (I integer, D double, RCRD series) are from H. Jagode, A. Danalis, H. Anzt,
 * J. Dongarra, PAPI software-defined events for in-depth performance analysis, table 2. All except the series are plain
 * variables: an update costs a store. They are stored whole (relaxed atomics), because a reader may be another thread;
 * values read at one moment need not belong to one iteration.
 */
#include "telemetry.h"

#include "solver.h"
#include "source/sde/pml_sde.h"

#include <pthread.h>

static struct {
  int64_t iterations, spmv, outcome, rows, nonzeros;
  int64_t stop; /* written from outside */
  double initial, final, iterative, true_residual, setup_s, runtime_s;
} told;

static struct pml_recorder *series, *eigenvalues;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int open_error;

static void set_integer(int64_t *to, int64_t v) {
  __atomic_store_n(to, v, __ATOMIC_RELAXED);
}

static void set_double(double *to, double v) {
  __atomic_store(to, &v, __ATOMIC_RELAXED);
}

static const struct {
  const char *name, *description;
  enum pml_type type;
  void *variable;
} event[] = {
    {"numiter_I", "Iterations so far, or that the last solve took", PML_TYPE_INT64, &told.iterations},
    {"SpmvCount_I", "Sparse matrix-vector products of the solve", PML_TYPE_INT64, &told.spmv},
    {"InitialResidual_D", "Norm of the residual before the first iteration", PML_TYPE_DOUBLE, &told.initial},
    {"FinalResidual_D", "Norm of the residual at the end, by the solver's own account", PML_TYPE_DOUBLE, &told.final},
    {"IterativeResidual_D", "Norm of the residual of the newest iteration", PML_TYPE_DOUBLE, &told.iterative},
    {"SolverRuntime_D", "Time of the solver, without the preconditioner's set-up [s]", PML_TYPE_DOUBLE,
     &told.runtime_s},
    {"TrueResidual_D", "Norm of b - A x at the end", PML_TYPE_DOUBLE, &told.true_residual},
    {"SetupRuntime_D", "Time to set the preconditioner up [s]", PML_TYPE_DOUBLE, &told.setup_s},
    {"MatrixRows_I", "Rows of the matrix", PML_TYPE_INT64, &told.rows},
    {"MatrixNonzeros_I", "Entries of the matrix", PML_TYPE_INT64, &told.nonzeros},
    {"Outcome_I",
     "How the solve ended: 0 converged, 1 iterations, 2 drifted, 3 diverged, 4 breakdown, 5 stopped, 6 interrupted; "
     "-1 under way",
     PML_TYPE_INT64, &told.outcome},
    {"Stop_I", "Write a 1: the solver ends after its iteration", PML_TYPE_INT64, &told.stop},
};

static int create_series(struct pml_sde_library *lib, const char *name, const char *description,
                         struct pml_recorder **r) {
  const struct pml_recorder_options options = {.type = PML_TYPE_DOUBLE};
  int err = pml_sde_create_recorder(lib, name, &options, r);
  return err ? err : pml_sde_describe(lib, name, description);
}

static void open_once(void) {
  struct pml_sde_library *lib;
  int err = pml_sde_library(&lib, "KRYLOV");
  for (size_t i = 0; i < sizeof event / sizeof *event && !err; i++) {
    unsigned access = event[i].variable == &told.stop ? PML_SDE_RW : PML_SDE_RO;
    err = pml_sde_register(lib, event[i].name, access | PML_SDE_INSTANT, event[i].type, event[i].variable);
    if (!err) err = pml_sde_describe(lib, event[i].name, event[i].description);
  }
  if (!err)
    err = create_series(lib, "IterativeResidual_RCRD_D", "Norm of the residual: initial, then after each iteration",
                        &series);
  if (!err) err = create_series(lib, "Eigenvalue_RCRD_D", "LOBPCG: the smallest eigenvalues, ascending", &eigenvalues);
  open_error = err;
}

int krylov__tell_open(struct krylov_error *e) {
  pthread_once(&once, open_once);
  return open_error ? krylov__fail(e, open_error, "the events of KRYLOV cannot be registered (error %d)", open_error)
                    : 0;
}

void krylov__tell_begin(const struct krylov_matrix *a) {
  set_integer(&told.stop, 0); /* a wish is for the solve under way */
  set_integer(&told.outcome, -1);
  set_integer(&told.iterations, 0);
  set_integer(&told.spmv, 0);
  set_integer(&told.rows, (int64_t)a->rows);
  set_integer(&told.nonzeros, (int64_t)a->nonzeros);
  double *const number[] = {&told.initial,       &told.final,   &told.iterative,
                            &told.true_residual, &told.setup_s, &told.runtime_s};
  for (size_t i = 0; i < sizeof number / sizeof *number; i++) set_double(number[i], 0);
  pml_recorder_reset(series);
  pml_recorder_reset(eigenvalues);
}

void krylov__tell_initial(double residual) {
  set_double(&told.initial, residual);
  set_double(&told.iterative, residual);
  pml_recorder_push(series, &residual);
}

bool krylov__tell_iteration(size_t n, double residual) {
  set_integer(&told.iterations, (int64_t)n);
  set_double(&told.iterative, residual);
  pml_recorder_push(series, &residual); /* a full recorder counts what it drops */
  return __atomic_load_n(&told.stop, __ATOMIC_RELAXED) == 0;
}

void krylov__tell_spmv(void) {
  __atomic_fetch_add(&told.spmv, 1, __ATOMIC_RELAXED);
}

void krylov__tell_setup(double seconds) {
  set_double(&told.setup_s, seconds);
}

void krylov__tell_end(const struct krylov_report *report) {
  set_double(&told.final, report->final_residual);
  set_double(&told.true_residual, report->true_residual);
  set_double(&told.runtime_s, report->runtime_s);
  for (size_t i = 0; i < report->neigenvalues; i++) pml_recorder_push(eigenvalues, &report->eigenvalue[i]);
  set_integer(&told.outcome, (int64_t)report->outcome);
}
