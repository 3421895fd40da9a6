/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/wrap/pml_wrap_private.h - declarations shared by the files of wrappers. */
#ifndef PML_WRAP_PRIVATE_H
#define PML_WRAP_PRIVATE_H

#include "adapter/intercept/pml_intercept_wrapped.h"

/* Fill in the counts of texts. */
void pml__wrap_count_texts(struct pml_wrap_stats *s);

#endif
