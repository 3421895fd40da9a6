/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/profile/pml_profile.c - call path profiles: enters and leaves, and the merge of threads. */
#include "substrate/profile/pml_profile.h"

#include "base/pml_cancel.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_process.h"
#include "substrate/profile/pml_profile_private.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t get(const uint64_t *figure) {
  return __atomic_load_n(figure, __ATOMIC_RELAXED);
}

/* ---- events ---- */

/* The place of node @index of the tree, existing or new; NULL: no memory. */
static struct pml__profile_place *place_of(struct pml__profile_lane *t, uint32_t index) {
  uint32_t k = 31u - (uint32_t)__builtin_clz(index / PML__PROFILE_CHUNK + 1u);
  if (t->place[k] == NULL) {
    int cancel = pml__cancel_hold();
    t->place[k] = calloc((size_t)PML__PROFILE_CHUNK << k, sizeof *t->place[k]);
    pml__cancel_again(cancel);
  }
  return t->place[k] != NULL ? &t->place[k][index - PML__PROFILE_CHUNK * ((1u << k) - 1u)] : NULL;
}

/* The place is valid once it has its node. */
static void fill_place(struct pml__profile_place *p, struct pml__profile_place *up, struct pml__profile_node *node,
                       pml_region_t region, struct pml__histogram *histogram) {
  p->up = up;
  p->latest = &pml__profile_nowhere;
  p->histogram = histogram != NULL ? histogram : &pml__histogram_none;
  p->region = region;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  p->node = node;
}

/* The place of a call of @region at the path @at. The first call of a path creates its node and place, and the first
 * call of a region a histogram, if there is memory; NULL: no place. */
static struct pml__profile_place *place_in(struct pml__profile_lane *t, struct pml__profile_place *at,
                                           pml_region_t region) {
  struct pml__profile_node *node = pml__profile_tree_child(&t->tree, at->node, region);
  struct pml__profile_place *p = node != NULL ? place_of(t, node->index) : NULL;
  if (p != NULL && p->node == NULL) fill_place(p, at, node, region, pml__histograms_of(&t->histograms, region));
  return p;
}

/* The same at the thread's current path. */
static struct pml__profile_place *place_for(struct pml__profile_lane *t, pml_region_t region) {
  struct pml__profile_place *p = place_in(t, t->at, region);
  return p != NULL ? t->at->latest = p : NULL;
}

static void prepare(void *data, pml_region_t region) {
  struct pml__profile_lane *t = data;
  if (t->overflow == 0) (void)place_for(t, region);
}

__attribute__((noinline)) static void enter_another(struct pml__profile_lane *t, const struct pml_stream_event *e) {
  if (e->ticks != 0 && pml__profile_enter_fast(t, e->region, e->ticks) == 0) return;
  struct pml__profile_place *p = t->overflow == 0 ? place_for(t, e->region) : NULL;
  if (p != NULL) {
    pml__profile_begin_call(t, p, e->ticks);
    return;
  }
  if (t->overflow++ == 0) t->held = t->at;
  t->at = &pml__profile_nowhere;
  pml__own_add(&t->dropped, 1);
}

static void on_leave(void *data, const struct pml_stream_event *e);

static void on_enter(void *data, const struct pml_stream_event *e) {
  if (PML_UNLIKELY(!pml__profile_enter_again(data, e->region, e->ticks))) enter_another(data, e);
}

/* Whether @region is open, and overlaps the calls inside it. */
static bool is_below(const struct pml__profile_lane *t, pml_region_t region) {
  const struct pml__profile_place *p = t->at;
  bool any = pml__region_may_overlap(region);
  unsigned most = PML__REGION_INSIDE;
  while (p->up != NULL && p->region != region && most-- > 0 && (any || pml__region_may_overlap(p->region))) p = p->up;
  return p->up != NULL && p->region == region;
}

