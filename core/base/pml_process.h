/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/pml_process.h - per-process state that forked children do not inherit. Internal.
 *
 * A child has a copy of the memory, but not the threads: what they were at is half done, locks that they held are never
 * opened, and what is mapped shared is the parent's. Not every child is made by fork(), which tells handlers: _Fork(),
 * clone() and bare system calls run no handlers. So what must not outlive a fork is in memory that the kernel clears in
 * each child that has memory of its own (MADV_WIPEONFORK): locks are open there, a thread's block is empty and says
 * that its thread is not known, and the slow path that this leads to looks whether the process is new. Children that
 * share the memory (vfork(), CLONE_VM) also share this state.
 *
 * Where the kernel does not clear it (before Linux 4.14, and under an emulator that ignores the advice), a fork handler
 * does, so that there only children of fork() are noticed.
 *
 * Most children call exec or _exit at once. A child of fork() waits like the others, with no more than a few stores in
 * the fork handler, if nothing in the process must be done at once: see pml__process_wait().
 *
 * No lock is held before a fork: another library's handler may wait there for a thread that wants it.
 */
#ifndef PML_PROCESS_H
#define PML_PROCESS_H

#include "base/pml_api.h"
#include "base/pml_cancel.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/*
 * What a child of fork() runs before it calls exec or _exit. Such functions lie together (.text.hot), so that the child
 * takes one page fault for them.
 */
#define PML__IN_CHILD __attribute__((hot))

/*
 * pml__process_memory - @bytes of zeros, aligned to a cache line, that are zeros again in each child. Never freed;
 * NULL: no memory. Thread-safe, not async-signal-safe; keeps errno.
 */
PML__SHARED void *pml__process_memory(size_t bytes);

/*
 * pml__process_watch - @watch is called in each child, before any other use in the child, in the order
 * of watching. It runs on the thread that looked, with errno to keep; other threads of the parent are not there, and
 * may have been anywhere. Watching the same twice is watching once. Returns 0 or -ENOMEM.
 */
PML__SHARED int pml__process_watch(void (*watch)(void));

/*
 * pml__process_watch_use - the same of a watcher that may be called as late as the child's first use, also in a child
 * of fork(). pml__process_watch_birth - the same; in a child of fork() that waits it is called in the fork handler, and
 * not again. It takes no lock and allocates nothing. pml__process_watch_last - as _use, after all others.
 */
PML__SHARED int pml__process_watch_use(void (*watch)(void));
int pml__process_watch_birth(void (*watch)(void));
int pml__process_watch_last(void (*watch)(void));

/*
 * pml__process_wait - children of fork() may wait until their first use, as long as no watcher is there that must be
 * called at once, nor one that is called before forks. @before is called before each fork by the thread that forks: it
 * takes no lock and allocates nothing, as the thread may be anywhere. It returns where the child stores its number, in
 * memory that they share; NULL: the child does not wait.
 * pml__process_birth - that place, in a child that waits and while its watchers are called; else NULL.
 */
PML__SHARED void pml__process_wait(int32_t *(*before)(void));
PML__SHARED int32_t *pml__process_birth(void);

/*
 * pml__process_pid - the process whose memory this is: in a child of vfork(), its parent. pml__process_parent - the
 * process that forked it, also when that ended meanwhile.
 */
PML__SHARED pid_t pml__process_pid(void);
pid_t pml__process_parent(void);

/*
 * pml__process_watch_before - @watch is called before each fork(), by the thread that forks: for what a child could not
 * find any more, as it is shared and goes on to change. It takes no lock. Returns 0 or -ENOMEM.
 */
int pml__process_watch_before(void (*watch)(void));

/* pml__process_was_told - by a watcher: fork() made this child, and told its handlers; nothing else does. */
PML__SHARED bool pml__process_was_told(void);

/*
 * pml__process_look - if this process has not been seen before, call the watchers. For slow paths: one load, one
 * predicted branch if it has.
 */
extern PML__SHARED uint64_t
    *pml__process_number; /* atomic, cleared in children; its own number once that is seen, and never 0 */
PML__SHARED void pml__process_begins(void);
static inline void pml__process_look(void) {
  if (PML_UNLIKELY(__atomic_load_n(pml__process_number, __ATOMIC_ACQUIRE) == 0)) pml__process_begins();
}

/* pml__process - the number of this process: the same until a fork, and another one after it. */
static inline uint64_t pml__process(void) {
  pml__process_look();
  return __atomic_load_n(pml__process_number, __ATOMIC_RELAXED);
}

/* pml__process_is - whether this process had @number then; a plain comparison. */
static inline bool pml__process_is(uint64_t number) {
  return __atomic_load_n(pml__process_number, __ATOMIC_RELAXED) == number;
}

/* pml__process_command - the process's arguments, parted by blanks; what has no room is cut, what is not known "". */
void pml__process_command(char *command, size_t size);

/*
 * A lock that is open in each child, even if a thread of the parent held it. What it guards is changed so that a child
 * can go on with it after any store, or the child gives it up where a thread of the parent was at it: pml__lock_torn().
 * Zeros are an open lock. Its holder is not cancelled and runs no handler (pml__cancel_hold()); leave the last taken
 * first. Not async-signal-safe.
 */
struct pml__lock {
  pthread_mutex_t *mutex; /* atomic; NULL: not taken yet */
  uint64_t holder;        /* the process of the thread that has it; 0: none */
  int cancel;             /* the holder's: see pml__cancel_hold() */
};
PML__SHARED void pml__lock_take(struct pml__lock *l);
void pml__lock_take_open(struct pml__lock *l); /* as pml__cancel_hold_open() */
bool pml__lock_try(struct pml__lock *l);
PML__SHARED void pml__lock_leave(struct pml__lock *l);

/* pml__lock_wait - as pthread_cond_timedwait(). */
PML__SHARED int pml__lock_wait(struct pml__lock *l, pthread_cond_t *cond, const struct timespec *until);

/* pml__lock_torn - by a watcher: another thread of the parent held it, and is not here. Asked once. */
static inline bool pml__lock_torn(struct pml__lock *l) {
  bool torn = l->holder != 0;
  l->holder = 0;
  return torn;
}

#endif
