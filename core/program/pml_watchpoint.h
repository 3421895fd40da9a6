/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_watchpoint.h - accesses to variables and calls of functions, per thread, with contents and times. */
#ifndef PML_WATCHPOINT_H
#define PML_WATCHPOINT_H

#include "base/pml_api.h"
#include "base/pml_value.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

PML_BEGIN_DECLS

/*
 * A watchpoint is a hardware breakpoint (perf_event_open(2)) that signals the accessing thread, directly after a data
 * access and directly before an execution, on every thread of the process. The signal handler reads the clock and the
 * content of the variable, and stores both in the thread's lane. So each access from user space is counted on its
 * thread. The content is the value written by this thread, unless another thread wrote between the access and the
 * handler; a lock of the program prevents this. Accesses by the kernel, such as read(2) into the variable, are not
 * detected.
 *
 * Cost: an exception and a signal for each access; in a virtual machine 12 to 23 us were measured, three quarters of
 * them for the exception (scripts/watchpoint.lua). Accesses to anything else cost nothing.
 *
 * x86-64 only, because other CPUs report an access before it is made.
 *
 * SIGTRAP is handled from the first open until the process ends, so that a late signal cannot terminate the process;
 * other traps are passed on to the previous handler. If a program handles SIGTRAP itself, or blocks it on a thread,
 * accesses are missed or late: both are counted.
 */

#define PML_WATCHPOINTS_MAX 4 /* the debug registers of x86 */
#define PML_WATCHPOINT_VALUES_MAX (UINT64_C(1) << 32)

enum pml_content {
  PML_CONTENT_NONE, /* only time: a function, or not requested */
  PML_CONTENT_SIGNED,
  PML_CONTENT_UNSIGNED, /* also bool, enum, pointer, and char if it is unsigned */
  PML_CONTENT_FLOAT,
  PML_CONTENT_LONG_DOUBLE, /* recorded as a double; its first 8 bytes are watched, which each write includes */
};

struct pml_watchpoint {
  char name[128];
  char type[64];     /* as in the source; "": unknown */
  uint64_t address;  /* in the watched process */
  uint32_t length;   /* 1, 2, 4 or 8 bytes; the address is a multiple of it */
  uint32_t access;   /* HW_BREAKPOINT_R, _W, _X of <linux/hw_breakpoint.h> */
  uint32_t content;  /* enum pml_content; only for writes: the access is HW_BREAKPOINT_W */
  uint32_t reserved; /* 0 */
};

/*
 * pml_watchpoint_check - can hardware do this? Returns 0, or -EINVAL with a detail: x stands alone, x86 has no r alone,
 * data are 1, 2, 4 or 8 bytes at a multiple of that, contents are taken at writes.
 */
int pml_watchpoint_check(const struct pml_watchpoint *p);

/*
 * pml_watchpoint_available - can this process have watchpoints at all? Returns 0, -ENOTSUP (x86-64 only),
 * PML_EPARANOID, PML_EMODE (a kernel before Linux 5.13), PML_ENOTHERE (no breakpoints, or they never fire, as in some
 * virtual machines), -ENOSPC (all are in use) or -errno, with a detail. Cost: two syscalls, at first five.
 */
PML__SHARED int pml_watchpoint_available(void);

/* One access. */
struct pml_watchpoint_value {
  uint64_t ticks; /* pml_clock_ticks() of the watched process */
  uint64_t bits;  /* the content's bytes, the rest 0; for a long double the nearest double */
};

/* One thread's accesses to one watchpoint. */
struct pml_watchpoint_lane {
  pid_t tid;
  unsigned point;
  uint64_t accesses;
  uint64_t late;    /* signalled late, because the thread blocks SIGTRAP; their contents are later ones */
  uint64_t dropped; /* without room for time and content; 0 if these were not requested */
};

#define PML_WATCHPOINT_CLOSED (-2)

