/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/pml_tune_plain.c - events of regions that have no rule, where only general registers may be used. */
#include "base/pml_stream.h"
#include "substrate/pml_tune_private.h"

bool pml__tune_plain(void *data, const struct pml_stream_event *e) {
  const struct pml__tune_thread *th = data;
  return pml__table_get(&th->rule_of, e->region) == PML__TUNE_NONE;
}
