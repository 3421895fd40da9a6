/* SPDX-License-Identifier: BSD-3-Clause */
/* core/instrument/instrument_function.h - a function under instrumentation. */
#ifndef PML_INSTRUMENT_FUNCTION_H
#define PML_INSTRUMENT_FUNCTION_H

#include "base/pml_map.h"
#include "instrument/instrument_cfg.h"
#include "instrument/instrument_private.h"

struct pml_stretch {   /* instructions of a block that run as a whole */
  LLVMValueRef first;  /* they are counted before it */
  LLVMValueRef before; /* what may not come back, or the end: a mark stands here */
  struct pml_counts counts;
};

struct pml_block {
  LLVMBasicBlockRef block;
  uint32_t first, stretches; /* among the function's */
  bool leaves;               /* control may leave in its middle */
  bool end_leaves;           /* at its end */
  bool in_registers;         /* counted by the counters of a loop */
};

struct pml_dynamic { /* known when it runs only */
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

/* pml_body_add - @n more in @cell, at the builder's place. */
void pml_body_add(struct pml_body *f, unsigned cell, LLVMValueRef n);

/* pml_body_add_all - all of @counts, likewise; they may be taken over, and are of no use then. 0 or -ENOMEM. */
int pml_body_add_all(struct pml_body *f, struct pml_counts *counts);

/* pml_body_in_loop - whether @block is in a loop, or was made for one. */
bool pml_body_in_loop(const struct pml_body *f, LLVMBasicBlockRef block);

/*
 * Functions of the module that add to cells, where it assembles: instrument_adder.c.
 * pml_adder_of - the function for this @key, with the cells and @numbers further parameters; a new function has no
 * body. NULL: no memory.
 * pml_adder_use - call it, at the builder's position. pml_adder_add - call the function that adds @c, sorted by cell,
 * there; returns 0 or -ENOMEM.
 */
#define PML_ADDER_NUMBERS_MAX 32u
LLVMValueRef pml_adder_of(struct pml_module *m, const int64_t *key, uint32_t words, uint32_t numbers);
void pml_adder_use(struct pml_module *m, LLVMValueRef adder, LLVMValueRef *args);
int pml_adder_add(struct pml_body *f, struct pml_counts *c);

/* pml_body_part - a new block before @block, with all of it but its end; the builder is at its end, which the caller
 * makes. NULL: @block is known by its address and stays whole. */
LLVMBasicBlockRef pml_body_part(struct pml_module *m, LLVMBasicBlockRef block);

/* pml_set_unlikely - the first way of @branch is hardly ever taken. */
void pml_set_unlikely(const struct pml_module *m, LLVMValueRef branch);

/* pml_body_amount - a length, or the lanes of a mask that are set times the bytes of one, at the builder's place. */
LLVMValueRef pml_body_amount(struct pml_body *f, const struct pml_class *c);

/* pml_body_mark - have marks stand for the counts of the function. 0 or -ENOMEM. */
int pml_body_mark(struct pml_body *f);

/* pml_body_loops - count in registers the loops that only their exits leave. 0 or -ENOMEM. */
int pml_body_loops(struct pml_body *f);

/* pml_body_touch - tell the runtime of the accesses of a function, before they are made. */
void pml_body_touch(struct pml_body *f);

/* pml_body_merge - count together what runs equally often, of what no loop counts. 0 or -ENOMEM. */
int pml_body_merge(struct pml_body *f);

/* pml_body_share - move counts over edges between blocks, where fewer additions are left. 0 or -ENOMEM. */
int pml_body_share(struct pml_body *f);

#endif
