/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/pml_profile_tree.h - a tree of call paths: one thread grows it, others may read it meanwhile.
 * Internal.
 *
 * Nodes never move and are never taken out. A node is filled, then @n is stored with release; a reader loads @n with
 * acquire and reads nodes below it. Their figures are stored and loaded relaxed: each is right for itself.
 */
#ifndef PML_PROFILE_TREE_H
#define PML_PROFILE_TREE_H

#include "substrate/pml_profile.h"

#define PML__PROFILE_FIRST_CHUNK 64u
#define PML__PROFILE_CHUNKS 15u /* 64 * (2^15 - 1) is more than PML_PROFILE_NODES_MAX */

struct pml__profile_node {
  uint32_t index, parent; /* parent < index: a reader meets parents first. The root is 0 and its own parent */
  pml_region_t region;
  uint32_t running;                 /* atomic */
  uint64_t count, sum, inner;       /* atomic; ticks, and those of them in children */
  uint64_t min, max;                /* atomic */
  uint32_t nthreads;                /* of a merged tree */
  struct pml__profile_node *latest; /* the child that was entered last: the owner's */
};

struct pml__profile_tree {
  struct pml__profile_node *chunk[PML__PROFILE_CHUNKS]; /* each published by n */
  uint32_t n;                                           /* atomic */
  uint32_t *slot; /* [mask + 1], the owner's: (parent, region) to index; 0 is free */
  uint32_t mask;
  uint32_t id;                             /* for @memory */
  const struct pml_profile_memory *memory; /* NULL: the heap */
};

/* Returns whether there is memory for the root. @memory: for its nodes, NULL: the heap; borrowed. */
bool pml__profile_tree_open(struct pml__profile_tree *t, const struct pml_profile_memory *memory, uint32_t id);
void pml__profile_tree_close(struct pml__profile_tree *t);
/* Its nodes are somebody else's: closing it leaves them alone. */
void pml__profile_tree_forget(struct pml__profile_tree *t);
struct pml__profile_node *pml__profile_tree_at(const struct pml__profile_tree *t, uint32_t index);
/* The child of @parent for @region, made if need be; NULL: no room. By the owner only. */
struct pml__profile_node *pml__profile_tree_child(struct pml__profile_tree *t, struct pml__profile_node *parent,
                                                  pml_region_t region);
/* The figures of @from, which may be in use, into @to. */
void pml__profile_tree_add(struct pml__profile_node *to, const struct pml__profile_node *from);
/* All of @from, which may be growing, into @to; false: no room for all. */
bool pml__profile_tree_merge(struct pml__profile_tree *to, const struct pml__profile_tree *from);

/* A profile of what is in @tree alone, without events to come; takes it over if it returns 0. -ENOMEM. */
int pml__profile_of(struct pml_profile **p, struct pml__profile_tree *tree);

#endif
