/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/instrument_cfg.c - dominators, loops and counters of control-flow graphs equal those by the definitions.
 *
 * Random graphs, most of them irreducible somewhere. A walk through a graph counts its blocks; the counters of a loop,
 * incremented in their blocks only, must give the same number for every block of the loop, each time it is left.
 */
#include "instrument/instrument_cfg.h"
#include "check.h"

enum { BLOCKS_MAX = 24, EDGES_MAX = 96, GRAPHS = 4000, STEPS = 400 };

struct graph {
  uint32_t blocks, edges;
  struct pml_cfg_edge edge[EDGES_MAX];
};

static uint64_t state = 88172645463325252u;

static uint32_t under(uint32_t n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state % n);
}

/* No edge leads to the entry; each block leads to the next, and some have one to three more edges. */
static struct graph random_graph(void) {
  struct graph g = {.blocks = 2 + under(BLOCKS_MAX - 2)};
  for (uint32_t b = 0; b + 1 < g.blocks; b++) {
    g.edge[g.edges++] = (struct pml_cfg_edge){b, b + 1};
    for (uint32_t n = under(4); n > 1; n--) g.edge[g.edges++] = (struct pml_cfg_edge){b, 1 + under(g.blocks - 1)};
  }
  return g;
}

/* Which blocks a walk from the entry reaches without @without. */
static void reach(const struct graph *g, uint32_t without, bool seen[BLOCKS_MAX]) {
  memset(seen, 0, BLOCKS_MAX * sizeof *seen);
  seen[0] = without != 0;
  for (bool more = seen[0]; more;) {
    more = false;
    for (uint32_t e = 0; e < g->edges; e++) {
      if (!seen[g->edge[e].from] || g->edge[e].to == without || seen[g->edge[e].to]) continue;
      seen[g->edge[e].to] = more = true;
    }
  }
}

static bool dominators_hold(const struct pml_cfg *f, const struct graph *g) {
  bool all[BLOCKS_MAX], rest[BLOCKS_MAX];
  reach(g, PML_CFG_NONE, all);
  for (uint32_t a = 0; a < g->blocks; a++) {
    reach(g, a, rest);
    for (uint32_t b = 0; b < g->blocks; b++)
      if (pml_cfg_dominates(f, a, b) != (all[a] && all[b] && !rest[b])) return false;
  }
  return true;
}

static void natural_loop(const struct pml_cfg *f, const struct graph *g, uint32_t header, bool in[BLOCKS_MAX]) {
  bool all[BLOCKS_MAX];
  reach(g, PML_CFG_NONE, all);
  memset(in, 0, BLOCKS_MAX * sizeof *in);
  for (bool more = true; more;) {
    more = false;
    for (uint32_t e = 0; e < g->edges; e++) {
      uint32_t from = g->edge[e].from, to = g->edge[e].to;
      if (!all[from] || in[from]) continue;
      bool back = to == header && pml_cfg_dominates(f, header, from);
      if (back || (in[to] && to != header)) in[from] = in[header] = more = true;
    }
  }
}

static bool loops_hold(const struct pml_cfg *f, const struct graph *g) {
  bool is_header[BLOCKS_MAX] = {false};
  for (uint32_t l = 0; l < f->loops; l++) is_header[f->in[l].header] = true;
  for (uint32_t h = 0; h < g->blocks; h++) {
    bool in[BLOCKS_MAX], any = false;
    natural_loop(f, g, h, in);
    for (uint32_t b = 0; b < g->blocks; b++) any |= in[b];
    if (any != is_header[h]) return false;
  }
  for (uint32_t l = 0; l < f->loops; l++) {
    bool in[BLOCKS_MAX];
    natural_loop(f, g, f->in[l].header, in);
    for (uint32_t b = 0; b < g->blocks; b++)
      if (pml_cfg_within(f, b, l) != in[b]) return false;
  }
  return true;
}

/* The counters' result for a run through the loop, and the true count. */
static bool counts_agree(const struct pml_cfg_plan *p, const uint32_t ran[BLOCKS_MAX]) {
  for (uint32_t i = 0; i < p->blocks; i++) {
    int64_t n = p->base[i];
    for (uint32_t c = 0; c < p->counters; c++)
      n += (int64_t)p->share[i * p->counters + c] * ran[p->block[p->counter[c]]];
    if (n != ran[p->block[i]]) return false;
  }
  return true;
}

/* Random walks; counts must agree whenever the loop is left. */
static bool walk(const struct pml_cfg *f, uint32_t loop, const struct pml_cfg_plan *p, unsigned *left) {
  uint32_t ran[BLOCKS_MAX] = {0};
  for (uint32_t at = 0, step = 0; step < STEPS; step++) {
    uint32_t ways = f->first[at + 1] - f->first[at];
    bool inside = pml_cfg_within(f, at, loop);
    if (inside) ran[at]++;
    uint32_t to = ways > 0 ? f->edge[f->first[at] + under(ways)].to : 0;
    if (inside && (ways == 0 || !pml_cfg_within(f, to, loop))) {
      if (ways > 0 && !counts_agree(p, ran)) return false; /* where the program ends, nothing is added */
      *left += ways > 0;
      memset(ran, 0, sizeof ran);
    }
    at = to;
  }
  return true;
}

