/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_watchpoint.c - breakpoints that signal the accessing thread, and the signal handler. */
#include "program/pml_watchpoint.h"

#include "base/pml_array.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_libc.h"
#include "program/pml_watchpoint_store.h"
#include "source/kernel/event/pml_breakpoint.h"
#include "source/kernel/event/pml_perf_descriptor.h"

#include <dirent.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TRAP_OF_PERF 6 /* si_code TRAP_PERF */
#define LATE 1u        /* TRAP_PERF_FLAG_ASYNC */
#define TAG UINT64_C(0x706d6c0000000000)
#define TAG_MASK UINT64_C(0xffffff0000000000)
#define PATIENCE 1000 /* ms that a close waits for handlers */

struct pml_watchpoints {
  struct pml_watchpoint_store store;
  pid_t pid; /* a forked child has a copy, but is not watched */
  unsigned points;
  bool started;
  size_t nevents, room;
  struct pml__perf_descriptor *event; /* for each thread one per point */
};

/* The handler's data. A generation is never reused, so late signals find nothing. */
static struct {
  _Atomic bool taken;
  _Atomic(struct pml_watchpoints *) set;
  _Atomic uint32_t generation, inside;
  struct sigaction before;
  bool installed;
} trap;

/* A thread's lanes, as number + 1. */
static PML_THREAD_LOCAL struct {
  uint32_t generation;
  uint32_t lane[PML_WATCHPOINTS_MAX];
} mine __attribute__((tls_model("initial-exec")));

/* Linux's siginfo_t of a TRAP_PERF, whose fields have no names in the C library. */
struct perf_siginfo {
  int signo, error, code, pad;
  void *address;
  uint64_t data;
  uint32_t type, flags;
};

#define INT1 0xf1 /* opcode */
#define PAGE 4096u

/* --- in the handler: async-signal-safe --- */

__attribute__((no_sanitize("thread"))) static uint64_t narrowed(const volatile void *at) {
  double d = (double)*(const volatile long double *)at;
  uint64_t bits;
  __builtin_memcpy(&bits, &d, sizeof bits);
  return bits;
}

/* Races of the program on the variable are not errors of this function. */
__attribute__((no_sanitize("thread"))) static uint64_t content_of(const struct pml_watchpoint *p) {
  const volatile void *at = (const volatile void *)(uintptr_t)p->address;
  if (p->content == PML_CONTENT_NONE) return 0;
  if (p->content == PML_CONTENT_LONG_DOUBLE) return narrowed(at);
  switch (p->length) {
  case 1:
    return *(const volatile uint8_t *)at;
  case 2:
    return *(const volatile uint16_t *)at;
  case 4:
    return *(const volatile uint32_t *)at;
  default:
    return *(const volatile uint64_t *)at;
  }
}

static void record(const struct pml_watchpoints *w, uint32_t generation, unsigned point, bool late) {
  struct pml_watchpoint_value v = {.ticks = pml_clock_ticks()};
  v.bits = content_of(&w->store.head->point[point]);
  if (mine.generation != generation) {
    memset(mine.lane, 0, sizeof mine.lane);
    mine.generation = generation;
  }
  if (mine.lane[point] == 0) mine.lane[point] = pml__store_take(&w->store, (uint32_t)gettid(), point) + 1;
  if (mine.lane[point] != 0)
    pml__store_push(&w->store, mine.lane[point] - 1, v, late);
  else
    atomic_fetch_add_explicit(&w->store.head->lost, 1, memory_order_relaxed);
}

/* Pass on a trap of other origin. */
static void pass_on(int sig, siginfo_t *info, void *context) {
  int saved = errno;
  if (trap.before.sa_flags & SA_SIGINFO) {
    trap.before.sa_sigaction(sig, info, context);
  } else if (trap.before.sa_handler == SIG_DFL) {
    struct sigaction end = {.sa_handler = SIG_DFL};
    (void)sigaction(sig, &end, NULL);
    (void)syscall(SYS_tgkill, getpid(), gettid(), sig);
  } else if (trap.before.sa_handler != SIG_IGN) {
    trap.before.sa_handler(sig);
  }
  errno = saved;
}

/*
 * A hypervisor that preempts the CPU between a debug exception and its handler may lose the debug registers. The kernel
 * then finds no breakpoint that fired, and sends the SIGTRAP of an int1 instruction, which would terminate the program.
 * The exception at an execution is repeated when the handler returns; an access of memory is lost.
 */
