/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/archive/pml_archive_share.h - cooperation of several processes that write an archive. Internal.
 *
 * They share the folder DIR/.making-traces. The leader, which holds its lock, writes the plan there: processes, clocks
 * and communicators. Then the leader and each helper claim one recorded process after the other (N.claim, created
 * exclusively), write its events into a folder of their own, and rename that to N when it is whole. If a helper that
 * claimed a part gives no sign for 10 s, the leader writes the part itself; the rename of a late helper fails. So the
 * archive depends on no helper, and a new leader can remove everything that a killed one left: all in the folder and,
 * if the parts were being united, the archive that is not whole.
 */
#ifndef PML_ARCHIVE_SHARE_H
#define PML_ARCHIVE_SHARE_H

#include "substrate/archive/pml_archive_private.h"

/*
 * pml__archive_share_open - become the leader of the archive @dir: lock and empty the folder. -EBUSY: there is a
 * leader. pml__archive_share_uniting - from now on the archive itself is written. pml__archive_share_united - it has
 * all of the parts, which are removed: a leader that is killed when the archive is whole leaves none. To be called
 * before that. pml__archive_share_close - remove the folder with all in it, then unlock.
 */
int pml__archive_share_open(struct pml__archive_share *s, const char *dir);
int pml__archive_share_uniting(const struct pml__archive_share *s);
void pml__archive_share_united(const struct pml__archive_share *s);
void pml__archive_share_close(struct pml__archive_share *s);

/* pml__archive_share_await - as a helper, wait for the plan of the archive @dir. 0 or -ETIMEDOUT. */
int pml__archive_share_await(struct pml__archive_share *s, const char *dir, uint64_t wait_ns);

/* pml__archive_plan_write, _read - the plan; a helper reads it into an empty archive. */
int pml__archive_plan_write(struct pml__archive *a);
int pml__archive_plan_read(struct pml__archive *a);

/*
 * pml__archive_claim - claim the process @i; false: another process has it. pml__archive_beat - give a sign of life
 * while it is written. pml__archive_yield - give the claim up. pml__archive_done - wait for the part @i while its
 * writer gives signs of life; returns whether it is there.
 */
bool pml__archive_claim(struct pml__archive *a, uint32_t i);
void pml__archive_beat(const struct pml__archive *a);
void pml__archive_yield(const struct pml__archive *a);
bool pml__archive_done(const struct pml__archive *a, uint32_t i);

/* pml__archive_remove - remove @path with all in it, as far as possible. */
void pml__archive_remove(const char *path);

#endif