struct pml_watchpoint_summary {
  pid_t pid;
  char program[256];
  unsigned points, lanes;
  uint64_t lost;                    /* accesses by threads that found no lane: there are 4096 lanes */
  uint64_t start_ticks, stop_ticks; /* stop 0: it did not end, or has not yet */
  double ticks_per_second;
  struct pml_watchpoint point[PML_WATCHPOINTS_MAX];
  /*
   * The kernel's count; -1 if the process did not end. More than accesses: missed ones. PML_WATCHPOINT_CLOSED: the
   * program closed the descriptors, and what it accessed from then on is missing.
   */
  int64_t hits[PML_WATCHPOINTS_MAX];
  uint64_t unexplained; /* debug exceptions that came without their breakpoint: accesses are missing */
};

/* Where a set of watchpoints keeps what it takes: memory of the process, or a file that outlives it. */
struct pml_watchpoint_store;

/* How far a lane was collected; {0} is its beginning. */
struct pml_watchpoint_cursor {
  uint64_t seen;
  uint32_t chunk; /* number + 1 */
  uint32_t at;
};

/*
 * pml_watchpoint_load - read the store of another process, which may still run. The file may be anything.
 * Returns 0, PML_EFORMAT or -errno. Pair with pml_watchpoint_unload(), which accepts NULL.
 */
PML__SHARED int pml_watchpoint_load(struct pml_watchpoint_store **s, const char *path);
PML__SHARED void pml_watchpoint_unload(struct pml_watchpoint_store *s);

PML__SHARED void pml_watchpoint_summary(const struct pml_watchpoint_store *s, struct pml_watchpoint_summary *to);

/* pml_watchpoint_lane - the state of lane @i now. Returns 0, or -EINVAL for an unused lane. */
PML__SHARED int pml_watchpoint_lane(const struct pml_watchpoint_store *s, unsigned i, struct pml_watchpoint_lane *to);

/*
 * pml_watchpoint_collect - copy up to @n values of lane @i from cursor @c on, oldest first, and advance it; also while
 * values are added. Returns their number, 0 if there are no more yet. No lock; thread-safe with different cursors.
 */
PML__SHARED size_t pml_watchpoint_collect(const struct pml_watchpoint_store *s, unsigned i,
                                          struct pml_watchpoint_cursor *c, struct pml_watchpoint_value *to, size_t n);

/* pml_watchpoint_decode - the number that @bits represent at @p. An unsigned number above 2^63 - 1 becomes a double. */
PML__SHARED struct pml_value pml_watchpoint_decode(const struct pml_watchpoint *p, uint64_t bits);

struct pml_watchpoint_options {
  uint64_t values;  /* accesses to keep, of all threads; rounded up to chunks of 1023. 0: count only */
  const char *path; /* a file, which must not exist yet, instead of memory; NULL */
};

/* Watchpoints of the calling process. One set at a time: the signal is the process's. */
struct pml_watchpoints;

/*
 * pml_watchpoints_open - set up @n watchpoints on all current threads, and on threads that these create later. A thread
 * that is created during the call may be left out. Forked children are not watched.
 *
 * Returns 0, -EINVAL (as pml_watchpoint_check()), -EBUSY (a set is open), -ENOSPC (no debug register left), an error of
 * pml_watchpoint_available(), or -errno, with a detail. Pair with pml_watchpoints_close(). Not async-signal-safe; the
 * functions below neither.
 */
PML__SHARED int pml_watchpoints_open(struct pml_watchpoints **w, const struct pml_watchpoint *point, size_t n,
                                     const struct pml_watchpoint_options *o);
/*
 * Start and stop; a stop notes what the kernel counted. Idempotent. Return 0 or -errno.
 * Cost: a syscall per point and thread that there was at the open.
 */
PML__SHARED int pml_watchpoints_start(struct pml_watchpoints *w);
PML__SHARED int pml_watchpoints_stop(struct pml_watchpoints *w);
/* pml_watchpoints_store - to collect from, until it is closed. */
PML__SHARED const struct pml_watchpoint_store *pml_watchpoints_store(const struct pml_watchpoints *w);
/* Stops; a file stays. In a forked child it only gives back the child's share. NULL is fine. */
PML__SHARED void pml_watchpoints_close(struct pml_watchpoints *w);

PML_END_DECLS

#endif