static bool is_unexplained(const siginfo_t *info) {
  const unsigned char *ip = info->si_addr;
  if (info->si_code != TRAP_BRKPT) return false;
  return (uintptr_t)ip % PAGE == 0 || ip[-1] != INT1;
}

/* Returns false for a trap of other origin. */
static bool take(const struct pml_watchpoints *w, const siginfo_t *info) {
  const struct perf_siginfo *t = (const void *)info;
  unsigned point = (unsigned)(t->data & 0xff);
  if (w != NULL && is_unexplained(info)) {
    atomic_fetch_add_explicit(&w->store.head->unexplained, 1, memory_order_relaxed);
    return true;
  }
  if (info->si_code != TRAP_OF_PERF || (t->data & TAG_MASK) != TAG) return false;
  uint32_t generation = (uint32_t)(t->data >> 8);
  if (w != NULL && generation == atomic_load_explicit(&trap.generation, memory_order_relaxed) && point < w->points)
    record(w, generation, point, (t->flags & LATE) != 0);
  return true;
}

/* Calls no function of the C library except gettid(), once, because the program may watch calls of such a function, and
 * a handler with such a call would recurse forever. It never sets errno. */
static void on_trap(int sig, siginfo_t *info, void *context) {
  atomic_fetch_add_explicit(&trap.inside, 1, memory_order_seq_cst);
  bool ours = take(atomic_load_explicit(&trap.set, memory_order_seq_cst), info);
  atomic_fetch_sub_explicit(&trap.inside, 1, memory_order_release);
  if (!ours) pass_on(sig, info, context);
}

/* --- open --- */

static int install(void) {
  struct sigaction a = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
  if (trap.installed) return 0;
  sigfillset(&a.sa_mask);
  if (sigaction(SIGTRAP, &a, &trap.before) != 0) return -errno;
  trap.installed = true;
  return 0;
}

int pml_watchpoint_check(const struct pml_watchpoint *p) {
  bool call = p->access == HW_BREAKPOINT_X;
  uint32_t n = p->length;
  if (!call && (p->access == 0 || (p->access & ~(uint32_t)HW_BREAKPOINT_RW) != 0))
    return pml_fail(-EINVAL, "%.120s: a watchpoint is either on execution or on reads and writes", p->name);
#if defined(__x86_64__)
  if (p->access == HW_BREAKPOINT_R)
    return pml_fail(-EINVAL, "%.120s: x86 cannot watch reads alone; use rw, or w", p->name);
#endif
  /* the handler's read would fire the watchpoint again, forever */
  if (p->content != PML_CONTENT_NONE && p->access != HW_BREAKPOINT_W)
    return pml_fail(-EINVAL, "%.120s: contents are recorded at writes only; use w", p->name);
  if (!call && n != 1 && n != 2 && n != 4 && n != 8)
    return pml_fail(-EINVAL, "%.120s has %u bytes; a hardware breakpoint covers 1, 2, 4 or 8", p->name, n);
  if (p->content == PML_CONTENT_LONG_DOUBLE && n != 8)
    return pml_fail(-EINVAL, "%.120s: only 8 bytes of a long double can be watched, not %u", p->name, n);
  if (!call && p->address % n != 0)
    return pml_fail(-EINVAL, "%.120s is at 0x%llx, not aligned to its %u bytes; a breakpoint cannot cover it", p->name,
                    (unsigned long long)p->address, n);
  return 0;
}

/* Does a hit send a signal to its thread? Headers of Linux before 5.13 lack the fields. */
static void set_signal(struct perf_event_attr *a, bool on) {
#ifdef PERF_ATTR_SIZE_VER7
  a->sigtrap = a->remove_on_exec = a->inherit_thread = on;
#else
  (void)a, (void)on;
#endif
}

static void fill(struct perf_event_attr *a, const struct pml_watchpoint *p) {
  bool call = p->access == HW_BREAKPOINT_X;
  *a = (struct perf_event_attr){.size = sizeof *a, .type = PERF_TYPE_BREAKPOINT};
  a->bp_type = p->access;
  a->bp_addr = p->address;
  a->bp_len = call ? sizeof(long) : p->length;
  a->sample_period = 1;
  a->disabled = a->exclude_kernel = a->exclude_hv = 1;
  a->inherit = 1;
  set_signal(a, true);
}

