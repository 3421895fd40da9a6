/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_snapshot.h - in-memory log of the current state of all sections. Internal. */
#ifndef PML_SECTION_SNAPSHOT_H
#define PML_SECTION_SNAPSHOT_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* pml__section_count - the sections that are defined. Lock-free. */
PML__SHARED uint32_t pml__section_count(void);

/*
 * pml__section_snapshot - the bytes of a log (docs/log.md) with a row for each section and thread and, if
 * @timeline, the timeline. Threads may continue: each row is as of one moment.
 * Returns 0, -ENOMEM, -EAGAIN (a thread was held within an update for a second), -errno (the system has no file in
 * memory), or what the first definition returned, with a sentence. *@bytes is freed by pml__free(); NULL on failure.
 * Thread-safe.
 */
PML__SHARED int pml__section_snapshot(bool timeline, char **bytes, size_t *n);

/*
 * pml__section_history - if @add_samples, append the number of calls of each section, and the seconds in them, over all
 * threads, to series in the process's log (pml_history.h): "section:LABEL:count" and "section:LABEL:sum". False: there
 * is no log. Thread-safe; takes the lock of sections once for each.
 */
PML__SHARED bool pml__section_history(bool add_samples);

#endif
