/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/flow/pml_flow.c - event flows of threads, and their conversion to graphs. */
#include "substrate/flow/pml_flow.h"

#include "base/pml_bits.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "substrate/flow/pml_flow_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool pml_flow_label_has(const struct pml_flow_label *label, uint64_t visit) {
  if (visit < label->i) return false;
  uint64_t turn = label->m > 1 ? (visit - label->i) / label->l : 0;
  if (turn >= label->m) turn = label->m - 1;
  /* iterations may overlap: an earlier one may contain the visit */
  for (;; turn--) {
    uint64_t at = visit - turn * label->l;
    if (at > label->j) return false;
    if (at == label->i || (label->k > 0 && (at - label->i) % label->k == 0)) return true;
    if (turn == 0) return false;
  }
}

/* ---- graphs ---- */

static double sum_of(const struct pml__flow_lane *t, size_t i) {
  return (t->real >> i % t->nmetrics & 1) != 0 ? pml__as_double(t->sum[i]) : (double)t->sum[i];
}

static void copy_nodes(struct pml_flow_graph *g, struct pml_flow_node *to, double *metric,
                       const struct pml__flow_lane *t, double ns) {
  g->node = to;
  for (uint32_t i = 0; i < g->nnodes; i++) {
    const struct pml__profile_node *n = pml__profile_tree_at(&t->tree, i);
    to[i] = (struct pml_flow_node){.region = n->region,
                                   .parent = n->parent,
                                   .depth = i == 0 ? 0 : to[n->parent].depth + 1,
                                   .visits = n->entered,
                                   .count = n->count,
                                   .inclusive_ns = ns * (double)n->sum,
                                   .exclusive_ns = ns * (double)(n->sum > n->inner ? n->sum - n->inner : 0),
                                   .metric = metric + (size_t)i * g->nmetrics};
  }
  for (size_t i = 0; i < (size_t)g->nnodes * g->nmetrics; i++) metric[i] = sum_of(t, i);
}

static uint64_t count_of(const struct pml_flow_label *label) {
  return label->m * (label->k == 0 ? 1 : (label->j - label->i) / label->k + 1);
}

static int by_first(const void *a, const void *b) {
  const struct pml_flow_label *x = a, *y = b;
  return (x->i > y->i) - (x->i < y->i);
}

/* Move the labels to the graph. */
static bool move_edges(struct pml_flow_graph *g, struct pml_flow_edge *to, struct pml__flow_lane *t) {
  g->edge = to;
  for (uint32_t i = 0; i < g->nedges; i++) {
    struct pml__flow_edge *from = &t->edge[i + 1];
    struct pml__flow_visits *v = &from->visits;
    struct pml_flow_label *label =
        pml__flow_resize(t->flow, v->label, v->n * sizeof *label, (v->n + PML__FLOW_FOLD) * sizeof *label);
    if (label == NULL) return false;
    v->label = label;
    pml__flow_visits_end(v);
    qsort(label, v->n, sizeof *label, by_first);
    to[i] = (struct pml_flow_edge){.from = from->from, .to = from->to->index, .nlabels = v->n, .label = label};
    for (uint32_t k = 0; k < v->n; k++) to[i].count += count_of(&label[k]);
    v->label = NULL;
  }
  return true;
}

static void free_graph(const struct pml_flow *f, struct pml_flow_graph *g) {
  for (uint32_t i = 0; g->edge != NULL && i < g->nedges; i++) pml__flow_release(f, (void *)(uintptr_t)g->edge[i].label);
  pml__flow_release(f, g);
}

/* The number of visited nodes. A node that was to be entered when the room ended has no visit. */
static uint32_t visited(const struct pml__flow_lane *t) {
  uint32_t n = t->tree.n;
  while (pml__profile_tree_at(&t->tree, n - 1)->entered == 0) n--;
  return n;
}

static uint32_t taken(const struct pml__flow_lane *t) {
  uint32_t n = t->nedges;
  while (n > 1 && t->edge[n - 1].visits.first == 0) n--;
  return n - 1;
}

static struct pml_flow_graph *make_graph(struct pml_flow *f, struct pml__flow_lane *t) {
  uint32_t nodes = visited(t), edges = taken(t);
  struct pml_flow_node *node;
  struct pml_flow_edge *edge;
  size_t bytes =
      sizeof(struct pml_flow_graph) + nodes * (sizeof *node + f->nmetrics * sizeof(double)) + edges * sizeof *edge;
  struct pml_flow_graph *g = pml__flow_resize(f, NULL, 0, bytes);
  if (g == NULL) return NULL;
  memset(g, 0, bytes);
  g->nthreads = t->nthreads;
  g->nnodes = nodes;
  g->nedges = edges;
  g->nmetrics = f->nmetrics;
  g->metric = (const char *const *)f->metric;
  g->last = t->at->index;
  g->unmatched = t->unmatched;
  g->missing = t->missing;
  node = (struct pml_flow_node *)(g + 1);
  edge = (struct pml_flow_edge *)(node + nodes);
  copy_nodes(g, node, (double *)(edge + edges), t, f->tick_ns);
  if (move_edges(g, edge, t)) return g;
  free_graph(f, g);
  return NULL;
}

static struct pml__flow_lane *first_lane(const struct pml_flow *f, uint32_t from) {
  struct pml__flow_lane *first = NULL;
  for (struct pml__flow_lane *t = f->lanes; t != NULL; t = t->next)
    if (t->number >= from && (first == NULL || t->number < first->number)) first = t;
  return first;
}

