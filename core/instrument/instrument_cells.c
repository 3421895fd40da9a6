/* SPDX-License-Identifier: BSD-3-Clause */
/* core/instrument/instrument_cells.c - additions to a thread's counters, in assembly or LLVM IR. */
#include "instrument/instrument_function.h"

#include <errno.h>
#include <stdlib.h>

static void note_used(struct pml_module *m, unsigned cell) {
  if (cell < PML_CELL_COUNT) m->used[cell / 64] |= UINT64_C(1) << cell % 64;
}

/* In a loop the additions are volatile. Otherwise the optimiser may keep a cell in a register until the loop ends,
 * which an endless loop never does, and a killed process loses these counts. */
static void add_in_ir(struct pml_body *f, unsigned cell, LLVMValueRef n) {
  LLVMBuilderRef b = f->m->builder;
  int64_t offset = pml_offset_of(cell) / 8;
  LLVMValueRef index = LLVMConstInt(f->m->i64, (uint64_t)offset, 1);
  LLVMValueRef at = LLVMBuildInBoundsGEP2(b, f->m->i64, f->cells, &index, 1, "");
  LLVMValueRef before = LLVMBuildLoad2(b, f->m->i64, at, "");
  LLVMValueRef after = LLVMBuildStore(b, LLVMBuildAdd(b, before, n, ""), at);
  bool now = cell == PML_CELL_UNDERWAY || pml_body_in_loop(f, LLVMGetInsertBlock(b));
  LLVMSetVolatile(before, now);
  LLVMSetVolatile(after, now);
}

void pml_body_add(struct pml_body *f, unsigned cell, LLVMValueRef n) {
  note_used(f->m, cell);
  if (f->m->assembles)
    pml_assemble_one(f->m, f->cells, cell, n);
  else
    add_in_ir(f, cell, n);
}

static int by_cell(const void *x, const void *y) {
  const struct pml_counts_at *a = x, *b = y;
  return a->cell < b->cell ? -1 : a->cell > b->cell;
}

int pml_body_add_all(struct pml_body *f, struct pml_counts *c) {
  uint32_t used = 0;
  for (uint32_t i = 0; i < c->used; i++) {
    LLVMValueRef n = LLVMConstInt(f->m->i64, (uint64_t)c->at[i].n, 1);
    if (c->at[i].n == 0) continue;
    if (f->m->assembles && pml_is_short(n))
      c->at[used++] = c->at[i];
    else
      pml_body_add(f, c->at[i].cell, n);
  }
  if (used == 0) return 0;
  c->used = used;
  for (uint32_t i = 0; i < used; i++) note_used(f->m, c->at[i].cell);
  qsort(c->at, used, sizeof *c->at, by_cell);
  return pml_adder_add(f, c);
}
