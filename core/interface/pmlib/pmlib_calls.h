/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/interface/pmlib/pmlib_calls.h - library functions that PerfMonitor's members call.
 *
 * C alone, so that one library serves every C++ compiler and standard. Not for programs. Strings are borrowed for the
 * call; a NULL file is standard output. All that print but print_group are collective; rank 0 writes.
 */
#ifndef PML_COMPAT_PMLIB_CALLS_H
#define PML_COMPAT_PMLIB_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PMLIB_CALL __attribute__((visibility("default")))
#ifdef __cplusplus
extern "C" {
#endif

struct pmlib_setting {
  int processes, threads, rank;
};

PMLIB_CALL void pmlib_initialize(void);
/* pmlib_tell - false under BYPASS_PMLIB, when @s is one process. */
PMLIB_CALL bool pmlib_tell(struct pmlib_setting *s);
PMLIB_CALL void pmlib_properties(const char *label, int type,
                                 bool exclusive); /* type 0: bytes moved, else operations */
PMLIB_CALL void pmlib_start(const char *label);
PMLIB_CALL void pmlib_stop(const char *label, double work, unsigned iterations);
PMLIB_CALL void pmlib_reset(const char *label);
PMLIB_CALL void pmlib_reset_all(void);
PMLIB_CALL void pmlib_gather(void);
PMLIB_CALL void pmlib_stop_root(void);
PMLIB_CALL int pmlib_sections(void);       /* the background is one, number 0 */
PMLIB_CALL bool pmlib_in_parallel(int id); /* more than one thread was in it */
PMLIB_CALL void pmlib_set_mode(const char *mode);
PMLIB_CALL void pmlib_no_power(void);
PMLIB_CALL void pmlib_trace_close(void);
PMLIB_CALL void pmlib_report(FILE *fp);
PMLIB_CALL void pmlib_print(FILE *fp, const char *host, const char *comment, bool as_defined);
PMLIB_CALL void pmlib_print_detail(FILE *fp, bool legend, bool as_defined);
PMLIB_CALL void pmlib_print_threads(FILE *fp, int rank, bool as_defined);
PMLIB_CALL void pmlib_print_legend(FILE *fp);
PMLIB_CALL void pmlib_print_group(FILE *fp, uintptr_t group, const int *ranks, int number, bool legend,
                                  bool as_defined);
PMLIB_CALL void pmlib_print_colors(FILE *fp, int color, bool legend, bool as_defined);

#ifdef __cplusplus
}
#endif

#endif
