/* SPDX-License-Identifier: BSD-3-Clause */
/* core/preload/record_gomp_work.c - libgomp's worksharing, barriers, waits, critical sections and locks. */
#include "preload/record_gomp.h"

typedef void procedure(void);

/* ---- loops and sections ---- */

static void begin(const void *caller, enum pml__log_openmp_construct construct, uint64_t count) {
  struct pml__openmp_thread *t = pml__gomp_self(caller);
  if (t == NULL) return;
  pml__gomp_end_single(t);
  pml__openmp_enter(t, construct, caller, count);
}

static void end(const void *caller, enum pml__log_openmp_construct construct) {
  struct pml__openmp_thread *t = pml__gomp_self(caller);
  if (t != NULL) pml__openmp_leave(t, construct);
}

typedef bool loop_start(long, long, long, long, long *, long *);
typedef bool runtime_loop_start(long, long, long, long *, long *);

#define LOOPS(X)                                                                                                       \
  X(static)                                                                                                            \
  X(dynamic)                                                                                                           \
  X(guided) X(nonmonotonic_dynamic) X(nonmonotonic_guided) X(ordered_static) X(ordered_dynamic) X(ordered_guided)
#define RUNTIME_LOOPS(X) X(runtime) X(nonmonotonic_runtime) X(maybe_nonmonotonic_runtime) X(ordered_runtime)

#define LOOP(schedule)                                                                                                 \
  PML_API loop_start GOMP_loop_##schedule##_start;                                                                     \
  PML_API bool GOMP_loop_##schedule##_start(long start, long stop, long step, long chunk, long *from, long *to) {      \
    const void *caller = PML__GOMP_CALLER;                                                                             \
    PML__GOMP_REAL(loop_start, GOMP_loop_##schedule##_start, caller);                                                  \
    begin(caller, PML__LOG_OPENMP_LOOP, pml__gomp_trips(start, stop, step));                                           \
    return real(start, stop, step, chunk, from, to);                                                                   \
  }
LOOPS(LOOP)

#define RUNTIME_LOOP(schedule)                                                                                         \
  PML_API runtime_loop_start GOMP_loop_##schedule##_start;                                                             \
  PML_API bool GOMP_loop_##schedule##_start(long start, long stop, long step, long *from, long *to) {                  \
    const void *caller = PML__GOMP_CALLER;                                                                             \
    PML__GOMP_REAL(runtime_loop_start, GOMP_loop_##schedule##_start, caller);                                          \
    begin(caller, PML__LOG_OPENMP_LOOP, pml__gomp_trips(start, stop, step));                                           \
    return real(start, stop, step, from, to);                                                                          \
  }
RUNTIME_LOOPS(RUNTIME_LOOP)

typedef unsigned sections_start(unsigned);
PML_API sections_start GOMP_sections_start;
PML_API unsigned GOMP_sections_start(unsigned count) {
  const void *caller = PML__GOMP_CALLER;
  PML__GOMP_REAL(sections_start, GOMP_sections_start, caller);
  begin(caller, PML__LOG_OPENMP_SECTIONS, count);
  return real(count);
}

