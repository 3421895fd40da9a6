/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/openmp/pml_openmp_private.h - teams, open constructs and tasks of any runtime. Internal. */
#ifndef PML_OPENMP_PRIVATE_H
#define PML_OPENMP_PRIVATE_H

#include "adapter/openmp/pml_openmp.h"
#include "base/pml_map.h"
#include "base/pml_process.h"
#include "base/pml_region.h"
#include "record/log/pml_log_format.h"

#include <stdbool.h>
#include <stddef.h>

/* One construct at one address of the code, for a thread with one number in its team. */
struct pml__openmp_place {
  uint64_t key; /* from pml__openmp_key() */
  uint32_t index;
  enum pml__log_openmp_construct construct;
  pml_region_t region;          /* 0: not chosen, or out of memory */
  uint64_t waits;               /* all ones if the construct begins with a wait, otherwise 0 */
  struct pml__log_openmp *sums; /* in the log; &own if the log is full */
  _Alignas(64) struct pml__log_openmp own;
};

/*
 * A parallel region while it runs, in memory of the thread that forked it. That thread reuses it once it has no
 * holders: the fork itself and each member until the end of its implicit task.
 */
struct pml__openmp_team {
  struct pml__openmp_team *next;
  const void *code;
  uint32_t number;  /* in the process, from 1 */
  uint32_t holders; /* atomic */
  uint64_t ended;   /* atomic: ticks of the join; 0 while it runs */
};

/* A thread's role in its innermost team; zeros outside teams. */
struct pml__openmp_role {
  struct pml__openmp_team *team;
  uint32_t index, threads;
};

/* An open construct; fills a cache line. */
struct pml__openmp_frame {
  struct pml__openmp_place *place;
  void *task;       /* the runtime's data of an implicit or explicit task; otherwise NULL */
  uint64_t begin;   /* ticks */
  uint64_t waiting; /* ticks at the begin of a wait in it; 0 outside waits */
  uint64_t tasks;   /* ticks of tasks that ran during this wait */
  uint64_t waited;  /* the thread's value when the construct began */
  union {
    struct pml__openmp_role before; /* for an implicit task: the thread's role outside it */
    uint64_t number;                /* for an explicit task, from pml__openmp_create() */
  };
};

struct pml__openmp_thread {
  uint64_t process; /* the process it belongs to: a forked child begins again */
  struct pml__openmp_role role;
  uint64_t waited; /* ticks of all completed waits */
  struct pml__openmp_frame *frame;
  uint32_t depth, capacity, overflow; /* overflow: innermost constructs without room */
  enum pml_openmp_runtime runtime;    /* of the last event */
  struct pml__openmp_place **place;   /* [mask + 1], a power of two, at most half full */
  size_t mask, used;
  struct pml__openmp_team *teams; /* teams forked by this thread */
  uint32_t task, tasks_end;       /* reserved task numbers */
};

#pragma GCC visibility push(hidden)

/* The calling thread; NULL before its first event. */
extern PML_THREAD_LOCAL struct pml__openmp_thread *pml__openmp_known __attribute__((tls_model("initial-exec")));

/* The slow paths of pml__openmp_self() and pml__openmp_place(): a thread's first call, after a fork, a new place. */
struct pml__openmp_thread *pml__openmp_begin_thread(enum pml_openmp_runtime runtime);
struct pml__openmp_place *pml__openmp_find_place(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct,
                                                 uint64_t key);

#pragma GCC visibility pop

/* Returns false before a thread's first event, and in a child. */
static inline bool pml__openmp_is_current(const struct pml__openmp_thread *t) {
  return PML_LIKELY(t != NULL) && PML_LIKELY(t->process == __atomic_load_n(pml__process_number, __ATOMIC_RELAXED));
}

/* pml__openmp_here - the calling thread, for events of @runtime, or NULL without memory. Only for this library;
 * pml__openmp_self() is the same for others. */
static inline struct pml__openmp_thread *pml__openmp_here(enum pml_openmp_runtime runtime) {
  struct pml__openmp_thread *t = pml__openmp_known;
  return PML_LIKELY(pml__openmp_is_current(t) && t->runtime == runtime) ? t : pml__openmp_begin_thread(runtime);
}
PML__SHARED struct pml__openmp_thread *pml__openmp_self(enum pml_openmp_runtime runtime);

