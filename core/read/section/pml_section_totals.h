/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/section/pml_section_totals.h - sections of a log, added up over its threads. Internal. */
#ifndef PML_SECTION_TOTALS_H
#define PML_SECTION_TOTALS_H

#include "read/section/pml_section_reader.h"
#include "read/summary/pml_summary.h"

struct pml__section_totals {
  uint64_t threads;            /* that were in a section */
  uint64_t rows;               /* of threads and sections */
  double exclusive_ns, own_ns; /* time of exclusive sections, self time of all, over the threads */
  bool recorded, sketch;       /* a section keeps durations; a sketch of them */
};

/*
 * pml__section_reader_summary - add the sections of @b to @s, as sections of process @number. The values of a row are
 * its events, and the values named in pml_section_totals.c. Returns 0, or an error of pml_summary_add() or
 * pml__section_reader_rows().
 */
PML__SHARED int pml__section_reader_summary(const struct pml__section_reader *b, struct pml_summary *s, int64_t number,
                                            struct pml__section_totals *totals);

/*
 * pml__section_log_summary - add the contents of the log @path, except recorded calls, to @s as process @number: its
 * host, sections, counters and recorders. Returns 0, or an error of pml__section_reader_open(),
 * pml__section_reader_summary() or pml__sde_log_summary(), after which @s may contain some of it.
 */
PML__SHARED int pml__section_log_summary(const char *path, struct pml_summary *s, int64_t number);

/*
 * pml__section_own_summary - the same for the log of the calling process, while threads continue: threads that end
 * meanwhile wait, so that their sums are counted once, either alone or merged into the sums of threads that ended long
 * ago.
 */
int pml__section_own_summary(const char *path, struct pml_summary *s, int64_t number);

#endif
