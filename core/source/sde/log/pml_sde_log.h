/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/log/pml_sde_log.h - the software-defined events in a log, as text. Internal. */
#ifndef PML_SDE_LOG_H
#define PML_SDE_LOG_H

#include "base/text/pml_text.h"
#include "record/recorder/pml_recorder_log.h"

/*
 * pml__sde_log_tell - lines for the events in @r, whose cells are @c, by their names:
 *
 *     counter   NAME KIND delta|instant integer|real VALUE AS_OF: ns since started, or -1: it is exact
 *     recorder  NAME COUNT DROPPED whole|cut NANS QUANTILES: 0, 25, 50, 75, 95, 99, 100 %, or 7 times -
 *
 * Returns 0 or a negative code with its sentence.
 */
int pml__sde_log_tell(struct pml__text *t, const struct pml__log_reader *r, const struct pml__log_cells *c);

#endif
