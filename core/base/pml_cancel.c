/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_cancel.c - locks of objects, whose holder is not cancelled. */
#include "base/pml_cancel.h"

void pml__mutex_take(struct pml__mutex *m) {
  int cancel = pml__cancel_hold();
  pthread_mutex_lock(&m->mutex);
  m->cancel = cancel;
}

int pml__mutex_take_until(struct pml__mutex *m, const struct timespec *until) {
  int cancel = pml__cancel_hold(), err = pthread_mutex_timedlock(&m->mutex, until);
  if (err != 0)
    pml__cancel_again(cancel);
  else
    m->cancel = cancel;
  return err;
}

bool pml__mutex_try(struct pml__mutex *m) {
  int cancel = pml__cancel_hold();
  if (pthread_mutex_trylock(&m->mutex) == 0) {
    m->cancel = cancel;
    return true;
  }
  pml__cancel_again(cancel);
  return false;
}

void pml__mutex_leave(struct pml__mutex *m) {
  int cancel = m->cancel;
  pthread_mutex_unlock(&m->mutex);
  pml__cancel_again(cancel);
}
