/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/flow/pml_flow.h - event flow graphs: the order of a thread's call paths.
 *
 * A consumer of pml_stream. After R. Schöne, R. Tschüter, T. Ilsche, J. Schuchart, D. Hackenberg, W. Nagel, Extending
 * the functionality of Score-P through plugins, section 4.6: a node represents a call stack and is named after its
 * innermost function; an edge from one node to another means that the other was entered next, and its labels list the
 * visits of the first node after which that happened. A visit is an enter, counted from 1. A label is one of
 *
 *   n              the nth visit
 *   i, j, k        the visits i, i + k, i + 2k, ..., j: a loop
 *   i, j, k, l, m  m such loops, each l visits after the previous one: a loop that is left at regular intervals
 *
 * An edge whose visits fit no pattern has several labels. The labels of all edges of a node list each of its visits
 * once, except the visit at which the thread's events ended. So the graph contains the whole flow: to replay it, start
 * at node 0 and take, at each visit, the edge that lists it.
 */
#ifndef PML_FLOW_H
#define PML_FLOW_H

#include "base/pml_stream.h"

PML_BEGIN_DECLS

struct pml_flow;

#define PML_FLOW_METRICS_MAX 16u
#define PML_FLOW_THREADS_MAX 1024u              /* live threads, and different flows of ended threads */
#define PML_FLOW_LABELS (UINT32_C(1) << 18)     /* default limit of labels per thread */
#define PML_FLOW_LABELS_MAX (UINT32_C(1) << 24) /* largest limit of labels */
#define PML_FLOW_EDGES_MAX (UINT32_C(1) << 20)  /* edges per thread */
#define PML_FLOW_DEPTH_MAX (UINT32_C(1) << 16)  /* open calls per thread */

struct pml_flow_options {
  const char *const *metrics; /* names of event values to be summed by node; copied */
  size_t nmetrics;
  uint32_t labels;                         /* per thread; 0: PML_FLOW_LABELS */
  const struct pml_profile_memory *memory; /* memory for threads' flows; borrowed until pml_flow_close(); NULL: heap */
};

/*
 * pml_flow_open - start recording enters and leaves of all threads. Calls that are already open are not recorded.
 * @options may be NULL.
 * pml_flow_stop - stop recording and create the graphs. Must not be called by a consumer of the stream. A second call
 * does nothing.
 * pml_flow_close - stop, and free all including the graphs; NULL is fine.
 *
 * Return 0, -EINVAL (metrics, labels), -ENOMEM, an error of pml_stream_add(), or -ENOENT (stop, in a child after a
 * fork: the parent's flow can only be closed there); *@f is NULL if it was not opened.
 *
 * Cost of an event: some 50 instructions besides the stream's, no lock, no allocation except for a new path, edge or
 * label. Memory of a thread: 100 bytes per call path, 72 per edge, 40 per label, of which an edge with more than one
 * run has room for seven, 32 per open call, and 8 per metric of each path and call. Recording of a thread ends at a
 * limit, or without memory; its graph contains the number of missing enters at the end.
 */
PML__SHARED int pml_flow_open(struct pml_flow **f, const struct pml_flow_options *options);
PML__SHARED int pml_flow_stop(struct pml_flow *f);
PML__SHARED void pml_flow_close(struct pml_flow *f);

/* m is 1 except in the third form; k is 0 in the first: i == j. */
struct pml_flow_label {
  uint64_t i, j, k, l, m;
};

/* pml_flow_label_has - whether @label contains @visit. Lock-free, async-signal-safe. */
bool pml_flow_label_has(const struct pml_flow_label *label, uint64_t visit);

struct pml_flow_edge {
  uint32_t from, to; /* indices of nodes */
  uint64_t count;    /* how often it was taken */
  uint32_t nlabels;
  const struct pml_flow_label *label;
};

struct pml_flow_node {
  pml_region_t region;
  uint32_t parent, depth;            /* parent < own index; depth 1: a path of one region */
  uint64_t visits, count;            /* enters, and calls that returned */
  double inclusive_ns, exclusive_ns; /* of the calls that returned */
  const double *metric;              /* [nmetrics] sum of increases between enter and leave */
};

/* The flow of one thread, or of several with the same flow: their times and metrics are added; visits and labels are
 * per thread. */
struct pml_flow_graph {
  uint32_t nthreads;
  uint32_t nnodes, nedges, nmetrics;
  const struct pml_flow_node
      *node; /* in the order of their first visits; [0]: the thread's begin, no region, one visit */
  const struct pml_flow_edge *edge; /* in the order of first use */
  const char *const *metric;
  uint32_t last;      /* the last visited node */
  uint64_t unmatched; /* leaves of regions not entered, or not innermost */
  uint64_t missing;   /* enters at the end that found no room and are not in the graph */
};

/* pml_flow_graphs - [*n] in the order in which their first threads began; none before pml_flow_stop(). Owned by @f. */
PML__SHARED const struct pml_flow_graph *const *pml_flow_graphs(const struct pml_flow *f, size_t *n);

/* pml_flow_refused - the number of threads without a flow: too many threads, or no memory. */
PML__SHARED uint64_t pml_flow_refused(const struct pml_flow *f);

PML_END_DECLS

#endif
