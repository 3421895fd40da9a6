/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/archive/pml_archive_clock.c - clocks of processes, and how they differ from rank 0's. */
#include "substrate/archive/pml_archive_clock.h"

#include "base/pml_error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME_NS 1e9 /* what clocks that were set may differ by, and ticks of one machine are the same */

static double ns_between(const struct pml__archive_clock *c, uint64_t from, uint64_t to) {
  return to >= from ? (double)(to - from) * c->ns_per_tick : -(double)(from - to) * c->ns_per_tick;
}

/* What stays within 100 years of the start; hostile ticks do not overflow, nor do clocks that make no number. */
static int64_t within(double ns) {
  const double most = 3.2e18;
  return (int64_t)llround(ns > most ? most : ns >= -most ? ns : -most);
}

/* How many measurements were at @ticks or before. */
static size_t measured_by(const struct pml__archive_clock *c, uint64_t ticks) {
  size_t from = 0, to = c->noffsets;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (c->offset[middle].ticks <= ticks)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

/* Between the measurements before and after. */
static double offset_at(const struct pml__archive_clock *c, uint64_t ticks) {
  size_t i = measured_by(c, ticks);
  if (c->noffsets == 0) return 0;
  if (i == 0 || i == c->noffsets) return (double)c->offset[i == 0 ? 0 : i - 1].ns;
  const struct pml__archive_offset *before = &c->offset[i - 1], *after = &c->offset[i];
  double part = (double)(ticks - before->ticks) / (double)(after->ticks - before->ticks);
  return (double)before->ns + part * ((double)after->ns - (double)before->ns);
}

uint64_t pml__archive_clock_ns(const struct pml__archive_clock *c, uint64_t ticks) {
  double since = ns_between(c, c->started_ticks, ticks) + offset_at(c, ticks) + (double)c->shift_ns;
  int64_t ns = within(since);
  if (ns < 0 && (uint64_t)-ns > c->started_ns) return 0;
  return c->started_ns + (uint64_t)ns;
}

int pml__archive_clock_measured(struct pml__archive_clock *c, uint64_t ticks, int64_t ns) {
  if (c->noffsets > 0 && c->offset[c->noffsets - 1].ticks >= ticks) return 0;
  struct pml__archive_offset *more = realloc(c->offset, (c->noffsets + 1) * sizeof *more);
  if (more == NULL) return pml_fail(-ENOMEM, "no memory for the clock of a process");
  c->offset = more;
  c->offset[c->noffsets++] = (struct pml__archive_offset){ticks, ns};
  return 0;
}

void pml__archive_clock_free(struct pml__archive_clock *c) {
  free(c->offset);
}

bool pml__archive_clock_same(const struct pml__archive_clock *a, const struct pml__archive_clock *b) {
  double apart = (double)b->started_ns - (double)a->started_ns;
  return fabs(ns_between(a, a->started_ticks, b->started_ticks) - apart) < SAME_NS;
}