struct tally {
  unsigned graphs, loops, left, saved, wrong_dominators, wrong_loops, wrong_counts;
};

static void try_loop(const struct pml_cfg *f, uint32_t loop, struct tally *t) {
  struct pml_cfg_plan p;
  if (pml_cfg_plan_open(&p, f, loop, BLOCKS_MAX) == 0) {
    t->loops++;
    t->saved += p.blocks - p.counters;
    for (int i = 0; i < 3; i++) t->wrong_counts += !walk(f, loop, &p, &t->left);
  }
  pml_cfg_plan_close(&p);
}

static void try_graph(struct tally *t) {
  struct graph g = random_graph();
  struct graph copy = g;
  struct pml_cfg f;
  if (pml_cfg_open(&f, g.blocks, g.edge, g.edges) == 0) {
    t->graphs++;
    t->wrong_dominators += !dominators_hold(&f, &copy);
    t->wrong_loops += !loops_hold(&f, &copy);
    for (uint32_t l = 0; l < f.loops; l++) try_loop(&f, l, t);
  }
  pml_cfg_close(&f);
}

static unsigned counters_of(uint32_t blocks, struct pml_cfg_edge *edge, uint32_t edges) {
  struct pml_cfg f;
  struct pml_cfg_plan p = {0};
  unsigned n = 0;
  if (pml_cfg_open(&f, blocks, edge, edges) == 0 && pml_cfg_plan_open(&p, &f, f.loops - 1, 32) == 0) n = p.counters;
  pml_cfg_plan_close(&p);
  pml_cfg_close(&f);
  return n;
}

static void known_graphs(void) {
  struct pml_cfg_edge one[] = {{0, 1}, {1, 1}, {1, 2}};
  CHECK(counters_of(3, one, 3) == 1, "a loop of one block has one counter");
  struct pml_cfg_edge plain[] = {{0, 1}, {1, 2}, {2, 3}, {3, 1}, {1, 4}};
  CHECK(counters_of(5, plain, 5) == 1, "a loop with a head, a body and a step has one counter");
  struct pml_cfg_edge choice[] = {{0, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 1}, {4, 5}};
  CHECK(counters_of(6, choice, 7) == 2, "a choice in a loop costs a second counter");
  struct pml_cfg_edge nest[] = {{0, 1}, {1, 2}, {2, 2}, {2, 3}, {3, 1}, {1, 4}};
  CHECK(counters_of(5, nest, 6) == 2, "a loop in a loop has two, for both");
  struct pml_cfg_edge exits[] = {{0, 1}, {1, 2}, {2, 1}, {1, 3}, {2, 4}};
  CHECK(counters_of(5, exits, 5) == 2, "a loop that is left in two places has two counters");
}

static void limits(void) {
  struct pml_cfg_edge choice[] = {{0, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 1}, {4, 5}};
  struct pml_cfg f;
  struct pml_cfg_plan p;
  CHECK(pml_cfg_open(&f, 6, choice, 7) == 0 && f.loops == 1, "a graph with one loop");
  CHECK(pml_cfg_plan_open(&p, &f, 0, 1) < 0, "a plan is refused where it needs more counters than are allowed");
  pml_cfg_plan_close(&p);
  pml_cfg_close(&f);
  uint32_t n = 200000;
  struct pml_cfg_edge *chain = calloc(n, sizeof *chain);
  for (uint32_t i = 0; chain != NULL && i + 1 < n; i++) chain[i] = (struct pml_cfg_edge){i, i + 1};
  CHECK(chain != NULL && pml_cfg_open(&f, n, chain, n - 1) == 0 && pml_cfg_dominates(&f, 0, n - 1),
        "a chain of 200,000 blocks needs no deep stack");
  pml_cfg_close(&f);
  free(chain);
}

int main(void) {
  struct tally t = {0};
  known_graphs();
  limits();
  for (int i = 0; i < GRAPHS; i++) try_graph(&t);
  CHECK(t.wrong_dominators == 0, "dominators of %u random graphs are those that every way passes", t.graphs);
  CHECK(t.wrong_loops == 0, "natural loops are what the definition says");
  CHECK(t.loops > GRAPHS && t.left > GRAPHS && t.wrong_counts == 0,
        "counters of %u loops, left %u times, give the runs of every block", t.loops, t.left);
  CHECK(t.saved > 0, "with %u counters fewer than blocks", t.saved);
  return check_done();
}
