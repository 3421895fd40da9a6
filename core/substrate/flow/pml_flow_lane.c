/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/flow/pml_flow_lane.c - a thread's flow: memory, end, and comparison of two threads. */
#include "substrate/flow/pml_flow_private.h"

#include "base/pml_value.h"

#include <stdlib.h>
#include <string.h>

#define FIRST 64u

/* ---- room ---- */

void *pml__flow_resize(const struct pml_flow *f, void *old, size_t had, size_t bytes) {
  if (f->memory == NULL) return realloc(old, bytes);
  void *more = f->memory->get(f->memory->arg, 0, 0, bytes);
  if (more != NULL && old != NULL) {
    memcpy(more, old, had < bytes ? had : bytes);
    f->memory->put(f->memory->arg, old);
  }
  return more;
}

void pml__flow_release(const struct pml_flow *f, void *memory) {
  if (f->memory == NULL)
    free(memory);
  else if (memory != NULL)
    f->memory->put(f->memory->arg, memory);
}

/* Make room for @n more elements of @bytes, zeroed; without memory *at is unchanged. */
static bool grow(const struct pml__flow_lane *t, void *at, uint32_t *capacity, uint32_t n, size_t bytes) {
  void *old, *more;
  memcpy(&old, at, sizeof old);
  more = pml__flow_resize(t->flow, old, *capacity * bytes, ((size_t)*capacity + n) * bytes);
  if (more == NULL) return false;
  memset((char *)more + *capacity * bytes, 0, n * bytes);
  memcpy(at, &more, sizeof more);
  *capacity += n;
  return true; /* cppcheck-suppress memleak ; @at has it */
}

static bool deepen(struct pml__flow_lane *t) {
  uint32_t capacity = (uint32_t)(t->last - t->frame) + 1, depth = (uint32_t)(t->top - t->frame), values = capacity;
  if (capacity >= PML_FLOW_DEPTH_MAX) return false;
  if (t->nmetrics > 0 && !grow(t, &t->value, &values, capacity, t->nmetrics * sizeof *t->value)) return false;
  bool more = grow(t, &t->frame, &capacity, capacity, sizeof *t->frame);
  t->top = t->frame + depth;
  if (more) t->last = t->frame + capacity - 1;
  return more;
}

static bool more_slots(struct pml__flow_lane *t) {
  uint32_t n = t->slot == NULL ? 2 * FIRST : 2 * (t->mask + 1);
  uint32_t *slot = pml__flow_resize(t->flow, NULL, 0, n * sizeof *slot);
  if (slot == NULL) return false;
  memset(slot, 0, n * sizeof *slot);
  pml__flow_release(t->flow, t->slot);
  t->slot = slot;
  t->mask = n - 1;
  for (uint32_t i = 1; i < t->nedges; i++) *pml__flow_find(t, t->edge[i].from, t->edge[i].to->index) = i;
  return true;
}

static bool room_for_nodes(struct pml__flow_lane *t) {
  uint32_t n = t->nodes_capacity, more = n == 0 ? FIRST : n, sums = n;
  if (t->tree.n <= n && n > 0) return true;
  if (t->nmetrics > 0 && !grow(t, &t->sum, &sums, more, t->nmetrics * sizeof *t->sum)) return false;
  return grow(t, &t->latest, &t->nodes_capacity, more, sizeof *t->latest);
}

/* ---- new paths and edges ---- */

/* An event requested without a modifier may have been opened for user space only, as NAME:u. */
static bool is_metric(const char *name, const char *wanted) {
  size_t n = strlen(wanted);
  return strncmp(name, wanted, n) == 0 && (name[n] == '\0' || strcmp(name + n, ":u") == 0);
}

static void add_list(struct pml__flow_lane *t, const struct pml_stream_metrics *metrics) {
  struct pml__flow_list *list = &t->list[t->nlists < PML__FLOW_LISTS ? t->nlists++ : t->replace++ % PML__FLOW_LISTS];
  list->metrics = metrics;
  list->has = 0;
  for (uint32_t i = 0; i < t->nmetrics; i++) {
    uint32_t k = 0;
    while (k < metrics->n && !is_metric(metrics->name[k], t->flow->metric[i])) k++;
    list->at[i] = k < metrics->n ? (uint8_t)k : PML__FLOW_NONE;
    if (k == metrics->n) continue;
    list->has |= UINT32_C(1) << i;
    if (pml_stream_metrics_real(metrics, k)) t->real |= UINT32_C(1) << i;
  }
}

