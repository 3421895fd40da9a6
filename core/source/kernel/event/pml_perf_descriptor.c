/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_perf_descriptor.c - perf events on descriptors that survive a close() of the program. */
#include "source/kernel/event/pml_perf_descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
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

#define ROOM_MAX 4096u /* the kernel's table of descriptors is as long as the highest, and each fork copies it */
#define ROOM_MIN 256u

/* Seven eighths up what a process may have, else half: the first has less room above it. */
static int out_of_the_way(int fd) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < ROOM_MIN) return fd;
  int room = (int)(limit.rlim_cur < ROOM_MAX ? limit.rlim_cur : ROOM_MAX);
  int high = fcntl(fd, F_DUPFD_CLOEXEC, room - room / 8);
  if (high < 0) high = fcntl(fd, F_DUPFD_CLOEXEC, room / 2);
  if (high < 0) return fd;
  (void)close(fd);
  return high;
}

int pml__perf_descriptor_open(struct pml__perf_descriptor *d, struct perf_event_attr *attr, pid_t pid, int cpu,
                              int group_fd) {
  *d = (struct pml__perf_descriptor){.fd = -1};
  int fd = pml__perf_event_open(attr, pid, cpu, group_fd);
  if (fd < 0) return fd;
  if (ioctl(fd, PERF_EVENT_IOC_ID, &d->id) != 0) {
    int err = -errno;
    (void)close(fd);
    return err;
  }
  d->fd = out_of_the_way(fd);
  return 0;
}

bool pml__perf_descriptor_held(const struct pml__perf_descriptor *d) {
  uint64_t id;
  return d->fd >= 0 && ioctl(d->fd, PERF_EVENT_IOC_ID, &id) == 0 && id == d->id;
}

void pml__perf_descriptor_close(struct pml__perf_descriptor *d) {
  if (pml__perf_descriptor_held(d)) (void)close(d->fd);
  d->fd = -1;
}
