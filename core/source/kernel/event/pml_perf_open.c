/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_perf_open.c - perf_event_open(2), retried without unsupported attributes. */
#include "source/kernel/event/pml_perf_open.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_exactly(struct perf_event_attr a, pid_t pid, int cpu, int group_fd) {
  unsigned long flags = PERF_FLAG_FD_CLOEXEC;
  if (pid < -1) {
    pid = PML__CGROUP_OF_PID(pid);
    flags |= PERF_FLAG_PID_CGROUP;
  }
  int fd = (int)syscall(SYS_perf_event_open, &a, pid, cpu, group_fd, flags);
  return fd < 0 ? -errno : fd;
}

int pml__perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd) {
  enum { GUESTS = 1, PRECISION = 2 };
  int fd = open_exactly(*attr, pid, cpu, group_fd);
  if (fd != -EOPNOTSUPP) return fd;
  int last = attr->precise_ip > 0 ? GUESTS | PRECISION : GUESTS;
  for (int without = GUESTS; without <= last; without++) {
    struct perf_event_attr a = *attr;
    if (without & GUESTS) a.exclude_guest = !attr->exclude_guest;
    if (without & PRECISION) a.precise_ip = 0;
    fd = open_exactly(a, pid, cpu, group_fd);
    if (fd < 0) continue;
    *attr = a;
    return fd;
  }
  return -EOPNOTSUPP;
}
