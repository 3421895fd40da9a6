/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/archive/pml_archive_skew.h - message delays between two clocks over time, and the clock corrections
 * that leave no message early. Internal.
 *
 * Clocks are measured at the beginning and at the end of a job and taken for linear in between. Where they are not, the
 * messages of the program are measurements that cost it nothing: one from A to B says how far B's clock is behind at
 * least, one from B to A how far at most. Time is divided by breakpoints. At each breakpoint the shift of each clock is
 * the least that satisfies all messages of the steps before and after it; the shortest paths of a system of difference
 * constraints (Cormen et al., Introduction to Algorithms, 24.4). Between breakpoints shifts are linear, so that a
 * message within a step, which is satisfied at both of its ends, is satisfied at any time between them, but for how
 * much the shift changes while it is on its way.
 */
#ifndef PML_ARCHIVE_SKEW_H
#define PML_ARCHIVE_SKEW_H

#include "base/pml_map.h"
#include "substrate/archive/pml_archive_private.h"

struct pml__archive;

/* By how much messages between two clocks are early at most, of those near each breakpoint. */
struct pml__archive_skew {
  uint32_t from, to; /* processes whose clocks these are */
  int64_t *ns;       /* [breakpoints] INT64_MIN: there is no message */
};

struct pml__archive_skews {
  uint64_t first_ns, step_ns;
  uint32_t breakpoints;           /* 0: messages are not looked at */
  struct pml__archive_skew *skew; /* [pairs.n] */
  size_t capacity;
  struct pml__map pairs; /* pairs of clocks, in both directions */
};

/*
 * pml__archive_skews_begin - messages from @first_ns to @last_ns are to come; a new @l. @clocks: how many there are, by
 * which the steps are fewer, so that memory is bounded by 32 MiB, or 16 bytes for each pair of clocks.
 * pml__archive_skew_add - a message between the clocks of two processes, at times without shifts of this round.
 * pml__archive_skews_shift - add to the shifts of the clocks what the messages ask for. Where that contradicts itself,
 * or a clock would go backwards, shifts stay. *@shifted: whether there are any. Each returns 0 or -ENOMEM.
 * pml__archive_skews_free - of what it has.
 */
void pml__archive_skews_begin(struct pml__archive_skews *l, uint64_t first_ns, uint64_t last_ns, size_t clocks);
int pml__archive_skew_add(struct pml__archive_skews *l, uint32_t from, uint32_t to, uint64_t sent_ns,
                          uint64_t received_ns);
int pml__archive_skews_shift(const struct pml__archive_skews *l, struct pml__archive *a, bool *shifted);
void pml__archive_skews_free(struct pml__archive_skews *l);

#endif
