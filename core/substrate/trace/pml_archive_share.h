/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/trace/pml_archive_share.h - several processes write the events of an archive together. Internal.
 *
 * They meet in the folder DIR/.making-traces. The leader, who has its lock, leaves the plan there: processes, clocks
 * and communicators. Then each, the leader too, claims one process of the recording after the other (N.claim, made
 * exclusively), writes its events into a folder of its own, and gives that the name N when it is whole. What somebody
 * claimed and gave no sign of for some seconds the leader does itself; who comes too late finds the name taken. So the
 * archive depends on no helper, and a leader that is killed leaves nothing that the next one cannot remove.
 */
#ifndef PML_ARCHIVE_SHARE_H
#define PML_ARCHIVE_SHARE_H

#include "substrate/trace/pml_archive_private.h"

/*
 * pml__archive_share_open - be the leader of the archive @dir: lock and empty the folder. -EBUSY: another one is.
 * pml__archive_share_close - the folder and all in it goes; the lock last.
 */
int pml__archive_share_open(struct pml__archive_share *s, const char *dir);
void pml__archive_share_close(struct pml__archive_share *s);

/* pml__archive_share_await - be a helper: wait until the plan of the archive @dir is there. 0 or -ETIMEDOUT. */
int pml__archive_share_await(struct pml__archive_share *s, const char *dir, uint64_t wait_ns);

/* pml__archive_plan_write, _read - the plan; helpers read it into an archive that has nothing yet. */
int pml__archive_plan_write(struct pml__archive *a);
int pml__archive_plan_read(struct pml__archive *a);

/*
 * pml__archive_claim - whether the process @i is ours to write. pml__archive_beat - give a sign while that is done.
 * pml__archive_yield - it is somebody else's to do. pml__archive_done - whether its part is there, after waiting for it
 * as long as somebody gives signs.
 */
bool pml__archive_claim(struct pml__archive *a, uint32_t i);
void pml__archive_beat(const struct pml__archive *a);
void pml__archive_yield(const struct pml__archive *a);
bool pml__archive_done(const struct pml__archive *a, uint32_t i);

/* pml__archive_remove - @path and all in it, as far as that can be. */
void pml__archive_remove(const char *path);

#endif
