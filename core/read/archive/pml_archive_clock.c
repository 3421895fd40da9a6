/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/archive/pml_archive_clock.c - clocks of processes, and their offsets from rank 0's. */
#include "read/archive/pml_archive_private.h"

#include "base/pml_array.h"
#include "base/pml_error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME_NS 1e9 /* limit of differences between the clocks of a machine, which may be set */

static double ns_between(const struct pml__archive_clock *c, uint64_t from, uint64_t to) {
  return to >= from ? (double)(to - from) * c->ns_per_tick : -(double)(from - to) * c->ns_per_tick;
}

/* @ns, limited to 100 years, so that neither damaged ticks nor a rate that is not a number overflow. */
static int64_t within(double ns) {
  const double most = 3.2e18;
  return (int64_t)llround(ns > most ? most : ns >= -most ? ns : -most);
}

/* @list's value at @at: interpolated between the entries before and after. */
static double value_at(const struct pml__archive_correction *list, size_t n, uint64_t at) {
  size_t i;
  PML__ARRAY_SEARCH(i, n, list[i].at <= at);
  if (n == 0) return 0;
  if (i == 0 || i == n) return (double)list[i == 0 ? 0 : n - 1].by_ns;
  const struct pml__archive_correction *before = &list[i - 1], *after = &list[i];
  double part = (double)(at - before->at) / (double)(after->at - before->at);
  return (double)before->by_ns + part * ((double)after->by_ns - (double)before->by_ns);
}

static uint64_t later(uint64_t ns, int64_t by) {
  return by < 0 && (uint64_t)-by > ns ? 0 : ns + (uint64_t)by;
}

uint64_t pml__archive_clock_ns(const struct pml__archive_clock *c, uint64_t ticks) {
  double offset = value_at(c->offset, c->noffsets, ticks);
  uint64_t ns = later(c->started_ns, within(ns_between(c, c->started_ticks, ticks) + offset));
  return later(ns, within(value_at(c->shift, c->nshifts, ns)));
}

/* The sum has the breakpoints of both, with the other's values there. */
int pml__archive_clock_shift(struct pml__archive_clock *c, const struct pml__archive_correction *by, size_t n) {
  struct pml__archive_correction *sum = malloc((c->nshifts + n + 1) * sizeof *sum);
  size_t i = 0, k = 0, all = 0;
  if (sum == NULL) return pml_fail(-ENOMEM, "no memory for the clock of a process");
  while (i < c->nshifts || k < n) {
    uint64_t ns = k == n || (i < c->nshifts && c->shift[i].at < by[k].at) ? c->shift[i].at : by[k].at;
    int64_t before = within(value_at(c->shift, c->nshifts, ns));
    sum[all++] = (struct pml__archive_correction){ns, before + within(value_at(by, n, ns))};
    i += i < c->nshifts && c->shift[i].at == ns;
    k += k < n && by[k].at == ns;
  }
  free(c->shift);
  c->shift = sum;
  c->nshifts = all;
  return 0;
}

int pml__archive_clock_measured(struct pml__archive_clock *c, uint64_t ticks, int64_t ns) {
  if (c->noffsets > 0 && c->offset[c->noffsets - 1].at >= ticks) return 0;
  if (!PML__ARRAY_ROOM(c->offset, c->offsets, c->noffsets + 1))
    return pml_fail(-ENOMEM, "no memory for the clock of a process");
  c->offset[c->noffsets++] = (struct pml__archive_correction){ticks, ns};
  return 0;
}

void pml__archive_clock_free(struct pml__archive_clock *c) {
  free(c->offset);
  free(c->shift);
}

bool pml__archive_clock_same(const struct pml__archive_clock *a, const struct pml__archive_clock *b) {
  double apart = (double)b->started_ns - (double)a->started_ns;
  return fabs(ns_between(a, a->started_ticks, b->started_ticks) - apart) < SAME_NS;
}
