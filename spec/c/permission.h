/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/permission.h - which events this process may count: queried from the kernel directly, at every
 * perf_event_paranoid. */
#ifndef SPEC_PERMISSION_H
#define SPEC_PERMISSION_H

#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline bool kernel_opens(struct perf_event_attr attr, bool user_only) {
  if (user_only) attr.exclude_kernel = attr.exclude_hv = 1;
  attr.disabled = 1;
  int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

/* Whether it may count the kernel. Asked once: a later lack of descriptors or privileges changes nothing. */
static inline bool counts_kernel(void) {
  static _Atomic int known; /* 1 yes, -1 no */
  if (known == 0) {
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_TASK_CLOCK};
    known = kernel_opens(attr, false) ? 1 : -1;
  }
  return known > 0;
}

/* The name under which an event without a modifier is counted here, unless it is a clock; @name is a literal. */
#define COUNTED_AS(name) (counts_kernel() ? name : name ":u")

#endif
