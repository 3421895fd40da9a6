/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_cancel.h - blocking of cancellation and signal handlers inside pmlua. Internal. */
#ifndef PML_CANCEL_H
#define PML_CANCEL_H

#include "base/pml_api.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/*
 * pml__cancel_hold - from here to pml__cancel_again() with what this returned, the thread is not cancelled and runs no
 * signal handler: one that ended, or left by siglongjmp(), while it holds a lock or is half-way through a list would
 * leave them so for ever. A program's thread may ask to be cancelled anywhere (PTHREAD_CANCEL_ASYNCHRONOUS), a handler
 * may leave anywhere, and neither is in pmlua's slow paths by its own choice. Signals of faults stay open: a blocked
 * one ends the process. glibc's signals also stay open: their handlers return, and a thread that sends them waits for
 * all others. Nested, the last held goes first. Two system calls for the outermost pair; not for hot paths. Keeps
 * errno.
 *
 * The type of cancellation is held, too: in glibc the signal of a cancellation that was sent before the state changed
 * asks for the type alone. The state is given back first, so that what was asked for meanwhile is acted on where the
 * type is.
 */
enum { PML__CANCEL_NO = 0, PML__CANCEL_DEFERRED, PML__CANCEL_ASYNCHRONOUS, PML__CANCEL_TYPE = 3, PML__CANCEL_OPEN };
int pml__cancel_hold(void);
PML__SHARED void pml__cancel_again(int before);

/*
 * pml__cancel_hold_open - the same, but signal handlers run: where other people's code is called, which may take long,
 * and in functions that a program calls itself, where a handler may not leave either. No system call.
 */
PML__SHARED int pml__cancel_hold_open(void);

/* pml__cancel_confine - from now on no system call is made for this: the process gives them up. */
PML__SHARED void pml__cancel_confine(void);

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
