/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/section/pml_sde_log_read.h - software-defined events in a log, as a list and in a summary. Internal. */
#ifndef PML_SDE_LOG_READ_H
#define PML_SDE_LOG_READ_H

#include "read/log/pml_recorder_log.h"
#include "read/summary/pml_summary.h"

/* The final state of a counter or recorder. */
struct pml__sde_left {
  char *name;
  const char *kind;   /* kind of a counter; NULL: a recorder, which uses the fields after as_of_ns */
  bool instant, real; /* it is instant; its value is a double */
  uint64_t bits;      /* of the value */
  int64_t as_of_ns;   /* time of the value since the process's start; -1: the value is exact */
  uint64_t count, dropped, nans;
  bool cut, has_quantiles; /* further elements are not in the log */
  double quantile[PML__QUANTILES];
};
struct pml__sde_log {
  struct pml__sde_left *at;
  size_t n, room;
};

/*
 * pml__sde_log_read - the events in @r, whose cells are @c, by their names. Returns 0 or a negative code with its
 * sentence; drop the list either way.
 */
PML__SHARED int pml__sde_log_read(struct pml__sde_log *list, const struct pml__log_reader *r,
                                  const struct pml__log_cells *c);
PML__SHARED void pml__sde_log_drop(struct pml__sde_log *list);

/*
 * pml__sde_log_summary - add the same as rows of process @number to @s. Returns 0 or a negative code with its sentence.
 *
 *   row                    detail             values, and other fields
 *   PML_SUMMARY_COUNTER    "level" or ""      value
 *   PML_SUMMARY_RECORDER                      elements, dropped; calls and sketch describe the elements
 */
int pml__sde_log_summary(struct pml_summary *s, int64_t number, const struct pml__log_reader *r,
                         const struct pml__log_cells *c);

#endif
