/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/count.h - code that counts as compiled code does, written by hand: for the specs of the runtime. */
#ifndef COUNT_H
#define COUNT_H

#include "source/compiler/pml_count.h"
#include "source/compiler/pml_count_cells.h"

#include <stddef.h>

#define DOUBLE_ADD (PML_CELL_FP + PML_FP_add * PML_FP_FORM_COUNT + PML_FP_FORM_double)
#define DOUBLE_LOAD (PML_CELL_LOAD + PML_MEMORY_fp_8)

/* The one place that adds: relaxed, so that a reader on another thread is no race; compiled code's add is as whole. */
static inline void count(unsigned cell, uint64_t n) {
  uint64_t *cells = pml_count_self;
  if (cells == NULL) cells = pml_count_begin();
  cells += (int)pml_count_place(cell) - (int)PML_COUNT_ORIGIN;
  __atomic_store_n(cells, __atomic_load_n(cells, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

static inline struct pml_count_module module_of(const char *name, enum pml_count_stage stage) {
  return (struct pml_count_module){.abi = PML_COUNT_ABI, .stage = stage, .name = name};
}

static inline void uses(struct pml_count_module *m, unsigned cell) {
  m->used[cell / 64] |= UINT64_C(1) << cell % 64;
}

/* n additions of loaded doubles: n flops, 8 n bytes loaded. */
static inline void add_doubles(uint64_t n) {
  count(DOUBLE_ADD, n);
  count(DOUBLE_LOAD, n);
}

#endif
