/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/quantile/pml_quantile.h - exact quantiles of a growing series, typed, without a comparator call. */
#ifndef PML_QUANTILE_H
#define PML_QUANTILE_H

#include "base/pml_value.h"

#include <stddef.h>

PML_BEGIN_DECLS

/*
 * The rule of all quantiles. The quantile of share q of n sorted values, counted from 0, is interpolated linearly
 * between the values at floor(h) and floor(h) + 1, where h = (n - 1) q: type 7 of R. J. Hyndman & Y. Fan, Sample
 * quantiles in statistical packages, The American Statistician 50 (1996). Medians follow it as well; if only the bucket
 * of a value (pml_histogram.h) or an approximation (pml_sketch.h) is known, the rule is applied to that.
 *
 * The only exception are recorders of software-defined events: their users expect PAPI's :MIN, :Q1, :MED, :Q3 and :MAX,
 * which are always pushed elements. pml_quantile_at() implements that rule.
 */
struct pml_quantile_place {
  uint64_t at; /* the lower value's place */
  double part; /* of the way to the next, in [0, 1); 0 at the last place */
};
/* @n: at least 1; @q: in 0..1. */
static inline struct pml_quantile_place pml_quantile_place(uint64_t n, double q) {
  double h = (double)(n - 1) * q;
  struct pml_quantile_place p = {(uint64_t)h, 0};
  if (p.at >= n - 1)
    p.at = n - 1;
  else
    p.part = h - (double)p.at;
  return p;
}
/* Rounding does not lead past the upper value. */
static inline double pml_quantile_between(double lower, double upper, double part) {
  double v = lower + part * (upper - lower);
  return v < upper ? v : upper;
}

/*
 * Exact order statistics of a growing series: sorted runs are retained, and each update sorts only new elements. New
 * sorted runs are merged with older ones of like size only, and ranks are looked up across runs, so that a little news
 * never moves a long series. NaN are counted apart and never sorted in. Memory: 8 bytes per element (PML_TYPE_OTHER:
 * its own) plus a quarter for growth, and as much as is new while sorting. For one thread at a time.
 */
/* The quantiles that logs, texts and reports give: 0, 25, 50, 75, 95, 99 and 100 %. */
#define PML__QUANTILES 7u
static inline double pml__quantile_share(unsigned i) {
  static const double share[PML__QUANTILES] = {0, 0.25, 0.5, 0.75, 0.95, 0.99, 1};
  return share[i];
}

struct pml_quantile; /* opaque */

/* @bytes and @compare (as of qsort) matter for PML_TYPE_OTHER only. Returns 0, -EINVAL or -ENOMEM. */
PML__SHARED int pml_quantile_open(struct pml_quantile **q, enum pml_type type, size_t bytes,
                                  int (*compare)(const void *, const void *));
PML__SHARED void pml_quantile_close(struct pml_quantile *q);

/* pml_quantile_add - take @n elements in; they are copied. Returns 0 or -ENOMEM (then nothing of them is taken). */
PML__SHARED int pml_quantile_add(struct pml_quantile *q, const void *elements, size_t n);
/* pml_quantile_reserve - room for @n more, so that adding them in parts moves nothing. Returns 0 or -ENOMEM. */
int pml_quantile_reserve(struct pml_quantile *q, size_t n);
void pml_quantile_clear(struct pml_quantile *q);
size_t pml_quantile_count(const struct pml_quantile *q); /* without NaN */
PML__SHARED size_t pml_quantile_nans(const struct pml_quantile *q);

/*
 * pml_quantile_at - the element of index (n * percent) / 100, integer, from 0, capped at n - 1: libsde's rule, so that
 * 0, 25, 50, 75 and 100 are MIN, Q1, MED, Q3 and MAX. Valid until the next add, clear or close. NULL without elements,
 * without a comparator, for a percent above 100, or without memory to sort. A comparator that contradicts itself gives
 * some element, never a crash. Cost: a look-up if no element was added since the last call, otherwise a sort of the new
 * elements.
 */
const void *pml_quantile_at(struct pml_quantile *q, unsigned percent);

/*
 * pml_quantile_value - the quantile of @share by the rule above. Returns 0, -EINVAL (the elements are not numbers, or
 * @share is not in 0..1), -ENOENT (there are no elements) or -ENOMEM.
 */
PML__SHARED int pml_quantile_value(struct pml_quantile *q, double share, double *value);

/* pml_quantile_each - every element that is a number, without NaN, in no order. */
PML__SHARED void pml_quantile_each(const struct pml_quantile *q, void (*take)(double value, void *arg), void *arg);

PML_END_DECLS

#endif
