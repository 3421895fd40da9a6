/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/profile/pml_profile_tree.c - call tree nodes in fixed chunks, with a hash of (parent, region). */
#include "substrate/profile/pml_profile_tree.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 128u

#define GET(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

static void *get(const struct pml__profile_tree *t, unsigned k) {
  size_t n = (size_t)PML__PROFILE_CHUNK << k;
  if (t->memory == NULL) return calloc(n, sizeof(struct pml__profile_node));
  return t->memory->get(t->memory->arg, t->id, k, n * sizeof(struct pml__profile_node));
}

static void put(const struct pml__profile_tree *t, void *chunk) {
  if (t->memory == NULL)
    free(chunk);
  else if (chunk != NULL)
    t->memory->put(t->memory->arg, chunk);
}

static struct pml__profile_node *append(struct pml__profile_tree *t, uint32_t parent, pml_region_t region) {
  uint32_t index = t->n;
  if (index == PML_PROFILE_NODES_MAX) return NULL;
  unsigned k = 31u - (unsigned)__builtin_clz(index / PML__PROFILE_CHUNK + 1u);
  if (t->chunk[k] == NULL) {
    t->chunk[k] = get(t, k);
    if (t->chunk[k] == NULL) return NULL;
  }
  if (t->memory != NULL && region != 0) t->memory->name(t->memory->arg, region);
  struct pml__profile_node *node = pml__profile_tree_at(t, index);
  node->index = index;
  node->parent = parent;
  node->region = region;
  node->min = UINT64_MAX;
  __atomic_store_n(&t->n, index + 1, __ATOMIC_RELEASE);
  return node;
}

/* The table is at most half full. */
static bool grow(struct pml__profile_tree *t) {
  uint32_t slots = t->slot == NULL ? FIRST_SLOTS : (t->mask + 1) * 2;
  uint32_t *slot = calloc(slots, sizeof *slot);
  if (slot == NULL) return false;
  free(t->slot);
  t->slot = slot;
  t->mask = slots - 1;
  for (uint32_t i = 1; i < t->n; i++) {
    const struct pml__profile_node *node = pml__profile_tree_at(t, i);
    *pml__profile_tree_find(t, node->parent, node->region) = i;
  }
  return true;
}

bool pml__profile_tree_open(struct pml__profile_tree *t, const struct pml_profile_memory *memory, uint32_t id) {
  memset(t, 0, sizeof *t);
  t->memory = memory;
  t->id = id;
  if (grow(t) && append(t, 0, 0) != NULL) return true;
  pml__profile_tree_close(t);
  return false;
}

void pml__profile_tree_close(struct pml__profile_tree *t) {
  for (unsigned k = 0; k < PML__PROFILE_CHUNKS; k++) put(t, t->chunk[k]);
  free(t->slot);
  memset(t, 0, sizeof *t);
}

struct pml__profile_node *pml__profile_tree_child(struct pml__profile_tree *t, struct pml__profile_node *parent,
                                                  pml_region_t region) {
  struct pml__profile_node *node = pml__profile_tree_known(t, parent, region);
  if (node != NULL || region == 0) return node; /* region 0 is reserved for the root */
  if (2 * (t->n + 1) > t->mask + 1 && !grow(t)) return NULL;
  uint32_t *slot = pml__profile_tree_find(t, parent->index, region);
  node = append(t, parent->index, region);
  if (node == NULL) return NULL;
  *slot = node->index;
  return node;
}

/* @to is not in use, @from may be. */
void pml__profile_tree_add(struct pml__profile_node *to, const struct pml__profile_node *from) {
  uint64_t min = GET(from->min), max = GET(from->max);
  to->count += GET(from->count);
  to->entered += GET(from->entered);
  to->sum += GET(from->sum);
  to->inner += GET(from->inner);
  if (min < to->min) to->min = min;
  if (max > to->max) to->max = max;
  to->nthreads += from->nthreads != 0 ? from->nthreads : 1;
}

/* All nodes are created before any is added, so that a failure adds nothing. */
bool pml__profile_tree_merge(struct pml__profile_tree *to, const struct pml__profile_tree *from) {
  uint32_t n = __atomic_load_n(&from->n, __ATOMIC_ACQUIRE);
  uint32_t *at = calloc(n, sizeof *at); /* index in @to of each node of @from */
  bool all = at != NULL;
  for (uint32_t i = 1; i < n && all; i++) {
    const struct pml__profile_node *node = pml__profile_tree_at(from, i);
    struct pml__profile_node *parent = pml__profile_tree_at(to, at[node->parent]);
    struct pml__profile_node *same = pml__profile_tree_child(to, parent, node->region);
    all = same != NULL;
    if (all) at[i] = same->index;
  }
  for (uint32_t i = 1; i < n && all; i++)
    pml__profile_tree_add(pml__profile_tree_at(to, at[i]), pml__profile_tree_at(from, i));
  free(at);
  return all;
}
