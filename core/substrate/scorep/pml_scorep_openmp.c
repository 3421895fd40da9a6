/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/scorep/pml_scorep_openmp.c - delivery of OpenMP's teams, tasks and locks to a substrate plugin. */
#include "substrate/scorep/pml_scorep_private.h"

#include "base/pml_map.h"
#include "base/pml_thread.h"
#include "record/log/pml_log_format.h"

#define LOCKS 4096u       /* locks with separate numbers; a power of two */
#define OTHER_LOCKS LOCKS /* the number of all other locks */

/* ---- handles ---- */

/* The number of the lock at @address, from 0, the same for all plugins. */
static uint32_t lock_number(uint64_t address) {
  static _Atomic uint64_t known[LOCKS];
  uint32_t i = (uint32_t)(address * PML__HASH_FACTOR >> 32);
  for (uint32_t n = 0; n < LOCKS; n++, i++) {
    uint64_t is = 0;
    if (atomic_compare_exchange_strong(&known[i % LOCKS], &is, address) || is == address) return i % LOCKS;
  }
  return OTHER_LOCKS;
}

/* A task's word combines its number and its creator's number in the team; 0: the implicit task. */
static SCOREP_TaskHandle task_handle(uint64_t task) {
  return (SCOREP_TaskHandle)(uintptr_t)task; /* NOLINT(performance-no-int-to-ptr) */
}
static uint32_t creator(uint64_t task) {
  return (uint32_t)(task >> 32);
}
static uint32_t generation(uint64_t task) {
  return (uint32_t)task;
}

/* ---- position of a thread ---- */

static struct pml__scorep_member *innermost(struct pml__scorep_openmp *o) {
  uint32_t depth = o->nteams < PML__SCOREP_TEAMS ? o->nteams : PML__SCOREP_TEAMS;
  return &o->team[depth > 0 ? depth - 1 : 0];
}

/* Tasks of outer teams continue when the innermost team ends. */
static void begin_team(struct pml__scorep_openmp *o, uint64_t number, uint32_t index) {
  if (o->nteams++ < PML__SCOREP_TEAMS) *innermost(o) = (struct pml__scorep_member){number, index, o->ntasks};
}

static void end_team(struct pml__scorep_openmp *o) {
  if (o->nteams == 0) return;
  if (o->nteams <= PML__SCOREP_TEAMS) o->ntasks = innermost(o)->tasks;
  o->nteams--;
}

/* Returns true if the thread returns to a task that it has begun; false if the task begins. */
static bool return_to(struct pml__scorep_openmp *o, uint64_t task) {
  uint32_t i = o->ntasks, first = innermost(o)->tasks;
  while (i > first && o->task[i - 1] != task) i--;
  bool begun = task == 0 || i > first;
  if (begun)
    o->ntasks = task == 0 ? first : i;
  else if (o->ntasks < PML__SCOREP_TASKS)
    o->task[o->ntasks++] = task;
  return begun;
}

static void complete(struct pml__scorep_openmp *o, uint64_t task) {
  if (o->ntasks > 0 && o->task[o->ntasks - 1] == task) o->ntasks--;
}

static void hold(struct pml__scorep_openmp *o, uint32_t lock, uint32_t order) {
  if (o->nheld < PML__SCOREP_HELD) o->held[o->nheld++] = (struct pml__scorep_held){lock, order};
}

/* The order of the acquisition that ends; 0: unknown. */
static uint32_t release(struct pml__scorep_openmp *o, uint32_t lock) {
  for (uint32_t i = o->nheld; i-- > 0;) {
    if (o->held[i].lock != lock) continue;
    uint32_t order = o->held[i].order;
    o->held[i] = o->held[--o->nheld];
    return order;
  }
  return 0;
}

/* ---- delivery ---- */

static SCOREP_RegionHandle open_region(const struct pml__scorep_stream *l) {
  uint32_t depth = l->depth < PML_SCOREP_DEPTH_MAX ? l->depth : PML_SCOREP_DEPTH_MAX;
  return depth > 0 ? l->open[depth - 1] : SCOREP_MOVABLE_NULL;
}

static void switch_to(struct pml__scorep_stream *l, const struct pml__scorep_functions *f, uint64_t ticks,
                      uint64_t task) {
  bool begun = return_to(&l->openmp, task);
  const struct pml__scorep_member *in = innermost(&l->openmp);
  SCOREP_InterimCommunicatorHandle team = pml__scorep_team_handle(in->team);
  uint32_t thread = task != 0 ? creator(task) : in->index;
  if (begun && f->task_switch != NULL)
    f->task_switch(l->location, ticks, l->values, SCOREP_PARADIGM_OPENMP, team, thread, generation(task),
                   task_handle(task));
  if (!begun && f->task_begin != NULL)
    f->task_begin(l->location, ticks, open_region(l), l->values, SCOREP_PARADIGM_OPENMP, team, thread, generation(task),
                  task_handle(task));
}

