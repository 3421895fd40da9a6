/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_samples.h - a series of raw samples with fixed capacity, and its statistics. */
#ifndef PML_SAMPLES_H
#define PML_SAMPLES_H

#include "base/pml_error.h"

#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

/* Caller-allocated. Filled by one writer; the memory is touched at open, so that no page fault falls into a sample. */
struct pml_samples {
  uint64_t *value;
  size_t n;
  size_t capacity;
  uint64_t run; /* whose log its memory is of; 0: of none */
};

/*
 * Returns 0, -EINVAL (capacity 0) or -ENOMEM; 8 bytes per sample. Close is idempotent. While a run has a log
 * (pml_samples_log.h), the memory is the log's, and no child of fork() has it.
 */
PML__SHARED int pml_samples_open(struct pml_samples *s, size_t capacity);
PML__SHARED void pml_samples_close(struct pml_samples *s);

/* pml_samples_clear - forget all; those that follow are of the visit that is under way. */
PML__SHARED void pml_samples_clear(struct pml_samples *s);

/* pml_samples_push - append; a full series keeps what it has and returns PML_EFULL. Cost: 7 instructions. */
static inline int pml_samples_push(struct pml_samples *s, uint64_t v) {
  if (PML_UNLIKELY(s->n == s->capacity)) return PML_EFULL;
  s->value[s->n++] = v;
  return 0;
}

/*
 * pml_samples_sort - ascending, in place (radix, about 10 ns per sample for values below 2^24). Returns 0 or -ENOMEM.
 */
PML__SHARED int pml_samples_sort(struct pml_samples *s);

/*
 * pml_samples_moments - of a series in any order. sd is the sample standard deviation (n - 1); NaN for n < 2, all NaN
 * for n = 0. Two passes, the sum exact: large values and small spreads lose nothing. About 2 ns per sample.
 */
struct pml_samples_moments {
  double mean;
  double sd;
  double min;
  double max;
};
PML__SHARED void pml_samples_moments(const struct pml_samples *s, struct pml_samples_moments *m);

/*
 * pml_samples_quantile - of a *sorted* series, by the rule of pml_quantile.h. NaN for an empty one or q outside [0, 1].
 */
PML__SHARED double pml_samples_quantile(const struct pml_samples *s, double q);

/*
 * pml_samples_format - write samples [first, last) as decimal text, each followed by '\n' and preceded by @prefix
 * (NULL: none), its index from 0 and a comma, into @buf of @size bytes; stops before a row that would not fit.
 * Returns the bytes written (no '\0' is added) and *@next the first sample not written: call again from there. A @last
 * beyond the series means its end.
 */
PML__SHARED size_t pml_samples_format(const struct pml_samples *s, size_t first, size_t last, const char *prefix,
                                      char *buf, size_t size, size_t *next);

PML_END_DECLS

#endif
