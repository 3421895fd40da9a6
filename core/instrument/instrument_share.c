/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/instrument/instrument_share.c - motion of counters over edges to reduce additions.
 *
 * Edges that share a block's end or a block's beginning form a junction: control that passes a junction leaves one
 * block's end and enters one block's beginning. Counts that all beginnings have in common may be counted at all ends
 * instead, and vice versa. This is done if it reduces additions, if no path gets more of them, and if nothing may leave
 * in between. A move never makes a count negative: the error visible in between is at most the work of a few blocks.
 */
#include "instrument/instrument_function.h"

#include <errno.h>
#include <stdlib.h>

#define ROUNDS_MAX 8u

struct share {
  struct pml_body *f;
  uint32_t *parent; /* [2 * blocks] parents of the union-find structure: the beginnings of blocks, then their ends */
  uint32_t *next;   /* [2 * blocks] next member of the same junction, starting from its root; NONE: the last */
  uint32_t *round;  /* [2 * blocks] by root: the last round in which it was settled, from 1 on */
  bool *closed;     /* [2 * blocks] by root: counts cannot move here */
};

static uint32_t root(struct share *s, uint32_t n) {
  while (s->parent[n] != n) n = s->parent[n] = s->parent[s->parent[n]];
  return n;
}

static bool is_end(const struct share *s, uint32_t n) {
  return n >= s->f->blocks;
}

/* The counts nearest to a beginning or an end. */
static struct pml_counts *counts_at(const struct share *s, uint32_t n) {
  const struct pml_block *b = &s->f->block[is_end(s, n) ? n - s->f->blocks : n];
  return &s->f->stretch[is_end(s, n) ? b->first + b->stretches - 1 : b->first].counts;
}

static int64_t amount(const struct pml_counts *c, unsigned cell) {
  for (uint32_t i = 0; i < c->used; i++)
    if (c->at[i].cell == cell) return c->at[i].n;
  return 0;
}

static int find_junctions(struct share *s) {
  const struct pml_cfg *g = &s->f->flow;
  uint32_t n = 2 * g->blocks;
  s->parent = calloc(3 * (size_t)n + 1, sizeof *s->parent);
  s->closed = calloc((size_t)n + 1, sizeof *s->closed);
  if (s->parent == NULL || s->closed == NULL) return -ENOMEM;
  s->next = s->parent + n;
  s->round = s->next + n;
  for (uint32_t i = 0; i < n; i++) s->parent[i] = i;
  for (uint32_t e = 0; e < g->edges; e++) s->parent[root(s, g->edge[e].from + g->blocks)] = root(s, g->edge[e].to);
  for (uint32_t i = 0; i < n; i++) s->next[i] = PML_CFG_NONE;
  for (uint32_t i = n; i-- > 0;) {
    const struct pml_block *b = &s->f->block[is_end(s, i) ? i - g->blocks : i];
    uint32_t r = root(s, i);
    if (b->in_registers || (is_end(s, i) && b->end_leaves)) s->closed[r] = true;
    if (r == i) continue;
    s->next[i] = s->next[r];
    s->next[r] = i;
  }
  return 0;
}

struct side {                   /* the beginnings of a junction, or its ends */
  uint32_t n, some, least_ones; /* members; members that count the cell; members with the least count */
  int64_t least;
};

static void look(const struct share *s, uint32_t junction, unsigned cell, struct side side[2]) {
  side[0] = side[1] = (struct side){.least = INT64_MAX};
  for (uint32_t i = junction; i != PML_CFG_NONE; i = s->next[i]) {
    struct side *of = &side[is_end(s, i)];
    int64_t n = amount(counts_at(s, i), cell);
    of->n++;
    of->some += n != 0;
    if (n < of->least) of->least_ones = 0;
    if (n < of->least) of->least = n;
    of->least_ones += n == of->least;
  }
}

/* How many additions are saved if all of @to count the common part of all of @from. */
static int64_t gain(const struct side *from, const struct side *to) {
  if (from->n == 0 || to->n == 0 || from->least <= 0) return 0;
  if (to->some < to->n && from->least_ones < from->n) return 0; /* some path would get an additional one */
  return (int64_t)from->least_ones - (to->n - to->some);
}

static int move(struct share *s, uint32_t junction, unsigned cell, int64_t to_ends) {
  for (uint32_t i = junction; i != PML_CFG_NONE; i = s->next[i])
    if (pml_counts_add(counts_at(s, i), cell, is_end(s, i) ? to_ends : -to_ends) < 0) return -ENOMEM;
  return 0;
}

/* Returns 1 if a count was moved, 0 if none was, or -ENOMEM. */
static int settle_cell(struct share *s, uint32_t junction, unsigned cell) {
  struct side side[2];
  look(s, junction, cell, side);
  int64_t up = gain(&side[0], &side[1]), down = gain(&side[1], &side[0]);
  if (up <= 0 && down <= 0) return 0;
  return move(s, junction, cell, up >= down ? side[0].least : -side[1].least) < 0 ? -ENOMEM : 1;
}

static int settle(struct share *s, uint32_t junction) {
  int moved = 0;
  uint64_t seen[PML_COUNT_CELLS / 64] = {0};
  for (uint32_t i = junction; i != PML_CFG_NONE; i = s->next[i]) {
    const struct pml_counts *c = counts_at(s, i);
    for (uint32_t k = 0; k < c->used; k++) seen[c->at[k].cell / 64] |= UINT64_C(1) << c->at[k].cell % 64;
  }
  for (unsigned word = 0; word < PML_COUNT_CELLS / 64; word++)
    for (uint64_t rest = seen[word]; rest != 0; rest &= rest - 1) {
      int rc = settle_cell(s, junction, 64 * word + (unsigned)__builtin_ctzll(rest));
      if (rc < 0) return rc;
      moved |= rc;
    }
  return moved;
}

int pml_body_share(struct pml_body *f) {
  struct share s = {.f = f};
  int err = find_junctions(&s), moved = 1;
  for (uint32_t round = 1; round <= ROUNDS_MAX && moved > 0 && !err; round++) {
    moved = 0;
    for (uint32_t i = f->flow.reached; i-- > 0 && !err;) {
      uint32_t junction = root(&s, f->flow.order[i] + f->blocks);
      if (s.closed[junction] || s.next[junction] == PML_CFG_NONE || s.round[junction] == round) continue;
      s.round[junction] = round;
      int rc = settle(&s, junction);
      if (rc < 0) err = rc;
      moved |= rc > 0;
    }
  }
  free(s.parent);
  free(s.closed);
  return err;
}
