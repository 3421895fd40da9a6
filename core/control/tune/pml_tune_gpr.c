/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/tune/pml_tune_gpr.c - events of regions without a rule, in general registers only. */
#include "control/tune/pml_tune_private.h"

uint64_t pml__tune_fast(void *data, pml_region_t region, uint64_t ticks) {
  return pml__tune_has_none(data, region) ? 0 : ticks;
}
