/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/workloads/tamm/telemetry.c - the library's software-defined events, under sde:::TAMM::.
 *
 * The names and kinds of the events that end in _I are from H. Jagode, A. Danalis, H. Anzt, J. Dongarra, PAPI
 * software-defined events for in-depth performance analysis, table 4; the others are ours. Counts are deltas, created
 * counters to which each thread adds separately. The series with a number describe the last contraction of this number;
 * they are filled at its end, in the order of the tasks, so that element i of each is the same task for all threads.
 */
#include "telemetry.h"

#include "source/sde/pml_sde.h"

#include <pthread.h>
#include <stdio.h>

enum { LENGTH, FLOPS, TIME, THREAD, SERIES };

static struct {
  struct pml_sde_counter *dgemms, *flops;
  int64_t longest;
  double runtime_s, check_error;
  struct pml_recorder *series[SERIES];
} told[TAMM_TERMS];
static int64_t contraction;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int open_error;

static const struct {
  const char *name, *description;
  enum pml_type type;
} series[SERIES] = {
    [LENGTH] = {"LengthPerTask_RCRD_I", "Sequential DGEMMs of each task", PML_TYPE_INT64},
    [FLOPS] = {"FlopsPerTask_RCRD_I", "Floating-point operations of each task", PML_TYPE_INT64},
    [TIME] = {"TimePerTask_RCRD_D", "Time of each task [s]", PML_TYPE_DOUBLE},
    [THREAD] = {"TimePerThread_RCRD_D", "Time of each thread in tasks [s]", PML_TYPE_DOUBLE},
};

#define NAME_BYTES 64

static void name_of(char name[NAME_BYTES], const char *event, unsigned i) {
  snprintf(name, NAME_BYTES, "%s::ContrID=%d", event, tamm_term[i].id);
}

static int describe(struct pml_sde_library *lib, const char *event, unsigned i, const char *what) {
  char name[NAME_BYTES], text[160];
  name_of(name, event, i);
  snprintf(text, sizeof text, "%s: %s", tamm_term[i].name, what);
  return pml_sde_describe(lib, name, text);
}

static int create(struct pml_sde_library *lib, const char *event, unsigned i, const char *what,
                  struct pml_sde_counter **c) {
  char name[NAME_BYTES];
  name_of(name, event, i);
  int err = pml_sde_create(lib, name, PML_SDE_RO | PML_SDE_DELTA, c);
  return err ? err : describe(lib, event, i, what);
}

static int expose(struct pml_sde_library *lib, const char *event, unsigned i, const char *what, enum pml_type type,
                  void *variable) {
  char name[NAME_BYTES];
  name_of(name, event, i);
  int err = pml_sde_register(lib, name, PML_SDE_RO | PML_SDE_INSTANT, type, variable);
  return err ? err : describe(lib, event, i, what);
}

static int open_term(struct pml_sde_library *lib, unsigned i) {
  int err = create(lib, "DgemmCount_I", i, "Total number of DGEMMs", &told[i].dgemms);
  if (!err) err = create(lib, "FlopCount_I", i, "Total number of floating-point operations", &told[i].flops);
  if (!err)
    err = expose(lib, "MaxTaskLength_I", i, "Most sequential DGEMMs of a task", PML_TYPE_INT64, &told[i].longest);
  if (!err) err = expose(lib, "RunTime_D", i, "Time of the contraction [s]", PML_TYPE_DOUBLE, &told[i].runtime_s);
  if (!err) err = expose(lib, "CheckError_D", i, "Relative error of the result", PML_TYPE_DOUBLE, &told[i].check_error);
  for (unsigned k = 0; k < SERIES && !err; k++) {
    const struct pml_recorder_options options = {.type = series[k].type};
    char name[NAME_BYTES];
    name_of(name, series[k].name, i);
    err = pml_sde_create_recorder(lib, name, &options, &told[i].series[k]);
    if (!err) err = describe(lib, series[k].name, i, series[k].description);
  }
  return err;
}

static void open_once(void) {
  struct pml_sde_library *lib;
  int err = pml_sde_library(&lib, "TAMM");
  if (!err) err = pml_sde_register(lib, "ContractionID_I", PML_SDE_RO | PML_SDE_INSTANT, PML_TYPE_INT64, &contraction);
  if (!err) err = pml_sde_describe(lib, "ContractionID_I", "Number of the contraction under way, or the last");
  for (unsigned i = 0; i < TAMM_TERMS && !err; i++) err = open_term(lib, i);
  open_error = err;
}

int tamm__tell_open(struct tamm_error *e) {
  pthread_once(&once, open_once);
  return open_error ? tamm__fail(e, open_error, "the events of TAMM cannot be registered (error %d)", open_error) : 0;
}

static size_t place(const struct tamm_term *term) {
  return (size_t)(term - tamm_term);
}

static void set_double(double *to, double v) {
  __atomic_store(to, &v, __ATOMIC_RELAXED);
}

void tamm__tell_begin(const struct tamm_term *term) {
  size_t i = place(term);
  __atomic_store_n(&contraction, term->id, __ATOMIC_RELAXED);
  __atomic_store_n(&told[i].longest, 0, __ATOMIC_RELAXED);
  set_double(&told[i].runtime_s, 0);
  set_double(&told[i].check_error, -1); /* not checked yet */
  for (unsigned k = 0; k < SERIES; k++) pml_recorder_reset(told[i].series[k]);
}

void tamm__tell_dgemm(const struct tamm_term *term, int64_t flops) {
  pml_sde_increment(told[place(term)].dgemms, 1);
  pml_sde_increment(told[place(term)].flops, flops);
}

void tamm__tell_length(const struct tamm_term *term, int64_t dgemms) {
  int64_t *longest = &told[place(term)].longest, now = __atomic_load_n(longest, __ATOMIC_RELAXED);
  while (now < dgemms &&
         !__atomic_compare_exchange_n(longest, &now, dgemms, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

void tamm__tell_task(const struct tamm_term *term, const struct tamm__task *task) {
  struct pml_recorder **r = told[place(term)].series; /* a full recorder counts what it drops */
  pml_recorder_push(r[LENGTH], &task->dgemms);
  pml_recorder_push(r[FLOPS], &task->flops);
  pml_recorder_push_double(r[TIME], task->seconds);
}

void tamm__tell_thread(const struct tamm_term *term, double seconds) {
  pml_recorder_push_double(told[place(term)].series[THREAD], seconds);
}

void tamm__tell_end(const struct tamm_term *term, const struct tamm_report *report) {
  set_double(&told[place(term)].runtime_s, report->runtime_s);
}

void tamm__tell_check(const struct tamm_term *term, double error) {
  set_double(&told[place(term)].check_error, error);
}
