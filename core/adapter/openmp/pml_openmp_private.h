/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/openmp/pml_openmp_private.h - teams, constructs under way and tasks, whichever runtime has them.
 * Internal. */
#ifndef PML_OPENMP_PRIVATE_H
#define PML_OPENMP_PRIVATE_H

#include "adapter/openmp/pml_openmp.h"
#include "base/pml_region.h"
#include "record/log/pml_log_format.h"

#include <stdbool.h>
#include <stddef.h>

/* One construct at one address of the code, as one thread executes it with one number in its team. */
struct pml__openmp_place {
  const void *code;
  enum pml__log_openmp_construct construct;
  uint32_t index;
  pml_region_t region;          /* 0: it is not chosen, or there is no memory */
  struct pml__log_openmp *sums; /* in the log; &own where that has no room */
  _Alignas(64) struct pml__log_openmp own;
};

/*
 * A parallel region while it is executed, in memory of the thread that forked it. That thread uses it again when nobody
 * holds it: neither the fork itself nor a member that has not ended its implicit task.
 */
struct pml__openmp_team {
  struct pml__openmp_team *next;
  const void *code;
  uint32_t number;  /* of the process, from 1 on */
  uint32_t holders; /* atomic */
  uint64_t ended;   /* atomic: ticks of the join; 0: not yet */
};

/* What a thread is in its innermost team; zeros: it is in none. */
struct pml__openmp_role {
  struct pml__openmp_team *team;
  uint32_t index, threads;
};

/* A construct under way. */
struct pml__openmp_frame {
  struct pml__openmp_place *place;
  void *task;                     /* of an explicit or implicit task: its data in the runtime */
  uint64_t number;                /* of an explicit task, as pml__openmp_create() gave it */
  uint64_t begin;                 /* ticks */
  uint64_t waiting;               /* ticks when a wait in it began; 0: it does not wait */
  uint64_t tasks;                 /* ticks of tasks that were executed in it */
  uint64_t waited;                /* the thread's when it began */
  struct pml__openmp_role before; /* an implicit task changes it */
};

struct pml__openmp_thread {
  uint64_t process; /* whose all this is: a child's logs are its own */
  struct pml__openmp_role role;
  enum pml_openmp_runtime runtime; /* of its last event */
  uint64_t waited;                 /* ticks, of all waits that ended */
  struct pml__openmp_frame *frame;
  uint32_t depth, capacity, beyond; /* constructs that found no room, innermost */
  struct pml__openmp_place **place; /* [nplaces] a power of two, at most half of them used */
  size_t nplaces, used;
  struct pml__openmp_team *teams; /* that it forked */
  uint32_t task, tasks_end;       /* numbers of tasks that it may give */
};

/*
 * pml__openmp_self - the calling thread, of which @runtime tells, or NULL: no memory. Slow at a thread's first call,
 * and after a fork.
 */
PML__SHARED struct pml__openmp_thread *pml__openmp_self(enum pml_openmp_runtime runtime);

/* pml__openmp_place - a construct at @code, an address that a call returns to, or NULL. NULL: no memory. */
struct pml__openmp_place *pml__openmp_place(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct,
                                            const void *code);

/* pml__openmp_fork - the team of a parallel region that @t begins. NULL: no memory. pml__openmp_join - its end. */
PML__SHARED struct pml__openmp_team *pml__openmp_fork(struct pml__openmp_thread *t, const void *code, uint32_t asked);
PML__SHARED void pml__openmp_join(struct pml__openmp_thread *t, struct pml__openmp_team *team);

/* pml__openmp_begin, _end - @t is thread @index of @team; constructs that it left open end with its task. */
PML__SHARED void pml__openmp_begin(struct pml__openmp_thread *t, struct pml__openmp_team *team, void *task,
                                   uint32_t index, uint32_t threads);
PML__SHARED void pml__openmp_end(struct pml__openmp_thread *t);

/* pml__openmp_enter - a construct begins; pml__openmp_leave - the innermost one ends, if it is a @construct. */
PML__SHARED void pml__openmp_enter(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct,
                                   const void *code);
PML__SHARED void pml__openmp_leave(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct);
/* pml__openmp_count - the innermost construct has that many iterations, or sections. */
PML__SHARED void pml__openmp_count(struct pml__openmp_thread *t, uint64_t n);

/* Waiting in the innermost construct. */
PML__SHARED void pml__openmp_wait(struct pml__openmp_thread *t);
PML__SHARED void pml__openmp_waited(struct pml__openmp_thread *t);

/*
 * A task is known by 64 bits that the runtime keeps for it: its number, who created it, and its region.
 * pml__openmp_create - a new one. pml__openmp_switch - @t executes @next, whose data in the runtime are at @task, in
 * place of what it executed, which is complete if @complete.
 */
PML__SHARED uint64_t pml__openmp_create(struct pml__openmp_thread *t, const void *code);
PML__SHARED void pml__openmp_switch(struct pml__openmp_thread *t, bool complete, void *task, uint64_t next);
/* pml__openmp_complete - the task that @t executes is complete; it goes on with what executed it. */
PML__SHARED void pml__openmp_complete(struct pml__openmp_thread *t);

/* pml__openmp_lock - an acquisition or a release of the lock at @lock by @t. */
PML__SHARED void pml__openmp_lock(struct pml__openmp_thread *t, enum pml__log_openmp_event what, uint64_t lock);

#endif
