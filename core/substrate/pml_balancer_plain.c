/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/pml_balancer_plain.c - regions that block nobody, where only general registers may be used. */
#include "substrate/pml_balancer_private.h"

bool pml__balancer_plain_enter(void *data, const struct pml_stream_event *e) {
  struct pml__balancer_thread *th = data;
  if (th->depth == th->room || pml__table_get(&th->table, e->region) != PML__BALANCER_PLAIN) return false;
  pml__balancer_push(th, e->region);
  return true;
}

bool pml__balancer_plain_leave(void *data, const struct pml_stream_event *e) {
  struct pml__balancer_thread *th = data;
  if (th->depth == 0 || th->step[th->depth - 1].region != e->region || th->depth == th->blocking) return false;
  th->depth--;
  return true;
}
