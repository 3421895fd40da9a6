/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/pml_process.h - per-process state that forked children do not inherit. Internal.
 *
 * A child has a copy of the memory, but not the threads: their updates stay unfinished, the locks that they held are
 * never released, and shared mappings belong to the parent. fork() runs fork handlers, but children may also be created
 * by _Fork(), clone() and bare system calls, which run none. Therefore state that must not outlive a fork lies in
 * memory that the kernel clears in each child with separate memory (MADV_WIPEONFORK): locks are open there, and a
 * thread's block is empty, which marks the thread as unknown and leads to the slow path, which checks whether the
 * process is new. Children that share the memory (vfork(), CLONE_VM) also share this state.
 *
 * Where the kernel does not clear it (before Linux 4.14, and under an emulator that ignores the advice), a fork handler
 * does, so only children of fork() are detected there.
 *
 * Most children call exec or _exit at once. If no part of pmlua must act at once, the fork handler makes only a few
 * stores and a child of fork() is set up at its first use, like the others: see pml__process_wait().
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

/* Marks the functions that a child of fork() runs before it calls exec or _exit. They lie together (.text.hot), so that
 * the child takes one page fault for them. */
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
 * pml__process_wait - allow children of fork() to wait until their first use, as long as no watcher must be called at
 * once or before forks. The forking thread calls @before before each fork: it takes no lock and allocates nothing,
 * because the thread may be anywhere. It returns where in shared memory the child stores its process number; NULL: the
 * child does not wait.
 * pml__process_birth - that address, in a child that waits and while its watchers are called; else NULL.
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
 * pml__process_watch_before - call @watch before each fork(), on the thread that forks: for shared data that keeps
 * changing, which the child could not find in its state at the fork. @watch takes no lock. Returns 0 or -ENOMEM.
 */
int pml__process_watch_before(void (*watch)(void));

/* pml__process_was_told - for watchers: fork() made this child and ran the fork handlers; no other call runs them. */
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

/* pml__process_command - the process's arguments, separated by blanks, truncated to @size; "" if unknown. */
void pml__process_command(char *command, size_t size);

/*
 * A lock that is open in each child, even if a thread of the parent held it. The guarded data must be usable in a child
 * after any single store of an update, or the child must discard it if a thread of the parent was updating it:
 * pml__lock_torn(). Zeros are an open lock. Its holder is not cancelled and runs no handler (pml__cancel_hold()); leave
 * the last taken first. Not async-signal-safe.
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
