/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/pml_group.h - events that are scheduled and read together. */
#ifndef PML_GROUP_H
#define PML_GROUP_H

#include "source/kernel/pml_counter.h"

PML_BEGIN_DECLS

struct pml_group {
  struct pml_counter *member; /* [n], member[0] leads; owned */
  uint64_t *buffer;           /* what read(2) fills: nr, times, values, or for one member value, times; owned */
  size_t n;                   /* 0: closed */
};

/*
 * pml_group_open - open @n events (part 0 of each, or @part[i] if @part is not NULL) as one group on @target.
 * @g: uninitialised, owned by the caller; left closed on failure. On failure *@which (if not NULL) is the index of the
 * event that did not fit or open. The group starts counting at once, all members in the same instant.
 *
 * Returns as pml_counter_open(), and -ENOMEM, -EINVAL (n == 0). Cost: n + 2 syscalls. Not async-signal-safe.
 */
PML__SHARED int pml_group_open(struct pml_group *g, const struct pml_event *const *ev, const unsigned *part, size_t n,
                               const struct pml_target *target, unsigned flags, size_t *which);
PML__SHARED void pml_group_close(struct pml_group *g);

/*
 * pml_group_read - @out[n], in the order of opening. All members by their pages if every page can be read, else one
 * read(2) for all. Returns the number of page reads that had to be tried again (>= 0), or a negative code.
 * One reader at a time (the buffer is the group's own). Async-signal-safe.
 */
PML__SHARED int pml_group_read(struct pml_group *g, struct pml_reading *out);

PML_END_DECLS

#endif