/* Take the innermost call out from the path, end @e's, and put the innermost back. It is one call: it counts where it
 * ends. */
static void leave_below(struct pml__profile_lane *t, const struct pml_stream_event *e) {
  struct pml_stream_event again = {.ticks = e->ticks, .region = t->at->region};
  struct pml__profile_place *p = t->at;
  pml__profile_add_time(t, p, pml__profile_duration(p, e->ticks));
  pml__own_add(&p->node->entered, UINT64_MAX);
  on_leave(t, e);
  on_enter(t, &again);
}

static void on_enter_counted(void *data, const struct pml_stream_event *e) {
  struct pml__profile_lane *t = data;
  const struct pml_profile_memory *m = t->profile->memory;
  on_enter(data, e);
  if (t->at->region == e->region && t->at->node->entered % PML_PROFILE_FREQUENT == 0) m->frequent(m->arg, e->region);
}

__attribute__((noinline)) static void leave_another(struct pml__profile_lane *t, const struct pml_stream_event *e) {
  if (t->overflow > 0) {
    if (--t->overflow == 0) t->at = t->held;
    return;
  }
  struct pml__profile_place *p = t->at;
  if (p->region != e->region) {
    if (is_below(t, e->region))
      leave_below(t, e);
    else
      pml__own_add(&t->unmatched, 1);
    return;
  }
  uint64_t d = pml__profile_duration(p, e->ticks);
  pml__histogram_add(p->histogram, d);
  pml__profile_end_call(t, p, d);
}

/* The time of an unwound call is known, but durations contain only calls that returned. It is remembered last: if a
 * handler leaves by longjmp, it stays a call that did not return. */
__attribute__((noinline, cold)) static void leave_unwound(struct pml__profile_lane *t,
                                                          const struct pml_stream_event *e) {
  uint64_t enter = t->at->node->ticks, d = pml__profile_duration(t->at, e->ticks);
  const struct pml__profile_left left = {*e->unwound, t->at, enter, enter + d};
  pml__profile_add_time(t, t->at, d);
  if (t->left == NULL) {
    int cancel = pml__cancel_hold();
    t->left = calloc(PML__PROFILE_LEFT, sizeof *t->left);
    pml__cancel_again(cancel);
  }
  if (t->left == NULL) return;
  t->left[t->nleft % PML__PROFILE_LEFT] = left;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  t->nleft++;
}

/* Whether the caller of @left[n] was also left, later: it returns after the call, so its time contains the call's. */
static bool has_left_caller(const struct pml__profile_lane *t, uint64_t n) {
  const struct pml__profile_left *l = &t->left[n % PML__PROFILE_LEFT];
  while (++n < t->nleft) {
    const struct pml__profile_left *caller = &t->left[n % PML__PROFILE_LEFT];
    if (caller->place == l->place->up && caller->enter <= l->enter) return true;
  }
  return false;
}

/* The caller's time contains the rest only if the caller was displaced together with the call. Otherwise the call's
 * stack counts as another one. */
static bool on_returned(void *data, const struct pml_stream_call *call, uint64_t ticks) {
  struct pml__profile_lane *t = data;
  for (uint64_t n = t->nleft; n-- > 0 && n + PML__PROFILE_LEFT >= t->nleft;) {
    struct pml__profile_left *l = &t->left[n % PML__PROFILE_LEFT];
    if (l->place == NULL || l->call.slot != call->slot || l->call.sp != call->sp) continue;
    struct pml__profile_place *p = l->place;
    uint64_t rest = ticks > l->leave ? ticks - l->leave : 0, d = l->leave - l->enter + rest;
    bool inside = has_left_caller(t, n);
    l->place = NULL;
    if (inside) pml__own_add(&p->up->node->inner, rest);
    pml__own_add(&p->node->sum, rest);
    pml__histogram_add(p->histogram, d);
    pml__profile_count_return(p->node, d);
    return true;
  }
  return false;
}

