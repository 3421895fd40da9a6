/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_eventset_sums.c - Byfl's summary events. */
#include "source/sde/pml_eventset_sums.h"

/* Whether it is worth something in these sums alone; @among: bits of theirs. */
static bool only(const uint16_t *worth, unsigned among) {
  for (unsigned e = 0; e < PML_BYFL_EVENTS; e++)
    if (worth[e] > 0 && (among >> e & 1) == 0) return false;
  return true;
}

#define OF(event) (1u << PML_BYFL_##event)

static bool add_others(struct pml__sums *s, uint16_t cell, const uint16_t *worth) {
  for (uint32_t e = 0; e < PML_BYFL_EVENTS; e++) {
    if (worth[e] == 0) continue;
    if (s->others == PML__SUMS_OTHERS) return false;
    s->other[s->others++] = (struct pml__sums_other){cell, worth[e], (uint16_t)e};
  }
  return true;
}

bool pml__sums_add(struct pml__sums *s, uint32_t cell) {
  const uint16_t *w = pml_count_cells[cell].worth, at = (uint16_t)pml_count_place(cell);
  bool once = w[PML_BYFL_OP_COUNT] == 1;
  if (only(w, OF(LOAD_COUNT) | OF(LOAD_INS_COUNT) | OF(OP_COUNT)) && once && w[PML_BYFL_LOAD_INS_COUNT] == 1)
    s->load[s->loads++] = (struct pml__sums_move){at, w[PML_BYFL_LOAD_COUNT]};
  else if (only(w, OF(STORE_COUNT) | OF(STORE_INS_COUNT) | OF(OP_COUNT)) && once && w[PML_BYFL_STORE_INS_COUNT] == 1)
    s->store[s->stores++] = (struct pml__sums_move){at, w[PML_BYFL_STORE_COUNT]};
  else if (only(w, OF(OP_COUNT)) && once)
    s->one[s->ones++] = at;
  else if (only(w, OF(CALL_INS_COUNT) | OF(OP_COUNT)) && once && w[PML_BYFL_CALL_INS_COUNT] == 1)
    s->call[s->calls++] = at;
  else if (only(w, OF(FLOP_COUNT) | OF(FP_BITS_COUNT) | OF(OP_COUNT)))
    s->real[s->floats++] =
        (struct pml__sums_float){at, w[PML_BYFL_FLOP_COUNT], w[PML_BYFL_FP_BITS_COUNT], w[PML_BYFL_OP_COUNT]};
  else
    return add_others(s, at, w);
  return true;
}
