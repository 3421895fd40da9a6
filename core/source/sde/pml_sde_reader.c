/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_sde_reader.c - readers of events, which delay freeing. */
#include "base/pml_process.h"
#include "source/sde/pml_sde_private.h"

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

static struct pml__sde_reader *_Atomic readers;
atomic_bool pml__sde_expedited;
static PML_THREAD_LOCAL unsigned callbacks;

static void register_membarrier(void) {
  bool can = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  atomic_store_explicit(&pml__sde_expedited, can, memory_order_seq_cst);
}

/*
 * Readers that were inside on other threads never leave in the child. If the thread forked from inside a callback, its
 * reader cannot be identified; then all stay unchanged. The membarrier registration may be lost with the memory map;
 * repeating it costs nothing.
 */
static void in_child(void) {
  register_membarrier();
  struct pml__sde_reader *r = atomic_load_explicit(&readers, memory_order_acquire);
  for (; r != NULL && callbacks == 0; r = r->next) {
    uint64_t passes = atomic_load_explicit(&r->passes, memory_order_relaxed);
    atomic_store_explicit(&r->passes, passes + passes % 2, memory_order_relaxed);
    atomic_store_explicit(&r->alone, NULL, memory_order_relaxed);
  }
}

static void prepare(void) {
  register_membarrier();
  (void)pml__process_watch(in_child);
}

struct pml__sde_reader *pml__sde_reader_take(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare);
  pml__process_look();
  struct pml__sde_reader *r = atomic_load_explicit(&readers, memory_order_acquire);
  for (; r != NULL; r = r->next)
    if (!atomic_load_explicit(&r->taken, memory_order_relaxed) &&
        !atomic_exchange_explicit(&r->taken, true, memory_order_acquire))
      return r;
  r = aligned_alloc(_Alignof(struct pml__sde_reader), sizeof *r);
  if (r == NULL) return NULL;
  atomic_init(&r->passes, 0);
  atomic_init(&r->alone, NULL);
  atomic_init(&r->taken, true);
  r->cells = NULL;
  r->memo = (struct pml__sde_memo){0};
  r->whole = false;
  r->next = atomic_load_explicit(&readers, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&readers, &r->next, r, memory_order_acq_rel, memory_order_acquire)) {
  }
  return r;
}

void pml__sde_reader_give_back(struct pml__sde_reader *r) {
  if (r == NULL) return;
  if (r->cells != NULL) pml__sde_compiler_give_back(r);
  r->whole = false;
  uint64_t passes = atomic_load_explicit(&r->passes, memory_order_relaxed);
  atomic_store_explicit(&r->passes, passes + passes % 2, memory_order_relaxed); /* the last one may have been left */
  atomic_store_explicit(&r->taken, false, memory_order_release);
}

static bool is_elsewhere(struct pml__sde_reader *r, struct pml__sde_body *const *going, size_t n) {
  const struct pml__sde_body *alone = atomic_load_explicit(&r->alone, memory_order_acquire);
  for (size_t i = 0; i < n && alone != NULL; i++)
    if (going[i] == alone) return false;
  return alone != NULL;
}

/* Within one pass a reader says at most once that it is alone, and after that loads no other body. */
static bool has_left(struct pml__sde_reader *r, struct pml__sde_body *const *going, size_t n, bool wait) {
  uint64_t before = atomic_load_explicit(&r->passes, memory_order_seq_cst);
  if (before % 2 == 0) return true;
  for (unsigned i = 0; atomic_load_explicit(&r->passes, memory_order_acquire) == before; i++) {
    static const struct timespec nap = {0, NAP_NS};
    if (is_elsewhere(r, going, n)) return true;
    if (!wait) return false;
    if (i < YIELDS)
      sched_yield();
    else
      nanosleep(&nap, NULL); /* a callback that takes its time */
  }
  return true;
}

bool pml__sde_wait_for_readers(struct pml__sde_body *const *going, size_t n, bool wait) {
  if (callbacks > 0) return false;
  pml__process_look();
  struct pml__sde_reader *r = atomic_load_explicit(&readers, memory_order_acquire);
  if (r == NULL) return true;
  if (atomic_load_explicit(&pml__sde_expedited, memory_order_relaxed))
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  for (; r != NULL; r = r->next)
    if (!has_left(r, going, n, wait)) return false;
  return true;
}

void pml__sde_callback_begin(void) {
  callbacks++;
}

void pml__sde_callback_end(void) {
  callbacks--;
}
