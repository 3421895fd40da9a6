/* SPDX-License-Identifier: BSD-3-Clause */
/* core/compat/libsde_call.c - threads inside calls on a counter, recorder or set, awaited before it is freed. */
#include "base/pml_process.h"
#include "compat/libsde.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define YIELDS 100u
#define NAPS 100u
#define NAP_NS 100000

PML_THREAD_LOCAL struct sde_call pml__libsde_call
    __attribute__((tls_model("initial-exec"))) = {.bytes = SDE_CALL_NO_BYTES};

static struct pml__lock lock; /* innermost; taken with signals blocked, because handlers may count */
static struct sde_call *calls;
static pthread_key_t key;

static void locked(sigset_t *before) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, before);
  pml__process_look();
  pml__lock_take(&lock);
}

static void unlocked(const sigset_t *before) {
  pml__lock_leave(&lock);
  pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Called at the end of the thread. Destructors that run later may count, and register again: pthread then calls this
 * again. */
static void forget(void *arg) {
  struct sde_call *c = arg, **at = &calls;
  sigset_t before;
  locked(&before);
  while (*at != NULL && *at != c) at = &(*at)->next;
  if (*at != NULL) *at = c->next;
  c->known = false;
  c->bytes = SDE_CALL_NO_BYTES;
  pml__recorder_cache_forget();
  unlocked(&before);
}

/* The child has no other threads, and one may have been changing the list, so it is rebuilt. */
static void in_child(void) {
  struct sde_call *own = &pml__libsde_call;
  if (own->known) own->next = NULL;
  calls = own->known ? own : NULL;
}

static void prepare(void) {
  (void)pthread_key_create(&key, forget);
  (void)pml__process_watch(in_child);
  (void)syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

void pml__libsde_know_call(struct sde_call *c) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  sigset_t before;
  pthread_once(&once, prepare);
  locked(&before);
  if (!c->known) { /* a handler may have run before the lock was taken */
    c->next = calls;
    calls = c;
    c->known = true;
    c->bytes = 8;
    c->near = pml__recorder_cache_cells;
    (void)pthread_setspecific(key, c);
  }
  unlocked(&before);
}

static bool has_left(struct sde_call *c) {
  for (unsigned i = 0; i < YIELDS + NAPS; i++) {
    static const struct timespec nap = {0, NAP_NS};
    if (__atomic_load_n(&c->inside, __ATOMIC_ACQUIRE) == 0 && !pml__recorder_cache_busy(c->near)) return true;
    if (i < YIELDS)
      sched_yield();
    else
      nanosleep(&nap, NULL);
  }
  return false;
}

bool pml__libsde_calls_left(void) {
  sigset_t before;
  locked(&before);
  bool left = calls == NULL || (__atomic_load_n(&pml__libsde_call.inside, __ATOMIC_RELAXED) == 0 &&
                                !pml__recorder_cache_busy(pml__recorder_cache_cells) &&
                                syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0);
  for (struct sde_call *c = calls; c != NULL && left; c = c->next) left = has_left(c);
  unlocked(&before);
  return left;
}
