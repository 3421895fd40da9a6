/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/archive/pml_archive_waits.h - waiting times of ranks. Internal.
 *
 * Late sender, as Scalasca defines it: a receive, or the call that completes one, was entered before the send was; the
 * wait is the time between, at most the receive's own. Collective operations that no member leaves before the last one
 * has come: the wait is the time to the last one's enter, at most the operation's own.
 */
#ifndef PML_ARCHIVE_WAITS_H
#define PML_ARCHIVE_WAITS_H

#include "substrate/archive/pml_archive_pairs.h"
#include "substrate/archive/pml_archive_private.h"

enum { PML__ARCHIVE_SENT, PML__ARCHIVE_RECEIVED, PML__ARCHIVE_MET };

/* One end of a message, or a collective operation, in a call that began at @entered_ns and ended at @ns. */
struct pml__archive_call {
  uint64_t entered_ns, ns;
  uint32_t kind;
  struct pml__archive_channel channel; /* of a collective operation: its communicator alone */
};

/* The calls of a process. */
struct pml__archive_calls {
  struct pml__archive_call *call; /* [n] */
  size_t n, capacity;
};

/* pml__archive_call_add - add @c if ranks wait in it; other communications are passed over. 0 or -ENOMEM. */
int pml__archive_call_add(struct pml__archive_calls *l, const struct pml__archive_process *p,
                          const struct pml__otf2_communication *c, uint64_t entered_ns, uint64_t ns);

/* The calls of all processes, until they are summed. */
struct pml__archive_waits {
  struct pml__archive_pairs pairs;
  struct pml__archive_met *met; /* [nmet] */
  size_t nmet, capacity;
};

/*
 * pml__archive_waits_take - add the calls of the process @i, which it sorts; each process once. 0 or -ENOMEM.
 * pml__archive_waits_end - put the sums of each rank into the story, and free @w.
 */
int pml__archive_waits_take(struct pml__archive_waits *w, struct pml__archive *a, uint32_t i,
                            struct pml__archive_calls *l);
void pml__archive_waits_end(struct pml__archive_waits *w, struct pml__archive *a);

#endif
