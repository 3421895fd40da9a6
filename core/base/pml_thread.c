/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_thread.c - ids of threads, and new ones after a fork. */
#include "base/pml_thread.h"

#include "base/pml_process.h"

#include <stdatomic.h>
#include <unistd.h>

PML_THREAD_LOCAL struct pml_thread pml__thread __attribute__((tls_model("initial-exec")));

/*
 * Relaxed is enough: an id publishes nothing but itself, and a read-modify-write never hands out the same value twice.
 * A thread that compares its id with one stored in a handle got the handle through its own synchronisation.
 */
static _Atomic uint64_t next_id = 1;

/* tid before id, so that a signal handler that sees the id also sees the tid. */
static void take_id(void) {
  pml__thread.tid = gettid();
  atomic_signal_fence(memory_order_release);
  pml__thread.id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed);
}

static void after_fork_in_child(void) {
  if (pml__thread.id != 0) take_id();
}

struct pml_thread *pml__thread_register(void) {
  (void)pml__process_watch(after_fork_in_child);
  take_id();
  return &pml__thread;
}
