/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/compat/pmlib/pmlib_fortran.c - f_pm_*: PMlib's Fortran interface, with the symbol names of gfortran and
 * compatible compilers.
 *
 * Every argument is a reference. The lengths of strings follow the arguments, as int in old compilers, as size_t in
 * newer ones; an int is the lower half of either on all platforms of pmlua. Trailing blanks of a string are ignored.
 */
#include "compat/pmlib/pmlib_c.h"

#include <stdlib.h>
#include <string.h>

#define SHORT 256

/* Convert a Fortran string to C: in @room if it fits, otherwise malloc'd; free with drop(). */
static char *text(const char *s, int n, char room[SHORT]) {
  while (n > 0 && s[n - 1] == ' ') n--;
  if (n < 0) n = 0;
  char *c = n < SHORT ? room : malloc((size_t)n + 1);
  if (c == NULL) {
    c = room;
    n = SHORT - 1;
  }
  memcpy(c, s, (size_t)n);
  c[n] = '\0';
  return c;
}

static void drop(char *c, const char *room) {
  if (c != room) free(c);
}

#define WITH(s, n, name, call)                                                                                         \
  do {                                                                                                                 \
    char room[SHORT], *name = text((s), (n), room);                                                                    \
    call;                                                                                                              \
    drop(name, room);                                                                                                  \
  } while (0)

/* Called only by compiled Fortran, which needs no prototypes. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

CALL(f_pm_initialize_, (const int *init_nWatch), C_pm_initialize(*init_nWatch))
CALL(f_pm_start_, (const char *fc, int n), WITH(fc, n, label, pmlib_start(label)))
CALL(f_pm_stop_, (const char *fc, int n), WITH(fc, n, label, pmlib_stop(label, 0, 1)))
CALL(f_pm_stop_usermode_, (const char *fc, const double *fpt, const unsigned *tic, int n),
     WITH(fc, n, label, pmlib_stop(label, *fpt, *tic)))
CALL(f_pm_setproperties_, (const char *fc, const int *f_type, const int *f_exclusive, int n),
     WITH(fc, n, label, C_pm_setproperties(label, *f_type, *f_exclusive)))
CALL(f_pm_reset_, (const char *fc, int n), WITH(fc, n, label, pmlib_reset(label)))
CALL(f_pm_resetall_, (void), pmlib_reset_all())
CALL(f_pm_report_, (const char *fc, int n), WITH(fc, n, file, C_pm_report(file)))
CALL(f_pm_select_report_, (const char *fc, int n), f_pm_report_(fc, n))
PML_API void f_pm_print_(const char *fc, const char *fh, const char *fcmt, const int *fp_sort, int n, int nh,
                         int ncmt) {
  char host_room[SHORT], comment_room[SHORT];
  char *host = text(fh, nh, host_room), *comment = text(fcmt, ncmt, comment_room);
  WITH(fc, n, file, C_pm_print(file, host, comment, *fp_sort));
  drop(host, host_room);
  drop(comment, comment_room);
}
CALL(f_pm_printdetail_, (const char *fc, const int *legend, const int *fp_sort, int n),
     WITH(fc, n, file, C_pm_printdetail(file, *legend, *fp_sort)))
CALL(f_pm_printthreads_, (const char *fc, const int *rank_ID, const int *fp_sort, int n),
     WITH(fc, n, file, C_pm_printthreads(file, *rank_ID, *fp_sort)))
CALL(f_pm_printlegend_, (const char *fc, int n), WITH(fc, n, file, C_pm_printlegend(file)))
PML_API void f_pm_printgroup_(const char *fc, const int *p_group, const int *p_comm, const int *pp_ranks,
                              const int *group, const int *legend, const int *fp_sort, int n) {
  (void)p_comm;
  uintptr_t handle = pmlib_mpi_group_of_fortran(*p_group);
  WITH(fc, n, file, C_pm_printgroup(file, handle, 0, pp_ranks, *group, *legend, *fp_sort));
}
PML_API void f_pm_printcomm_(const char *fc, const int *new_comm, const int *icolor, const int *key, const int *legend,
                             const int *fp_sort, int n) {
  (void)new_comm;
  WITH(fc, n, file, C_pm_printcomm(file, 0, *icolor, *key, *legend, *fp_sort));
}
CALL(f_pm_posttrace_, (void), C_pm_posttrace())
CALL(f_pm_gather_, (void), C_pm_gather())
CALL(f_pm_sections_, (int *nSections), C_pm_sections(nSections))
CALL(f_pm_serial_parallel_, (const int *id, int *mid, int *inside), C_pm_serial_parallel(*id, mid, inside))
CALL(f_pm_stop_root_, (void), pmlib_stop_root())
CALL(f_pm_mergethreads_, (const int *id), C_pm_mergethreads(*id))
CALL(f_pm_getpowerknob_, (const int *knob, int *value), C_pm_getpowerknob(*knob, value))
CALL(f_pm_setpowerknob_, (const int *knob, const int *value), C_pm_setpowerknob(*knob, *value))
