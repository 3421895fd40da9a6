/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/recording/pml_recording_paths.c - call paths and durations of a recording. */
#include "base/pml_array.h"
#include "base/pml_error.h"
#include "read/log/pml_log_read.h"
#include "read/recording/pml_recording_read_private.h"
#include "substrate/profile/pml_profile_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NODE_BYTES sizeof(struct pml__profile_node)
_Static_assert(NODE_BYTES == 80, "docs/log.md says so");

/* A piece of a thread's tree: nodes that follow the previous piece's. */
struct piece {
  uint32_t tree, part;
  uint64_t at, bytes; /* in the file */
};

struct pieces {
  struct piece *piece;
  size_t n, capacity;
  uint64_t end; /* end of the process, in ticks */
};

static int add_piece(struct pieces *all, const struct piece *p) {
  if (!PML__ARRAY_ROOM(all->piece, all->capacity, all->n + 1))
    return pml_fail(-ENOMEM, "no memory for the call paths of a recording");
  all->piece[all->n++] = *p;
  return 0;
}

static int damaged(const char *what, uint64_t value) {
  return pml_fail(PML_EFORMAT, "the log is damaged: %s %" PRIu64 " cannot be since it was begun", what, value);
}

/* Checks each figure separately, because a thread may have been changing them. */
static int check_node(const struct pml_recording_reader *r, const struct pml__profile_node *n) {
  if (!pml__recording_plausible_calls(r, n->entered)) return damaged("calls:", n->entered);
  if (!pml__recording_plausible_calls(r, n->count)) return damaged("calls that returned:", n->count);
  if (!pml__recording_plausible_ticks(r, n->max)) return damaged("ticks of a call:", n->max);
  if (n->min != UINT64_MAX && !pml__recording_plausible_ticks(r, n->min)) return damaged("ticks of a call:", n->min);
  if (!pml__recording_plausible_ticks(r, n->sum / 65536)) return damaged("ticks of calls:", n->sum);
  return 0;
}

static int check_counts(const struct pml_recording_reader *r, const uint64_t counts[8]) {
  for (int i = 0; i < 8; i++)
    if (!pml__recording_plausible_calls(r, counts[i])) return damaged("calls that took equally long:", counts[i]);
  return 0;
}

/* The results of reading blocks. */
struct found {
  struct pieces pieces;
  struct pml__histograms histograms;
};

/* Add the counts of one octave, or the latest call of a histogram, as a histogram with nothing else. */
static int add_durations(const struct pml_recording_reader *r, const struct pml__log_block *b, uint64_t at,
                         struct pml__histograms *all) {
  struct pml__histogram h;
  uint64_t counts[8];
  struct pml__histogram one = {.region = pml__recording_region(r, b->whose)};
  struct pml__histograms from = {.first = &one};
  if (one.region == 0) return 0;
  if (b->part == PML__HISTOGRAM_PART) {
    if (b->bytes < sizeof h) return 0;
    int err = pml__log_read_at(&r->log, at, &h, sizeof h);
    if (err < 0) return err;
    if (h.late != 0 && !pml__recording_plausible_ticks(r, h.late - 1)) return damaged("ticks of a call:", h.late - 1);
    one.late = h.late;
  } else {
    int err = pml__log_read_at(&r->log, at, counts, sizeof counts);
    if (err == 0) err = check_counts(r, counts);
    if (err < 0) return err;
    one.octave[b->part - PML__HISTOGRAM_OCTAVE_PART(0)] = counts;
  }
  return pml__histograms_merge(all, &from) ? 0 : pml_fail(-ENOMEM, "no memory for the durations of a recording");
}

static int add_block(const struct pml_recording_reader *r, const struct pml__log_block *b, uint64_t at, void *arg) {
  struct found *all = arg;
  struct piece p = {b->whose, b->part, at, b->bytes};
  if (b->used != PML__LOG_USED) return 0;
  if (b->part < PML__PROFILE_CHUNKS) return add_piece(&all->pieces, &p);
  if (b->part < PML__HISTOGRAM_PART || b->part >= PML__HISTOGRAM_OCTAVE_PART(PML__HISTOGRAM_OCTAVES)) return 0;
  return add_durations(r, b, at, &all->histograms);
}