static void end_task(struct pml__scorep_stream *l, const struct pml__scorep_functions *f, uint64_t ticks,
                     uint64_t task) {
  complete(&l->openmp, task);
  if (f->task_end != NULL)
    f->task_end(l->location, ticks, open_region(l), l->values, SCOREP_PARADIGM_OPENMP,
                pml__scorep_team_handle(innermost(&l->openmp)->team), creator(task), generation(task),
                task_handle(task));
}

static void of_lock(struct pml__scorep_stream *l, const struct pml__scorep_functions *f,
                    const struct pml_stream_event *e, bool acquired) {
  uint32_t lock = lock_number(e->values[0]);
  uint32_t order = acquired ? (uint32_t)e->values[1] : release(&l->openmp, lock);
  SCOREP_Substrates_ThreadAcquireLockCb function = acquired ? f->acquire : f->release;
  if (acquired) hold(&l->openmp, lock, order);
  if (function != NULL) function(l->location, e->ticks, SCOREP_PARADIGM_OPENMP, lock, order);
}

static void of_team(struct pml__scorep_stream *l, const struct pml__scorep_functions *f,
                    const struct pml_stream_event *e, bool begins) {
  if (begins) begin_team(&l->openmp, e->values[0], (uint32_t)(e->values[1] >> 32));
  if (begins && f->team_begin != NULL)
    f->team_begin(l->location, e->ticks, SCOREP_PARADIGM_OPENMP, pml__scorep_team_handle(e->values[0]),
                  (uint64_t)pml_thread_self()->tid);
  if (!begins && f->team_end != NULL)
    f->team_end(l->location, e->ticks, SCOREP_PARADIGM_OPENMP, pml__scorep_team_handle(e->values[0]));
  if (!begins) end_team(&l->openmp);
}

void pml__scorep_hand_openmp(struct pml__scorep_stream *l, const struct pml_stream_event *e) {
  const struct pml__scorep_functions *f = atomic_load_explicit(&l->plugin->now, memory_order_acquire);
  uint32_t what = PML__LOG_COMMUNICATED_WHAT(e->region);
  switch (what) {
  case PML__LOG_OPENMP_FORK:
    if (f->fork != NULL)
      f->fork(l->location, e->ticks, SCOREP_PARADIGM_OPENMP, (uint32_t)e->values[0],
              atomic_fetch_add(&l->plugin->forks, 1));
    break;
  case PML__LOG_OPENMP_JOIN:
    if (f->join != NULL) f->join(l->location, e->ticks, SCOREP_PARADIGM_OPENMP);
    break;
  case PML__LOG_OPENMP_TEAM_BEGIN:
  case PML__LOG_OPENMP_TEAM_END:
    of_team(l, f, e, what == PML__LOG_OPENMP_TEAM_BEGIN);
    break;
  case PML__LOG_OPENMP_TASK_CREATED:
    if (f->task_create != NULL)
      f->task_create(l->location, e->ticks, SCOREP_PARADIGM_OPENMP,
                     pml__scorep_team_handle(innermost(&l->openmp)->team), creator(e->values[0]),
                     generation(e->values[0]));
    break;
  case PML__LOG_OPENMP_TASK_SWITCH:
    switch_to(l, f, e->ticks, e->values[0]);
    break;
  case PML__LOG_OPENMP_TASK_COMPLETE:
    end_task(l, f, e->ticks, e->values[0]);
    break;
  case PML__LOG_OPENMP_LOCK_ACQUIRED:
  case PML__LOG_OPENMP_LOCK_RELEASED:
    of_lock(l, f, e, what == PML__LOG_OPENMP_LOCK_ACQUIRED);
    break;
  default:
    break;
  }
}

uint64_t pml__scorep_team(const struct pml__scorep_stream *l) {
  uint32_t depth = l->openmp.nteams;
  return depth > 0 ? l->openmp.team[depth < PML__SCOREP_TEAMS ? depth - 1 : PML__SCOREP_TEAMS - 1].team : 0;
}

bool pml__scorep_wants_openmp(const struct pml__scorep_functions *f) {
  return f->acquire != NULL || f->release != NULL || f->fork != NULL || f->join != NULL || f->team_begin != NULL ||
         f->team_end != NULL || f->task_create != NULL || f->task_switch != NULL || f->task_begin != NULL ||
         f->task_end != NULL;
}
