/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_perf_open.h - perf_event_open(2), retried without unsupported attributes. Internal. */
#ifndef PML_PERF_OPEN_H
#define PML_PERF_OPEN_H

#include <linux/perf_event.h>
#include <sys/types.h>

/* What stands for the descriptor @fd of a cgroup's folder where a pid is asked for; and back. */
#define PML__PID_OF_CGROUP(fd) (-2 - (fd))
#define PML__CGROUP_OF_PID(pid) (-2 - (pid))

/*
 * pml__perf_event_open - perf_event_open(@attr, @pid, @cpu, @group_fd), close-on-exec. What is refused with EOPNOTSUPP
 * is asked for again without what a PMU may lack: first with the other answer to whether guests count (a host that
 * lends its PMU to guests refuses events that would count them, too; some PMUs know no guests), then without precision
 * (guests have no PEBS). *@attr is what was opened. Returns a descriptor or -errno. Cost: a syscall, up to four where
 * it is refused so. Async-signal-safe.
 */
int pml__perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd);

#endif
