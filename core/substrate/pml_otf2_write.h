/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/pml_otf2_write.h - what pml_otf2.c asks of libotf2. Internal; every call is made under the archive's
 * lock.
 *
 * Each returns 0, or the code of a failure whose sentence pml_error_detail() has. libotf2 prints nothing: its error
 * callback is replaced, for the whole process, at the first create.
 */
#ifndef PML_OTF2_WRITE_H
#define PML_OTF2_WRITE_H

#include "substrate/pml_otf2_ring.h"

#include <pthread.h>

#define PML__OTF2_METRICS_MAX 255 /* OTF2 counts them in a byte */
#define PML__OTF2_TEXT_BYTES 400

struct pml_otf2 {
  pthread_mutex_t lock; /* guards all below, and each location's flusher half */
  char *dir;
  struct pml_otf2_metric *metric; /* [nmetrics]; the strings are ours */
  size_t nmetrics;
  uint64_t capacity; /* slots of a ring, a power of two */
  struct pml_otf2_location *first, **end;
  uint64_t nlocations;
  uint32_t *region_ref; /* [region_capacity] by region id: its OTF2 reference + 1, 0 if it is in no record */
  uint32_t region_capacity, nregions;
  uint64_t opened_ticks, opened_realtime_ns;
  char *process; /* whose events these are, as "NAME (PID)"; NULL: this process's */
  int error;     /* the first failure of libotf2; nothing is written after it */
  char error_text[PML__OTF2_TEXT_BYTES];
  struct OTF2_Archive_struct *archive;
};

/* pml__otf2_create - make the files; @a->dir is set. */
int pml__otf2_create(struct pml_otf2 *a);

/* pml__otf2_create_location - the event writer of @loc; @loc->ref is set. */
int pml__otf2_create_location(struct pml_otf2 *a, struct pml_otf2_location *loc);

/* pml__otf2_event - one event; @region is an OTF2 reference, @values has [nmetrics] for a metric. Counts it. */
int pml__otf2_event(struct pml_otf2 *a, struct pml_otf2_location *loc, enum pml__otf2_kind kind, uint64_t ticks,
                    uint32_t region, const uint64_t *values);

/*
 * pml__otf2_write - one event past the ring, for who has all events at hand; @loc has no others. Events of a location
 * are in order and balanced. pml__otf2_origin - they are those of @process, whose clock said @ticks at @realtime_ns.
 */
int pml__otf2_write(struct pml_otf2 *a, struct pml_otf2_location *loc, enum pml__otf2_kind kind, uint64_t ticks,
                    pml_region_t region, const uint64_t *values);
int pml__otf2_origin(struct pml_otf2 *a, const char *process, uint64_t ticks, uint64_t realtime_ns);

/* pml__otf2_finish - write all definitions and close the files, going on after failures; returns the first. */
int pml__otf2_finish(struct pml_otf2 *a);

#endif
