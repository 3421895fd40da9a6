/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/balance/pml_balance_gpr.c - regions that do not block, where only general registers may be used. */
#include "control/balance/pml_balance_private.h"

bool pml__balance_plain_enter(void *data, pml_region_t region, uint64_t ticks) {
  (void)ticks;
  return pml__balance_enter_plainly(data, region);
}

bool pml__balance_plain_leave(void *data, pml_region_t region, uint64_t ticks) {
  (void)ticks;
  return pml__balance_leave_plainly(data, region);
}
