/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/instrument/instrument_plan.c - choice of a loop's blocks that need a counter.
 *
 * The graph has 2 * blocks + 2 nodes: the beginning and the end of each block, the entry and the exit of the loop. Its
 * edges are the edges between blocks, where nothing can be counted, and the blocks themselves. A spanning tree takes
 * the edges between blocks first, then the deepest blocks. Each remaining block gets a counter: it closes a cycle in
 * the tree, and the counter is the number of runs of every block on this cycle. The cycle from the exit to the entry is
 * known to run once.
 */
#include "instrument/instrument_cfg.h"

#include <errno.h>
#include <stdlib.h>

struct branch { /* a branch of the tree, at a node */
  uint32_t to, next;
  uint32_t block; /* block on the branch, or NONE */
  int32_t sign;   /* 1: in the direction of control flow */
};

struct tree {
  const struct pml_cfg *f;
  struct pml_cfg_plan *p;
  uint32_t loop, nodes, branches;
  uint32_t *place;  /* index in p->block of each block of the function, or NONE */
  uint32_t *parent; /* [nodes] parents of the union-find structure */
  uint32_t *head;   /* [nodes] first branch */
  uint32_t *came;   /* [nodes] branch by which a search arrived */
  uint32_t *stack;
  struct branch *branch;
};

static uint32_t root(struct tree *t, uint32_t n) {
  while (t->parent[n] != n) n = t->parent[n] = t->parent[t->parent[n]];
  return n;
}

static void grow(struct tree *t, uint32_t from, uint32_t to, uint32_t block, int32_t sign) {
  t->branch[t->branches] = (struct branch){.to = to, .next = t->head[from], .block = block, .sign = sign};
  t->head[from] = t->branches++;
}

/* Returns false if the branch would close a cycle. */
static bool join(struct tree *t, uint32_t from, uint32_t to, uint32_t block) {
  uint32_t a = root(t, from), b = root(t, to);
  if (a == b) return false;
  t->parent[a] = b;
  grow(t, from, to, block, 1);
  grow(t, to, from, block, -1);
  return true;
}

static uint32_t begin_of(uint32_t place) {
  return 2 * place;
}

static uint32_t end_of(uint32_t place) {
  return 2 * place + 1;
}

/* Returns false if the edges alone close a cycle: then the counts of blocks do not determine the counts of edges. */
static bool join_edges(struct tree *t) {
  const struct pml_cfg *f = t->f;
  uint32_t entry = t->nodes - 2, exit = t->nodes - 1;
  bool good = join(t, entry, begin_of(t->place[f->in[t->loop].header]), PML_CFG_NONE);
  for (uint32_t i = 0; i < t->p->blocks && good; i++) {
    uint32_t b = t->p->block[i];
    bool leaves = false;
    for (uint32_t e = f->first[b]; e < f->first[b + 1] && good; e++) {
      uint32_t to = t->place[f->edge[e].to];
      if (to != PML_CFG_NONE) good = join(t, end_of(i), begin_of(to), PML_CFG_NONE);
      leaves |= to == PML_CFG_NONE;
    }
    if (leaves && good) good = join(t, end_of(i), exit, PML_CFG_NONE);
  }
  return good;
}

/* Deepest blocks first; if the edges close a cycle, every block is counted. */
static void choose_counters(struct tree *t, bool tree) {
  struct pml_cfg_plan *p = t->p;
  uint32_t deepest = 0;
  for (uint32_t l = 0; l < t->f->loops; l++)
    if (t->f->in[l].depth > deepest) deepest = t->f->in[l].depth;
  for (uint32_t depth = deepest + 1; depth-- > 0;)
    for (uint32_t i = 0; i < p->blocks; i++) {
      if (t->f->in[t->f->loop[p->block[i]]].depth != depth) continue;
      if (!tree || !join(t, begin_of(i), end_of(i), i)) p->counter[p->counters++] = i;
    }
}

