/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/tune/pml_tune_gpr.c - events of regions that have no rule, where only general registers may be used.
 */
#include "base/pml_stream.h"
#include "control/tune/pml_tune_private.h"

bool pml__tune_plain(void *data, pml_region_t region, uint64_t ticks) {
  (void)ticks;
  return pml__tune_has_none(data, region);
}
