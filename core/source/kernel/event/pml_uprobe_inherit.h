/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_uprobe_inherit.h - user-space probes inherited by threads and children. Internal. */
#ifndef PML_UPROBE_INHERIT_H
#define PML_UPROBE_INHERIT_H

#include <linux/perf_event.h>

/*
 * pml__uprobe_inherit - make *@attr, of the uprobe PMU, the same probe as a tracepoint.
 *
 * Linux accepts attr.inherit for its uprobe PMU, but counts only one thread; a tracepoint is inherited. The probe is
 * defined in tracefs under a name with this process's pid, and stays until pml__uprobe_release() or, if the process was
 * killed, until the next call here by any process. Meanwhile other processes also stop at the probe, uncounted: each
 * call there costs about 1 us more. Returns 0, or -errno with *@attr unchanged: tracefs is not mounted or not writable.
 * Cost: some fifteen system calls. Thread-safe.
 */
int pml__uprobe_inherit(struct perf_event_attr *attr);

/* pml__uprobe_release - remove the definitions of this process that no event uses. Thread-safe. */
void pml__uprobe_release(void);

#endif
