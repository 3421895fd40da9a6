/* SPDX-License-Identifier: BSD-3-Clause */
/* core/instrument/instrument_cfg.c - dominators and natural loops of a control flow graph. */
#include "instrument/instrument_cfg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_ends(const void *x, const void *y) {
  const struct pml_cfg_edge *a = x, *b = y;
  if (a->from != b->from) return a->from < b->from ? -1 : 1;
  return a->to == b->to ? 0 : a->to < b->to ? -1 : 1;
}

static void index_edges(struct pml_cfg *f) {
  qsort(f->edge, f->edges, sizeof *f->edge, by_ends);
  uint32_t n = 0;
  for (uint32_t i = 0; i < f->edges; i++)
    if (i == 0 || by_ends(&f->edge[i], &f->edge[i - 1]) != 0) f->edge[n++] = f->edge[i];
  f->edges = n;
  for (uint32_t i = 0; i < n; i++) {
    f->first[f->edge[i].from + 1]++;
    f->first_in[f->edge[i].to + 1]++;
  }
  for (uint32_t b = 0; b < f->blocks; b++) {
    f->first[b + 1] += f->first[b];
    f->first_in[b + 1] += f->first_in[b];
  }
  uint32_t *next = f->rank; /* borrowed: it has one element for each block */
  memcpy(next, f->first_in, f->blocks * sizeof *next);
  for (uint32_t i = 0; i < n; i++) f->into[next[f->edge[i].to]++] = f->edge[i].from;
}

/* Depth first without recursion, because a chain of a hundred thousand blocks must not overflow the stack. */
static void order_blocks(struct pml_cfg *f, uint32_t *stack, uint32_t *next) {
  uint32_t depth = 0, left = f->blocks;
  for (uint32_t b = 0; b < f->blocks; b++) f->rank[b] = PML_CFG_NONE;
  memcpy(next, f->first, f->blocks * sizeof *next);
  stack[depth++] = 0;
  f->rank[0] = 0;
  while (depth > 0) {
    uint32_t b = stack[depth - 1];
    if (next[b] == f->first[b + 1]) {
      f->order[--left] = b;
      depth--;
      continue;
    }
    uint32_t to = f->edge[next[b]++].to;
    if (f->rank[to] != PML_CFG_NONE) continue;
    f->rank[to] = 0;
    stack[depth++] = to;
  }
  f->reached = f->blocks - left;
  memmove(f->order, f->order + left, f->reached * sizeof *f->order);
  for (uint32_t i = 0; i < f->reached; i++) f->rank[f->order[i]] = i;
}

static uint32_t meet(const struct pml_cfg *f, uint32_t a, uint32_t b) {
  while (a != b) {
    while (f->rank[a] > f->rank[b]) a = f->dominator[a];
    while (f->rank[b] > f->rank[a]) b = f->dominator[b];
  }
  return a;
}

static void find_dominators(struct pml_cfg *f) {
  for (uint32_t b = 0; b < f->blocks; b++) f->dominator[b] = PML_CFG_NONE;
  f->dominator[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 1; i < f->reached; i++) {
      uint32_t b = f->order[i], best = PML_CFG_NONE;
      for (uint32_t e = f->first_in[b]; e < f->first_in[b + 1]; e++) {
        uint32_t p = f->into[e];
        if (f->rank[p] == PML_CFG_NONE || f->dominator[p] == PML_CFG_NONE) continue;
        best = best == PML_CFG_NONE ? p : meet(f, p, best);
      }
      changed |= best != f->dominator[b];
      f->dominator[b] = best;
    }
  }
}

bool pml_cfg_dominates(const struct pml_cfg *f, uint32_t above, uint32_t below) {
  if (f->rank[above] == PML_CFG_NONE || f->rank[below] == PML_CFG_NONE) return false;
  while (f->rank[below] > f->rank[above]) below = f->dominator[below];
  return below == above;
}

bool pml_cfg_within(const struct pml_cfg *f, uint32_t block, uint32_t loop) {
  uint32_t l = f->loop[block];
  while (l != PML_CFG_NONE && l != loop) l = f->in[l].parent;
  return l == loop && l != PML_CFG_NONE;
}

/* The loop's blocks: those from which a back edge is reached without passing the header. Inner loops are complete
 * already, so one block represents its whole inner loop. */
static void fill_loop(struct pml_cfg *f, uint32_t loop, uint32_t *stack, uint32_t depth) {
  while (depth > 0) {
    uint32_t b = stack[--depth], inner = f->loop[b];
    if (inner == PML_CFG_NONE) {
      f->loop[b] = loop;
    } else {
      while (f->in[inner].parent != PML_CFG_NONE) inner = f->in[inner].parent;
      if (inner == loop) continue;
      f->in[inner].parent = loop;
      b = f->in[inner].header;
    }
    for (uint32_t e = f->first_in[b]; e < f->first_in[b + 1]; e++)
      if (f->rank[f->into[e]] != PML_CFG_NONE) stack[depth++] = f->into[e];
  }
}

/* Innermost first: in reverse postorder, the header of an outer loop comes before the header of an inner one. */
static void find_loops(struct pml_cfg *f, uint32_t *stack) {
  for (uint32_t b = 0; b < f->blocks; b++) f->loop[b] = PML_CFG_NONE;
  for (uint32_t i = f->reached; i-- > 0;) {
    uint32_t b = f->order[i], depth = 0;
    for (uint32_t e = f->first_in[b]; e < f->first_in[b + 1]; e++)
      if (pml_cfg_dominates(f, b, f->into[e])) stack[depth++] = f->into[e];
    if (depth == 0) continue;
    f->in[f->loops] = (struct pml_cfg_loop){.header = b, .parent = PML_CFG_NONE};
    f->loop[b] = f->loops;
    fill_loop(f, f->loops++, stack, depth);
  }
  for (uint32_t l = f->loops; l-- > 0;)
    f->in[l].depth = f->in[l].parent == PML_CFG_NONE ? 1 : f->in[f->in[l].parent].depth + 1;
}

int pml_cfg_open(struct pml_cfg *f, uint32_t blocks, struct pml_cfg_edge *edge, uint32_t edges) {
  size_t n = blocks, words = 6 * n + 2 + edges;
  *f = (struct pml_cfg){.blocks = blocks, .edges = edges, .edge = edge};
  uint32_t *memory = calloc(words, sizeof *memory);
  /* an edge is pushed at most once for each loop, and a loop's header is passed once */
  uint32_t *stack = calloc(n + 2 * (size_t)edges + 1, sizeof *stack), *next = calloc(n + 1, sizeof *next);
  f->in = calloc(n + 1, sizeof *f->in);
  f->first = memory;
  int err = memory == NULL || stack == NULL || next == NULL || f->in == NULL ? -ENOMEM : 0;
  if (!err) {
    f->first_in = f->first + n + 1;
    f->into = f->first_in + n + 1;
    f->order = f->into + edges;
    f->rank = f->order + n;
    f->dominator = f->rank + n;
    f->loop = f->dominator + n;
    index_edges(f);
    order_blocks(f, stack, next);
    find_dominators(f);
    find_loops(f, stack);
  }
  free(stack);
  free(next);
  return err;
}

void pml_cfg_close(struct pml_cfg *f) {
  free(f->first);
  free(f->in);
  *f = (struct pml_cfg){0};
}