static int make_graphs(struct pml_flow *f) {
  f->graph = calloc(f->ntracks + 1, sizeof(void *));
  if (f->graph == NULL) return -ENOMEM;
  for (struct pml__flow_lane *t = first_lane(f, 0); t != NULL; t = first_lane(f, t->number + 1)) {
    f->graph[f->ngraphs] = make_graph(f, t);
    if (f->graph[f->ngraphs] == NULL) return -ENOMEM;
    f->ngraphs++;
  }
  return 0;
}

/* ---- open and close ---- */

static int copy_metrics(struct pml_flow *f, const struct pml_flow_options *o) {
  if (o->nmetrics > PML_FLOW_METRICS_MAX)
    return pml_fail(-EINVAL, "a flow has at most %u metrics, not %zu", PML_FLOW_METRICS_MAX, o->nmetrics);
  for (size_t i = 0; i < o->nmetrics; i++) {
    if (o->metrics[i] == NULL || o->metrics[i][0] == '\0') return pml_fail(-EINVAL, "a metric of a flow has no name");
    f->metric[i] = strdup(o->metrics[i]);
    if (f->metric[i] == NULL) return pml_fail(-ENOMEM, "no memory for a flow");
    f->nmetrics++;
  }
  return 0;
}

static void free_flow(struct pml_flow *f) {
  for (uint32_t i = 0; i < f->nmetrics; i++) free(f->metric[i]);
  pthread_mutex_destroy(&f->lock.mutex);
  free(f);
}

int pml__flow_new(struct pml_flow **out, const struct pml_flow_options *options, double tick_ns) {
  static const struct pml_flow_options none;
  const struct pml_flow_options *o = options != NULL ? options : &none;
  *out = NULL;
  if (o->labels > PML_FLOW_LABELS_MAX)
    return pml_fail(-EINVAL, "a flow has at most %u labels for each thread, not %u", PML_FLOW_LABELS_MAX, o->labels);
  int err = tick_ns != 0 ? 0 : pml_clock_init();
  if (err < 0) return err;
  struct pml_flow *f = calloc(1, sizeof *f);
  if (f == NULL) return pml_fail(-ENOMEM, "no memory for a flow");
  pthread_mutex_init(&f->lock.mutex, NULL);
  f->memory = o->memory;
  f->tick_ns = tick_ns != 0 ? tick_ns : 1e9 / pml__clock.ticks_per_second;
  f->labels = o->labels != 0 ? o->labels : PML_FLOW_LABELS;
  err = copy_metrics(f, o);
  if (err == 0)
    *out = f;
  else
    free_flow(f);
  return err;
}

static void *thread_begin(void *arg, uint64_t thread) {
  (void)thread;
  return pml__flow_lane(arg);
}

static void thread_end(void *arg, void *lane) {
  pml__flow_lane_end(arg, lane);
}

int pml_flow_open(struct pml_flow **out, const struct pml_flow_options *options) {
  struct pml_flow *f;
  int err = pml__flow_new(&f, options, 0);
  *out = NULL;
  if (err < 0) return err;
  struct pml_stream_consumer c = {.name = "event flow",
                                  .thread_begin = thread_begin,
                                  .thread_end = thread_end,
                                  .event = {pml__flow_enter, pml__flow_leave, NULL},
                                  .fast = {pml__flow_enter_fast, pml__flow_leave_fast},
                                  .fast_values = {pml__flow_enter_fast_values, pml__flow_leave_fast_values},
                                  .arg = f};
  err = pml_stream_add(&c, &f->consumer);
  if (err < 0)
    free_flow(f);
  else
    *out = f;
  return err;
}

static struct pml__flow_lane *first_alive(const struct pml_flow *f) {
  struct pml__flow_lane *t = f->lanes;
  while (t != NULL && t->nthreads != 0) t = t->next;
  return t;
}

static int remove_consumer(struct pml_flow *f) {
  int err = f->consumer != 0 ? pml_stream_remove(f->consumer) : 0;
  if (err == 0) f->consumer = 0;
  return err;
}

int pml_flow_stop(struct pml_flow *f) {
  if (f->stopped) return f->failed;
  int err = remove_consumer(f);
  if (err < 0) return pml_fail(err, "the flow belongs to another process, or a consumer of events called this");
  f->stopped = true;
  for (struct pml__flow_lane *t; (t = first_alive(f)) != NULL;) pml__flow_lane_end(f, t);
  f->failed = make_graphs(f);
  return f->failed < 0 ? pml_fail(f->failed, "no memory for the graphs of a flow") : 0;
}

void pml_flow_close(struct pml_flow *f) {
  /* in a child other threads may have been changing it */
  if (f == NULL || remove_consumer(f) < 0) return;
  for (struct pml__flow_lane *t = f->lanes, *next; t != NULL; t = next) {
    next = t->next;
    pml__flow_lane_free(t);
  }
  for (size_t i = 0; i < f->ngraphs; i++) free_graph(f, f->graph[i]);
  free(f->graph);
  free_flow(f);
}

const struct pml_flow_graph *const *pml_flow_graphs(const struct pml_flow *f, size_t *n) {
  *n = f->stopped && f->failed == 0 ? f->ngraphs : 0;
  return (const struct pml_flow_graph *const *)f->graph;
}

uint64_t pml_flow_refused(const struct pml_flow *f) {
  return __atomic_load_n(&f->refused, __ATOMIC_RELAXED);
}