static int by_tree(const void *a, const void *b) {
  const struct piece *x = a, *y = b;
  if (x->tree != y->tree) return x->tree < y->tree ? -1 : 1;
  if (x->part != y->part) return x->part < y->part ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

/* A call that is open at the end lasts until then, and its time is included in its caller's. */
static void add_open(const struct pml_recording_reader *r, struct pml__profile_node *to, struct pml__profile_node *up,
                     uint64_t ticks, uint64_t end) {
  uint64_t d = ticks != 0 && ticks < end ? end - ticks : 0;
  if (!pml__recording_plausible_ticks(r, d)) return;
  to->sum += d;
  up->inner += d;
}

/* The merge of one tree into the common tree. */
struct grafting {
  const struct pml_recording_reader *reader;
  struct pml__profile_tree *to;
  uint32_t *at; /* [n] indices of its nodes in the merged tree */
  uint64_t end; /* ticks */
  uint32_t n;
};

/* The region of @node in this process, also if the log had no room for its name; 0: no region. */
static pml_region_t region_of(const struct pml_recording_reader *r, const struct pml__profile_node *node) {
  pml_region_t region = node->region != 0 ? pml__recording_region(r, node->region) : 0;
  if (region == 0 && node->region != 0) (void)pml_region_intern("(function without a name)", "", 0, &region);
  return region;
}

/* Merge @node if it is the next one; returns false at the end of the tree. Calls of a node without a region count for
 * its parent. */
static bool graft(struct grafting *g, const struct pml__profile_node *node, int *err) {
  if (g->n == 0) {
    g->at[g->n++] = 0;
    return true;
  }
  if (node->index != g->n || node->parent >= g->n) return false;
  pml_region_t region = region_of(g->reader, node);
  if (region == 0) {
    g->at[g->n++] = g->at[node->parent];
    return true;
  }
  *err = check_node(g->reader, node);
  if (*err < 0) return false;
  struct pml__profile_node *parent = pml__profile_tree_at(g->to, g->at[node->parent]);
  struct pml__profile_node *same = pml__profile_tree_child(g->to, parent, region);
  if (same == NULL) {
    *err = pml_fail(-ENOMEM, "no memory for the call paths of a recording");
    return false;
  }
  pml__profile_tree_add(same, node);
  add_open(g->reader, same, parent, node->ticks, g->end);
  g->at[g->n++] = same->index;
  return true;
}

static bool graft_piece(struct grafting *g, const struct piece *p, int *err) {
  uint32_t n = PML__PROFILE_CHUNK << p->part;
  if (p->bytes < n * NODE_BYTES) return false;
  uint32_t *at = realloc(g->at, (g->n + (size_t)n) * sizeof *at);
  struct pml__profile_node *node = malloc(n * NODE_BYTES);
  if (at != NULL) g->at = at;
  *err = at == NULL || node == NULL ? pml_fail(-ENOMEM, "no memory for the call paths of a recording")
                                    : pml__log_read_at(&g->reader->log, p->at, node, n * NODE_BYTES);
  bool all = *err == 0;
  for (uint32_t i = 0; i < n && all; i++) all = graft(g, &node[i], err);
  free(node);
  return all;
}

static int latest_enter(const struct pml_recording_reader *r, const struct piece *p, uint64_t *latest) {
  uint32_t n = PML__PROFILE_CHUNK << p->part;
  if (p->bytes < n * NODE_BYTES) return 0;
  struct pml__profile_node *node = malloc(n * NODE_BYTES);
  if (node == NULL) return pml_fail(-ENOMEM, "no memory for the call paths of a recording");
  int err = pml__log_read_at(&r->log, p->at, node, n * NODE_BYTES);
  for (uint32_t i = 0; i < n && err == 0; i++)
    if (node[i].ticks > *latest) *latest = node[i].ticks;
  free(node);
  return err;
}

/* If the end of the process is unknown, the beginning of its last call that did not return is used. */
static int find_end(const struct pml_recording_reader *r, const struct pieces *all, uint64_t *end) {
  int err = 0;
  *end = pml__recording_end_ticks(r);
  if (*end != 0) return 0;
  for (size_t i = 0; i < all->n && err == 0; i++) err = latest_enter(r, &all->piece[i], end);
  return err;
}

/* Merge the tree whose pieces begin at *@i, and set *@i to the next tree. Pieces follow each other from part 0 on;
 * after a missing one, the others have no parents and are ignored. */
static int graft_one(const struct pml_recording_reader *r, const struct pieces *all, size_t *i,
                     struct pml__profile_tree *to) {
  uint32_t tree = all->piece[*i].tree, part = 0;
  struct grafting g = {.reader = r, .to = to, .end = all->end};
  bool whole = true;
  int err = 0;
  for (; *i < all->n && all->piece[*i].tree == tree && err == 0; ++*i) {
    whole = whole && all->piece[*i].part == part++;
    if (whole) whole = graft_piece(&g, &all->piece[*i], &err);
  }
  free(g.at);
  return err;
}

static int graft_all(const struct pml_recording_reader *r, const struct pieces *all, struct pml__profile_tree *to) {
  int err = 0;
  for (size_t i = 0; i < all->n && err == 0;) err = graft_one(r, all, &i, to);
  return err;
}

static int find_all(const struct pml_recording_reader *r, struct found *all) {
  int err = pml__recording_each_block(r, add_block, all);
  if (all->pieces.n > 0) qsort(all->pieces.piece, all->pieces.n, sizeof *all->pieces.piece, by_tree);
  return err == 0 ? find_end(r, &all->pieces, &all->pieces.end) : err;
}

/* ---- sums ---- */

#define VALUES_MAX 64u

struct summing {
  int (*visit)(const struct pml_recording_function_sums *sums, void *arg);
  void *arg;
};

static int visit_sums(const struct pml_recording_reader *r, const struct pml__log_block *b, uint64_t at, void *arg) {
  const struct summing *s = arg;
  struct pml__log_sums head;
  uint64_t sum[VALUES_MAX];
  uint32_t n = r->head.nmetrics;
  if (b->used != PML__LOG_USED || b->part != PML__LOG_SUMS_PART || n == 0 || n > VALUES_MAX) return 0;
  if (b->bytes < sizeof head + n * sizeof *sum) return 0;
  int err = pml__log_read_at(&r->log, at, &head, sizeof head);
  if (err == 0) err = pml__log_read_at(&r->log, at + sizeof head, sum, n * sizeof *sum);
  struct pml_recording_function_sums f = {pml__recording_region(r, head.region), n, r->head.real[0], sum};
  if (err < 0 || head.n != n || f.region == 0) return err;
  return s->visit(&f, s->arg);
}

int pml_recording_read_sums(struct pml_recording_reader *r,
                            int (*visit)(const struct pml_recording_function_sums *sums, void *arg), void *arg) {
  struct summing s = {visit, arg};
  return pml__recording_each_block(r, visit_sums, &s);
}

/* ---- calls of threads ---- */

static struct pml_recording_call call_of(const struct pml__profile_tree *t, const struct pml__profile_node *n,
                                         uint32_t thread, double tick_ns) {
  struct pml_recording_call c = {.thread = thread, .path = n->index, .parent = n->parent, .outermost = true};
  uint32_t depth = 0;
  for (uint32_t i = n->parent; i != 0; i = pml__profile_tree_at(t, i)->parent, depth++)
    if (pml__profile_tree_at(t, i)->region == n->region) c.outermost = false;
  c.node = pml__profile_public(n, depth, tick_ns);
  return c;
}

/* Parents have lower numbers than their children. */
static int list_tree(const struct pml__profile_tree *t, uint32_t thread, double tick_ns,
                     struct pml_recording_call **calls, size_t *n) {
  struct pml_recording_call *more = realloc(*calls, (*n + t->n) * sizeof *more);
  if (more == NULL) return pml_fail(-ENOMEM, "no memory for the call paths of a recording");
  *calls = more;
  for (uint32_t i = 1; i < t->n; i++) more[(*n)++] = call_of(t, pml__profile_tree_at(t, i), thread, tick_ns);
  return 0;
}

int pml_recording_read_calls(struct pml_recording_reader *r, struct pml_recording_call **calls, size_t *n) {
  struct found all = {0};
  *calls = NULL;
  *n = 0;
  int err = find_all(r, &all);
  for (size_t i = 0; i < all.pieces.n && err == 0;) {
    struct pml__profile_tree tree;
    uint32_t thread = all.pieces.piece[i].tree;
    err = pml__profile_tree_open(&tree, NULL, 0) ? graft_one(r, &all.pieces, &i, &tree)
                                                 : pml_fail(-ENOMEM, "no memory for the call paths of a recording");
    if (err == 0) err = list_tree(&tree, thread, pml_recording_tick_ns(r), calls, n);
    pml__profile_tree_close(&tree);
  }
  free(all.pieces.piece);
  pml__histograms_close(&all.histograms);
  if (err == 0) return 0;
  free(*calls);
  *calls = NULL;
  return err;
}

/* ---- profile ---- */

int pml_recording_read_profile(struct pml_recording_reader *r, struct pml_profile **out) {
  struct found all = {0};
  struct pml__profile_tree merged;
  *out = NULL;
  if (!pml__profile_tree_open(&merged, NULL, 0))
    return pml_fail(-ENOMEM, "no memory for the call paths of a recording");
  int err = find_all(r, &all);
  if (err == 0) err = graft_all(r, &all.pieces, &merged);
  free(all.pieces.piece);
  if (err == 0) err = pml__profile_of(out, &merged, &all.histograms, pml_recording_tick_ns(r));
  if (err == 0) return 0;
  pml__histograms_close(&all.histograms);
  pml__profile_tree_close(&merged);
  return err;
}