static struct pml__flow_edge *add_edge(struct pml__flow_lane *t, struct pml__profile_node *to) {
  uint32_t *slot = pml__flow_find(t, t->at->index, to->index);
  if (*slot != 0) return &t->edge[*slot];
  if (t->nedges == PML_FLOW_EDGES_MAX) return NULL;
  if (t->nedges == t->edges_capacity && !grow(t, &t->edge, &t->edges_capacity, t->edges_capacity, sizeof *t->edge))
    return NULL;
  if (2 * t->nedges > t->mask && !more_slots(t)) return NULL;
  *pml__flow_find(t, t->at->index, to->index) = t->nedges;
  t->edge[t->nedges] = (struct pml__flow_edge){.to = to, .from = t->at->index};
  return &t->edge[t->nedges++];
}

static bool room_for_label(struct pml__flow_lane *t, struct pml__flow_visits *v) {
  uint32_t more = v->capacity == 0 ? PML__FLOW_FOLD + 1 : v->capacity;
  if (!pml__flow_needs_room(v)) return true;
  if (t->nlabels + more > t->flow->labels || !grow(t, &v->label, &v->capacity, more, sizeof *v->label)) return false;
  t->nlabels += more;
  return true;
}

static bool prepare(struct pml__flow_lane *t, const struct pml_stream_event *e) {
  if (t->top == t->last && !deepen(t)) return false;
  if (e->metrics != NULL && t->nmetrics > 0 && pml__flow_list(t, e->metrics) == NULL) add_list(t, e->metrics);
  struct pml__profile_node *node = pml__profile_tree_child(&t->tree, t->top->node, e->region);
  if (node == NULL || !room_for_nodes(t)) return false;
  struct pml__flow_edge *edge = add_edge(t, node);
  return edge != NULL && room_for_label(t, &edge->visits);
}

/* Not inlined, so that the common case needs few registers; the same holds below. */
__attribute__((noinline, cold)) static void enter_anew(struct pml__flow_lane *t, const struct pml_stream_event *e) {
  if (prepare(t, e) && pml__flow_enter_plainly(t, e)) return;
  t->ended = true;
  t->top = t->last = t->frame; /* nothing is open, and nothing can be */
  t->missing++;
}

void pml__flow_enter(void *lane, const struct pml_stream_event *e) {
  if (PML_UNLIKELY(!pml__flow_enter_plainly(lane, e))) enter_anew(lane, e);
}

__attribute__((noinline, cold)) static void leave_with_values(struct pml__flow_lane *t,
                                                              const struct pml_stream_event *e) {
  struct pml__flow_frame *f = t->top;
  const struct pml__flow_list *list = pml__flow_list(t, e->metrics);
  if (list == NULL) {
    add_list(t, e->metrics);
    list = pml__flow_list(t, e->metrics);
  }
  const uint64_t *value = t->value + (size_t)(f - t->frame) * t->nmetrics;
  uint64_t *sum = t->sum + (size_t)f->node->index * t->nmetrics;
  for (uint32_t i = 0; i < t->nmetrics; i++)
    if ((list->has & f->has) >> i & 1) {
      bool real = pml_stream_metrics_real(e->metrics, list->at[i]); /* may have become real since the list came */
      if (real) t->real |= UINT32_C(1) << i;
      sum[i] = pml_value_plus(sum[i], pml_value_change(value[i], e->values[list->at[i]], real), real);
    }
  pml__flow_end_call(t, f, e->ticks);
}

/* Whether @region is open, and overlaps the calls inside it. */
static bool is_below(const struct pml__flow_lane *t, pml_region_t region) {
  const struct pml__flow_frame *f = t->top;
  bool any = pml__region_may_overlap(region);
  unsigned most = PML__REGION_INSIDE;
  while (f > t->frame && f->node->region != region && most-- > 0 && (any || pml__region_may_overlap(f->node->region)))
    f--;
  return f > t->frame && f->node->region == region;
}

/* Leave the innermost call, end @e's, and enter the innermost again. */
static void leave_below(struct pml__flow_lane *t, const struct pml_stream_event *e) {
  struct pml_stream_event again = {.ticks = e->ticks, .region = t->top->node->region};
  pml__flow_leave(t, &again);
  pml__flow_leave(t, e);
  pml__flow_enter(t, &again);
}

__attribute__((noinline, cold)) static void leave_another(struct pml__flow_lane *t, const struct pml_stream_event *e) {
  if (t->top->node->region == e->region)
    leave_with_values(t, e);
  else if (is_below(t, e->region))
    leave_below(t, e);
  else
    t->unmatched++;
}

void pml__flow_leave(void *lane, const struct pml_stream_event *e) {
  if (PML_UNLIKELY(!pml__flow_leave_plainly(lane, e))) leave_another(lane, e);
}

/* ---- begin and end ---- */

