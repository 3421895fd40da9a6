/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/pml_spool_paths.c - the memory of a profile, found again in a spool. */
#include "base/pml_error.h"
#include "substrate/pml_profile_tree.h"
#include "substrate/pml_spool_read_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NODE_BYTES sizeof(struct pml__profile_node)

/* A piece of a tree: nodes from @first on. */
struct piece {
  uint32_t tree, part;
  uint64_t at, bytes; /* in the file */
};

struct pieces {
  struct piece *piece;
  size_t n, capacity;
};

static int add_piece(struct pieces *all, const struct piece *p) {
  if (all->n == all->capacity) {
    size_t capacity = all->capacity == 0 ? 64 : 2 * all->capacity;
    struct piece *more = realloc(all->piece, capacity * sizeof *more);
    if (more == NULL) return pml_fail(-ENOMEM, "no memory for the call paths of a spool");
    all->piece = more;
    all->capacity = capacity;
  }
  all->piece[all->n++] = *p;
  return 0;
}

static int find_blocks(const struct pml_spool_reader *r, const struct pml__spool_part *p, struct pieces *all) {
  uint64_t at = p->at + sizeof(struct pml__spool_extent), end = p->at + (uint64_t)p->units * PML__SPOOL_UNIT;
  while (at + sizeof(struct pml__spool_block) <= end) {
    struct pml__spool_block b;
    int err = pml__spool_read_at(r, at, &b, sizeof b);
    if (err < 0) return err;
    at += sizeof b;
    if (b.bytes == 0 || b.bytes % 64 != 0 || b.bytes > end - at) return 0;
    struct piece found = {b.tree, b.part, at, b.bytes};
    err = b.used == PML__SPOOL_USED && b.part < PML__PROFILE_CHUNKS ? add_piece(all, &found) : 0;
    if (err < 0) return err;
    at += b.bytes;
  }
  return 0;
}

static int by_tree(const void *a, const void *b) {
  const struct piece *x = a, *y = b;
  if (x->tree != y->tree) return x->tree < y->tree ? -1 : 1;
  if (x->part != y->part) return x->part < y->part ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

/* One tree on its way into the merged one. */
struct grafting {
  const struct pml_spool_reader *reader;
  struct pml__profile_tree *to;
  uint32_t *at; /* [n] where its nodes are in the merged tree */
  uint32_t n;
};

/* Node @n of the tree, if it is one; false: there the tree ends. */
static bool graft(struct grafting *g, const struct pml__profile_node *node, int *err) {
  if (g->n == 0) {
    g->at[g->n++] = 0;
    return true;
  }
  pml_region_t region = pml__spool_region(g->reader, node->region);
  if (node->index != g->n || node->parent >= g->n || region == 0) return false;
  struct pml__profile_node *parent = pml__profile_tree_at(g->to, g->at[node->parent]);
  struct pml__profile_node *same = pml__profile_tree_child(g->to, parent, region);
  if (same == NULL) {
    *err = pml_fail(-ENOMEM, "no memory for the call paths of a spool");
    return false;
  }
  pml__profile_tree_add(same, node);
  g->at[g->n++] = same->index;
  return true;
}

static bool graft_piece(struct grafting *g, const struct piece *p, int *err) {
  uint32_t n = PML__PROFILE_FIRST_CHUNK << p->part;
  if (p->bytes < n * NODE_BYTES) return false;
  uint32_t *at = realloc(g->at, (g->n + (size_t)n) * sizeof *at);
  struct pml__profile_node *node = malloc(n * NODE_BYTES);
  if (at != NULL) g->at = at;
  *err = at == NULL || node == NULL ? pml_fail(-ENOMEM, "no memory for the call paths of a spool")
                                    : pml__spool_read_at(g->reader, p->at, node, n * NODE_BYTES);
  bool all = *err == 0;
  for (uint32_t i = 0; i < n && all; i++) all = graft(g, &node[i], err);
  free(node);
  return all;
}

/* Pieces of one tree follow each other from part 0 on; without one, those behind it hang in the air. */
static int graft_all(const struct pml_spool_reader *r, const struct pieces *all, struct pml__profile_tree *to) {
  int err = 0;
  for (size_t i = 0; i < all->n && err == 0;) {
    uint32_t tree = all->piece[i].tree, part = 0;
    struct grafting g = {.reader = r, .to = to};
    bool whole = true;
    for (; i < all->n && all->piece[i].tree == tree && err == 0; i++) {
      whole = whole && all->piece[i].part == part++;
      if (whole) whole = graft_piece(&g, &all->piece[i], &err);
    }
    free(g.at);
  }
  return err;
}

int pml_spool_read_profile(struct pml_spool_reader *r, struct pml_profile **out) {
  struct pieces all = {0};
  struct pml__profile_tree merged;
  int err = 0;
  *out = NULL;
  if (!pml__profile_tree_open(&merged, NULL, 0)) return pml_fail(-ENOMEM, "no memory for the call paths of a spool");
  for (size_t i = 0; i < r->nparts && err == 0; i++)
    if (r->part[i].kind == PML__SPOOL_MEMORY) err = find_blocks(r, &r->part[i], &all);
  if (all.n > 0) qsort(all.piece, all.n, sizeof *all.piece, by_tree);
  if (err == 0) err = graft_all(r, &all, &merged);
  free(all.piece);
  if (err == 0) err = pml__profile_of(out, &merged);
  if (err < 0) pml__profile_tree_close(&merged);
  return err;
}