#define ENDS(X) X(loop, LOOP) X(sections, SECTIONS)
#define END(kind, construct)                                                                                           \
  PML_API procedure GOMP_##kind##_end, GOMP_##kind##_end_nowait;                                                       \
  PML_API void GOMP_##kind##_end(void) {                                                                               \
    const void *caller = PML__GOMP_CALLER;                                                                             \
    PML__GOMP_REAL(procedure, GOMP_##kind##_end, caller);                                                              \
    struct pml__openmp_thread *t = pml__gomp_self(caller);                                                             \
    if (t == NULL) {                                                                                                   \
      real();                                                                                                          \
    } else {                                                                                                           \
      pml__openmp_leave(t, PML__LOG_OPENMP_##construct);                                                               \
      pml__gomp_barrier(t, PML__LOG_OPENMP_IMPLICIT_BARRIER, real, caller);                                            \
    }                                                                                                                  \
  }                                                                                                                    \
  PML_API void GOMP_##kind##_end_nowait(void) {                                                                        \
    const void *caller = PML__GOMP_CALLER;                                                                             \
    PML__GOMP_REAL(procedure, GOMP_##kind##_end_nowait, caller);                                                       \
    end(caller, PML__LOG_OPENMP_##construct);                                                                          \
    real();                                                                                                            \
  }
ENDS(END)

/* ---- single ---- */

/* A single has no call at its end: it ends when the thread reaches a barrier, another worksharing construct, or the end
 * of the region. */
void pml__gomp_end_single(struct pml__openmp_thread *t) {
  pml__openmp_leave(t, PML__LOG_OPENMP_SINGLE);
}

typedef bool single_start(void);
PML_API single_start GOMP_single_start;
PML_API bool GOMP_single_start(void) {
  const void *caller = PML__GOMP_CALLER;
  PML__GOMP_REAL(single_start, GOMP_single_start, caller);
  struct pml__openmp_thread *t = pml__gomp_self(caller);
  if (t != NULL) pml__gomp_end_single(t);
  bool executes = real();
  if (t != NULL && executes) pml__openmp_enter(t, PML__LOG_OPENMP_SINGLE, caller, 0);
  return executes;
}

/* With copyprivate the other threads wait here for the copied data. */
typedef void *single_copy_start(void);
PML_API single_copy_start GOMP_single_copy_start;
PML_API void *GOMP_single_copy_start(void) {
  const void *caller = PML__GOMP_CALLER;
  PML__GOMP_REAL(single_copy_start, GOMP_single_copy_start, caller);
  struct pml__openmp_thread *t = pml__gomp_self(caller);
  if (t != NULL) pml__gomp_end_single(t);
  void *copied = real();
  if (t != NULL && copied == NULL) pml__openmp_enter(t, PML__LOG_OPENMP_SINGLE, caller, 0);
  return copied;
}

typedef void single_copy_end(void *);
PML_API single_copy_end GOMP_single_copy_end;
PML_API void GOMP_single_copy_end(void *data) {
  const void *caller = PML__GOMP_CALLER;
  PML__GOMP_REAL(single_copy_end, GOMP_single_copy_end, caller);
  end(caller, PML__LOG_OPENMP_SINGLE);
  real(data);
}

/* ---- waits ---- */

#define WAITS(X) X(GOMP_barrier, BARRIER) X(GOMP_taskwait, TASKWAIT)
#define WAIT(function, construct)                                                                                      \
  PML_API procedure function;                                                                                          \
  PML_API void function(void) {                                                                                        \
    const void *caller = PML__GOMP_CALLER;                                                                             \
    PML__GOMP_REAL(procedure, function, caller);                                                                       \
    struct pml__openmp_thread *t = pml__gomp_self(caller);                                                             \
    if (t == NULL)                                                                                                     \
      real();                                                                                                          \
    else                                                                                                               \
      pml__gomp_barrier(t, PML__LOG_OPENMP_##construct, real, caller);                                                 \
  }
WAITS(WAIT)

PML_API procedure GOMP_taskgroup_start, GOMP_taskgroup_end;
PML_API void GOMP_taskgroup_start(void) {
  const void *caller = PML__GOMP_CALLER;
  PML__GOMP_REAL(procedure, GOMP_taskgroup_start, caller);
  real();
  begin(caller, PML__LOG_OPENMP_TASKGROUP, 0);
}
PML_API void GOMP_taskgroup_end(void) {
  const void *caller = PML__GOMP_CALLER;
  PML__GOMP_REAL(procedure, GOMP_taskgroup_end, caller);
  struct pml__openmp_thread *t = pml__gomp_self(caller);
  if (t != NULL) pml__openmp_wait(t);
  real();
  end(caller, PML__LOG_OPENMP_TASKGROUP);
}

/* ---- critical sections, ordered, locks ---- */

static struct pml__openmp_thread *acquire(const void *caller, enum pml__log_openmp_construct construct) {
  struct pml__openmp_thread *t = pml__gomp_self(caller);
  if (t != NULL) pml__openmp_enter(t, construct, caller, 0);
  return t;
}

static void acquired(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct, const void *lock) {
  if (t != NULL) pml__openmp_acquired(t, construct, (uintptr_t)lock);
}

static void released(const void *caller, enum pml__log_openmp_construct construct, const void *lock) {
  struct pml__openmp_thread *t = pml__gomp_self(caller);
  if (t != NULL) pml__openmp_released(t, construct, (uintptr_t)lock);
}

#define PAIRS(X) X(critical, CRITICAL) X(ordered, ORDERED)
#define PAIR(kind, construct)                                                                                          \
  static const char kind##_lock;                                                                                       \
  PML_API procedure GOMP_##kind##_start, GOMP_##kind##_end;                                                            \
  PML_API void GOMP_##kind##_start(void) {                                                                             \
    const void *caller = PML__GOMP_CALLER;                                                                             \
    PML__GOMP_REAL(procedure, GOMP_##kind##_start, caller);                                                            \
    struct pml__openmp_thread *t = acquire(caller, PML__LOG_OPENMP_##construct);                                       \
    real();                                                                                                            \
    acquired(t, PML__LOG_OPENMP_##construct, &kind##_lock);                                                            \
  }                                                                                                                    \
  PML_API void GOMP_##kind##_end(void) {                                                                               \
    const void *caller = PML__GOMP_CALLER;                                                                             \
    PML__GOMP_REAL(procedure, GOMP_##kind##_end, caller);                                                              \
    released(caller, PML__LOG_OPENMP_##construct, &kind##_lock);                                                       \
    real();                                                                                                            \
  }
PAIRS(PAIR)

typedef void of_lock(void *);
PML_API of_lock GOMP_critical_name_start, GOMP_critical_name_end;
PML_API void GOMP_critical_name_start(void *lock) {
  const void *caller = PML__GOMP_CALLER;
  PML__GOMP_REAL(of_lock, GOMP_critical_name_start, caller);
  struct pml__openmp_thread *t = acquire(caller, PML__LOG_OPENMP_CRITICAL);
  real(lock);
  acquired(t, PML__LOG_OPENMP_CRITICAL, lock);
}
PML_API void GOMP_critical_name_end(void *lock) {
  const void *caller = PML__GOMP_CALLER;
  PML__GOMP_REAL(of_lock, GOMP_critical_name_end, caller);
  released(caller, PML__LOG_OPENMP_CRITICAL, lock);
  real(lock);
}

#define LOCKS(X) X(omp_set_lock, omp_unset_lock) X(omp_set_nest_lock, omp_unset_nest_lock)
#define LOCK(set, unset)                                                                                               \
  PML_API of_lock set, unset;                                                                                          \
  PML_API void set(void *lock) {                                                                                       \
    const void *caller = PML__GOMP_CALLER;                                                                             \
    PML__GOMP_REAL(of_lock, set, caller);                                                                              \
    struct pml__openmp_thread *t = acquire(caller, PML__LOG_OPENMP_LOCK);                                              \
    real(lock);                                                                                                        \
    acquired(t, PML__LOG_OPENMP_LOCK, lock);                                                                           \
  }                                                                                                                    \
  PML_API void unset(void *lock) {                                                                                     \
    const void *caller = PML__GOMP_CALLER;                                                                             \
    PML__GOMP_REAL(of_lock, unset, caller);                                                                            \
    released(caller, PML__LOG_OPENMP_LOCK, lock);                                                                      \
    real(lock);                                                                                                        \
  }
LOCKS(LOCK)
