/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/pml_otf2_stream.h - a trace of stream events, with one location per thread. */
#ifndef PML_OTF2_STREAM_H
#define PML_OTF2_STREAM_H

#include "base/pml_stream.h"
#include "substrate/trace/pml_otf2.h"

PML_BEGIN_DECLS

struct pml_otf2_stream;

/*
 * pml_otf2_stream_open - let @a record every enter and leave, and the values of events whose metrics have the names of
 * the archive's metrics, in the same order; these are the names by which events are counted here
 * (pml_event_permitted()). A double is recorded as the nearest integer, unless the metric is real. The compiler's
 * counts that sections add by default are omitted unless the archive also names them. Values have the ticks of the
 * enter, which they follow, or of the leave, which they precede. A thread's location is made at its first event, named
 * "thread TID". Others may record on other locations meanwhile.
 *
 * pml_otf2_stream_close - stop recording; call it before pml_otf2_close(). NULL is fine. Not from a consumer.
 *
 * The archive is borrowed, and flushed by its owner: events that find a ring full are dropped and counted there.
 * Returns 0, -ENOMEM, or an error of pml_stream_add(); *@s is NULL on failure. A child after a fork records nothing,
 * because the archive belongs to the parent.
 */
PML_API int pml_otf2_stream_open(struct pml_otf2_stream **s, struct pml_otf2 *a);
PML_API void pml_otf2_stream_close(struct pml_otf2_stream *s);

/* pml_otf2_stream_unrecorded - number of events whose metrics do not match the archive's; their enters and leaves were
 * recorded. */
PML_API uint64_t pml_otf2_stream_unrecorded(struct pml_otf2_stream *s);

PML_END_DECLS

#endif