static void on_leave(void *data, const struct pml_stream_event *e) {
  struct pml__profile_lane *t = data;
  if (PML_UNLIKELY(e->unwound != NULL) && t->at->region == e->region)
    leave_unwound(t, e);
  else if (PML_UNLIKELY(!pml__profile_leave_known(t, e->region, e->ticks)))
    leave_another(t, e);
}

/* The call path begins at the root, because the interval need not be inside the thread's open calls. */
static void on_interval(void *data, const struct pml_stream_event *e) {
  struct pml__profile_lane *t = data;
  struct pml__profile_place *p = place_in(t, &t->place[0][0], e->region);
  if (p == NULL) {
    pml__own_add(&t->dropped, 1);
    return;
  }
  uint64_t d = e->ticks > e->values[0] ? e->ticks - e->values[0] : 0;
  pml__own_add(&p->node->entered, 1);
  pml__own_add(&p->node->sum, d);
  pml__histogram_add(p->histogram, d);
  pml__profile_count_return(p->node, d);
}

/* ---- threads ---- */

static void free_lane(struct pml__profile_lane *t) {
  if (t == NULL) return;
  pml__profile_tree_close(&t->tree);
  pml__histograms_close(&t->histograms);
  for (unsigned k = 0; k < PML__PROFILE_CHUNKS; k++) free(t->place[k]);
  free(t->left);
  free(t);
}

static bool open_tree(struct pml_profile *p, struct pml__profile_tree *t) {
  return pml__profile_tree_open(t, p->memory, __atomic_fetch_add(&p->ntrees, 1, __ATOMIC_RELAXED));
}

static void *thread_begin(void *arg, uint64_t thread) {
  struct pml_profile *p = arg;
  struct pml__profile_lane *t = calloc(1, sizeof *t);
  (void)thread;
  if (t == NULL || (t->at = place_of(t, 0)) == NULL || !open_tree(p, &t->tree)) {
    free_lane(t);
    return NULL;
  }
  fill_place(t->at, NULL, pml__profile_tree_at(&t->tree, 0), PML__PROFILE_NO_REGION, NULL);
  t->histograms.memory = p->memory;
  t->profile = p;
  pml__mutex_take(&p->lock);
  t->next = p->lanes;
  p->lanes = t;
  p->stats.threads++;
  pml__mutex_leave(&p->lock);
  return t;
}

static void add_counts(struct pml_profile_stats *s, const struct pml__profile_lane *t) {
  s->unmatched += get(&t->unmatched);
  s->dropped += get(&t->dropped);
}

static uint64_t calls_begun(const struct pml__profile_tree *tree) {
  uint64_t n = 0;
  for (uint32_t i = 1; i < __atomic_load_n(&tree->n, __ATOMIC_ACQUIRE); i++)
    n += get(&pml__profile_tree_at(tree, i)->entered);
  return n;
}

/* Open calls stay entered, and do not return. */
static void abandon_open(struct pml_profile *p, const struct pml__profile_lane *t) {
  for (const struct pml__profile_place *at = t->overflow > 0 ? t->held : t->at; at->up != NULL; at = at->up)
    p->stats.abandoned++;
}

static void thread_end(void *arg, void *data) {
  struct pml_profile *p = arg;
  struct pml__profile_lane *t = data, **at = &p->lanes;
  pml__mutex_take(&p->lock);
  abandon_open(p, t);
  /* without memory the lane stays, and each visit merges it */
  bool merged = pml__histograms_merge(&p->ended_histograms, &t->histograms);
  if (merged) pml__histograms_close(&t->histograms);
  if (merged && pml__profile_tree_merge(&p->ended, &t->tree)) {
    while (*at != t) at = &(*at)->next;
    *at = t->next;
    add_counts(&p->stats, t);
    free_lane(t);
  }
  pml__mutex_leave(&p->lock);
}

/* ---- open and close ---- */

