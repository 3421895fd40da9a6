/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/archive/pml_archive_clock.h - conversion of a process's ticks to rank 0's clock. Internal. */
#ifndef PML_ARCHIVE_CLOCK_H
#define PML_ARCHIVE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How far rank 0's clock was ahead. */
struct pml__archive_offset {
  uint64_t ticks;
  int64_t ns;
};

/* What is added at a time without shifts. */
struct pml__archive_shift {
  uint64_t ns;
  int64_t by;
};

struct pml__archive_clock {
  uint64_t started_ns, started_ticks; /* the same moment */
  double ns_per_tick;
  struct pml__archive_offset *offset; /* [noffsets] in the order of time */
  size_t noffsets, offsets;
  struct pml__archive_shift *shift; /* [nshifts] in the order of time */
  size_t nshifts;
};

/* pml__archive_clock_ns - @ticks in ns of CLOCK_REALTIME; later ticks are not before. Offsets are linear between
 * measurements, and stay before the first and after the last; so are shifts, which are added then. */
uint64_t pml__archive_clock_ns(const struct pml__archive_clock *c, uint64_t ticks);

/*
 * pml__archive_clock_measured - an offset more. pml__archive_clock_shift - add @n shifts in the order of time to those
 * that it has; between two of either none falls by more than time goes on. Each returns 0 or -ENOMEM.
 * pml__archive_clock_free - of what it has.
 */
int pml__archive_clock_measured(struct pml__archive_clock *c, uint64_t ticks, int64_t ns);
int pml__archive_clock_shift(struct pml__archive_clock *c, const struct pml__archive_shift *by, size_t n);
void pml__archive_clock_free(struct pml__archive_clock *c);

/* pml__archive_clock_same - whether both count the same ticks: those of one machine since it was booted. */
bool pml__archive_clock_same(const struct pml__archive_clock *a, const struct pml__archive_clock *b);

#endif
