/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/interface/pmlib/pmlib_api_C.h - PMlib 9's C interface, documented in PerfMonitor.h.
 *
 * File names: "" is standard output, else the report is appended; under MPI rank 0 alone writes. Types: 0 data moved,
 * 1 operations. f_exclusive and legend: 0 or 1. fp_sort: 0 by time, 1 as defined. Strings are borrowed for the call.
 */
#ifndef PML_COMPAT_PMLIB_API_C_H
#define PML_COMPAT_PMLIB_API_C_H

#ifdef __cplusplus
extern "C" {
#endif

extern void C_pm_initialize(int init_nWatch);
extern void C_pm_start(const char *fc);
extern void C_pm_stop(const char *fc);
extern void C_pm_stop_usermode(const char *fc, double fpt, unsigned tic);
extern void C_pm_setproperties(const char *fc, int f_type, int f_exclusive);
extern void C_pm_reset(const char *fc);
extern void C_pm_resetall(void);
extern void C_pm_report(const char *fc);
extern void C_pm_select_report(const char *fc);
extern void C_pm_print(const char *fc, const char *fh, const char *fcmt, int fp_sort);
extern void C_pm_printdetail(const char *fc, int legend, int fp_sort);
extern void C_pm_printthreads(const char *fc, int rank_ID, int fp_sort);
extern void C_pm_printlegend(const char *fc);
extern void C_pm_printprogress(const char *fc, const char *comments, int fp_sort);
extern void C_pm_posttrace(void);
extern void C_pm_gather(void);
extern void C_pm_sections(int *nSections);
extern void C_pm_serial_parallel(int id, int *mid, int *inside);
extern void C_pm_stop_Root(void);
extern void C_pm_mergethreads(int id);
extern void C_pm_getpowerknob(int knob, int *value);
extern void C_pm_setpowerknob(int knob, int value);

/* Handles are passed as the program's own mpi.h has them, pointers or integers: include that first. */
#ifdef MORE_MPI_MEMBERS
extern void C_pm_printgroup(const char *fc, MPI_Group p_group, MPI_Comm p_comm, int *pp_ranks, int group, int legend,
                            int fp_sort);
extern void C_pm_printcomm(const char *fc, MPI_Comm new_comm, int icolor, int key, int legend, int fp_sort);
#endif

#ifdef __cplusplus
}
#endif

#endif
