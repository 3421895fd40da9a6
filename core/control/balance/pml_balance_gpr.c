/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/balance/pml_balance_gpr.c - regions that do not block, in general registers only. */
#include "control/balance/pml_balance_private.h"

uint64_t pml__balance_enter_fast(void *data, pml_region_t region, uint64_t ticks) {
  return pml__balance_enter_plainly(data, region) ? 0 : ticks;
}

uint64_t pml__balance_leave_fast(void *data, pml_region_t region, uint64_t ticks) {
  return pml__balance_leave_plainly(data, region) ? 0 : ticks;
}
