/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/flow/pml_flow_gpr.c - enters and leaves that need no memory, with general registers only. */
#include "base/pml_value.h"
#include "substrate/flow/pml_flow_private.h"

/* The edge to the node of @e; 0: no edge yet. */
static uint32_t find_edge(struct pml__flow_lane *t, const struct pml_stream_event *e) {
  const struct pml__profile_node *node = pml__profile_tree_known(&t->tree, t->top->node, e->region);
  return node != NULL ? *pml__flow_find(t, t->at->index, node->index) : 0;
}

/* Returns false if the values have an unknown list of metrics. */
static bool keep_values(struct pml__flow_lane *t, struct pml__flow_frame *f, const struct pml_stream_event *e) {
  const struct pml__flow_list *list = pml__flow_list(t, e->metrics);
  if (list == NULL) return false;
  uint64_t *value = t->value + (size_t)(f - t->frame) * t->nmetrics;
  for (uint32_t i = 0; i < t->nmetrics; i++)
    if (list->at[i] != PML__FLOW_NONE) value[i] = e->values[list->at[i]];
  f->has = list->has;
  return true;
}

static inline void begin_call(struct pml__flow_lane *t, struct pml__flow_frame *f, struct pml__profile_node *node,
                              uint64_t ticks) {
  f->node = node;
  f->ticks = ticks;
  f->inner = 0;
  node->entered++;
  t->at = node;
  pml__own_move(&t->top, f - 1, sizeof *f);
}

/* Not inlined, so that the common case needs few registers. */
__attribute__((noinline)) static bool enter_elsewhere(struct pml__flow_lane *t, const struct pml_stream_event *e) {
  struct pml__profile_node *at = t->at;
  struct pml__flow_frame *f = t->top + 1;
  if (t->ended) {
    t->missing++;
    return true;
  }
  uint32_t i = t->latest[at->index];
  const struct pml__profile_node *likely = t->edge[i].to;
  if (likely->region != e->region || likely->parent != f[-1].node->index) i = find_edge(t, e);
  if (i == 0 || f > t->last) return false;
  f->has = 0;
  if (e->metrics != NULL && t->nmetrics > 0 && !keep_values(t, f, e)) return false;
  if (!pml__flow_note(&t->edge[i].visits, at->entered)) return false;
  t->latest[at->index] = i;
  begin_call(t, f, t->edge[i].to, e->ticks);
  return true;
}

/* Take the edge that was last taken from here, if the visit continues its stride. Returns false for another edge.
 * Values are loaded again instead of occupying registers. */
static inline bool enter_again(struct pml__flow_lane *t, pml_region_t region, uint64_t ticks) {
  struct pml__flow_edge *edge = &t->edge[t->latest[t->at->index]];
  struct pml__profile_node *node = edge->to;
  struct pml__flow_frame *top = t->top;
  if (PML_UNLIKELY(node->region != region || node->parent != top->node->index)) return false;
  uint64_t visit = PML__OWN_AGAIN(t->at)->entered;
  if (PML_UNLIKELY(visit != edge->visits.next || top == t->last)) return false;
  top[1].has = 0;
  (void)pml__flow_note(&edge->visits, visit);
  begin_call(t, top + 1, node, ticks);
  return true;
}

bool pml__flow_enter_plainly(void *lane, const struct pml_stream_event *e) {
  struct pml__flow_lane *t = lane;
  bool values = PML_UNLIKELY(e->metrics != NULL) && t->nmetrics > 0;
  return (!values && PML_LIKELY(enter_again(t, e->region, e->ticks))) || enter_elsewhere(t, e);
}

__attribute__((noinline)) static uint64_t enter_without(struct pml__flow_lane *t, pml_region_t region, uint64_t ticks) {
  return enter_elsewhere(t, &(struct pml_stream_event){.ticks = ticks, .region = region}) ? 0 : ticks;
}

uint64_t pml__flow_enter_fast(void *lane, pml_region_t region, uint64_t ticks) {
  return PML_LIKELY(enter_again(lane, region, ticks)) ? 0 : enter_without(lane, region, ticks);
}

uint64_t pml__flow_enter_fast_values(void *lane, const struct pml_stream_event *e) {
  return PML_LIKELY(pml__flow_enter_plainly(lane, e)) ? 0 : e->ticks;
}

/* Returns false if floating point is needed, or the values have an unknown list of metrics. */
static bool add_values(struct pml__flow_lane *t, const struct pml__flow_frame *f, const struct pml_stream_event *e) {
  const struct pml__flow_list *list = pml__flow_list(t, e->metrics);
  if (list == NULL || pml_stream_metrics_any_real(e->metrics)) return false;
  const uint64_t *value = t->value + (size_t)(f - t->frame) * t->nmetrics;
  uint64_t *sum = t->sum + (size_t)f->node->index * t->nmetrics;
  for (uint32_t i = 0; i < t->nmetrics; i++)
    if ((list->has & f->has) >> i & 1) sum[i] += pml_value_change(value[i], e->values[list->at[i]], false);
  return true;
}

/* Returns false if the innermost call is of another region. */
static inline bool leave(struct pml__flow_lane *t, pml_region_t region, uint64_t ticks) {
  struct pml__flow_frame *f = t->top;
  if (PML_UNLIKELY(f->node->region != region)) return t->ended;
  pml__flow_end_call(t, f, ticks);
  return true;
}

__attribute__((noinline)) static bool leave_with_values(struct pml__flow_lane *t, const struct pml_stream_event *e) {
  if (t->top->node->region != e->region) return leave(t, e->region, e->ticks);
  if (!add_values(t, t->top, e)) return false;
  pml__flow_end_call(t, t->top, e->ticks);
  return true;
}

uint64_t pml__flow_leave_fast(void *lane, pml_region_t region, uint64_t ticks) {
  struct pml__flow_lane *t = lane;
  struct pml__flow_frame *f = t->top;
  if (PML_UNLIKELY(f->node->region != region)) return t->ended ? 0 : ticks;
  pml__flow_end_call(t, f, ticks);
  return 0;
}

bool pml__flow_leave_plainly(void *lane, const struct pml_stream_event *e) {
  struct pml__flow_lane *t = lane;
  if (PML_UNLIKELY(t->top->has != 0) && e->metrics != NULL) return leave_with_values(t, e);
  return leave(t, e->region, e->ticks);
}

uint64_t pml__flow_leave_fast_values(void *lane, const struct pml_stream_event *e) {
  return PML_LIKELY(pml__flow_leave_plainly(lane, e)) ? 0 : e->ticks;
}
