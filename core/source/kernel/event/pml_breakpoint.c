/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_breakpoint.c - test of hardware breakpoints on this machine. */
#include "source/kernel/event/pml_breakpoint.h"

#include "base/pml_error.h"

#include <limits.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { UNKNOWN, FIRES, SILENT };

static int probe(void) {
  volatile uint64_t written = 0;
  struct perf_event_attr a = {.size = sizeof a, .type = PERF_TYPE_BREAKPOINT, .bp_type = HW_BREAKPOINT_W};
  a.bp_addr = (uintptr_t)&written;
  a.bp_len = sizeof written;
  a.exclude_kernel = a.exclude_hv = 1;
  int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return UNKNOWN; /* refused, or all debug registers are taken */
  for (int i = 0; i < 4; i++) written++;
  uint64_t n = 0;
  int state = read(fd, &n, sizeof n) != sizeof n ? UNKNOWN : n > 0 ? FIRES : SILENT;
  (void)close(fd);
  return state;
}

int pml__breakpoint_check(const char *name) {
  static _Atomic int known; /* threads that ask at once find the same: relaxed is enough */
  int state = atomic_load_explicit(&known, memory_order_relaxed);
  if (state == UNKNOWN) {
    state = probe();
    atomic_store_explicit(&known, state, memory_order_relaxed);
  }
  if (state != SILENT) return 0;
  return pml_fail(
      PML_ENOTHERE,
      "%.120s: this machine accepts hardware breakpoints, but they never fire (a virtual machine without debug "
      "registers?); use uprobe: for calls, or another machine",
      name);
}

/* Does thread @pid run the program that this process runs? A forked child has its addresses, and so has a thread. */
static bool same_program(pid_t pid) {
  char path[32], own[PATH_MAX], other[PATH_MAX];
  (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
  ssize_t n = readlink("/proc/self/exe", own, sizeof own), m = readlink(path, other, sizeof other);
  return n > 0 && n == m && memcmp(own, other, (size_t)n) == 0;
}

int pml__breakpoint_target(const char *name, pid_t pid, bool on_exec) {
  const char *symbol = name + strlen("mem:");
  if (strncmp(name, "mem:", 4) != 0 || (*symbol >= '0' && *symbol <= '9') || pid == 0) return 0;
  if (pid > 0 && !on_exec && same_program(pid)) return 0;
  return pml_fail(PML_ENOSYMBOL,
                  "%.120s: the address of a symbol is that of pmlua itself; use pmlua watchpoint for a command's "
                  "symbols, or give an address",
                  name);
}
