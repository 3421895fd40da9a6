/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/archive/pml_archive_skew.h - message delays between two clocks over time, and the clock corrections
 * that leave no message early. Internal.
 *
 * Clocks are measured at the beginning and at the end of a job and assumed to be linear in between. If they are not,
 * the program's messages serve as measurements at no cost: a message from A to B gives a lower bound on the lag of B's
 * clock, a message from B to A an upper bound. Time is divided by breakpoints. At each breakpoint the shift of each
 * clock is the smallest that satisfies all messages of the steps before and after it; these are the shortest paths of a
 * system of difference constraints (Cormen et al., Introduction to Algorithms, 24.4). Between breakpoints shifts are
 * linear, so a message within a step, which is satisfied at both ends, is satisfied at any time in between, except for
 * the change of the shift during its transfer.
 */
#ifndef PML_ARCHIVE_SKEW_H
#define PML_ARCHIVE_SKEW_H

#include "base/pml_map.h"
#include "read/archive/pml_archive_private.h"

struct pml__archive;

/* The largest earliness of messages from one clock to another near each breakpoint. */
struct pml__archive_skew {
  uint32_t from, to; /* processes with these clocks */
  int64_t *ns;       /* [breakpoints] INT64_MIN: no message */
};

struct pml__archive_skews {
  uint64_t first_ns, step_ns;
  uint32_t breakpoints;           /* 0: messages are ignored */
  struct pml__archive_skew *skew; /* [pairs.n] */
  size_t capacity;
  struct pml__map pairs; /* pairs of clocks, in both directions */
};

/*
 * pml__archive_skews_begin - prepare a new @l for messages from @first_ns to @last_ns. @clocks: the number of clocks;
 * more clocks have fewer steps, so that memory is limited to 32 MiB, or 16 bytes for each pair of clocks.
 * pml__archive_skew_add - add a message between the clocks of two processes, at times without shifts of this round.
 * pml__archive_skews_shift - add the shifts required by the messages to the shifts of the clocks. If the requirements
 * are contradictory, or a clock would go backwards, shifts stay unchanged. *@shifted: whether any shift changed. Each
 * returns 0 or -ENOMEM.
 * pml__archive_skews_free - free the lists.
 */
void pml__archive_skews_begin(struct pml__archive_skews *l, uint64_t first_ns, uint64_t last_ns, size_t clocks);
int pml__archive_skew_add(struct pml__archive_skews *l, uint32_t from, uint32_t to, uint64_t sent_ns,
                          uint64_t received_ns);
int pml__archive_skews_shift(const struct pml__archive_skews *l, struct pml__archive *a, bool *shifted);
void pml__archive_skews_free(struct pml__archive_skews *l);

#endif
