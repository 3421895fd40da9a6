/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/pml_counter_private.h - declarations shared by counters, groups and event sets. */
#ifndef PML_COUNTER_PRIVATE_H
#define PML_COUNTER_PRIVATE_H

#include "source/kernel/pml_rdpmc.h"

/* It leads a group of several: one read(2) of it gives nr, enabled, running and a value per member. */
#define PML__OPEN_GROUP 0x100u
/* Its probe is defined in tracefs, and is removed after it. */
#define PML__OPENED_DEFINED 0x200u

/*
 * In pml_counter.owner of a page that is read in a restartable section, beside the thread's id: where all cores are
 * alike, a read compares the id as ever, and takes no instruction more. No id has this bit.
 */
#define PML__OWNER_RESTARTS (UINT64_C(1) << 63)
#define PML__OWNER_NONE UINT64_MAX /* no page: no thread has this id, with the bit or without */

/* Read open @c by its page, if it has one and @self, the calling thread's id, may: the number of tries, or 0. */
static inline int pml__counter_read_page(const struct pml_counter *c, uint64_t self, struct pml_reading *r) {
  if (PML_LIKELY(c->owner == self)) return pml_rdpmc_read(c->page, r);
  if (c->owner == (self | PML__OWNER_RESTARTS)) return pml_rdpmc_read_restartable(c->page, r);
  return 0;
}

/* Most members of one group: every part of every event of the largest set. */
#define PML__GROUP_MAX 512u

/* Result of read(2), in 64-bit words: times are words 1 and 2 in both forms; the position of values differs. */
#define PML__WORD_ENABLED 1u
#define PML__WORD_RUNNING 2u
#define PML__WORD_SINGLE_VALUE 0u /* value, enabled, running */
#define PML__WORD_GROUP_VALUES 3u /* nr, enabled, running, value... */

/*
 * A short read(2) is -EIO: 0 bytes if the event is in the error state, or a truncated block; then the buffer contains
 * no valid count. It is not repeated after EINTR, because the kernel does not sleep interruptibly in such a read, and a
 * loop would cost each read four instructions.
 */

#endif
