/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/record/pml_mailbox.h - error mailbox: reasons why processes are not recorded, in a file that every process can
 * write.
 *
 * pmlua record makes the file, filled and open to all. A process that may make no file in the folder (another user, a
 * limit on file sizes, a full disk, a folder that became read-only) still maps this one, and leaves a line:
 *
 *     PID<TAB>PROGRAM<TAB>WHY   the process is not recorded
 *     <TAB>PROGRAM<TAB>WHY      no process that executes the program is (core/preload/exec.c)
 */
#ifndef PML_MAILBOX_H
#define PML_MAILBOX_H

#include "base/pml_api.h"

PML_BEGIN_DECLS

#define PML_MAILBOX_FILE "reasons"
#define PML_MAILBOX_BYTES 65536u /* file size: lines of PML_MAILBOX_LINE bytes, padded with zeros */
#define PML_MAILBOX_LINE 1024u

/*
 * pml_mailbox_make - make the file in the folder @dir. An existing file must belong to this user, as from a recording
 * that starts there at the same time. Returns 0 or -errno. pml_mailbox_leave - add the line @text, if it is not there
 * and there is room. Returns 0, -errno, -ENOSPC (no room), or PML_EFORMAT (not such a file). Without a lock or an
 * allocation; async-signal-safe, also in a child of vfork().
 */
PML__SHARED int pml_mailbox_make(const char *dir);
PML__SHARED int pml_mailbox_leave(const char *dir, const char *text);

PML_END_DECLS

#endif
