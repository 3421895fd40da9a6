/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/export/pml_export.h - export of an archive's events to formats of viewers and tables.
 *
 *   struct pml_export_counts n;
 *   struct pml_otf2_question q = {.from_s = 0, .to_s = INFINITY, .process = -1};
 *   if (pml_export_events(t, &q, "perfetto", write_it, file, &n) == 0) ...n.calls...
 *
 * A format is one entry of the table in pml_export.c, and one file.
 */
#ifndef PML_EXPORT_H
#define PML_EXPORT_H

#include "read/otf2/pml_otf2_events.h"

PML_BEGIN_DECLS

/* Numbers of written events. Calls are cut at the window and at their location's last event; leaves without an enter
 * are omitted, and a leave of an outer call ends the calls inside it: both are counted as unmatched. */
struct pml_export_counts {
  uint64_t calls, messages, metrics; /* messages: sends */
  uint64_t unmatched; /* leaves without an enter, and enters that were open when an outer call returned */
  uint64_t unlinked;  /* sends and receives without an arrow: the other end is unknown, or too many channels */
};

/* Receives the bytes, some 64 KiB at a time. Returns 0, or a negative code to stop the export. */
typedef int pml_export_sink(void *user, const char *bytes, size_t n);

/* pml_export_form - the name of format @i; NULL after the last. */
PML__SHARED const char *pml_export_form(size_t i);

/*
 * pml_export_events - write the events selected by @q to @sink, in the format @form; its kinds are ignored, and "csv"
 * has no header line. Locations are written one after another: memory for regions, metrics, the depth of calls, and for
 * each combination of sender, receiver, communicator and tag, at most 2^20; never for events.
 *
 * Returns 0, -EINVAL (unknown form), -EBUSY, -ENOMEM, PML_EOTF2, or the value of @sink. Cost: reading the events, and
 * 10 to 60 ns for each.
 */
PML__SHARED int pml_export_events(struct pml_otf2_read *t, const struct pml_otf2_question *q, const char *form,
                                  pml_export_sink *sink, void *user, struct pml_export_counts *counts);

PML_END_DECLS

#endif
