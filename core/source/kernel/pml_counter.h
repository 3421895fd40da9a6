/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/pml_counter.h - one perf_event counter: open, read by the cheapest correct path, close. */
#ifndef PML_COUNTER_H
#define PML_COUNTER_H

#include "source/pml_event.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

PML_BEGIN_DECLS

/* The target of counting. {0} is the calling thread only: pid 0, any cpu. Events of packages (part.cpu_any >= 0) ignore
 * the target and count on their PMU's cpus. */
struct pml_target {
  pid_t pid;    /* 0 the calling thread, > 0 that thread (a process's id: its first), -1 all on the cpu, or a cgroup */
  int cpu_plus; /* 0 any cpu, else cpu number + 1 */
  bool inherit; /* also count children created from now on */
};

/*
 * pml_target_cgroup - count the processes of a cgroup on a cpu: open the folder @path of a cgroup file system and store
 * it in @t->pid. Returns 0, -EINVAL (not a cgroup's folder) or -errno. pml_target_release - close it; counters opened
 * meanwhile continue. Idempotent, also for other targets.
 */
PML__SHARED int pml_target_cgroup(struct pml_target *t, const char *path);
PML__SHARED void pml_target_release(struct pml_target *t);

/* A count is never scaled behind the user's back: it comes with the time it was enabled and the time it counted. */
struct pml_reading {
  uint64_t raw;
  uint64_t enabled_ns;
  uint64_t running_ns;
};

/*
 * pml_reading_scaled - the estimate raw * enabled / running; 0 running gives NaN, never a silent 0.
 *
 * With s = running / enabled, the share of time that was seen, the events missed are taken to come at the rate of those
 * seen: raw (1 - s) / s. If they really came at (1 + d) times that rate, the estimate is wrong by -d raw (1 - s) / s,
 * that is by |d| (1 - s) of itself. So where the two rates differ by no more than d, |estimate - truth| <= d (1 - s)
 * estimate: nothing for an event that always ran, and for an unsteady program, up to twice the rate unseen, 1 - s.
 */
static inline double pml_reading_scaled(const struct pml_reading *r) {
  if (r->enabled_ns == r->running_ns) return (double)r->raw;
  return (double)r->raw * (double)r->enabled_ns / (double)r->running_ns;
}

enum pml_path {
  PML_PATH_PAGE, /* read in user space from the self-monitoring page; a clock, which needs no kernel either */
  PML_PATH_READ, /* read(2) */
};

/* Flags of the openers. */
#define PML_OPEN_NO_PAGE 0x1u  /* always read(2), for comparison */
#define PML_OPEN_DISABLED 0x2u /* do not start counting at open */
#define PML_OPEN_ON_EXEC 0x8u  /* start counting when the target executes a program; with PML_OPEN_DISABLED */

/*
 * In pml_counter.flags after an open: an event without a modifier counts user space only and is called NAME:u. Not of
 * task-clock and cpu-clock: the kernel gives their whole time also where it may not be counted.
 */
#define PML_OPENED_USER_ONLY 0x4u

/*
 * Caller-allocated; the fields are the library's.
 * The page is read only by the thread whose id is @owner; all others take read(2), which is right for all.
 */
struct pml_counter {
  int fd; /* -1: closed */
  uint16_t flags;
  uint16_t why;   /* why there is no page path: pml_counter_path() has the sentence; 0: there is one */
  uint64_t owner; /* pml_thread id that may use @page, the highest bit set where cores differ; all set: no thread may */
  volatile struct perf_event_mmap_page *page; /* NULL: not mapped */
  uint64_t id;                                /* the kernel's, of the event that @fd is */
};

/*
 * pml_counter_open - start counting part @part of @ev on @target (NULL: the calling thread).
 * @c: uninitialised, owned by the caller; left closed on failure.
 * @leader: counter whose group this one joins, or NULL.
 *
 * Where the kernel refuses to count itself and @ev has no modifier, it is opened user-only (PML_OPENED_USER_ONLY).
 *
 * Returns 0, PML_ENOPMU, PML_EPARANOID, PML_ECAP, PML_ETOOMANY, PML_EWATCHDOG, PML_ENOTHERE, -ESRCH, -EMFILE,
 * or another -errno; each with a detail that names the event and the remedy.
 * Pair with pml_counter_close(), which is idempotent, from any thread.
 * Cost: six or seven syscalls. Thread-safe (different counters), not async-signal-safe.
 */
PML_API int pml_counter_open(struct pml_counter *c, const struct pml_event *ev, unsigned part,
                             const struct pml_target *target, const struct pml_counter *leader, unsigned flags);
PML_API void pml_counter_close(struct pml_counter *c);

/*
 * pml_counter_read - the count since open, by the page if the calling thread owns it, else by read(2).
 * Returns 0, PML_ECLOSED or -errno. Cost: some 90 instructions, or one syscall. Async-signal-safe. A counter may be
 * read by several threads at once, but not while it is closed.
 *
 * A program that closes the descriptor, with all others, ends it: -EBADF (a page stays readable). The descriptor has a
 * high number (3584 and up, or below the limit of open files), because no read then checks what the number refers to: a
 * program that has opened thousands of files since would have one read instead. Closing asks, and closes no other file.
 */
PML_API int pml_counter_read(const struct pml_counter *c, struct pml_reading *r);

/* pml_counter_path - the path a read by the calling thread takes now; *why (if not NULL): why it is not the page. */
PML_API enum pml_path pml_counter_path(const struct pml_counter *c, const char **why);

PML_END_DECLS

#endif
