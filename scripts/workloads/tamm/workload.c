/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/tamm/workload.c - the library as a workload: one contraction, the probe after each phase. */
#include "../workload.h"
#include "tamm.h"

#include <stdlib.h>

enum { CONTRACTION, OCCUPIED, VIRTUALS, UNPAIRED, TILE, THREADS, BLAS };
enum { FILL, CONTRACT, CHECK, SITES };

/* Rounding of sums of millions of products of numbers below 1 leaves some 1e-15. */
static const double error_max = 1e-11;

struct problem {
  const struct tamm_term *term;
  struct tamm_orbitals orbitals;
  struct tamm_tensor a, b, c;
  struct tamm_options options;
  struct tamm_report report;
  double error;
};

static int failed(struct pml_workload_run *r, int err, const struct tamm_error *e) {
  return err ? workload_fail(r, err, "%s", e->text) : 0;
}

static int read_options(struct pml_workload_run *r, struct problem *p) {
  struct tamm_shape shape;
  struct tamm_error e = {""};
  const char *blas = r->text[BLAS];
  p->term = tamm_term_by_name(r->text[CONTRACTION]);
  if (!p->term)
    return workload_fail(r, -EINVAL, "option contraction is %.40s, it must be t2_2_5, t2_6, t2_7, t2_7_3 or t2_8",
                         r->text[CONTRACTION]);
  int err = workload_size(r, OCCUPIED, "occupied", 1, TAMM_SPIN_MAX, &shape.occupied);
  if (!err) err = workload_size(r, VIRTUALS, "virtual", 1, TAMM_SPIN_MAX, &shape.virtuals);
  if (!err) err = workload_size(r, UNPAIRED, "unpaired", 0, TAMM_SPIN_MAX, &shape.unpaired);
  if (!err) err = workload_size(r, TILE, "tile", 1, TAMM_TILE_MAX, &shape.tile);
  if (!err) err = workload_size(r, THREADS, "threads", 1, TAMM_THREADS_MAX, &p->options.threads);
  if (err) return err;
  err = failed(r, tamm_orbitals_open(&p->orbitals, &shape, &e), &e);
  if (!err && !*blas) err = workload_fail(r, -EINVAL, "option blas is empty, it must be none, system or a path");
  p->options.dgemm = tamm_dgemm_own;
  p->options.interrupt = r->stop;
  if (!err && strcmp(blas, "none") != 0)
    err = failed(r, tamm_dgemm_load(strcmp(blas, "system") == 0 ? "" : blas, &p->options.dgemm, &e), &e);
  return err;
}

static int fill(struct pml_workload_run *r, struct problem *p) {
  struct tamm_error e = {""};
  uint64_t enter = pml_clock_ticks();
  int err = tamm_tensor_open(&p->a, &p->orbitals, p->term->a, &e);
  if (!err) err = tamm_tensor_open(&p->b, &p->orbitals, p->term->b, &e);
  if (!err) err = tamm_tensor_open(&p->c, &p->orbitals, p->term->c, &e);
  if (err) return failed(r, err, &e);
  tamm_tensor_fill(&p->a, 1);
  tamm_tensor_fill(&p->b, 2);
  return workload_site_done(r, FILL, SITES, enter);
}

static int contract(struct pml_workload_run *r, struct problem *p) {
  struct tamm_error e = {""};
  uint64_t enter = pml_clock_ticks();
  int err = failed(r, tamm_contract(p->term, &p->a, &p->b, &p->c, &p->options, &p->report, &e), &e);
  return err ? err : workload_site_done(r, CONTRACT, SITES, enter);
}

static int check(struct pml_workload_run *r, struct problem *p) {
  struct tamm_error e = {""};
  uint64_t enter = pml_clock_ticks();
  int err = failed(r, tamm_check(p->term, &p->a, &p->b, &p->c, &p->error, &e), &e);
  if (err) return err;
  workload_result(r, "error", "relative", p->error);
  if (!(p->error < error_max)) /* NaN fails, too */
    return workload_fail(r, PML_EFORMAT, "%s is wrong: relative error %.3g, it must be below %g", p->term->name,
                         p->error, error_max);
  return workload_site_done(r, CHECK, SITES, enter);
}

static int run(struct pml_workload_run *r) {
  struct problem *p = calloc(1, sizeof *p);
  if (!p) return workload_out_of_memory(r, sizeof *p);
  int err = read_options(r, p);
  if (!err) err = fill(r, p);
  if (!err) err = contract(r, p);
  if (!err) {
    workload_result(r, "tasks", "", (double)p->report.tasks);
    workload_result(r, "dgemms", "", (double)p->report.dgemms);
    workload_result(r, "flops", "", (double)p->report.flops);
    workload_result(r, "longest", "", (double)p->report.longest);
    workload_result(r, "runtime", "s", p->report.runtime_s);
    workload_result(r, "busy", "s", p->report.busy_s);
    err = check(r, p);
  }
  tamm_tensor_close(&p->a);
  tamm_tensor_close(&p->b);
  tamm_tensor_close(&p->c);
  free(p);
  return err;
}

const struct pml_workload pml_workload = {
    .abi = PML_WORKLOAD_ABI,
    .name = "tamm",
    .help = "a tiled tensor contraction of coupled cluster, with its tasks as sde:::TAMM:: events",
    .site = {"fill", "contract", "check"},
    .option = {[CONTRACTION] = {"contraction", "t2_2_5, t2_6, t2_7, t2_7_3 or t2_8", 0, "t2_7_3"},
               [OCCUPIED] = {"occupied", "occupied orbitals of alpha spin", 8, NULL},
               [VIRTUALS] = {"virtual", "virtual orbitals of alpha spin", 16, NULL},
               [UNPAIRED] = {"unpaired", "difference of beta spin: fewer occupied orbitals, more virtual ones", 0,
                             NULL},
               [TILE] = {"tile", "most orbitals in a tile", 4, NULL},
               [THREADS] = {"threads", "threads that work on the tasks", 1, NULL},
               [BLAS] = {"blas", "none: the workload's own DGEMM; system, or a path: that of a BLAS", 0, "none"}},
    .run = run,
};
