/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/profile/pml_profile_tree.h - a call tree with one writer and concurrent readers. Internal.
 *
 * Nodes never move and are never removed. A node is filled, then @n is stored with release; a reader loads @n with
 * acquire and reads nodes below it. Figures of nodes are stored and loaded relaxed: each is correct by itself.
 */
#ifndef PML_PROFILE_TREE_H
#define PML_PROFILE_TREE_H

#include "substrate/profile/pml_profile.h"

#define PML__PROFILE_CHUNK 64u  /* nodes of the first chunk; each chunk has twice as many as the previous one */
#define PML__PROFILE_CHUNKS 15u /* 64 * (2^15 - 1) is more than PML_PROFILE_NODES_MAX */

struct pml__profile_node {
  uint32_t index, parent; /* parent < index, so that a reader visits parents first. The root is 0 and its own parent */
  pml_region_t region;
  uint32_t nthreads;       /* in a merged tree */
  uint64_t entered, count; /* atomic; calls begun, and calls ended */
  uint64_t sum, inner;     /* atomic; ticks in calls, and in their children */
  uint64_t min, max;       /* atomic */
  uint64_t ticks;          /* atomic; ticks of the open call's enter, 0: no open call */
  uint64_t unused;
};

struct pml__profile_tree {
  struct pml__profile_node *chunk[PML__PROFILE_CHUNKS]; /* each published by n */
  uint32_t n;                                           /* atomic */
  uint32_t *slot; /* [mask + 1], used by the owner only: (parent, region) to index; 0 is free */
  uint32_t mask;
  uint32_t id;                             /* owner id for @memory */
  const struct pml_profile_memory *memory; /* NULL: the heap */
};

#define PML__PROFILE_NO_REGION UINT32_MAX

/* Returns false without memory for the root. @memory: for the nodes, NULL: the heap; borrowed. */
PML__SHARED bool pml__profile_tree_open(struct pml__profile_tree *t, const struct pml_profile_memory *memory,
                                        uint32_t id);
PML__SHARED void pml__profile_tree_close(struct pml__profile_tree *t);
/* The child of @parent for @region, created if necessary; NULL: no room. By the owner only. */
PML__SHARED struct pml__profile_node *pml__profile_tree_child(struct pml__profile_tree *t,
                                                              struct pml__profile_node *parent, pml_region_t region);
/* Add @from, which may be in use, to @to, without an open call. */
PML__SHARED void pml__profile_tree_add(struct pml__profile_node *to, const struct pml__profile_node *from);

static inline struct pml__profile_node *pml__profile_tree_at(const struct pml__profile_tree *t, uint32_t index) {
  uint32_t k = 31u - (uint32_t)__builtin_clz(index / PML__PROFILE_CHUNK + 1u);
  return &t->chunk[k][index - PML__PROFILE_CHUNK * ((1u << k) - 1u)];
}

/* The slot with the index of the child of @parent for @region, or the free slot for it. */
static inline uint32_t *pml__profile_tree_find(const struct pml__profile_tree *t, uint32_t parent,
                                               pml_region_t region) {
  uint64_t h = ((uint64_t)parent << 32 | region) * UINT64_C(0x9e3779b97f4a7c15);
  for (uint32_t i = (uint32_t)(h >> 32) & t->mask;; i = (i + 1) & t->mask) {
    if (t->slot[i] == 0) return &t->slot[i];
    const struct pml__profile_node *node = pml__profile_tree_at(t, t->slot[i]);
    if (node->parent == parent && node->region == region) return &t->slot[i];
  }
}

/* The child of @parent for @region, or NULL. By the owner only. */
static inline struct pml__profile_node *pml__profile_tree_known(const struct pml__profile_tree *t,
                                                                const struct pml__profile_node *parent,
                                                                pml_region_t region) {
  uint32_t index = *pml__profile_tree_find(t, parent->index, region);
  return index != 0 ? pml__profile_tree_at(t, index) : NULL;
}

/* Merge all of @from, which may be growing, into @to. Returns false without room for all. */
bool pml__profile_tree_merge(struct pml__profile_tree *to, const struct pml__profile_tree *from);

#endif
