/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/archive/pml_archive_lock.h - lock of an archive while it is written. Internal.
 *
 * The writer holds a lock of the file DIR/.making-traces, which the kernel releases when the writer is killed. Once the
 * writer creates the archive it makes the file non-empty, so that the next writer can tell the remains of a killed one,
 * which it removes, from an archive that another program made, which it leaves alone.
 */
#ifndef PML_ARCHIVE_LOCK_H
#define PML_ARCHIVE_LOCK_H

#include "substrate/archive/pml_archive_private.h"

/*
 * pml__archive_lock - become the writer of the archive in @dir, and remove the remains of a killed one. -EBUSY: another
 * process is the writer. pml__archive_creates - note that the archive is created now. pml__archive_unlock - remove the
 * file and release the lock; @failed: also remove the archive, which this process began.
 */
int pml__archive_lock(struct pml__archive_lock *l, const char *dir);
int pml__archive_creates(const struct pml__archive_lock *l);
void pml__archive_unlock(struct pml__archive_lock *l, bool failed);

#endif
