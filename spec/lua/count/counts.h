/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/lua/count/counts.h - what the calling thread has counted until now; for files that are not counted themselves.
 */
#ifndef COUNTS_H
#define COUNTS_H

#include "source/compiler/pml_count.h"
#include "source/compiler/pml_count_cells.h"

static inline uint64_t counted(enum pml_byfl event) {
  uint64_t n = 0;
  const uint64_t *cells = pml_count_begin() - PML_COUNT_ORIGIN;
  for (unsigned i = 0; i < PML_CELL_COUNT; i++) n += cells[pml_count_place(i)] * pml_count_cells[i].worth[event];
  return n;
}

#endif
