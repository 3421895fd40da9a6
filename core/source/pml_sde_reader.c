/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_sde_reader.c - who is reading events now, so that what is read is not taken away under them. */
#include "source/pml_sde_private.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define YIELDS 100u
#define NAP_NS 100000

/* One per event set, and one per single read while it lasts. Never freed, so that the list is walked without a lock. */
struct pml__sde_reader {
  _Alignas(64) _Atomic uint64_t passes; /* odd while inside; written by one user at a time */
  atomic_bool taken;
  struct pml__sde_reader *next;
};

static struct pml__sde_reader *_Atomic readers;
static atomic_bool expedited; /* membarrier(2) fences the readers on behalf of who waits for them */
static PML_THREAD_LOCAL unsigned callbacks;

/* After a fork the registration is gone with the memory map, or is not: asked again, it costs nothing. */
static void register_membarrier(void) {
  bool can = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  atomic_store_explicit(&expedited, can, memory_order_seq_cst);
}

static void prepare(void) {
  register_membarrier();
  (void)pthread_atfork(NULL, NULL, register_membarrier);
}

struct pml__sde_reader *pml__sde_reader_take(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare);
  struct pml__sde_reader *r = atomic_load_explicit(&readers, memory_order_acquire);
  for (; r != NULL; r = r->next)
    if (!atomic_load_explicit(&r->taken, memory_order_relaxed) &&
        !atomic_exchange_explicit(&r->taken, true, memory_order_acquire))
      return r;
  r = aligned_alloc(_Alignof(struct pml__sde_reader), sizeof *r);
  if (r == NULL) return NULL;
  atomic_init(&r->passes, 0);
  atomic_init(&r->taken, true);
  r->next = atomic_load_explicit(&readers, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&readers, &r->next, r, memory_order_acq_rel, memory_order_acquire)) {
  }
  return r;
}

void pml__sde_reader_give_back(struct pml__sde_reader *r) {
  if (r != NULL) atomic_store_explicit(&r->taken, false, memory_order_release);
}

/*
 * The reader: passes becomes odd; then bodies are loaded. Who takes a body away: stores NULL; then loads passes. One of
 * the two must see the other's store, which takes a full fence between store and load on both sides. The waiting side
 * has membarrier(2) execute the reader's for it, so that the reader's own is free; where the kernel has none, the
 * reader pays for it. Leaving is a release that the waiting side acquires: all that was read was read before.
 */
void pml__sde_enter(struct pml__sde_reader *r) {
  uint64_t passes = atomic_load_explicit(&r->passes, memory_order_relaxed);
  atomic_store_explicit(&r->passes, passes + 1, memory_order_relaxed);
  if (PML_LIKELY(atomic_load_explicit(&expedited, memory_order_relaxed)))
    atomic_signal_fence(memory_order_seq_cst);
  else
    atomic_thread_fence(memory_order_seq_cst);
}

void pml__sde_leave(struct pml__sde_reader *r) {
  uint64_t passes = atomic_load_explicit(&r->passes, memory_order_relaxed);
  atomic_store_explicit(&r->passes, passes + 1, memory_order_release);
}

static void wait_for(struct pml__sde_reader *r) {
  uint64_t before = atomic_load_explicit(&r->passes, memory_order_acquire);
  if (before % 2 == 0) return;
  for (unsigned i = 0; atomic_load_explicit(&r->passes, memory_order_acquire) == before; i++) {
    static const struct timespec nap = {0, NAP_NS};
    if (i < YIELDS)
      sched_yield();
    else
      nanosleep(&nap, NULL); /* a callback that takes its time */
  }
}

bool pml__sde_wait_for_readers(void) {
  if (callbacks > 0) return false;
  struct pml__sde_reader *r = atomic_load_explicit(&readers, memory_order_acquire);
  if (r == NULL) return true;
  atomic_thread_fence(memory_order_seq_cst);
  if (atomic_load_explicit(&expedited, memory_order_relaxed))
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  for (; r != NULL; r = r->next) wait_for(r);
  return true;
}

void pml__sde_callback_begin(void) {
  callbacks++;
}

void pml__sde_callback_end(void) {
  callbacks--;
}
