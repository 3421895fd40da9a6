/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/otf2/write/pml_otf2_location.h - a location: its thread appends to an event buffer of the archive's log.
 * Internal.
 */
#ifndef PML_OTF2_LOCATION_H
#define PML_OTF2_LOCATION_H

#include "base/pml_own.h"
#include "read/otf2/write/pml_otf2.h"

struct pml__event_buffer;
struct pml__otf2_process;
struct pml__otf2_set;

struct pml_otf2_location {
  /* Owned by the recording thread; set up before it gets the location. */
  struct pml__event_buffer *buffer; /* NULL: no log of this process contains the events */
  uint64_t process_number;          /* the process that may record, unlike its children */
  uint64_t recorded;                /* atomic, one writer: events in the log that are not yet written */
  size_t nmetrics;

  /* Owned by the writer, under the archive's lock. */
  uint64_t dropped, lifted, unmatched;  /* counted by the log and its reader */
  struct OTF2_EvtWriter_struct *writer; /* NULL: the location is complete */
  uint64_t nrecords;                    /* written records, or values of a series */
  uint64_t nevents;                     /* events given to libotf2, by kinds of metrics */
  uint64_t first_written, last_written; /* ticks, where nevents > 0 */
  uint64_t closed;                      /* leaves added at the close */
  uint64_t ref;
  char *name;
  struct pml__otf2_process *process;
  const struct pml__otf2_set *set; /* metrics of its records */
  struct pml__otf2_series *series; /* NULL: a thread's location; else the location has no events */
  struct pml_otf2_location *next;
};

#endif
