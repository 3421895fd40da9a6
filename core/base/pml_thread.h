/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_thread.h - per-thread state, one TLS access away. */
#ifndef PML_THREAD_H
#define PML_THREAD_H

#include "base/pml_api.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

PML_BEGIN_DECLS

/*
 * @id: process-unique, never reused, never 0 once registered; fork() gives the child's thread a new one, because the
 * counters that the parent opened do not count the child. The child of a bare system call gets a new id when pmlua
 * detects the child (pml_process.h); a child that shares the memory gets none.
 *
 * Only the thread itself reads and writes its block, so nothing here is atomic or ordered. The ids come from one atomic
 * counter, relaxed: they are unique, but say nothing about which thread came first. A caller that compares an id that
 * another thread stored in a handle must have got that handle through synchronisation.
 */
struct pml_thread {
  uint64_t id;
  pid_t tid;
};

/* initial-exec: one segment-relative load reaches the block, even from a shared library. */
extern PML__SHARED PML_THREAD_LOCAL struct pml_thread pml__thread __attribute__((tls_model("initial-exec")));

PML__SHARED struct pml_thread *pml__thread_register(void);

/*
 * pml_thread_self - the calling thread; registers it at its first call, which is not async-signal-safe.
 * Cost: one TLS load, one predicted branch.
 */
static inline struct pml_thread *pml_thread_self(void) {
  if (PML_UNLIKELY(pml__thread.id == 0)) return pml__thread_register();
  return &pml__thread;
}

/* pml_thread_id - the calling thread's id, or 0 if it never registered. Cost: one TLS load. Async-signal-safe. */
static inline uint64_t pml_thread_id(void) {
  return pml__thread.id;
}

/* pml__thread_is_of_parent - @id is of a thread of a process that forked this one. Thread-safe. */
bool pml__thread_is_of_parent(uint64_t id);

/*
 * pml__thread_start - start a thread of pmlua's own, which no signal reaches: joinable, or detached if @thread is NULL.
 * Returns 0 or -errno.
 */
int pml__thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

PML_END_DECLS

#endif
