/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/record/pml_buffer.h - buffered events, for consumers such as scripts that cannot run where events occur.
 *
 * A consumer of pml_stream. Each thread fills its own ring; one reader at a time drains all rings. Events without room
 * are dropped and counted, as whole calls: the leave of a stored enter is always stored. A leave of a region that is
 * not the innermost open one is left out and counted as unmatched, as in tracks (docs/log.md).
 */
#ifndef PML_BUFFER_H
#define PML_BUFFER_H

#include "base/pml_stream.h"

PML_BEGIN_DECLS

struct pml_buffer;

#define PML_BUFFER_RECORDS 65536u     /* of a ring, unless asked otherwise; an event without values takes one */
#define PML_BUFFER_THREADS 64u        /* rings at a time, unless asked otherwise */
#define PML_BUFFER_DEPTH_MAX 4096u    /* regions that a thread has open; deeper ones are dropped */
#define PML_BUFFER_REGIONS (1u << 20) /* those up to here can be left out */
#define PML_BUFFER_RECORDS_MAX (1u << 24)

struct pml_buffer_options {
  uint32_t records; /* of each ring, made a power of two; 0: PML_BUFFER_RECORDS */
  uint32_t threads; /* 0: PML_BUFFER_THREADS. Events of more threads are refused, and counted */
};

/*
 * pml_buffer_open - events of all threads from now on. @options may be NULL.
 * pml_buffer_close - ends it and frees all; NULL is fine. Not from a consumer of the stream, nor while others drain.
 * Returns 0, -EINVAL, -ENOMEM, or what pml_stream_add() returns; *@b is NULL on failure.
 * In a child after a fork the parent's buffer gets no events, and has none; closing it there leaves all as it is.
 *
 * Cost of an event: some 40 instructions beside the stream's, no lock, no allocation but at a thread's first. Memory:
 * 16 bytes per record and 16 KiB per thread, used again by later threads once drained; 128 KiB.
 */
PML__SHARED int pml_buffer_open(struct pml_buffer **b, const struct pml_buffer_options *options);
PML__SHARED void pml_buffer_close(struct pml_buffer *b);

/* pml_buffer_leave_out - from now on events of @region are not kept (@out), or are again. Lock-free. */
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
 * pml_buffer_drain - hand what is kept to @visit, thread after thread, in the order of raising within each; ends early,
 * after that event, with what @visit returned if that is not 0. The next drain continues there. Returns 0: all that was
 * there when each thread's turn began, or what @visit returned. Drains of several threads take turns; @visit must not
 * drain. Never stalls a thread that raises. Cost: a few ns per event.
 */
PML__SHARED int pml_buffer_drain(struct pml_buffer *b, int (*visit)(const struct pml_buffer_event *e, void *arg),
                                 void *arg);

struct pml_buffer_stats {
  uint32_t threads;   /* rings */
  uint64_t events;    /* that were kept */
  uint64_t dropped;   /* events without room, and those inside the calls that were dropped */
  uint64_t unmatched; /* leaves of what was not entered since the buffer was opened, or is not innermost */
  uint64_t refused;   /* threads without a ring: too many, or no memory; their events are not counted */
};
PML__SHARED void pml_buffer_stats(struct pml_buffer *b, struct pml_buffer_stats *s);

PML_END_DECLS

#endif
