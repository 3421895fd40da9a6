/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/workload.h - what every workload needs: checked options, results, phases, stopping. */
#ifndef PMLUA_WORKLOAD_H
#define PMLUA_WORKLOAD_H

#include "adapter/pml_workload.h"
#include "base/pml_error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The one symbol a workload exports. */
__attribute__((visibility("default"))) extern const struct pml_workload pml_workload;

/* The sentence that goes with a negative code; returns the code. */
PML_PRINTF(3, 4) static inline int workload_fail(struct pml_workload_run *r, int code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(r->error, sizeof r->error, fmt, ap);
  va_end(ap);
  return code;
}

/* 0, or why the workload has to end now: the user interrupted it, or a probe's operation failed. */
static inline int workload_stopped(struct pml_workload_run *r, unsigned nsites) {
  if (PML_UNLIKELY(r->stop && *r->stop)) return workload_fail(r, -EINTR, "interrupted");
  for (unsigned i = 0; i < nsites; i++) {
    int err = r->probe[i].error;
    if (PML_UNLIKELY(err))
      return workload_fail(r, err, "site %u: the operation failed: %s", i + 1, pml_error_text(err));
  }
  return 0;
}

/* Numbers travel as double: only a whole one in [min, max] is a size. */
static inline int workload_size(struct pml_workload_run *r, unsigned option, const char *name, double min, double max,
                                size_t *out) {
  double v = r->number[option];
  if (!(v >= min && v <= max) || v != (double)(size_t)v)
    return workload_fail(r, -EINVAL, "option %s is %g, it must be a whole number from %.0f to %.0f", name, v, min, max);
  *out = (size_t)v;
  return 0;
}

static inline int workload_out_of_memory(struct pml_workload_run *r, double bytes) {
  return workload_fail(r, -ENOMEM, "no memory for %.1f MB, choose a smaller problem", bytes / 1e6);
}

static inline void workload_result(struct pml_workload_run *r, const char *name, const char *unit, double value) {
  if (r->nresults < PML_WORKLOAD_MAX) r->result[r->nresults++] = (struct pml_workload_result){name, unit, value};
}

/* A phase of the trace; those that do not fit are left out, the first ones are kept. */
static inline void workload_phase(struct pml_workload_run *r, pml_region_t region, uint64_t enter, uint64_t leave) {
  if (r->phase && r->nphases < r->phase_capacity)
    r->phase[r->nphases++] = (struct pml_workload_phase){region, enter, leave};
}

static inline int workload_region(struct pml_workload_run *r, const char *name, pml_region_t *id) {
  int err = pml_region_intern(name, NULL, 0, id);
  return err ? workload_fail(r, err, "region %s: %s", name, pml_error_text(err)) : 0;
}

/* The phase that is named like site @which ends: add the trace's entry and the probe, and return whether to continue.
 */
static inline int workload_site_done(struct pml_workload_run *r, unsigned which, unsigned nsites, uint64_t enter) {
  pml_region_t region = 0;
  int err = workload_region(r, pml_workload.site[which], &region);
  if (err) return err;
  workload_phase(r, region, enter, pml_clock_ticks());
  pml_probe_hit(&r->probe[which]);
  return workload_stopped(r, nsites);
}

#endif
