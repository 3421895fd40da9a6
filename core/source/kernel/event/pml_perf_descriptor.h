/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_perf_descriptor.h - perf descriptors that survive a close() of the program. Internal. */
#ifndef PML_PERF_DESCRIPTOR_H
#define PML_PERF_DESCRIPTOR_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
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

/*
 * A perf event's descriptor, and the event's id. Daemons close all descriptors and open their own, which get the same
 * numbers. The id is the kernel's: no other event of this boot has it, and no other kind of file has one.
 */
struct pml__perf_descriptor {
  int fd; /* -1: closed */
  uint64_t id;
};

/*
 * pml__perf_descriptor_open - pml__perf_event_open(@attr, @pid, @cpu, @group_fd); *@attr is what was opened.
 * The number is a high one, where there is room: programs count on getting the lowest, and close those that they know.
 * Returns 0, or -errno with *d closed. Cost: five syscalls.
 */
int pml__perf_descriptor_open(struct pml__perf_descriptor *d, struct perf_event_attr *attr, pid_t pid, int cpu,
                              int group_fd);

/*
 * pml__perf_descriptor_held - does the number still stand for the event? Nothing of another file is touched: no other
 * kind of file knows this ioctl. Cost: a syscall, as much as a read: not for paths that are to be fast, which notice a
 * number that stands for nothing (-EBADF). Async-signal-safe.
 */
bool pml__perf_descriptor_held(const struct pml__perf_descriptor *d);

/* pml__perf_descriptor_close - close the event, but nothing that has its number by now. Idempotent. */
void pml__perf_descriptor_close(struct pml__perf_descriptor *d);

#endif
