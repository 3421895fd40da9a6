/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/sde/pml_eventset_sums.h - Byfl's nine sums over a thread's counters, in one pass. Internal.
 *
 * A cell is worth something in several of the sums, and most cells are worth it in one of five ways: cells are listed
 * by these, so that each is loaded once and a read has no branch but its loops.
 */
#ifndef PML_EVENTSET_SUMS_H
#define PML_EVENTSET_SUMS_H

#include "source/compiler/pml_count_cells.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Cells by their places. */
struct pml__sums_move { /* a load or a store, and an operation */
  uint16_t cell, bytes;
};
struct pml__sums_float {
  uint16_t cell, flops, bits, lanes; /* an operation for each lane */
};
struct pml__sums_other {
  uint16_t cell, worth, event;
};
#define PML__SUMS_OTHERS 512u

struct pml__sums {
  uint32_t loads, stores, floats, ones, calls, others;
  struct pml__sums_move load[PML_MEMORY_FORM_COUNT], store[PML_MEMORY_FORM_COUNT];
  struct pml__sums_float real[PML_CELL_COUNT];
  uint16_t one[PML_CELL_COUNT], call[PML_CELL_COUNT]; /* an operation; and a call */
  struct pml__sums_other other[PML__SUMS_OTHERS];
};

/* Relaxed: each cell is right for itself. */
static inline uint64_t pml__sums_load(const uint64_t *cells, uint16_t cell) {
  return __atomic_load_n(&cells[cell], __ATOMIC_RELAXED);
}

/* Output of sums: each to @to, @stride words apart, minus the value of @base at the same distance unless it is NULL. */
struct pml__sums_out {
  uint64_t *to;
  const uint64_t *base;
  uint32_t stride, base_stride;
};
static inline void pml__sums_put(struct pml__sums_out o, enum pml_byfl e, uint64_t sum) {
  o.to[e * o.stride] = o.base != NULL ? sum - o.base[e * o.base_stride] : sum;
}

/* Inlined, so that strides are constants. */
__attribute__((always_inline)) static inline void pml__sums_run(const struct pml__sums *s, const uint64_t *cells,
                                                                struct pml__sums_out o) {
  uint64_t n, bytes = 0, operations = 0, loads = 0, stores = 0, calls = 0, flops = 0, bits = 0;
  for (uint32_t i = 0; i < s->loads; i++) {
    loads += n = pml__sums_load(cells, s->load[i].cell);
    bytes += s->load[i].bytes * n;
  }
  pml__sums_put(o, PML_BYFL_LOAD_COUNT, bytes);
  pml__sums_put(o, PML_BYFL_LOAD_INS_COUNT, loads);
  bytes = 0;
  for (uint32_t i = 0; i < s->stores; i++) {
    stores += n = pml__sums_load(cells, s->store[i].cell);
    bytes += s->store[i].bytes * n;
  }
  pml__sums_put(o, PML_BYFL_STORE_COUNT, bytes);
  pml__sums_put(o, PML_BYFL_STORE_INS_COUNT, stores);
  operations = loads + stores;
  for (uint32_t i = 0; i < s->floats; i++) {
    n = pml__sums_load(cells, s->real[i].cell);
    flops += s->real[i].flops * n;
    bits += s->real[i].bits * n;
    operations += s->real[i].lanes * n;
  }
  pml__sums_put(o, PML_BYFL_FLOP_COUNT, flops);
  pml__sums_put(o, PML_BYFL_FP_BITS_COUNT, bits);
  for (uint32_t i = 0; i < s->ones; i++) operations += pml__sums_load(cells, s->one[i]);
  for (uint32_t i = 0; i < s->calls; i++) calls += pml__sums_load(cells, s->call[i]);
  pml__sums_put(o, PML_BYFL_CALL_INS_COUNT, calls);
  pml__sums_put(o, PML_BYFL_OP_COUNT, operations + calls);
  pml__sums_put(o, PML_BYFL_OP_BITS_COUNT, 0);
  for (uint32_t i = 0; i < s->others; i++)
    o.to[s->other[i].event * o.stride] += s->other[i].worth * pml__sums_load(cells, s->other[i].cell);
}

#endif
