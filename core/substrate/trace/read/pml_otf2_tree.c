/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/read/pml_otf2_tree.c - call tree nodes, found by parent and region. */
#include "substrate/trace/read/pml_otf2_tree.h"

#include "base/pml_array.h"

#include <stdlib.h>

size_t pml__otf2_tree_node(struct pml__otf2_tree *t, size_t parent, size_t region) {
  uint64_t hash = pml__hash(pml__hash(PML__HASH, parent), region);
  uint32_t at = 0, i;
  while ((i = pml__map_next(&t->map, hash, &at)) != PML__MAP_NONE)
    if (t->node[i].parent == parent && t->node[i].region == region) return i;
  if (!PML__ARRAY_ROOM(t->node, t->capacity, t->map.n + 1) || pml__map_add(&t->map, hash) == PML__MAP_NONE)
    return PML_OTF2_NONE;
  t->node[t->n] = (struct pml_otf2_path){parent, region};
  return t->n++;
}

bool pml__otf2_tree_join(struct pml__otf2_tree *into, const struct pml__otf2_tree *from, size_t *map) {
  for (size_t i = 0; i < from->n; i++) {
    size_t parent = from->node[i].parent;
    map[i] = pml__otf2_tree_node(into, parent != PML_OTF2_NONE ? map[parent] : PML_OTF2_NONE, from->node[i].region);
    if (map[i] == PML_OTF2_NONE) return false;
  }
  return true;
}

/* ---- order ---- */

struct child {
  size_t parent, region, node; /* parent: node + 1, or 0 */
};

static int by_parent(const void *a, const void *b) {
  const struct child *x = a, *y = b;
  if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
  return (x->region > y->region) - (x->region < y->region);
}

/* Children of a node lie together; first[p]: where those of parent p begin. A stack of places walks them. */
static void number(const struct child *child, const size_t *first, size_t *stack, size_t *map) {
  size_t depth = 1, next = 0;
  stack[0] = first[0];
  while (depth > 0) {
    size_t at = stack[depth - 1]++, parent = depth > 1 ? child[stack[depth - 2] - 1].node + 1 : 0;
    if (at == first[parent + 1]) {
      depth--;
      continue;
    }
    map[child[at].node] = next++;
    stack[depth++] = first[child[at].node + 1];
  }
}

static void renumber(struct pml__otf2_tree *t, const size_t *map, struct pml_otf2_path *to) {
  for (size_t i = 0; i < t->n; i++) {
    size_t parent = t->node[i].parent;
    to[map[i]] = (struct pml_otf2_path){parent != PML_OTF2_NONE ? map[parent] : PML_OTF2_NONE, t->node[i].region};
  }
  free(t->node);
  t->node = to;
}

bool pml__otf2_tree_order(struct pml__otf2_tree *t, size_t *map) {
  struct child *child = calloc(t->n + 1, sizeof *child);
  size_t *first = calloc(t->n + 2, sizeof *first), *stack = calloc(t->n + 2, sizeof *stack);
  struct pml_otf2_path *to = calloc(t->n + 1, sizeof *to);
  bool done = child != NULL && first != NULL && stack != NULL && to != NULL;
  if (done) {
    for (size_t i = 0; i < t->n; i++) child[i] = (struct child){t->node[i].parent + 1, t->node[i].region, i};
    qsort(child, t->n, sizeof *child, by_parent);
    for (size_t i = 0; i < t->n; i++) first[child[i].parent + 1]++;
    for (size_t i = 0; i <= t->n; i++) first[i + 1] += first[i];
    number(child, first, stack, map);
    renumber(t, map, to);
  } else {
    free(to);
  }
  free(child);
  free(first);
  free(stack);
  return done;
}

void pml__otf2_tree_free(struct pml__otf2_tree *t) {
  free(t->node);
  pml__map_free(&t->map);
  *t = (struct pml__otf2_tree){0};
}
