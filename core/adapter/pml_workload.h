/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/pml_workload.h - interface of C workloads that scripts run. */
#ifndef PML_WORKLOAD_H
#define PML_WORKLOAD_H

#include "adapter/pml_probe.h"

PML_BEGIN_DECLS

#define PML_WORKLOAD_MAX 16 /* limit of sites, options and results, each with its end mark */
#define PML_WORKLOAD_ABI 1

/* A workload is a shared object with one symbol, `const struct pml_workload pml_workload`. Options and results are
 * named numbers or strings, so that scripts handle all workloads in the same way. */
struct pml_workload_option {
  const char *name;
  const char *help;
  double value;     /* default */
  const char *text; /* default text; NULL: the option is a number */
};

/* Results of a workload: named numbers with units ("residual", "", 0.003). */
struct pml_workload_result {
  const char *name;
  const char *unit;
  double value;
};

/* A place in the workload where the probe is hit; each site has a separate probe. Sites are also regions: the workload
 * reads pml_clock_ticks() at its phases and stores them in @phase. */
struct pml_workload_phase {
  pml_region_t region;
  uint64_t enter_ticks, leave_ticks;
};

struct pml_workload_run {
  struct pml_probe *probe; /* [nsites], borrowed */
  const double *number;    /* [noptions] in the order of pml_workload.option */
  const char *const *text; /* [noptions]; NULL for numbers */
  struct pml_workload_result result[PML_WORKLOAD_MAX];
  unsigned nresults;
  struct pml_workload_phase *phase; /* [phase_capacity], borrowed, may be NULL: the phases for the trace, in order */
  size_t nphases, phase_capacity;
  const volatile int *stop; /* becomes non-zero when the user interrupts: return soon with -EINTR */
  char error[256];          /* a sentence, if run returns a negative code */
};

struct pml_workload {
  unsigned abi; /* PML_WORKLOAD_ABI */
  const char *name;
  const char *help;                                    /* one line */
  const char *site[PML_WORKLOAD_MAX];                  /* names of probe sites, NULL-terminated */
  struct pml_workload_option option[PML_WORKLOAD_MAX]; /* ends with name == NULL */
  int (*run)(struct pml_workload_run *r);              /* returns 0 or a negative code; must free all its memory */
};

PML_END_DECLS

#endif
