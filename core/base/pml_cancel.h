/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_cancel.h - blocking of cancellation and signal handlers inside pmlua. Internal. */
#ifndef PML_CANCEL_H
#define PML_CANCEL_H

#include "base/pml_api.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/*
 * pml__cancel_hold - block cancellation and signal handlers of the calling thread until pml__cancel_again() is called
 * with the returned value. A thread that ended, or left by siglongjmp(), while it held a lock or was half-way through a
 * list would leave the lock held or the list broken for ever. A program's thread may allow cancellation anywhere
 * (PTHREAD_CANCEL_ASYNCHRONOUS) and its handlers may leave anywhere; it does not choose to be in pmlua's slow paths.
 * Signals of faults stay unblocked, because a blocked one ends the process. glibc's own signals also stay unblocked,
 * because their handlers return, and a thread that sends them waits for all others. Calls nest: release the last hold
 * first. Two system calls for the outermost pair; not for hot paths. Keeps errno.
 *
 * The cancellation type is also set to deferred, because glibc's handler for a cancellation that was sent before the
 * state changed checks only the type. pml__cancel_again() restores the state before the type, so that restoring the
 * type acts on a cancellation that was requested meanwhile.
 */
enum { PML__CANCEL_NO = 0, PML__CANCEL_DEFERRED, PML__CANCEL_ASYNCHRONOUS, PML__CANCEL_TYPE = 3, PML__CANCEL_OPEN };
int pml__cancel_hold(void);
PML__SHARED void pml__cancel_again(int before);

/*
 * pml__cancel_hold_open - block cancellation only; signal handlers run. For calls of foreign code, which may take long,
 * and for functions that a program calls itself, where a handler may not leave either. No system call.
 */
PML__SHARED int pml__cancel_hold_open(void);

/* pml__cancel_confine - make no more system calls for this: the process is about to forbid them. */
PML__SHARED void pml__cancel_confine(void);
bool pml__cancel_is_confined(void);

/* An object's own lock, made and destroyed with the object. Its holder is held as above. Leave the last taken first. */
struct pml__mutex {
  pthread_mutex_t mutex;
  int cancel; /* the holder's */
};
PML__SHARED void pml__mutex_take(struct pml__mutex *m);
void pml__mutex_take_open(struct pml__mutex *m); /* as pml__cancel_hold_open() */
int pml__mutex_take_until(struct pml__mutex *m, const struct timespec *until);
bool pml__mutex_try(struct pml__mutex *m);
PML__SHARED void pml__mutex_leave(struct pml__mutex *m);

#endif
