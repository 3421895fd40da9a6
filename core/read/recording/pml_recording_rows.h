/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/recording/pml_recording_rows.h - recorded calls of a process as rows of text, for exports. Internal. */
#ifndef PML_RECORDING_ROWS_H
#define PML_RECORDING_ROWS_H

#include "base/text/pml_cells.h"
#include "read/recording/pml_recording_read.h"

#define PML__RECORDING_PROCESS_CELLS 3u

/* A region's cells, in the form of the rows, and a process's: rank, host, pid; NULL for an absent one. */
struct pml__recording_names {
  const char *library, *function;
};
struct pml__recording_rows {
  const char *process[PML__RECORDING_PROCESS_CELLS];
  const struct pml__recording_names *name; /* by region */
  const struct pml_recording_call *call;   /* [n] */
  size_t n;
};

/*
 * pml__recording_rows_write - append a row for each call: rank, host, pid, thread, path, parent, depth, library,
 * function, outermost, calls (that began), unreturned, inclusive_ns, exclusive_ns, min_ns, max_ns. Min and max are
 * absent if no call returned. Without memory out->text.failed is set.
 */
PML__SHARED void pml__recording_rows_write(const struct pml__recording_rows *rows, struct pml__cells_writer *out);

#endif
