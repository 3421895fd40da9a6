/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/archive/pml_archive_pairs.h - matching of sends and receives. Internal. */
#ifndef PML_ARCHIVE_PAIRS_H
#define PML_ARCHIVE_PAIRS_H

#include "base/pml_map.h"

#include <stdbool.h>

/* Messages of a communicator from one rank to another with one tag: they arrive in the order in which they are sent. */
struct pml__archive_channel {
  uint32_t comm, from, to, tag;
};

struct pml__archive_end {
  uint64_t ticks, ns;
};

struct pml__archive_queue {
  struct pml__archive_channel channel;
  bool receives; /* these wait, not sends */
  uint32_t n, first, capacity;
  struct pml__archive_end *waiting; /* [n] from @first on */
};

struct pml__archive_pairs {
  struct pml__archive_queue *queue; /* [channels.n] */
  size_t capacity;
  struct pml__map channels;
};

/*
 * pml__archive_pair - the other end of the message, which no longer waits; *@found is false if there is none, and this
 * end waits. 0 or -ENOMEM.
 */
int pml__archive_pair(struct pml__archive_pairs *p, const struct pml__archive_channel *c, bool receives,
                      const struct pml__archive_end *end, struct pml__archive_end *other, bool *found);

/* pml__archive_waiting - how many ends wait. pml__archive_pairs_free - of what it has. */
uint64_t pml__archive_waiting(const struct pml__archive_pairs *p);
void pml__archive_pairs_free(struct pml__archive_pairs *p);

#endif