/* Add the runs of each block on the cycle from @target through the tree to @from to @to[place * stride]. */
static void add_circle(struct tree *t, uint32_t from, uint32_t target, int32_t *to, uint32_t stride) {
  uint32_t depth = 0;
  for (uint32_t n = 0; n < t->nodes; n++) t->came[n] = PML_CFG_NONE;
  t->stack[depth++] = target;
  t->came[target] = t->branches; /* no branch, only marks the node as visited */
  while (depth > 0 && t->came[from] == PML_CFG_NONE) {
    uint32_t n = t->stack[--depth];
    for (uint32_t b = t->head[n]; b != PML_CFG_NONE; b = t->branch[b].next) {
      if (t->came[t->branch[b].to] != PML_CFG_NONE) continue;
      t->came[t->branch[b].to] = b;
      t->stack[depth++] = t->branch[b].to;
    }
  }
  for (uint32_t n = from; n != target && t->came[n] != PML_CFG_NONE;) {
    const struct branch *b = &t->branch[t->came[n]];
    if (b->block != PML_CFG_NONE) to[b->block * stride] += b->sign;
    n = t->branch[t->came[n] ^ 1].to; /* the opposite branch leads back */
  }
}

static int share_out(struct tree *t, bool tree, uint32_t limit) {
  struct pml_cfg_plan *p = t->p;
  choose_counters(t, tree);
  if (p->counters > limit) return -E2BIG;
  p->share = calloc((size_t)p->blocks * p->counters + 1, sizeof *p->share);
  if (p->share == NULL) return -ENOMEM;
  for (uint32_t c = 0; c < p->counters; c++) {
    uint32_t i = p->counter[c];
    p->share[i * p->counters + c] = 1;
    if (tree) add_circle(t, begin_of(i), end_of(i), p->share + c, p->counters);
  }
  if (tree) add_circle(t, t->nodes - 1, t->nodes - 2, p->base, 1);
  return 0;
}

static int take_blocks(struct tree *t) {
  const struct pml_cfg *f = t->f;
  struct pml_cfg_plan *p = t->p;
  p->block = calloc(f->blocks + 1, sizeof *p->block);
  p->counter = calloc(f->blocks + 1, sizeof *p->counter);
  t->place = calloc(f->blocks + 1, sizeof *t->place);
  if (p->block == NULL || p->counter == NULL || t->place == NULL) return -ENOMEM;
  for (uint32_t b = 0; b < f->blocks; b++) {
    t->place[b] = PML_CFG_NONE;
    if (!pml_cfg_within(f, b, t->loop)) continue;
    t->place[b] = p->blocks;
    p->block[p->blocks++] = b;
  }
  p->base = calloc(p->blocks + 1, sizeof *p->base);
  t->nodes = 2 * p->blocks + 2;
  t->parent = calloc(4 * (size_t)t->nodes, sizeof *t->parent);
  t->branch = calloc(2 * (size_t)t->nodes, sizeof *t->branch);
  if (p->base == NULL || t->parent == NULL || t->branch == NULL) return -ENOMEM;
  t->head = t->parent + t->nodes;
  t->came = t->head + t->nodes;
  t->stack = t->came + t->nodes;
  for (uint32_t n = 0; n < t->nodes; n++) {
    t->parent[n] = n;
    t->head[n] = PML_CFG_NONE;
  }
  return 0;
}

int pml_cfg_plan_open(struct pml_cfg_plan *p, const struct pml_cfg *f, uint32_t loop, uint32_t limit) {
  *p = (struct pml_cfg_plan){0};
  struct tree t = {.f = f, .p = p, .loop = loop};
  int err = take_blocks(&t);
  if (!err) err = share_out(&t, join_edges(&t), limit);
  free(t.place);
  free(t.parent);
  free(t.branch);
  return err;
}

void pml_cfg_plan_close(struct pml_cfg_plan *p) {
  free(p->block);
  free(p->counter);
  free(p->base);
  free(p->share);
  *p = (struct pml_cfg_plan){0};
}
