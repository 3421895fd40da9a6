/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_thread.c - thread ids, renewed after a fork. */
#include "base/pml_thread.h"

#include "base/pml_cancel.h"
#include "base/pml_libc.h"
#include "base/pml_process.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

PML_THREAD_LOCAL struct pml_thread pml__thread __attribute__((tls_model("initial-exec")));

/*
 * Relaxed is enough: an id publishes nothing but itself, and a read-modify-write never hands out the same value twice.
 * A thread that compares its id with one stored in a handle got the handle through its own synchronisation.
 */
static _Atomic uint64_t next_id = 1;
static _Atomic uint64_t first_id = 1; /* first id of this process; earlier ids were its parents' */

/* gettid() may end a confined process. glibc also stores the id: in a recursive mutex, as its owner. */
static pid_t own_tid(void) {
#ifdef __GLIBC__
  pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  if (pml__cancel_is_confined() && pthread_mutex_lock(&m) == 0) return m.__data.__owner;
#endif
  return gettid();
}

/* tid before id, so that a signal handler that sees the id also sees the tid. */
static void take_id(void) {
  pml__thread.tid = own_tid();
  atomic_signal_fence(memory_order_release);
  pml__thread.id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed);
}

static void after_fork_in_child(void) {
  atomic_store_explicit(&first_id, atomic_load_explicit(&next_id, memory_order_relaxed), memory_order_relaxed);
  if (pml__thread.id != 0) take_id();
}

struct pml_thread *pml__thread_register(void) {
  (void)pml__process_watch_birth(after_fork_in_child);
  take_id();
  return &pml__thread;
}

bool pml__thread_is_of_parent(uint64_t id) {
  pml__process_look();
  return id != 0 && id < atomic_load_explicit(&first_id, memory_order_relaxed);
}

/* ---- pmlua's threads ---- */

/* Our own code must stay while our threads run: an interpreter that loaded it may unload it. */
static void stay_loaded(void) {
  Dl_info info;
  if (dladdr((const void *)(uintptr_t)stay_loaded, &info) != 0 && info.dli_fname != NULL)
    (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

int pml__thread_start(pthread_t *thread, void *(*run)(void *), void *arg) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, stay_loaded);
  sigset_t all, before;
  pthread_t started;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int err = pthread_create(&started, NULL, run, arg);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (err == 0 && thread == NULL) pthread_detach(started);
  if (err == 0 && thread != NULL) *thread = started;
  return -err;
}