static void begin_life(struct pml_profile *p) {
  p->pid = pml__process_pid();
  pthread_mutex_init(&p->lock.mutex, NULL);
}

int pml_profile_open_in(struct pml_profile **out, const struct pml_profile_memory *memory) {
  *out = NULL;
  int err = pml_clock_init();
  if (err < 0) return err;
  struct pml_profile *p = calloc(1, sizeof *p);
  if (p != NULL) p->memory = p->ended_histograms.memory = memory;
  if (p == NULL || !open_tree(p, &p->ended)) {
    free(p);
    return pml_fail(-ENOMEM, "no memory for a profile");
  }
  begin_life(p);
  struct pml_stream_consumer c = {
      .name = "profile",
      .thread_begin = thread_begin,
      .thread_end = thread_end,
      .prepare = prepare,
      .event = {[PML_STREAM_ENTER] = on_enter, [PML_STREAM_LEAVE] = on_leave, [PML_STREAM_INTERVAL] = on_interval},
      .fast = {pml__profile_enter_fast, pml__profile_leave_fast},
      .returned = on_returned,
      .arg = p};
  if (memory != NULL && memory->frequent != NULL) {
    c.event[PML_STREAM_ENTER] = on_enter_counted;
    c.fast[PML_STREAM_ENTER] = pml__profile_enter_counted;
  }
  err = pml_stream_add(&c, &p->consumer);
  if (err < 0) {
    pml__profile_tree_close(&p->ended);
    free(p);
    return err;
  }
  *out = p;
  return 0;
}

int pml_profile_open(struct pml_profile **out) {
  return pml_profile_open_in(out, NULL);
}

int pml__profile_of(struct pml_profile **out, struct pml__profile_tree *tree, struct pml__histograms *histograms,
                    double tick_ns) {
  struct pml_profile *p = calloc(1, sizeof *p);
  *out = p;
  if (p == NULL) return pml_fail(-ENOMEM, "no memory for a profile");
  begin_life(p);
  p->ended = *tree;
  p->ended_histograms = *histograms;
  p->tick_ns = tick_ns;
  return 0;
}

void pml_profile_close(struct pml_profile *p) {
  /* -ENOENT in a child: threads of the parent may have been changing it, and memory outside of the heap belongs to the
   * parent */
  if (p == NULL || (p->consumer != 0 && pml_stream_remove(p->consumer) == -ENOENT)) return;
  for (struct pml__profile_lane *t = p->lanes, *next; t != NULL; t = next) {
    next = t->next;
    free_lane(t);
  }
  pml__profile_tree_close(&p->ended);
  pml__histograms_close(&p->ended_histograms);
  pthread_mutex_destroy(&p->lock.mutex);
  free(p);
}

void pml_profile_stats(struct pml_profile *p, struct pml_profile_stats *s) {
  *s = (struct pml_profile_stats){0};
  if (p->pid != getpid()) return;
  pml__mutex_take(&p->lock);
  *s = p->stats;
  s->events += calls_begun(&p->ended);
  for (const struct pml__profile_lane *t = p->lanes; t != NULL; t = t->next) {
    s->events += calls_begun(&t->tree);
    add_counts(s, t);
  }
  pml__mutex_leave(&p->lock);
}

/* ---- visiting ---- */

