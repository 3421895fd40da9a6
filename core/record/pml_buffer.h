/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/record/pml_buffer.h - buffered events, for consumers such as scripts that cannot run where events occur.
 *
 * A consumer of pml_stream. Each thread fills its own ring; one reader at a time drains all rings. Events without room
 * are dropped and counted, as whole calls: the leave of a stored enter is always stored. A leave of a region that is
 * not the innermost open one is left out and counted as unmatched, as in event buffers (docs/log.md).
 */
#ifndef PML_BUFFER_H
#define PML_BUFFER_H

#include "base/pml_stream.h"

PML_BEGIN_DECLS

struct pml_buffer;

#define PML_BUFFER_RECORDS 65536u  /* default size of a ring; an event without values takes one */
#define PML_BUFFER_THREADS 64u     /* default number of rings at a time */
#define PML_BUFFER_DEPTH_MAX 4096u /* regions that a thread has open; deeper ones are dropped */
#define PML_BUFFER_RECORDS_MAX (1u << 24)

struct pml_buffer_options {
  uint32_t records; /* per ring, rounded up to a power of two; 0: PML_BUFFER_RECORDS */
  uint32_t threads; /* 0: PML_BUFFER_THREADS. Further threads are refused and counted */
};

/*
 * pml_buffer_open - start recording the events of all threads. @options may be NULL.
 * pml_buffer_close - ends it and frees all; NULL is fine. Not from a consumer of the stream, nor while others drain.
 * Returns 0, -EINVAL, -ENOMEM, or what pml_stream_add() returns; *@b is NULL on failure.
 * In a child after a fork the parent's buffer is empty and gets no events; closing it there frees nothing.
 *
 * Cost of an event: some 40 instructions beside the stream's, no lock, no allocation but at a thread's first. Memory:
 * 16 bytes per record and 16 KiB per thread, used again by later threads once drained; a bit for each region.
 */
PML__SHARED int pml_buffer_open(struct pml_buffer **b, const struct pml_buffer_options *options);
PML__SHARED void pml_buffer_close(struct pml_buffer *b);

/* pml_buffer_leave_out - stop recording events of @region (@out), or resume. Lock-free. */
PML__SHARED void pml_buffer_leave_out(struct pml_buffer *b, pml_region_t region, bool out);

struct pml_buffer_event {
  uint64_t ticks;
  uint64_t thread; /* pml_thread id */
  pml_region_t region;
  enum pml_stream_kind kind;
  uint32_t depth;                           /* regions of the buffer that were open around the event's */
  const struct pml_stream_metrics *metrics; /* NULL: no values */
  const uint64_t *values;                   /* [metrics->n], valid while the visitor runs */
};

/*
 * pml_buffer_drain - pass the recorded events to @visit, thread after thread, in each thread's order, until @visit
 * returns a value other than 0, after which the next drain continues. Returns that value, or 0 once it has passed all
 * events that each thread had when its turn began. Drains of several threads exclude each other; @visit must not drain.
 * A drain never stalls a thread that emits. Cost: a few ns per event.
 */
PML__SHARED int pml_buffer_drain(struct pml_buffer *b, int (*visit)(const struct pml_buffer_event *e, void *arg),
                                 void *arg);

struct pml_buffer_stats {
  uint32_t threads;   /* rings */
  uint64_t events;    /* recorded events */
  uint64_t dropped;   /* events without room, and events inside dropped calls */
  uint64_t unmatched; /* leaves of regions not entered since the buffer was opened, or not innermost */
  uint64_t refused;   /* threads without a ring: too many, or no memory; their events are not counted */
};
PML__SHARED void pml_buffer_stats(struct pml_buffer *b, struct pml_buffer_stats *s);

PML_END_DECLS

#endif