void pml__flow_lane_free(struct pml__flow_lane *t) {
  if (t == NULL) return;
  const struct pml_flow *f = t->flow;
  for (uint32_t i = 0; i < t->nedges; i++) pml__flow_release(f, t->edge[i].visits.label);
  pml__profile_tree_close(&t->tree);
  void *const parts[] = {t->edge, t->latest, t->sum, t->slot, t->frame, t->value};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) pml__flow_release(f, parts[i]);
  free(t);
}

static bool open_lane(struct pml__flow_lane *t) {
  uint32_t frames = 0, values = 0;
  if (!pml__profile_tree_open(&t->tree, t->flow->memory, 0) || !room_for_nodes(t) || !more_slots(t)) return false;
  if (!grow(t, &t->edge, &t->edges_capacity, FIRST, sizeof *t->edge)) return false;
  if (!grow(t, &t->frame, &frames, FIRST, sizeof *t->frame)) return false;
  if (t->nmetrics > 0 && !grow(t, &t->value, &values, FIRST, t->nmetrics * sizeof *t->value)) return false;
  t->last = t->frame + FIRST - 1;
  t->top = t->frame;
  t->at = t->frame->node = t->edge->to = pml__profile_tree_at(&t->tree, 0);
  t->at->entered = 1;
  t->nedges = 1;
  return true;
}

struct pml__flow_lane *pml__flow_lane(struct pml_flow *f) {
  struct pml__flow_lane *t = calloc(1, sizeof *t);
  bool room = t != NULL;
  if (room) {
    t->flow = f;
    t->nmetrics = f->nmetrics;
    room = open_lane(t);
  }
  pml__mutex_take(&f->lock);
  room = room && f->ntracks < PML_FLOW_THREADS_MAX;
  if (room) {
    t->number = f->begun++;
    f->ntracks++;
    t->next = f->lanes;
    f->lanes = t;
  }
  pml__mutex_leave(&f->lock);
  if (room) return t;
  __atomic_fetch_add(&f->refused, 1, __ATOMIC_RELAXED);
  pml__flow_lane_free(t);
  return NULL;
}

static bool same_visits(const struct pml__flow_visits *a, const struct pml__flow_visits *b) {
  if (a->first != b->first || a->last != b->last || a->stride != b->stride || a->n != b->n) return false;
  return a->n == 0 || memcmp(a->label, b->label, a->n * sizeof *a->label) == 0;
}

/* Paths and edges are in the order of their first visits, so equal flows have them at equal positions. */
static bool same(const struct pml__flow_lane *a, const struct pml__flow_lane *b) {
  if (a->tree.n != b->tree.n || a->nedges != b->nedges || a->missing != b->missing || a->at->index != b->at->index)
    return false;
  for (uint32_t i = 0; i < a->tree.n; i++) {
    const struct pml__profile_node *x = pml__profile_tree_at(&a->tree, i), *y = pml__profile_tree_at(&b->tree, i);
    if (x->parent != y->parent || x->region != y->region || x->entered != y->entered) return false;
  }
  for (uint32_t i = 1; i < a->nedges; i++) {
    const struct pml__flow_edge *x = &a->edge[i], *y = &b->edge[i];
    if (x->from != y->from || x->to->index != y->to->index || !same_visits(&x->visits, &y->visits)) return false;
  }
  return true;
}

static void add(struct pml__flow_lane *to, const struct pml__flow_lane *from) {
  for (uint32_t i = 0; i < to->tree.n; i++) {
    struct pml__profile_node *node = pml__profile_tree_at(&to->tree, i);
    uint64_t visits = node->entered;
    pml__profile_tree_add(node, pml__profile_tree_at(&from->tree, i));
    node->entered = visits;
  }
  for (size_t i = 0; i < (size_t)to->tree.n * to->nmetrics; i++)
    to->sum[i] = pml_value_plus(to->sum[i], from->sum[i], to->real >> i % to->nmetrics & 1);
  to->nthreads += from->nthreads;
  to->unmatched += from->unmatched;
}

static void take_out(struct pml_flow *f, struct pml__flow_lane *t) {
  struct pml__flow_lane **at = &f->lanes;
  while (*at != t) at = &(*at)->next;
  *at = t->next;
  f->ntracks--;
}

void pml__flow_lane_end(struct pml_flow *f, struct pml__flow_lane *t) {
  pml__mutex_take(&f->lock);
  t->nthreads = 1;
  struct pml__flow_lane *other = f->lanes;
  while (other != NULL && (other == t || other->nthreads == 0 || other->real != t->real || !same(other, t)))
    other = other->next;
  if (other != NULL) {
    struct pml__flow_lane *first = other->number < t->number ? other : t, *later = first == t ? other : t;
    add(first, later);
    take_out(f, later);
    pml__flow_lane_free(later);
  }
  pml__mutex_leave(&f->lock);
}
