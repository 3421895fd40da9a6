/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mounts.h - mounts visible only to this process and its children, and removed with them. */
#ifndef SPEC_MOUNTS_H
#define SPEC_MOUNTS_H

#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <unistd.h>

/* To be called before the first thread; false without the privilege. */
static inline bool mounts_private(void) {
  return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* Whether there is a tracefs, the host's or a private one. */
static inline bool mounts_tracefs(void) {
  if (access("/sys/kernel/tracing/events", R_OK | X_OK) == 0) return true;
  return mounts_private() && mount("pmlua", "/sys/kernel/tracing", "tracefs", 0, NULL) == 0;
}

#endif
