/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/compat/pmlib/pmlib_c.h - PMlib's C interface, for the Fortran interface.
 *
 * MPI handles are passed as uintptr_t: a pointer for Open MPI, an integer in the lower half for MPICH.
 */
#ifndef PML_COMPAT_PMLIB_C_H
#define PML_COMPAT_PMLIB_C_H

#include "compat/pmlib/pmlib.h"
#include "interface/pmlib/pmlib_api_C.h"

/* A function of the interface that only calls another one. */
#define CALL(name, parameters, call)                                                                                   \
  PML_API void name parameters {                                                                                       \
    call;                                                                                                              \
  }

void C_pm_printgroup(const char *fc, uintptr_t p_group, uintptr_t p_comm, const int *pp_ranks, int group, int legend,
                     int fp_sort);
void C_pm_printcomm(const char *fc, uintptr_t new_comm, int icolor, int key, int legend, int fp_sort);

/*
 * pmlib_open_report - open @name for appending; standard output if it is "", cannot be opened, or this is not rank 0.
 */
FILE *pmlib_open_report(const char *name);
void pmlib_close_report(FILE *fp);

#endif
