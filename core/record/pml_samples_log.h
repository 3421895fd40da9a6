/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/record/pml_samples_log.h - samples of a run, stored while it runs in case it is killed.
 *
 * A run visits a cell, takes samples, and keeps them where they belong; then they need not be here any more. Series
 * opened in that time are stored in the log, so their values survive at no cost. One run at a time has a log. Only the
 * thread that measures calls these.
 */
#ifndef PML_SAMPLES_LOG_H
#define PML_SAMPLES_LOG_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

#define PML_SAMPLES_LOG_BYTES                                                                                          \
  (UINT64_C(1) << 26) /* limit of a series; larger ones stay in process memory                                         \
                       */

/* pml_samples_log_open - samples.pmlog in @folder. Returns 0, -EALREADY, or an error of the file system. */
PML__SHARED int pml_samples_log_open(const char *folder);

/* pml_samples_log_visit - from now on samples are of @cell in @round, of which @planned are wanted. */
PML__SHARED void pml_samples_log_visit(uint32_t cell, uint32_t round, uint64_t planned);

/* pml_samples_log_push - one of a visit that gives its samples one by one. There is room for @planned. */
PML__SHARED void pml_samples_log_push(double v);

/*
 * pml_samples_log_tell - record a property of @cell: for @round, or, if that is 0, for all of its @samples until now. A
 * lock, and a copy.
 */
PML__SHARED void pml_samples_log_tell(uint32_t cell, uint32_t round, uint64_t samples, const char *name,
                                      const char *value);

/* pml_samples_log_kept - the samples of the visit are stored elsewhere. */
PML__SHARED void pml_samples_log_kept(void);

/* pml_samples_log_close - the file goes. Idempotent. */
PML__SHARED void pml_samples_log_close(void);

/* ---- for pml_samples.c ---- */

/* Memory for @capacity values in the log, all ones, aligned to a cache line; NULL: there is no log or no room in it. */
uint64_t *pml__samples_log_memory(size_t capacity, bool real, uint64_t *run);
void pml__samples_log_clear(uint64_t *value, size_t capacity);
void pml__samples_log_free(uint64_t *value, size_t capacity, uint64_t run);

PML_END_DECLS

#endif
