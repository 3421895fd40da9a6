/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/log/pml_history_read.h - compressed series of a process's values, from its log. */
#ifndef PML_HISTORY_READ_H
#define PML_HISTORY_READ_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

/* The samples of an event: one per minute of the last month, then one per second of the last hour, as far as kept. */
struct pml_history {
  const char *name;   /* "LIB::EVENT" */
  bool real, instant; /* values are the bits of doubles, else of int64_t; it is a level */
  uint64_t began_ns;  /* CLOCK_REALTIME, when the process began to measure */
  size_t n;
  const int64_t *ms; /* since then, by the process's monotonic clock */
  const uint64_t *value;
};

/*
 * pml_history_load - call @visit with each series in the log @path that has samples, in the order of definition. The
 * argument is valid until @visit returns; a value other than 0 ends the iteration and is returned. The log's process
 * may still run. No file is trusted: a damaged chunk ends at its last readable sample. Returns 0, also without any
 * series, -errno, -ENOMEM or PML_EFORMAT (no log, or damaged). Memory: the chunks, and 16 bytes a sample of the longest
 * series.
 */
typedef int pml_history_visit(const struct pml_history *h, void *arg);
PML__SHARED int pml_history_load(const char *path, pml_history_visit *visit, void *arg);

PML_END_DECLS

#endif
