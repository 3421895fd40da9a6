/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/log/pml_sde_log.h - software-defined events in a log, as text and in a summary. Internal. */
#ifndef PML_SDE_LOG_H
#define PML_SDE_LOG_H

#include "base/text/pml_text.h"
#include "record/recorder/pml_recorder_log.h"
#include "record/summary/pml_summary.h"

/*
 * pml__sde_log_tell - lines for the events in @r, whose cells are @c, by their names:
 *
 *     counter   NAME KIND delta|instant integer|real VALUE AS_OF: ns since started, or -1: it is exact
 *     recorder  NAME COUNT DROPPED whole|cut NANS QUANTILES: 0, 25, 50, 75, 95, 99, 100 %, or 7 times -
 *
 * Returns 0 or a negative code with its sentence.
 */
int pml__sde_log_tell(struct pml__text *t, const struct pml__log_reader *r, const struct pml__log_cells *c);

/*
 * pml__sde_log_summary - the same as rows of @s, of process @number. Returns 0 or a negative code with its sentence.
 *
 *   row                    detail             values, and what else it has
 *   PML_SUMMARY_COUNTER    "level" or ""      value
 *   PML_SUMMARY_RECORDER                      elements, dropped; its calls and its sketch are those of the elements
 */
int pml__sde_log_summary(struct pml_summary *s, int64_t number, const struct pml__log_reader *r,
                         const struct pml__log_cells *c);

#endif
