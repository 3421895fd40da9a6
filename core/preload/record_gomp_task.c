/* SPDX-License-Identifier: BSD-3-Clause */
/* core/preload/record_gomp_task.c - libgomp's tasks, identified by a header before their data. */
#include "preload/record_gomp.h"

#include <string.h>

typedef void work(void *);
typedef void copy(void *, void *);

#define APART __attribute__((noinline)) static

/* ---- tasks ---- */

#define DETACH (1u << 13) /* the runtime writes into the task's data, so the data must not be moved */

/* A header before the data of a task; @offset is the distance to the data, which keep their alignment. */
struct task {
  work *work;
  copy *copy;
  void *data; /* the creator's, valid while the task is created */
  uint64_t number;
  size_t offset;
};

static void run_task(void *arg) {
  const struct task *task = arg;
  work *fn = task->work;
  struct pml__openmp_thread *t = pml__openmp_self(PML_OPENMP_LIBGOMP);
  bool seen = t != NULL && task->number != 0;
  if (seen) pml__openmp_switch(t, false, arg, task->number);
  fn((char *)arg + task->offset);
  if (seen) pml__openmp_complete(t);
}

static void copy_task(void *to, void *from) {
  struct task *task = to;
  memcpy(task, from, sizeof *task);
  task->copy((char *)to + task->offset, task->data);
}

typedef void gomp_task(work *, void *, copy *, long, long, bool, unsigned, void **, int, void *);
APART void create_task(gomp_task *real, struct task of, long size, long align, bool deferred, unsigned flags,
                       void **depend, int priority, void *detach) {
  size_t least = align > (long)_Alignof(struct task) ? (size_t)align : _Alignof(struct task);
  size_t offset = (sizeof of + least - 1) / least * least, all = offset + (size_t)size;
  char at[all + least];
  struct task *task = (struct task *)(void *)(((uintptr_t)&at[0] + least - 1) / least * least);
  *task = of;
  task->offset = offset;
  if (of.copy == NULL && size > 0) memcpy((char *)task + offset, of.data, (size_t)size);
  real(run_task, task, of.copy != NULL ? copy_task : NULL, (long)all, (long)least, deferred, flags, depend, priority,
       detach);
}

PML_API gomp_task GOMP_task;
PML_API void GOMP_task(work *fn, void *data, copy *copier, long size, long align, bool deferred, unsigned flags,
                       void **depend, int priority, void *detach) {
  const void *caller = PML__GOMP_CALLER;
  PML__GOMP_REAL(gomp_task, GOMP_task, caller);
  struct pml__openmp_thread *t = (flags & DETACH) == 0 ? pml__gomp_self(caller) : NULL;
  if (t == NULL)
    real(fn, data, copier, size, align, deferred, flags, depend, priority, detach);
  else
    create_task(real, (struct task){fn, copier, data, pml__openmp_create(t, caller), 0}, size, align, deferred, flags,
                depend, priority, detach);
}

/* ---- loops of tasks ---- */

#define REDUCTION (1u << 12) /* the runtime also reads the creator's data */

/* The runtime writes the first and the last iteration of each task to the beginning of its data. */
struct loop_task {
  uint64_t turns[2];
  work *work;
  copy *copy;
  void *data; /* the creator's */
  const void *code;
  uint64_t number;
  size_t offset, size;
};

static void run_loop_task(void *arg) {
  const struct loop_task *task = arg;
  work *fn = task->work;
  void *data = (char *)arg + task->offset;
  struct pml__openmp_thread *t = pml__openmp_self(PML_OPENMP_LIBGOMP);
  bool seen = t != NULL && task->number != 0;
  memcpy(data, task->turns, sizeof task->turns);
  if (seen) pml__openmp_switch(t, false, arg, task->number);
  fn(data);
  if (seen) pml__openmp_complete(t);
}

/* Called once for each task, by the creating thread. */
static void copy_loop_task(void *to, void *from) {
  struct loop_task *task = to;
  struct pml__openmp_thread *t = pml__openmp_self(PML_OPENMP_LIBGOMP);
  memcpy(task, from, sizeof *task);
  task->number = t != NULL ? pml__openmp_create(t, task->code) : 0;
  if (task->copy != NULL)
    task->copy((char *)to + task->offset, task->data);
  else
    memcpy((char *)to + task->offset, task->data, task->size);
}

/* Iterations are long, or unsigned long long of the same size. */
_Static_assert(sizeof(long) == sizeof(uint64_t), "turns of taskloops");

#define TASKLOOPS(X) X(GOMP_taskloop, long) X(GOMP_taskloop_ull, unsigned long long)
#define TASKLOOP(function, turn)                                                                                       \
  typedef void type_of_##function(work *, void *, copy *, long, long, unsigned, unsigned long, int, turn, turn, turn); \
  PML_API type_of_##function function;                                                                                 \
  PML_API void function(work *fn, void *data, copy *copier, long size, long align, unsigned flags, unsigned long n,    \
                        int priority, turn start, turn end, turn step) {                                               \
    const void *caller = PML__GOMP_CALLER;                                                                             \
    PML__GOMP_REAL(type_of_##function, function, caller);                                                              \
    struct pml__openmp_thread *t = (flags & REDUCTION) == 0 ? pml__gomp_self(caller) : NULL;                           \
    if (t == NULL) {                                                                                                   \
      real(fn, data, copier, size, align, flags, n, priority, start, end, step);                                       \
      return;                                                                                                          \
    }                                                                                                                  \
    long least = align > (long)_Alignof(struct loop_task) ? align : (long)_Alignof(struct loop_task);                  \
    long offset = ((long)sizeof(struct loop_task) + least - 1) / least * least;                                        \
    struct loop_task task = {{0}, fn, copier, data, caller, 0, (size_t)offset, (size_t)size};                          \
    pml__openmp_enter(t, PML__LOG_OPENMP_TASKLOOP, caller, pml__gomp_trips((long)start, (long)end, (long)step));       \
    real(run_loop_task, &task, copy_loop_task, offset + size, least, flags, n, priority, start, end, step);            \
    pml__openmp_leave(t, PML__LOG_OPENMP_TASKLOOP);                                                                    \
  }
TASKLOOPS(TASKLOOP)
