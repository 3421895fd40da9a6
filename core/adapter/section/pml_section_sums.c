/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_sums.c - statistics of sections in memory or a log: add, reset, convert to ns. */
#include "adapter/section/pml_section_private.h"

#include <string.h>

/* Forget all but the calls under way, if @stat is of before the last reset. */
void pml__section_forget_old(struct pml__section_stat *stat, uint32_t epoch) {
  if (stat->epoch == epoch) return;
  uint32_t depth = stat->depth;
  memset(stat, 0, sizeof *stat);
  stat->calls.min = UINT64_MAX;
  stat->depth = depth;
}

bool pml__section_says_something(const struct pml__section_stat *stat) {
  uint64_t misuse = 0;
  for (unsigned m = 0; m < PML_SECTION_MISUSES; m++) misuse += stat->misuse[m];
  return stat->calls.count > 0 || stat->depth > 0 || misuse > 0;
}

static uint32_t add_up(uint32_t a, uint32_t b) {
  return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

/* Neither side is in use by others, but for @to of the sum of threads, whose readers wait for the lock. */
void pml__section_add(struct pml__section_stat *to, const struct pml__section_stat *more) {
  pml_exact_sums_merge(&to->calls, &more->calls);
  to->self += more->self;
  to->depth += more->depth;
  to->work += more->work;
  to->iterations += more->iterations;
  to->recurred += more->recurred;
  for (unsigned m = 0; m < PML_SECTION_MISUSES; m++) to->misuse[m] = add_up(to->misuse[m], more->misuse[m]);
}

void pml__section_row(const struct pml__section_stat *s, bool exclusive, double ticks_per_second,
                      struct pml_section_row *row) {
  const double ns = 1e9 / ticks_per_second; /* one product for all: a mean stays between the extremes */
  *row = (struct pml_section_row){.running = s->depth,
                                  .count = s->calls.count,
                                  .total_ns = ns * (double)(s->calls.sum - s->recurred),
                                  .self_ns = ns * (double)s->self,
                                  .work = s->work,
                                  .iterations = s->iterations};
  for (unsigned m = 0; m < PML_SECTION_MISUSES; m++) row->misuse[m] = s->misuse[m];
  if (s->calls.count == 0) return;
  row->min_ns = ns * (double)s->calls.min;
  row->max_ns = ns * (double)s->calls.max;
  struct pml_sums sums = pml_sums_of(&s->calls);
  row->mean_ns = ns * sums.mean;
  row->stddev_ns = ns * pml_sums_deviation(&sums);
  if (exclusive && s->self < s->calls.sum - s->recurred) row->misuse[PML_SECTION_OVERLAP]++;
}

void pml__section_values(const uint64_t *from, uint32_t n, uint64_t real, struct pml_section_value *to) {
  for (uint32_t i = 0; i < n; i++) {
    to[i] = (struct pml_section_value){.real = (real >> i & 1) != 0};
    if (to[i].real)
      memcpy(&to[i].d, &from[i], sizeof to[i].d);
    else
      to[i].i = (int64_t)from[i];
  }
}