static int refused(const struct pml_watchpoint *p, struct perf_event_attr a, int err) {
  switch (-err) {
  case ENOSPC:
    return pml_fail(err, "%.120s: no debug register is free: the CPU has about 4 for all watchpoints and debuggers",
                    p->name);
  case EACCES:
  case EPERM:
    return pml_fail(PML_EPARANOID, "%.120s: perf_event_paranoid forbids breakpoints even on own threads", p->name);
  case ENOENT:
  case ENODEV:
  case EOPNOTSUPP:
  case ENOSYS:
    return pml_fail(PML_ENOTHERE, "%.120s: this machine or its kernel has no hardware breakpoints", p->name);
  default:
    break;
  }
  set_signal(&a, false);
  struct pml__perf_descriptor d = {.fd = -1};
  if ((err != -EINVAL && err != -E2BIG) || pml__perf_descriptor_open(&d, &a, 0, -1, -1) < 0)
    return pml_fail(err, "%.120s: the kernel refused a breakpoint at 0x%llx: %s", p->name,
                    (unsigned long long)p->address, strerror(-err));
  pml__perf_descriptor_close(&d);
  return pml_fail(PML_EMODE, "%.120s: this kernel cannot signal on breakpoints; Linux 5.13 or newer is needed",
                  p->name);
}

int pml_watchpoint_available(void) {
#ifndef PERF_ATTR_SIZE_VER7
  return pml_fail(PML_EMODE,
                  "pmlua was built with headers of Linux before 5.13; build it with newer ones for watchpoints");
#elif defined(__x86_64__)
  static volatile uint64_t probed;
  const struct pml_watchpoint p = {
      .name = "a variable", .address = (uintptr_t)&probed, .length = sizeof probed, .access = HW_BREAKPOINT_W};
  struct perf_event_attr a;
  fill(&a, &p);
  struct pml__perf_descriptor d;
  int err = pml__perf_descriptor_open(&d, &a, 0, -1, -1);
  if (err < 0) return refused(&p, a, err);
  pml__perf_descriptor_close(&d);
  return pml__breakpoint_check(p.name);
#else
  return pml_fail(-ENOTSUP, "watchpoints need x86-64: other CPUs report an access before it happens");
#endif
}

static int open_thread(struct pml_watchpoints *w, pid_t tid, uint32_t generation) {
  for (unsigned i = 0; i < w->points; i++) {
    const struct pml_watchpoint *p = &w->store.head->point[i];
    struct perf_event_attr a;
    fill(&a, p);
#ifdef PERF_ATTR_SIZE_VER7
    a.sig_data = TAG | (uint64_t)generation << 8 | i;
#else
    (void)generation;
#endif
    if (!PML__ARRAY_ROOM(w->event, w->room, w->nevents + 1)) return -ENOMEM;
    int err = pml__perf_descriptor_open(&w->event[w->nevents], &a, tid, -1, -1);
    if (err == -ESRCH) return 0; /* the thread has ended */
    if (err < 0) return refused(p, a, err);
    w->nevents++;
  }
  return 0;
}

static int open_threads(struct pml_watchpoints *w, uint32_t generation) {
  DIR *d = opendir("/proc/self/task");
  int err = 0;
  if (d == NULL) return -errno;
  for (const struct dirent *e; err == 0 && (e = readdir(d)) != NULL;)
    if (e->d_name[0] != '.') err = open_thread(w, (pid_t)strtol(e->d_name, NULL, 10), generation);
  (void)closedir(d);
  return err;
}

static int open_set(struct pml_watchpoints *w, const struct pml_watchpoint *point,
                    const struct pml_watchpoint_options *o) {
  int err = pml_watchpoint_available();
  if (err == 0) err = pml_clock_init();
  for (unsigned i = 0; i < w->points && err == 0; i++) err = pml_watchpoint_check(&point[i]);
  if (err == 0) err = pml__store_create(&w->store, o->path, o->values, point, w->points);
  if (err < 0) return err;
  err = install();
  uint32_t generation = atomic_fetch_add_explicit(&trap.generation, 1, memory_order_relaxed) + 1;
  atomic_store_explicit(&trap.set, w, memory_order_seq_cst);
  if (err == 0) err = open_threads(w, generation);
  return err;
}