static int by_time(const void *a, const void *b) {
  const struct pml__profile_node *x = *(const struct pml__profile_node *const *)a;
  const struct pml__profile_node *y = *(const struct pml__profile_node *const *)b;
  if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
  if (x->sum != y->sum) return x->sum > y->sum ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

double pml__profile_tick_ns(const struct pml_profile *p) {
  return p->tick_ns != 0 ? p->tick_ns : 1e9 / pml__clock.ticks_per_second;
}

struct pml_profile_node pml__profile_public(const struct pml__profile_node *n, uint32_t depth, double tick_ns) {
  return (struct pml_profile_node){.region = n->region,
                                   .depth = depth,
                                   .nthreads = n->nthreads,
                                   .running = n->entered > n->count ? n->entered - n->count : 0,
                                   .count = n->count,
                                   .inclusive_ns = tick_ns * (double)n->sum,
                                   .exclusive_ns = tick_ns * (double)(n->sum - (n->inner < n->sum ? n->inner : n->sum)),
                                   .min_ns = n->count > 0 ? tick_ns * (double)n->min : 0,
                                   .max_ns = tick_ns * (double)n->max};
}

/*
 * Children of a node are contiguous in @order, which is sorted by parent; first[i] is the position of node i's
 * children. The stack contains, for each depth, the next node to visit, so no recursion is needed, however deep the
 * paths are.
 */
struct walk {
  struct pml__profile_node **order;
  uint32_t *first, *stack;
  uint32_t n; /* nodes except the root */
  double tick_ns;
};

static bool prepare_walk(struct walk *w, const struct pml__profile_tree *t) {
  w->n = t->n - 1;
  w->order = malloc((w->n + 1u) * sizeof *w->order);
  w->first = malloc((t->n + 1u) * sizeof *w->first);
  w->stack = malloc((t->n + 1u) * sizeof *w->stack);
  if (w->order == NULL || w->first == NULL || w->stack == NULL) return false;
  for (uint32_t i = 0; i < w->n; i++) w->order[i] = pml__profile_tree_at(t, i + 1);
  qsort(w->order, w->n, sizeof *w->order, by_time);
  for (uint32_t node = 0, i = 0; node <= t->n; node++) {
    while (i < w->n && w->order[i]->parent < node) i++;
    w->first[node] = i;
  }
  return true;
}

static int walk(const struct walk *w, int (*visit)(const struct pml_profile_node *node, void *arg), void *arg) {
  uint32_t depth = 0;
  w->stack[0] = 0;
  for (;;) {
    uint32_t at = w->stack[depth];
    uint32_t parent = depth == 0 ? 0 : w->order[w->stack[depth - 1] - 1]->index;
    if (at == w->n || w->order[at]->parent != parent) {
      if (depth-- == 0) return 0;
      continue;
    }
    struct pml_profile_node node = pml__profile_public(w->order[at], depth, w->tick_ns);
    int rc = visit(&node, arg);
    if (rc != 0) return rc;
    w->stack[depth] = at + 1;
    w->stack[++depth] = w->first[w->order[at]->index];
  }
}

bool pml__profile_merge(struct pml_profile *p, struct pml__profile_tree *tree, struct pml__histograms *histograms) {
  if (p->pid != getpid()) return true;
  pml__mutex_take(&p->lock);
  bool all = pml__profile_tree_merge(tree, &p->ended);
  if (all && histograms != NULL) all = pml__histograms_merge(histograms, &p->ended_histograms);
  for (const struct pml__profile_lane *t = p->lanes; t != NULL && all; t = t->next) {
    all = pml__profile_tree_merge(tree, &t->tree);
    if (all && histograms != NULL) all = pml__histograms_merge(histograms, &t->histograms);
  }
  pml__mutex_leave(&p->lock);
  return all;
}

int pml_profile_visit(struct pml_profile *p, int (*visit)(const struct pml_profile_node *node, void *arg), void *arg) {
  struct pml__profile_tree merged;
  struct walk w = {.tick_ns = pml__profile_tick_ns(p)};
  int err = -ENOMEM;
  if (pml__profile_tree_open(&merged, NULL, 0) && pml__profile_merge(p, &merged, NULL) && prepare_walk(&w, &merged))
    err = 0;
  if (err == 0)
    err = walk(&w, visit, arg);
  else
    (void)pml_fail(err, "no memory to merge the profiles of all threads");
  free(w.order);
  free(w.first);
  free(w.stack);
  pml__profile_tree_close(&merged);
  return err;
}
