/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/instrument/instrument_merge.c - merging of counters of blocks with equal frequency.
 *
 * Two blocks have equal frequency if the first dominates the second and the second postdominates the first, such as the
 * blocks before and after an if, a loop or a switch. The second block's counts are added in the first, unless code
 * between them may leave or loop forever.
 */
#include "instrument/instrument_function.h"

#include <errno.h>
#include <stdlib.h>

struct merge {
  struct pml_body *f;
  struct pml_cfg back; /* the graph with reversed edges; node 0 is the common exit, block b is b + 1 */
  struct pml_cfg_edge *edge;
  uint32_t *size,
      *at; /* [blocks] the size of each block's subtree in the dominator tree, and the position of its beginning */
  uint32_t *stops; /* [blocks + 1] the number of blocks before this position of the tree that may leave or stay */
};

/* In an irreducible graph, a cycle with two entries, a block may run more often than a block that dominates it. */
static bool is_reducible(const struct pml_cfg *g) {
  for (uint32_t e = 0; e < g->edges; e++) {
    uint32_t from = g->edge[e].from, to = g->edge[e].to;
    if (g->rank[from] == PML_CFG_NONE || g->rank[to] > g->rank[from]) continue;
    if (!pml_cfg_dominates(g, to, from)) return false;
  }
  return true;
}

static int turn_round(struct merge *m) {
  const struct pml_cfg *g = &m->f->flow;
  uint32_t n = 0;
  m->edge = calloc((size_t)g->edges + g->blocks + 1, sizeof *m->edge);
  if (m->edge == NULL) return -ENOMEM;
  for (uint32_t b = 0; b < g->blocks; b++) {
    if (g->rank[b] == PML_CFG_NONE) continue;
    if (g->first[b] == g->first[b + 1]) m->edge[n++] = (struct pml_cfg_edge){.from = 0, .to = b + 1};
    for (uint32_t e = g->first[b]; e < g->first[b + 1]; e++)
      m->edge[n++] = (struct pml_cfg_edge){.from = g->edge[e].to + 1, .to = b + 1};
  }
  return pml_cfg_open(&m->back, g->blocks + 1, m->edge, n);
}

static int number_tree(struct merge *m) {
  const struct pml_cfg *g = &m->f->flow;
  m->size = calloc(4 * (size_t)g->blocks + 4, sizeof *m->size);
  if (m->size == NULL) return -ENOMEM;
  m->at = m->size + g->blocks;
  m->stops = m->at + g->blocks;
  uint32_t *next = m->stops + g->blocks + 1;
  for (uint32_t i = g->reached; i-- > 0;) {
    uint32_t b = g->order[i];
    m->size[b]++;
    if (i > 0) m->size[g->dominator[b]] += m->size[b];
  }
  for (uint32_t i = 0; i < g->reached; i++) {
    uint32_t b = g->order[i];
    if (i > 0) m->at[b] = next[g->dominator[b]];
    if (i > 0) next[g->dominator[b]] += m->size[b];
    next[b] = m->at[b] + 1;
    m->stops[m->at[b] + 1] = m->f->block[b].leaves || m->back.rank[b + 1] == PML_CFG_NONE;
  }
  for (uint32_t i = 0; i < g->reached; i++) m->stops[i + 1] += m->stops[i];
  return 0;
}

/* Whether control cannot leave or loop forever in the blocks dominated by @above but not by @below. */
static bool goes_on(const struct merge *m, uint32_t above, uint32_t below) {
  uint32_t first = m->at[above] + 1, end = m->at[above] + m->size[above];
  uint32_t inner = m->at[below], inner_end = m->at[below] + m->size[below];
  return m->stops[inner] == m->stops[first] && m->stops[end] == m->stops[inner_end];
}

static bool run_equally(const struct merge *m, uint32_t above, uint32_t below) {
  const struct pml_body *f = m->f;
  if (f->block[above].in_registers || f->block[below].in_registers || f->block[above].end_leaves) return false;
  if (f->flow.loop[above] != f->flow.loop[below] || m->back.rank[above + 1] == PML_CFG_NONE) return false;
  return m->back.dominator[above + 1] == below + 1 && goes_on(m, above, below);
}

/* Move the counts of the first stretch of @from to the last stretch of @to. */
static int move(struct pml_body *f, uint32_t to, uint32_t from) {
  struct pml_counts *c = &f->stretch[f->block[from].first].counts;
  struct pml_counts *sum = &f->stretch[f->block[to].first + f->block[to].stretches - 1].counts;
  int err = 0;
  for (uint32_t i = 0; i < c->used && !err; i++) err = pml_counts_add(sum, c->at[i].cell, c->at[i].n);
  c->used = 0;
  return err;
}

int pml_body_merge(struct pml_body *f) {
  struct merge m = {.f = f};
  if (f->blocks < 2 || !is_reducible(&f->flow)) return 0;
  int err = turn_round(&m);
  if (!err) err = number_tree(&m);
  for (uint32_t i = f->flow.reached; i-- > 1 && !err;) {
    uint32_t b = f->flow.order[i], above = f->flow.dominator[b];
    if (run_equally(&m, above, b)) err = move(f, above, b);
  }
  pml_cfg_close(&m.back);
  free(m.edge);
  free(m.size);
  return err;
}