/* The return address of a call, or a task's region, above the bits of the construct: the lowest bits change a hash
 * most. */
#define PML__OPENMP_CONSTRUCT_BITS 5
_Static_assert(PML__LOG_OPENMP_CONSTRUCTS <= 1 << PML__OPENMP_CONSTRUCT_BITS, "a key has room for each construct");
static inline uint64_t pml__openmp_key(enum pml__log_openmp_construct construct, const void *code) {
  return (uint64_t)(uintptr_t)code << PML__OPENMP_CONSTRUCT_BITS | (uint64_t)construct;
}

static inline size_t pml__openmp_hash(uint64_t key, uint32_t index) {
  return (size_t)((key ^ (uint64_t)index << 40) * PML__HASH_FACTOR >> 32);
}

static inline struct pml__openmp_place *pml__openmp_glance(const struct pml__openmp_thread *t,
                                                           enum pml__log_openmp_construct construct, const void *code) {
  uint64_t key = pml__openmp_key(construct, code);
  struct pml__openmp_place *p = t->place[pml__openmp_hash(key, t->role.index) & t->mask];
  return PML_LIKELY(p != NULL && p->key == key && p->index == t->role.index) ? p : NULL;
}

/* pml__openmp_place - a construct of the calling thread at @code, which may be NULL. Returns NULL without memory. */
static inline struct pml__openmp_place *pml__openmp_place(struct pml__openmp_thread *t,
                                                          enum pml__log_openmp_construct construct, const void *code) {
  struct pml__openmp_place *p = pml__openmp_glance(t, construct, code);
  return PML_LIKELY(p != NULL) ? p : pml__openmp_find_place(t, construct, pml__openmp_key(construct, code));
}

/* pml__openmp_fork - begin the team of a parallel region in @t; NULL without memory. pml__openmp_join - end it. */
PML__SHARED struct pml__openmp_team *pml__openmp_fork(struct pml__openmp_thread *t, const void *code, uint32_t asked);
PML__SHARED void pml__openmp_join(struct pml__openmp_thread *t, struct pml__openmp_team *team);

/* pml__openmp_begin - make @t thread @index of @team; _end - end its part, and constructs that are still open. */
PML__SHARED void pml__openmp_begin(struct pml__openmp_thread *t, struct pml__openmp_team *team, void *task,
                                   uint32_t index, uint32_t threads);
PML__SHARED void pml__openmp_end(struct pml__openmp_thread *t);

/*
 * pml__openmp_enter - begin a construct, with @count iterations or sections, or 0; pml__openmp_leave - end the
 * innermost @construct of the current task. Barriers, taskwaits, critical sections, ordered constructs and locks begin
 * with a wait.
 */
PML__SHARED void pml__openmp_enter(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct,
                                   const void *code, uint64_t count);
PML__SHARED void pml__openmp_leave(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct);

/* pml__openmp_wait - begin a wait in the innermost construct; pml__openmp_waited - end it, at the latest with the
 * construct. */
PML__SHARED void pml__openmp_wait(struct pml__openmp_thread *t);
void pml__openmp_waited(struct pml__openmp_thread *t);

/*
 * The runtime stores 64 bits for each task: its number, its creator and its region.
 * pml__openmp_create - the data of a new task. pml__openmp_switch - @t leaves its current task, which is complete if
 * @complete, for @next, whose data in the runtime is at @task. pml__openmp_complete - the current task of @t is
 * complete; @t returns to the interrupted task.
 */
PML__SHARED uint64_t pml__openmp_create(struct pml__openmp_thread *t, const void *code);
PML__SHARED void pml__openmp_switch(struct pml__openmp_thread *t, bool complete, void *task, uint64_t next);
PML__SHARED void pml__openmp_complete(struct pml__openmp_thread *t);

/*
 * pml__openmp_acquired - @t has acquired the lock at @lock, in a @construct begun by pml__openmp_enter():
 * PML__LOG_OPENMP_LOCK ends here, other constructs with pml__openmp_released(). NONE, for a tested lock: only an event.
 */
PML__SHARED void pml__openmp_acquired(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct,
                                      uint64_t lock);
PML__SHARED void pml__openmp_released(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct,
                                      uint64_t lock);

#endif
