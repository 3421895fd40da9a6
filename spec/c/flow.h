/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/flow.h - sequences of calls, their evaluation by a slow and simple reference, and the comparison with a flow.
 */
#ifndef FLOW_H
#define FLOW_H

#include "base/pml_region.h"
#include "substrate/flow/pml_flow.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGIONS 26
#define DEEPEST 12
#define LONGEST 6000

static pml_region_t region[REGIONS];

static void intern_regions(void) {
  for (int i = 0; i < REGIONS; i++) {
    const char name[2] = {(char)('a' + i), '\0'};
    (void)pml_region_intern(name, NULL, 0, &region[i]);
  }
}

/* The paths that were entered, one after the other, as text: the slow reference. */
struct told {
  size_t n;
  char path[LONGEST][DEEPEST + 1];
  char now[DEEPEST + 1];
  size_t depth;
  uint64_t ticks;
};

static void raise_call(enum pml_stream_kind kind, int r, uint64_t ticks) {
  struct pml_stream_event e = {.ticks = ticks, .region = region[r]};
  pml_stream_emit(kind, &e);
}

static void call(struct told *t, int r) {
  t->now[t->depth++] = (char)('a' + r);
  t->now[t->depth] = '\0';
  memcpy(t->path[t->n++], t->now, sizeof t->now);
  raise_call(PML_STREAM_ENTER, r, t->ticks += 10);
}

static void back(struct told *t) {
  int r = t->now[--t->depth] - 'a';
  t->now[t->depth] = '\0';
  raise_call(PML_STREAM_LEAVE, r, t->ticks += 10);
}

/* Letters are calls; the parentheses after a letter contain its nested calls. */
static void run(struct told *t, const char *calls) {
  for (; *calls != '\0'; calls++) {
    if (*calls == ')')
      back(t);
    else if (*calls != '(') {
      call(t, *calls - 'a');
      if (calls[1] != '(') back(t);
    }
  }
}

static void path_of(const struct pml_flow_graph *g, uint32_t node, char text[DEEPEST + 1]) {
  struct pml_region_info info;
  size_t depth = g->node[node].depth;
  text[depth] = '\0';
  for (; node != 0; node = g->node[node].parent) {
    if (pml_region_describe(g->node[node].region, &info) == 0) text[--depth] = info.name[0];
  }
}

static unsigned next_of(const struct pml_flow_graph *g, uint32_t from, uint64_t visit, uint32_t *to) {
  unsigned n = 0;
  for (uint32_t e = 0; e < g->nedges; e++) {
    if (g->edge[e].from != from) continue;
    for (uint32_t l = 0; l < g->edge[e].nlabels; l++) {
      if (!pml_flow_label_has(&g->edge[e].label[l], visit)) continue;
      *to = g->edge[e].to;
      n++;
    }
  }
  return n;
}

/* Whether following the graph from its begin gives the first @n paths that were told, and there ends. */
static bool gives_back(const struct pml_flow_graph *g, const struct told *t, size_t n) {
  uint64_t visits[LONGEST] = {1};
  uint32_t at = 0, to = 0;
  char path[DEEPEST + 1];
  if (g->nnodes > LONGEST) return false;
  for (size_t i = 0; i < n; i++) {
    if (next_of(g, at, visits[at], &to) != 1) return false;
    at = to;
    visits[at]++;
    path_of(g, at, path);
    if (strcmp(path, t->path[i]) != 0) return false;
  }
  for (uint32_t i = 0; i < g->nnodes; i++)
    if (visits[i] != g->node[i].visits) return false;
  return at == g->last && next_of(g, at, visits[at], &to) == 0;
}

/* Whether the labels of each edge, written out visit by visit, are ascending sets that count what the edge counts. */
static bool adds_up(const struct pml_flow_graph *g) {
  for (uint32_t e = 0; e < g->nedges; e++) {
    uint64_t n = 0;
    for (uint32_t l = 0; l < g->edge[e].nlabels; l++) {
      const struct pml_flow_label *a = &g->edge[e].label[l];
      if (a->i == 0 || a->m == 0 || a->j < a->i || (a->m > 1) != (a->l > 0) || (a->k > 0) != (a->j > a->i))
        return false;
      for (uint64_t m = 0; m < a->m; m++)
        for (uint64_t v = a->i; v <= a->j; v += a->k > 0 ? a->k : 1) n += pml_flow_label_has(a, v + m * a->l);
    }
    if (n != g->edge[e].count) return false;
  }
  return true;
}

#endif
