/* SPDX-License-Identifier: BSD-3-Clause */
/* core/instrument/instrument_function.h - a function under instrumentation. */
#ifndef PML_INSTRUMENT_FUNCTION_H
#define PML_INSTRUMENT_FUNCTION_H

#include "base/pml_map.h"
#include "instrument/instrument_cfg.h"
#include "instrument/instrument_private.h"

struct pml_stretch {   /* instructions of a block that always run as a whole */
  LLVMValueRef first;  /* they are counted before this one */
  LLVMValueRef before; /* the instruction that may not return, or the terminator: position of a mark */
  struct pml_counts counts;
};

struct pml_block {
  LLVMBasicBlockRef block;
  uint32_t first, stretches; /* index of the first one in the function's list, and their number */
  bool leaves;               /* control may leave in the middle of the block */
  bool end_leaves;           /* control may leave at its end */
  bool in_registers;         /* counted by the counters of a loop */
};

struct pml_dynamic { /* an amount known at run time only */
  LLVMValueRef before;
  struct pml_class what;
};

struct pml_body {
  struct pml_module *m;
  LLVMValueRef function, cells;
  LLVMBasicBlockRef entry;
  uint32_t blocks, stretches, stretch_room, dynamics, dynamic_room;
  struct pml_block *block;
  struct pml_stretch *stretch;
  struct pml_dynamic *dynamic;
  struct pml__map numbers; /* numbers of blocks */
  struct pml_cfg_edge *edge;
  struct pml_cfg flow;
  unsigned uncounted;
  char uncounted_what[128];
  char uncounted_where[224];
};

/* pml_body_add - add @n to @cell, at the builder's position. */
void pml_body_add(struct pml_body *f, unsigned cell, LLVMValueRef n);

/* pml_body_add_all - the same for all of @counts, which the function may take over and which are unusable afterwards.
 * Returns 0 or -ENOMEM. */
int pml_body_add_all(struct pml_body *f, struct pml_counts *counts);

/* pml_body_in_loop - whether @block is in a loop, or was created for one. */
bool pml_body_in_loop(const struct pml_body *f, LLVMBasicBlockRef block);

/*
 * Functions of the module that add to cells, on targets with assembly: instrument_adder.c.
 * pml_adder_of - the function for this @key, with the cells and @numbers further parameters; a new function has no
 * body. NULL: no memory.
 * pml_adder_use - call it, at the builder's position. pml_adder_add - call the function that adds @c, sorted by cell,
 * at the builder's position; returns 0 or -ENOMEM.
 */
#define PML_ADDER_NUMBERS_MAX 32u
LLVMValueRef pml_adder_of(struct pml_module *m, const int64_t *key, uint32_t words, uint32_t numbers);
void pml_adder_use(struct pml_module *m, LLVMValueRef adder, LLVMValueRef *args);
int pml_adder_add(struct pml_body *f, struct pml_counts *c);

/*
 * pml_body_part - move all of @block except its terminator to a new block before it. The builder is then at the end of
 * the new block, and the caller creates its terminator. Returns NULL, without a change, if the address of @block is
 * taken.
 */
LLVMBasicBlockRef pml_body_part(struct pml_module *m, LLVMBasicBlockRef block);

/* pml_set_unlikely - declare that the first successor of @branch is hardly ever taken. */
void pml_set_unlikely(const struct pml_module *m, LLVMValueRef branch);

/* pml_body_amount - a length in bytes, or the number of set lanes of a mask times the bytes of a lane, at the builder's
 * position. */
LLVMValueRef pml_body_amount(struct pml_body *f, const struct pml_class *c);

/* pml_body_mark - insert marks for the counts of the function. Returns 0 or -ENOMEM. */
int pml_body_mark(struct pml_body *f);

/* pml_body_loops - count loops that control leaves through their exits only in registers. Returns 0 or -ENOMEM. */
int pml_body_loops(struct pml_body *f);

/* pml_body_touch - report each access of a function to the runtime, before the access. */
void pml_body_touch(struct pml_body *f);

/* pml_body_merge - count blocks of equal frequency together, except blocks counted by loops. Returns 0 or -ENOMEM. */
int pml_body_merge(struct pml_body *f);

/*
 * pml_body_share - move counts over edges between blocks if this reduces the number of additions. Returns 0 or -ENOMEM.
 */
int pml_body_share(struct pml_body *f);

#endif
