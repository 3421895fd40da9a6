/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_workers.h - an archive's locations, read by several threads. Internal. */
#ifndef PML_OTF2_WORKERS_H
#define PML_OTF2_WORKERS_H

#include "read/otf2/pml_otf2_read_private.h"

#define PML__OTF2_WORKERS_MAX 256u

/* The result of reading a location's events. */
struct pml__otf2_location_read {
  uint64_t events;
  bool damaged; /* libotf2 could not read them all */
};

/*
 * Events go to @callbacks, with the state of the worker that reads them. On its thread @begin is called before the
 * first event of a location, @end behind the last one: 0, or a failure that ends all reading.
 */
struct pml__otf2_reading {
  const OTF2_EvtReaderCallbacks *callbacks;
  void *state; /* [workers], of @size bytes each */
  size_t size;
  void (*begin)(void *state, size_t location);
  int (*end)(void *state, size_t location, const struct pml__otf2_location_read *read);
};

/* pml__otf2_workers - how many threads read what @q asks for: at least 1. */
unsigned pml__otf2_workers(const struct pml_otf2_read *t, const struct pml_otf2_question *q);

/*
 * pml__otf2_read_locations - read the locations selected by @q. Each worker has separate locations, each with a reader
 * of libotf2: workers share no data while they read, and joining the threads orders their writes before the return. The
 * calling thread is the first worker; the others block all signals. If a thread cannot be started, the caller reads its
 * locations. Returns 0, -EBUSY, -ENOMEM, PML_EOTF2 (no event of any location could be read), or the value of @end.
 */
int pml__otf2_read_locations(struct pml_otf2_read *t, const struct pml_otf2_question *q, unsigned workers,
                             const struct pml__otf2_reading *how);

#endif
