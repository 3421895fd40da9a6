/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/read/pml_otf2_paths.c - the tree of call paths, from enters and leaves. */
#include "substrate/trace/read/pml_otf2_paths.h"

#include "base/pml_error.h"
#include "substrate/trace/read/pml_otf2_events.h"
#include "substrate/trace/read/pml_otf2_read_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct node {
  size_t parent, region;
  uint64_t calls, inclusive, exclusive; /* in ticks */
};

struct frame {
  size_t node;
  uint64_t enter, inside; /* inside: time of the calls in it, in the window */
};

struct walk {
  uint64_t from, to, last, unmatched;
  uint64_t *open; /* [nregions] calls under way on this location */
  struct node *node;
  size_t nnodes, nodes_capacity;
  size_t *slot; /* [nslots] a hash of parent and region: node + 1, or 0 */
  size_t nslots;
  struct frame *stack;
  size_t depth, stack_capacity;
};

/* ---- the tree ---- */

static size_t *slot_of(const struct walk *w, size_t parent, size_t region) {
  uint64_t hash = ((uint64_t)parent + 1) * 0x9e3779b97f4a7c15u ^ ((uint64_t)region + 1) * 0xc2b2ae3d27d4eb4fu;
  for (size_t i = (size_t)(hash ^ hash >> 29) & (w->nslots - 1);; i = (i + 1) & (w->nslots - 1)) {
    size_t *slot = &w->slot[i];
    if (*slot == 0 || (w->node[*slot - 1].parent == parent && w->node[*slot - 1].region == region)) return slot;
  }
}

/* At most half of the slots are in use. */
static bool widen(struct walk *w) {
  size_t n = w->nslots == 0 ? 256 : 2 * w->nslots;
  size_t *slot = calloc(n, sizeof *slot);
  struct node *node = slot != NULL ? realloc(w->node, n / 2 * sizeof *node) : NULL;
  if (node != NULL) w->node = node;
  if (node == NULL) {
    free(slot);
    return false;
  }
  memset(node + w->nodes_capacity, 0, (n / 2 - w->nodes_capacity) * sizeof *node);
  free(w->slot);
  w->slot = slot;
  w->nslots = n;
  w->nodes_capacity = n / 2;
  for (size_t i = 0; i < w->nnodes; i++) *slot_of(w, node[i].parent, node[i].region) = i + 1;
  return true;
}

/* PML_OTF2_NONE: no memory. */
static size_t node_of(struct walk *w, size_t parent, size_t region) {
  if (w->nnodes == w->nodes_capacity && !widen(w)) return PML_OTF2_NONE;
  size_t *slot = slot_of(w, parent, region);
  if (*slot != 0) return *slot - 1;
  w->node[w->nnodes++] = (struct node){.parent = parent, .region = region};
  *slot = w->nnodes;
  return w->nnodes - 1;
}

/* ---- calls ---- */

static bool push(struct walk *w, size_t region, uint64_t time) {
  if (w->depth == w->stack_capacity) {
    size_t capacity = w->stack_capacity == 0 ? 256 : 2 * w->stack_capacity;
    struct frame *more = realloc(w->stack, capacity * sizeof *more);
    if (more == NULL) return false;
    w->stack = more;
    w->stack_capacity = capacity;
  }
  size_t node = node_of(w, w->depth > 0 ? w->stack[w->depth - 1].node : PML_OTF2_NONE, region);
  if (node == PML_OTF2_NONE) return false;
  w->stack[w->depth++] = (struct frame){node, time, 0};
  w->open[region]++;
  return true;
}

static void pop(struct walk *w, uint64_t time) {
  const struct frame f = w->stack[--w->depth];
  struct node *node = &w->node[f.node];
  uint64_t from = f.enter > w->from ? f.enter : w->from, to = time < w->to ? time : w->to;
  uint64_t span = to > from ? to - from : 0;
  node->inclusive += span;
  node->exclusive += span - (f.inside < span ? f.inside : span);
  node->calls += f.enter >= w->from && f.enter <= w->to;
  w->open[node->region]--;
  if (w->depth > 0) w->stack[w->depth - 1].inside += span;
}

/* A leave of an outer call ends those in it. */
static void leave(struct walk *w, size_t region, uint64_t time) {
  w->unmatched += w->open[region] == 0;
  while (w->open[region] > 0 && w->depth > 0) {
    bool found = w->node[w->stack[w->depth - 1].node].region == region;
    pop(w, time);
    if (found) return;
    w->unmatched++;
  }
}

/* What is still open at the last event of a location ends there. */
static void end_location(struct walk *w) {
  while (w->depth > 0) pop(w, w->last);
}

static int walk_all(struct walk *w, struct pml_otf2_events *e) {
  const struct pml_otf2_event *event;
  size_t location = PML_OTF2_NONE;
  int more;
  while ((more = pml_otf2_events_next(e, &event)) > 0) {
    if (event->location != location) end_location(w);
    location = event->location;
    w->last = event->time;
    if (event->kind == PML_OTF2_LEAVE)
      leave(w, event->what, event->time);
    else if (!push(w, event->what, event->time))
      return -ENOMEM;
  }
  end_location(w);
  return more;
}

/* ---- the answer ---- */

static int answer(const struct walk *w, const struct pml_otf2_read *t, struct pml_otf2_paths *p) {
  double s = 1.0 / (double)t->resolution;
  p->path = calloc(w->nnodes + 1, sizeof *p->path);
  if (p->path == NULL) return -ENOMEM;
  for (size_t i = 0; i < w->nnodes; i++) {
    const struct node *n = &w->node[i];
    p->path[i] =
        (struct pml_otf2_path){n->parent, n->region, n->calls, s * (double)n->inclusive, s * (double)n->exclusive};
  }
  p->n = w->nnodes;
  p->unmatched = w->unmatched;
  return 0;
}

/* Calls that began before the window are in it, too: all enters and leaves are read. */
int pml_otf2_read_paths(struct pml_otf2_read *t, const struct pml_otf2_question *q, struct pml_otf2_paths *p) {
  struct pml_otf2_question all = *q;
  struct pml_otf2_events *e;
  struct walk w = {.from = pml__otf2_ticks(t, q->from_s), .to = pml__otf2_ticks(t, q->to_s)};
  all.from_s = -INFINITY;
  all.to_s = INFINITY;
  all.kinds = 1u << PML_OTF2_ENTER | 1u << PML_OTF2_LEAVE;
  *p = (struct pml_otf2_paths){0};
  int err = pml_otf2_events_open(&e, t, &all, false);
  if (err < 0) return err;
  w.open = calloc(t->regions.n + 1, sizeof *w.open);
  err = w.open != NULL ? walk_all(&w, e) : -ENOMEM;
  pml_otf2_events_close(e);
  if (err == 0) err = answer(&w, t, p);
  free(w.open);
  free(w.node);
  free(w.slot);
  free(w.stack);
  return err == -ENOMEM ? pml_fail(err, "%.300s: no memory for its call paths", t->path) : err;
}