static void release(struct pml_watchpoints *w) {
  for (size_t i = 0; i < w->nevents; i++) pml__perf_descriptor_close(&w->event[i]);
  free(w->event);
  pml__store_unmap(&w->store);
  free(w);
}

int pml_watchpoints_open(struct pml_watchpoints **to, const struct pml_watchpoint *point, size_t n,
                         const struct pml_watchpoint_options *o) {
  static const struct pml_watchpoint_options nothing = {0};
  if (o == NULL) o = &nothing;
  *to = NULL;
  if (n == 0 || n > PML_WATCHPOINTS_MAX)
    return pml_fail(n == 0 ? -EINVAL : -ENOSPC, "%zu watchpoints: the CPU's debug registers hold 1 to %d", n,
                    PML_WATCHPOINTS_MAX);
  struct pml_watchpoints *w = calloc(1, sizeof *w);
  if (w == NULL) return -ENOMEM;
  w->pid = getpid();
  w->points = (unsigned)n;
  if (atomic_exchange(&trap.taken, true)) {
    free(w);
    return pml_fail(-EBUSY, "this process already has watchpoints; close them first");
  }
  int err = open_set(w, point, o);
  if (err < 0) {
    bool made = w->store.head != NULL && o->path != NULL;
    atomic_store_explicit(&trap.set, NULL, memory_order_seq_cst);
    release(w); /* nothing was enabled, so no handler uses it */
    atomic_store(&trap.taken, false);
    if (made) (void)unlink(o->path);
    return err;
  }
  *to = w;
  return 0;
}

/* --- start, stop, close --- */

static int tell_all(const struct pml_watchpoints *w, unsigned long what) {
  int err = 0;
  for (size_t i = 0; i < w->nevents; i++) {
    bool held = pml__perf_descriptor_held(&w->event[i]);
    bool told = held && ioctl(w->event[i].fd, what, 0) == 0;
    if (!told && err == 0) err = held ? -errno : -EBADF;
  }
  return err;
}

int pml_watchpoints_start(struct pml_watchpoints *w) {
  if (w->started || w->pid != getpid()) return 0;
  w->started = true;
  if (w->store.head->start_ticks == 0) w->store.head->start_ticks = pml_clock_ticks();
  return tell_all(w, PERF_EVENT_IOC_ENABLE);
}

/* The opened events include the counts of inherited events, also in threads that have ended. */
static int note_hits(const struct pml_watchpoints *w) {
  int64_t hits[PML_WATCHPOINTS_MAX] = {0};
  uint64_t n;
  bool held = true;
  for (size_t i = 0; i < w->nevents; i++) {
    held = held && pml__perf_descriptor_held(&w->event[i]);
    if (held && read(w->event[i].fd, &n, sizeof n) != (ssize_t)sizeof n) return -EIO;
    hits[i % w->points] += held ? (int64_t)n : 0;
  }
  for (unsigned i = 0; !held && i < w->points; i++) hits[i] = PML_WATCHPOINT_CLOSED;
  memcpy(w->store.head->hits, hits, w->points * sizeof *hits);
  return held ? 0 : -EBADF;
}

int pml_watchpoints_stop(struct pml_watchpoints *w) {
  struct pml__store_head *h = w->store.head;
  if (h == NULL || !w->started || w->pid != getpid()) return 0;
  w->started = false;
  int err = tell_all(w, PERF_EVENT_IOC_DISABLE);
  h->stop_ticks = pml_clock_ticks();
  int lost = note_hits(w);
  return err < 0 ? err : lost;
}

const struct pml_watchpoint_store *pml_watchpoints_store(const struct pml_watchpoints *w) {
  return &w->store;
}

void pml_watchpoints_close(struct pml_watchpoints *w) {
  static const struct timespec some = {0, 1000000};
  if (w == NULL) return;
  (void)pml_watchpoints_stop(w);
  atomic_store_explicit(&trap.set, NULL, memory_order_seq_cst);
  if (w->pid != getpid()) /* handlers of the parent's other threads stay in the parent */
    atomic_store_explicit(&trap.inside, 0, memory_order_relaxed);
  for (int i = 0; i < PATIENCE && atomic_load_explicit(&trap.inside, memory_order_acquire) != 0; i++)
    nanosleep(&some, NULL);
  /* a thread stopped in the handler by a debugger would return to it */
  if (atomic_load_explicit(&trap.inside, memory_order_acquire) == 0) release(w);
  atomic_store(&trap.taken, false);
}
