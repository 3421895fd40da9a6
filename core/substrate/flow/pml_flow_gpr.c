/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/flow/pml_flow_gpr.c - enters and leaves that need no memory, with general registers only. */
#include "substrate/flow/pml_flow_private.h"

/* The edge to where @e leads; edge 0: no edge yet. */
static uint32_t find_edge(struct pml__flow_track *t, const struct pml_stream_event *e) {
  const struct pml__profile_node *node = pml__profile_tree_known(&t->tree, t->top->node, e->region);
  return node != NULL ? *pml__flow_find(t, t->at->index, node->index) : 0;
}

/* False: they are of a list that is not known yet. */
static bool keep_values(struct pml__flow_track *t, struct pml__flow_frame *f, const struct pml_stream_event *e) {
  const struct pml__flow_list *list = pml__flow_list(t, e->metrics);
  if (list == NULL) return false;
  uint64_t *value = t->value + (size_t)(f - t->frame) * t->nmetrics;
  for (uint32_t i = 0; i < t->nmetrics; i++)
    if (list->at[i] != PML__FLOW_NONE) value[i] = e->values[list->at[i]];
  f->has = list->has;
  return true;
}

static inline void begin_call(struct pml__flow_track *t, struct pml__flow_frame *f, struct pml__profile_node *node,
                              const struct pml_stream_event *e) {
  f->node = node;
  f->ticks = e->ticks;
  f->inner = 0;
  node->entered++;
  t->at = node;
  t->top = f;
}

/* Apart, so that what is common needs few registers. */
__attribute__((noinline)) static bool enter_elsewhere(struct pml__flow_track *t, const struct pml_stream_event *e) {
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
  begin_call(t, f, t->edge[i].to, e);
  return true;
}

/* The edge that was taken last from here, once more at its stride. */
bool pml__flow_enter_plainly(void *track, const struct pml_stream_event *e) {
  struct pml__flow_track *t = track;
  struct pml__flow_frame *f = t->top + 1;
  struct pml__flow_edge *edge = &t->edge[t->latest[t->at->index]];
  struct pml__profile_node *node = edge->to;
  uint64_t visit = t->at->entered;
  if (PML_UNLIKELY(node->region != e->region || node->parent != f[-1].node->index || visit != edge->visits.next ||
                   f > t->last || (e->metrics != NULL && t->nmetrics > 0)))
    return enter_elsewhere(t, e);
  f->has = 0;
  (void)pml__flow_note(&edge->visits, visit);
  begin_call(t, f, node, e);
  return true;
}

/* False: it takes floating point, or they are of a list that is not known yet. */
static bool add_values(struct pml__flow_track *t, const struct pml__flow_frame *f, const struct pml_stream_event *e) {
  const struct pml__flow_list *list = pml__flow_list(t, e->metrics);
  if (list == NULL || (list->real & f->has) != 0) return false;
  const uint64_t *value = t->value + (size_t)(f - t->frame) * t->nmetrics;
  uint64_t *sum = t->sum + (size_t)f->node->index * t->nmetrics;
  for (uint32_t i = 0; i < t->nmetrics; i++)
    if ((list->has & f->has) >> i & 1) sum[i] += e->values[list->at[i]] - value[i];
  return true;
}

__attribute__((noinline)) static bool leave_with_values(struct pml__flow_track *t, const struct pml_stream_event *e) {
  if (!add_values(t, t->top, e)) return false;
  pml__flow_end_call(t, t->top, e);
  return true;
}

bool pml__flow_leave_plainly(void *track, const struct pml_stream_event *e) {
  struct pml__flow_track *t = track;
  struct pml__flow_frame *f = t->top;
  if (PML_UNLIKELY(f->node->region != e->region)) {
    if (!t->ended) t->unmatched++;
    return true;
  }
  if (PML_UNLIKELY(f->has != 0 && e->metrics != NULL)) return leave_with_values(t, e);
  pml__flow_end_call(t, f, e);
  return true;
}
