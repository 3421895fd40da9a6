/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/trace/pml_otf2_location.h - a location: its thread appends to a ring, a flush drains it. Internal.
 *
 * A metric record is followed by its values.
 */
#ifndef PML_OTF2_LOCATION_H
#define PML_OTF2_LOCATION_H

#include "base/pml_own.h"
#include "record/pml_ring.h"
#include "substrate/trace/pml_otf2.h"

#define PML__OTF2_SINGLE_SLOTS 2u

/* Open regions, innermost last: the word of the future leave, or one of these marks. */
#define PML__OTF2_DROPPED (UINT64_C(1) << 63) /* this enter was dropped: drop its leave */
#define PML__OTF2_OVERFLOW PML__OTF2_DROPPED  /* alone: the frame of all regions too deep for the stack */

struct pml__otf2_process;
struct pml__otf2_set;

struct pml_otf2_location {
  /* Used by the recording thread; set up before it gets the location. */
  _Alignas(PML__RING_LINE) struct pml__ring ring;
  uint64_t last_ticks;
  uint64_t *open;        /* [capacity + 1] */
  uint64_t depth;        /* frames in @open */
  uint32_t known;        /* every region id up to here exists */
  uint64_t overflow;     /* number of regions represented by PML__OTF2_OVERFLOW */
  uint64_t metric_slots; /* slots of a metric record; 0: the archive has no metrics */
  uint64_t nmetrics;
  /* Counters of the recording thread, readable by any thread. */
  uint64_t dropped, lifted, unmatched; /* atomic */

  /* Used by the flusher, under the archive's lock. */
  _Alignas(PML__RING_LINE) uint64_t tail; /* atomic */
  struct OTF2_EvtWriter_struct *writer;   /* NULL: no more events follow */
  uint64_t nrecords;                      /* taken from the ring, or values of a series */
  uint64_t nevents;                       /* events passed to libotf2: a metric record is zero or more events */
  uint64_t first_written, last_written;   /* ticks, if nevents > 0 */
  uint64_t discarded;                     /* taken from the ring after libotf2 had failed */
  uint64_t closed;                        /* regions left by close */
  uint64_t ref;
  char *name;
  struct pml__otf2_process *process;
  const struct pml__otf2_set *set; /* metrics of its records */
  struct pml__otf2_series *series; /* NULL: a thread's location; otherwise the location has no ring */
  struct pml_otf2_location *next;
};

#endif
