/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/pml_otf2_stream.h - a trace of stream events, with one location per thread. */
#ifndef PML_OTF2_STREAM_H
#define PML_OTF2_STREAM_H

#include "base/pml_stream.h"
#include "substrate/trace/pml_otf2.h"

PML_BEGIN_DECLS

struct pml_otf2_stream;

/*
 * pml_otf2_stream_open - from now on @a records every enter and leave, and the values of events whose metrics have the
 * names of the archive's, in its order, which are those by which events are counted here from then on
 * (pml_event_permitted()); a double is recorded as the nearest integer, unless the metric is real. Counts of the
 * compiler that sections have unasked are left out where the archive does not name them, too. Values stand at the
 * enter's and the leave's own ticks, after the one and before the other. A thread's location is made at its first
 * event, named "thread TID". Others may record on locations of their own meanwhile.
 *
 * pml_otf2_stream_close - no event is recorded any more; before pml_otf2_close(). NULL is fine. Not from a consumer.
 *
 * The archive is borrowed, and flushed by its owner: what finds a ring full is dropped and counted there.
 * Returns 0, -ENOMEM, or what pml_stream_add() returns; *@s is NULL on failure. In a child after a fork nothing is
 * recorded: the archive is the parent's.
 */
PML_API int pml_otf2_stream_open(struct pml_otf2_stream **s, struct pml_otf2 *a);
PML_API void pml_otf2_stream_close(struct pml_otf2_stream *s);

/* pml_otf2_stream_unrecorded - events whose values are not those of the archive; enters and leaves were recorded. */
PML_API uint64_t pml_otf2_stream_unrecorded(struct pml_otf2_stream *s);

PML_END_DECLS

#endif
