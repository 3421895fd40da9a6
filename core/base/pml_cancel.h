/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_cancel.h - no thread of the program is cancelled in the middle of what is pmlua's. Internal. */
#ifndef PML_CANCEL_H
#define PML_CANCEL_H

#include "base/pml_api.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/*
 * pml__cancel_hold - from here to pml__cancel_again() with what this returned, the thread is not cancelled: one that
 * ended while it holds a lock, or half-way through a list, would leave them so for ever. A program's thread may ask to
 * be cancelled anywhere (PTHREAD_CANCEL_ASYNCHRONOUS), and is in pmlua's slow paths by no choice of its own. Nested,
 * the last held goes first. Some 40 instructions the two, no system call.
 *
 * The type is held, too: in glibc the signal of a cancellation that was sent before the state changed asks for the type
 * alone. The state is given back first, so that what was asked for meanwhile is acted on where the type is.
 */
enum { PML__CANCEL_NO = 0, PML__CANCEL_DEFERRED, PML__CANCEL_ASYNCHRONOUS };
static inline int pml__cancel_hold(void) {
  int state, type;
  (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  if (state == PTHREAD_CANCEL_DISABLE) return PML__CANCEL_NO;
  (void)pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
  return type == PTHREAD_CANCEL_ASYNCHRONOUS ? PML__CANCEL_ASYNCHRONOUS : PML__CANCEL_DEFERRED;
}
static inline void pml__cancel_again(int before) {
  int was;
  if (before == PML__CANCEL_NO) return;
  (void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &was);
  if (before == PML__CANCEL_ASYNCHRONOUS) (void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &was);
}

/* An object's own lock, made and destroyed with the object. Its holder is not cancelled. Leave the last taken first. */
struct pml__mutex {
  pthread_mutex_t mutex;
  int cancel; /* the holder's */
};
PML__SHARED void pml__mutex_take(struct pml__mutex *m);
int pml__mutex_take_until(struct pml__mutex *m, const struct timespec *until);
bool pml__mutex_try(struct pml__mutex *m);
PML__SHARED void pml__mutex_leave(struct pml__mutex *m);

#endif
