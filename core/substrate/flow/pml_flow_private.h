/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/flow/pml_flow_private.h - per-thread structures of a flow. Internal. */
#ifndef PML_FLOW_PRIVATE_H
#define PML_FLOW_PRIVATE_H

#include "base/pml_cancel.h"
#include "base/pml_map.h"
#include "base/pml_own.h"
#include "substrate/flow/pml_flow_label.h"
#include "substrate/profile/pml_profile_tree.h"

#include <pthread.h>

#define PML__FLOW_LISTS 4u /* lists of metrics that a thread's events alternate between */
#define PML__FLOW_NONE UINT8_MAX

/* An edge of a thread; it lists visits of the node it leaves. */
struct pml__flow_edge {
  struct pml__profile_node *to; /* edge[0], which is unused, leads to the root */
  uint32_t from;
  struct pml__flow_visits visits;
};

/* The position of each metric of the flow among the values of @metrics. */
struct pml__flow_list {
  const struct pml_stream_metrics *metrics;
  uint32_t has;                     /* a bit for each metric that is present */
  uint8_t at[PML_FLOW_METRICS_MAX]; /* index among the values; PML__FLOW_NONE: absent */
};

/* An open call; its values at enter are in the lane. */
struct pml__flow_frame {
  struct pml__profile_node *node;
  uint64_t ticks, inner;
  uint32_t has; /* a bit for each metric present at the enter */
};

/* One thread. Only the thread changes it, until the flow is stopped or the thread has ended. */
struct pml__flow_lane {
  struct pml__profile_tree tree; /* entered: visits */
  struct pml__profile_node *at;  /* last visited node */
  struct pml__flow_edge *edge;   /* [nedges]; edge 0 is unused */
  uint32_t *latest;              /* [nodes_capacity] by node: last taken edge */
  uint64_t *sum;                 /* [nodes_capacity * nmetrics] by node */
  uint32_t *slot;                /* [mask + 1]: (from, to) to an edge; 0 is free */
  uint32_t nedges, edges_capacity, nodes_capacity, mask;
  struct pml__flow_frame *frame;      /* frame[0] is the root's */
  struct pml__flow_frame *top, *last; /* the innermost call's; the last one with room */
  uint64_t *value;                    /* [frames * nmetrics] values at enter */
  struct pml__flow_list list[PML__FLOW_LISTS];
  uint32_t nlists, replace;
  uint32_t nlabels; /* number of labels with room, in all edges */
  uint32_t nmetrics;
  uint32_t real;    /* a bit for each metric whose values are doubles */
  bool ended;       /* no room: not followed any further */
  uint64_t missing; /* enters since then */
  uint64_t unmatched;
  uint32_t nthreads; /* threads with this flow; 0: it has not ended */
  uint32_t number;   /* number in the order of beginning */
  struct pml_flow *flow;
  struct pml__flow_lane *next;
};

struct pml_flow {
  struct pml__mutex lock; /* guards the following fields: threads begin and end */
  struct pml__flow_lane *lanes;
  uint32_t ntracks, begun;
  uint64_t refused;  /* atomic */
  uint64_t consumer; /* 0: no consumer */
  bool stopped;
  int failed; /* error of creating graphs */
  uint32_t labels, nmetrics;
  char *metric[PML_FLOW_METRICS_MAX];
  double tick_ns;                          /* ns per tick of the events' clock */
  const struct pml_profile_memory *memory; /* NULL: the heap */
  struct pml_flow_graph **graph;           /* [ngraphs], once stopped */
  size_t ngraphs;
};

/* Create a flow without a stream. The caller passes events to its lanes, in ticks of @tick_ns, 0: of this process's
 * clock. Stopped and closed like any other. */
PML__SHARED int pml__flow_new(struct pml_flow **f, const struct pml_flow_options *options, double tick_ns);
/* Begin a thread; NULL: no memory, or too many threads. */
PML__SHARED struct pml__flow_lane *pml__flow_lane(struct pml_flow *f);
PML__SHARED void pml__flow_enter(void *lane, const struct pml_stream_event *e);
PML__SHARED void pml__flow_leave(void *lane, const struct pml_stream_event *e);
/* End a thread: if another ended thread had the same flow, the later flow is added to the earlier one and freed. */
void pml__flow_lane_end(struct pml_flow *f, struct pml__flow_lane *lane);
void pml__flow_lane_free(struct pml__flow_lane *lane);

/* Resize memory of a flow from @had bytes at @old, which may be NULL, to @bytes; NULL: no memory, and @old stays. Not
 * cleared. */
void *pml__flow_resize(const struct pml_flow *f, void *old, size_t had, size_t bytes);
void pml__flow_release(const struct pml_flow *f, void *memory);

/* With general registers only. Return false, with nothing changed, if memory or floating point is needed. */
bool pml__flow_enter_plainly(void *lane, const struct pml_stream_event *e);
bool pml__flow_leave_plainly(void *lane, const struct pml_stream_event *e);
/* The same for events without values. */
pml_stream_fast pml__flow_enter_fast, pml__flow_leave_fast;
/* The same for any events, as pml_stream_consumer.fast_values. */
pml_stream_fast_values pml__flow_enter_fast_values, pml__flow_leave_fast_values;

/* The slot with the number of the edge, or the free slot for it. */
static inline uint32_t *pml__flow_find(const struct pml__flow_lane *t, uint32_t from, uint32_t to) {
  uint64_t h = ((uint64_t)to << 32 | from) * PML__HASH_FACTOR;
  for (uint32_t i = (uint32_t)(h >> 32) & t->mask;; i = (i + 1) & t->mask) {
    uint32_t k = t->slot[i];
    if (k == 0 || (t->edge[k].from == from && t->edge[k].to->index == to)) return &t->slot[i];
  }
}

/* End the innermost call, @f, whose metrics are already added. */
static inline void pml__flow_end_call(struct pml__flow_lane *t, struct pml__flow_frame *f, uint64_t ticks) {
  uint64_t d = ticks - f->ticks, inner = f->inner;
  struct pml__profile_node *node = f->node;
  if (PML_UNLIKELY(d > ticks)) {
    __asm__(""); /* as in pml__profile_duration() */
    d = 0;
  }
  pml__own_move(&t->top, f, -(ptrdiff_t)sizeof *f);
  f[-1].inner += d;
  node->count++;
  node->sum += d;
  node->inner += inner;
}

/* The list that maps @metrics, or NULL. */
static inline const struct pml__flow_list *pml__flow_list(const struct pml__flow_lane *t,
                                                          const struct pml_stream_metrics *metrics) {
  for (uint32_t i = 0; i < t->nlists; i++)
    if (t->list[i].metrics == metrics) return &t->list[i];
  return NULL;
}

#endif
