/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_cancel.c - blocking of cancellation and signal handlers; object locks. */
#include "base/pml_cancel.h"

#include "base/pml_system.h"

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>

/* ---- signals ---- */

#define SIGNAL(number) (UINT64_C(1) << ((number)-1))
#define OF_FAULTS                                                                                                      \
  (SIGNAL(SIGSEGV) | SIGNAL(SIGBUS) | SIGNAL(SIGILL) | SIGNAL(SIGFPE) | SIGNAL(SIGTRAP) | SIGNAL(SIGSYS))
#define OF_GLIBC (SIGNAL(32) | SIGNAL(33))

static const uint64_t blocked = ~(OF_FAULTS | OF_GLIBC);
static bool confined; /* atomic */
static PML_THREAD_LOCAL struct {
  uint64_t before; /* the thread's mask */
  uint32_t depth;
  bool is_blocked;
} signals __attribute__((tls_model("initial-exec")));

static void set_mask(const uint64_t *mask, uint64_t *before) {
  const long argument[6] = {SIG_SETMASK, (long)(uintptr_t)mask, (long)(uintptr_t)before, sizeof *mask};
  (void)pml__system(SYS_rt_sigprocmask, argument);
}

bool pml__cancel_is_confined(void) {
  return __atomic_load_n(&confined, __ATOMIC_RELAXED);
}

/* The thread's state changes only while signals are blocked, so a handler that leaves earlier has changed nothing. */
static void block(void) {
  uint64_t before;
  if (signals.depth == 0 && !pml__cancel_is_confined()) {
    set_mask(&blocked, &before);
    signals.before = before;
    signals.is_blocked = true;
  }
  signals.depth++;
}

static void open_again(void) {
  uint64_t before = signals.before;
  if (--signals.depth > 0 || !signals.is_blocked) return;
  signals.is_blocked = false;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  set_mask(&before, NULL);
}

void pml__cancel_confine(void) {
  __atomic_store_n(&confined, true, __ATOMIC_RELAXED);
}

/* ---- cancellation ---- */

static int hold(void) {
  int state, type;
  (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  if (state == PTHREAD_CANCEL_DISABLE) return PML__CANCEL_NO;
  (void)pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
  return type == PTHREAD_CANCEL_ASYNCHRONOUS ? PML__CANCEL_ASYNCHRONOUS : PML__CANCEL_DEFERRED;
}

int pml__cancel_hold(void) {
  block();
  return hold();
}

int pml__cancel_hold_open(void) {
  return hold() | PML__CANCEL_OPEN;
}

void pml__cancel_again(int before) {
  int type = before & PML__CANCEL_TYPE, was;
  if (type != PML__CANCEL_NO) (void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &was);
  if ((before & PML__CANCEL_OPEN) == 0) open_again();
  if (type == PML__CANCEL_ASYNCHRONOUS) (void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &was);
}

/* ---- locks ---- */

static void take(struct pml__mutex *m, int cancel) {
  pthread_mutex_lock(&m->mutex);
  m->cancel = cancel;
}

void pml__mutex_take(struct pml__mutex *m) {
  take(m, pml__cancel_hold());
}

void pml__mutex_take_open(struct pml__mutex *m) {
  take(m, pml__cancel_hold_open());
}

int pml__mutex_take_until(struct pml__mutex *m, const struct timespec *until) {
  int cancel = pml__cancel_hold_open(), err = pthread_mutex_timedlock(&m->mutex, until);
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
