/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/summary/pml_summary_private.h - declarations shared by the files of a summary. Internal. */
#ifndef PML_SUMMARY_PRIVATE_H
#define PML_SUMMARY_PRIVATE_H

#include "record/summary/pml_summary.h"

/* pml__summary_seen - processes @first to @last are among those that were added up: 0 or -ENOMEM. */
int pml__summary_seen(struct pml_summary *s, int64_t first, int64_t last);

#endif
