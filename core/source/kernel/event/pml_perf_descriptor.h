/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_perf_descriptor.h - perf descriptors that survive a close() of the program. Internal. */
#ifndef PML_PERF_DESCRIPTOR_H
#define PML_PERF_DESCRIPTOR_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Encodes the descriptor @fd of a cgroup's folder as a pid; and decodes it. */
#define PML__PID_OF_CGROUP(fd) (-2 - (fd))
#define PML__CGROUP_OF_PID(pid) (-2 - (pid))

/*
 * pml__perf_event_open - perf_event_open(@attr, @pid, @cpu, @group_fd), close-on-exec. On EOPNOTSUPP it retries without
 * features that a PMU may lack: first with the opposite setting of guest counting (a host that lends its PMU to guests
 * refuses events that would also count them; some PMUs do not support exclusion of guests), then without precision
 * (guests have no PEBS). *@attr is updated to the opened event. Returns a descriptor or -errno. Cost: a syscall, up to
 * four with retries. Async-signal-safe.
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
 * pml__perf_descriptor_open - pml__perf_event_open(@attr, @pid, @cpu, @group_fd); *@attr is updated to the opened
 * event. The number is high, if there is room, because programs expect to get the lowest numbers, and close the ones
 * that they opened. Returns 0, or -errno with *d closed. Cost: five syscalls.
 */
int pml__perf_descriptor_open(struct pml__perf_descriptor *d, struct perf_event_attr *attr, pid_t pid, int cpu,
                              int group_fd);

/*
 * pml__perf_descriptor_held - does the number still refer to the event? Another file is not affected, because no other
 * kind of file supports this ioctl. Cost: a syscall, as much as a read. Not for fast paths, which detect a closed
 * number by -EBADF. Async-signal-safe.
 */
bool pml__perf_descriptor_held(const struct pml__perf_descriptor *d);

/* pml__perf_descriptor_close - close the event, unless another file has its number by now. Idempotent. */
void pml__perf_descriptor_close(struct pml__perf_descriptor *d);

#endif
