/* SPDX-License-Identifier: BSD-3-Clause */
/* core/compat/pmlib/pmlib_c.c - C_pm_*: PMlib's C interface. */
#include "compat/pmlib/pmlib_c.h"

#include "base/pml_error.h"

#include <errno.h>
#include <string.h>

FILE *pmlib_open_report(const char *name) {
  if (!pmlib_on() || pmlib.rank != 0 || name == NULL || *name == '\0') return stdout;
  FILE *fp = fopen(name, "a");
  if (fp != NULL) return fp;
  pmlib_warn("report: %.300s: %s; it goes to standard output", name, strerror(errno));
  return stdout;
}

void pmlib_close_report(FILE *fp) {
  if (fp == stdout) return;
  if (fclose(fp) != 0) pmlib_warn("report: %s", strerror(errno));
}

/* Open a file for one call. */
#define TO_FILE(name, call)                                                                                            \
  do {                                                                                                                 \
    FILE *fp = pmlib_open_report(name);                                                                                \
    call;                                                                                                              \
    pmlib_close_report(fp);                                                                                            \
  } while (0)

PML_API void C_pm_initialize(int init_nWatch) {
  (void)init_nWatch;
  pmlib_initialize();
}
CALL(C_pm_start, (const char *fc), pmlib_start(fc))
CALL(C_pm_stop, (const char *fc), pmlib_stop(fc, 0, 1))
CALL(C_pm_stop_usermode, (const char *fc, double fpt, unsigned tic), pmlib_stop(fc, fpt, tic))
CALL(C_pm_setproperties, (const char *fc, int f_type, int f_exclusive), pmlib_properties(fc, f_type, f_exclusive != 0))
CALL(C_pm_reset, (const char *fc), pmlib_reset(fc))
CALL(C_pm_resetall, (void), pmlib_reset_all())
CALL(C_pm_report, (const char *fc), TO_FILE(fc, pmlib_report(fp)))
CALL(C_pm_select_report, (const char *fc), C_pm_report(fc))
CALL(C_pm_print, (const char *fc, const char *fh, const char *fcmt, int fp_sort),
     TO_FILE(fc, pmlib_print(fp, fh, fcmt, fp_sort == 1)))
CALL(C_pm_printdetail, (const char *fc, int legend, int fp_sort),
     TO_FILE(fc, pmlib_print_detail(fp, legend == 1, fp_sort == 1)))
CALL(C_pm_printthreads, (const char *fc, int rank_ID, int fp_sort),
     TO_FILE(fc, pmlib_print_threads(fp, rank_ID, fp_sort == 1)))
CALL(C_pm_printlegend, (const char *fc), TO_FILE(fc, pmlib_print_legend(fp)))
CALL(C_pm_printprogress, (const char *fc, const char *comments, int fp_sort), C_pm_print(fc, "", comments, fp_sort))
PML_API void C_pm_printgroup(const char *fc, uintptr_t p_group, uintptr_t p_comm, const int *pp_ranks, int group,
                             int legend, int fp_sort) {
  (void)p_comm;
  TO_FILE(fc, pmlib_print_group(fp, p_group, pp_ranks, group, legend == 1, fp_sort == 1));
}
PML_API void C_pm_printcomm(const char *fc, uintptr_t new_comm, int icolor, int key, int legend, int fp_sort) {
  (void)new_comm;
  (void)key;
  TO_FILE(fc, pmlib_print_colors(fp, icolor, legend == 1, fp_sort == 1));
}
CALL(C_pm_posttrace, (void), pmlib_trace_close())
CALL(C_pm_gather, (void), pmlib_gather())
CALL(C_pm_sections, (int *nSections), *nSections = pmlib_sections())
PML_API void C_pm_serial_parallel(int id, int *mid, int *inside) {
  *mid = id;
  *inside = pmlib_in_parallel(id);
}
CALL(C_pm_stop_Root, (void), pmlib_stop_root())
PML_API void C_pm_mergethreads(int id) {
  (void)id; /* threads are merged at each output */
}
PML_API void C_pm_getpowerknob(int knob, int *value) {
  (void)knob;
  (void)value;
  pmlib_no_power();
}
PML_API void C_pm_setpowerknob(int knob, int value) {
  (void)knob;
  (void)value;
  pmlib_no_power();
}
