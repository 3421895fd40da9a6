/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/instrument/instrument_cfg.h - loops of a control flow graph, and their blocks that need a counter.
 *
 * Blocks are numbers, 0 is the entry; independent of LLVM. Dominators: Cooper, Harvey and Kennedy, "A simple, fast
 * dominance algorithm" (2001). Counters: the flow into a block equals the flow out of it, so only the blocks outside a
 * spanning tree of the flow graph need a counter (Knuth and Stevenson, 1973).
 */
#ifndef PML_INSTRUMENT_CFG_H
#define PML_INSTRUMENT_CFG_H

#include <stdbool.h>
#include <stdint.h>

#define PML_CFG_NONE UINT32_MAX

struct pml_cfg_edge {
  uint32_t from, to;
};

struct pml_cfg_loop {
  uint32_t header, parent; /* PML_CFG_NONE for an outermost loop */
  uint32_t depth;          /* 1 for an outermost loop */
};

struct pml_cfg {
  uint32_t blocks, edges, loops;
  struct pml_cfg_edge *edge; /* without duplicates, sorted */
  uint32_t *first;           /* [blocks + 1] a block's first outgoing edge */
  uint32_t *into, *first_in; /* the predecessors of blocks, in the same form */
  uint32_t *order, *rank;    /* blocks in reverse postorder, and each block's index there; NONE: unreachable */
  uint32_t reached;
  uint32_t *dominator; /* the immediate dominator; the entry's is the entry */
  uint32_t *loop;      /* the innermost natural loop of each block, or NONE */
  struct pml_cfg_loop *in;
};

/* pml_cfg_open - find dominators and natural loops; @edge is sorted in place. 0 or -ENOMEM. Close in either case. */
int pml_cfg_open(struct pml_cfg *f, uint32_t blocks, struct pml_cfg_edge *edge, uint32_t edges);
void pml_cfg_close(struct pml_cfg *f);

bool pml_cfg_dominates(const struct pml_cfg *f, uint32_t above, uint32_t below);

/* pml_cfg_within - whether @block is in @loop or a loop inside it. */
bool pml_cfg_within(const struct pml_cfg *f, uint32_t block, uint32_t loop);

/* The number of runs of each block of a loop, once control has left the loop: base + the sum over counters of share
 * times counter. A counter is incremented in its block, and is 0 when the loop is entered. */
struct pml_cfg_plan {
  uint32_t blocks, counters;
  uint32_t *block;   /* [blocks] the loop's blocks */
  uint32_t *counter; /* [counters] the index in block[] of the block that increments it */
  int32_t *base;     /* [blocks] */
  int32_t *share;    /* [blocks][counters] */
};

/* pml_cfg_plan_open - plan counters for @loop. 0, -ENOMEM, or -E2BIG above @limit counters. Close in either case. */
int pml_cfg_plan_open(struct pml_cfg_plan *p, const struct pml_cfg *f, uint32_t loop, uint32_t limit);
void pml_cfg_plan_close(struct pml_cfg_plan *p);

#endif
