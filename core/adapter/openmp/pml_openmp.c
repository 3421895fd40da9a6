/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/openmp/pml_openmp.c - constructs of a thread, innermost last, as enters, leaves and sums. */
#include "adapter/arch/pml_call.h"
#include "adapter/openmp/pml_openmp_private.h"
#include "base/pml_cancel.h"
#include "base/pml_clock.h"
#include "base/pml_own.h"
#include "base/pml_stream.h"

#include <stdlib.h>

#define DEPTH_MAX 65536u
#define TASKS_AT_ONCE 1024u /* numbers that a thread takes for tasks that it will create */

static uint32_t teams, tasks, acquisitions; /* atomic: numbers that were given */

/* At most two values. */
static void tell(uint64_t ticks, enum pml__log_openmp_event what, const uint64_t *values, uint32_t n) {
  if (!pml_stream_wanted(PML_STREAM_OPENMP)) return;
  const uint64_t pair[2] = {n > 0 ? values[0] : 0, n > 1 ? values[1] : 0};
  const struct pml_stream_event e = {.ticks = ticks, .region = PML__LOG_COMMUNICATED(what, n, 0), .values = pair};
  pml_stream_raise(PML_STREAM_OPENMP, &e);
}

/* ---- time ---- */

/* Once its team has ended, a thread of it did nothing but wait. */
static uint64_t now(const struct pml__openmp_thread *t) {
  uint64_t ticks = pml_clock_ticks(), ended;
  if (t->role.team == NULL) return ticks;
  ended = __atomic_load_n(&t->role.team->ended, __ATOMIC_ACQUIRE);
  return PML_UNLIKELY(ended != 0) && ended < ticks ? ended : ticks;
}

static void raise_event(enum pml_stream_kind kind, const struct pml__openmp_place *p, uint64_t ticks) {
  struct pml_stream_event e = {.ticks = ticks, .region = p->region};
  if (p->region == 0 || !pml_stream_wanted(kind)) return;
  const struct pml__call_counting *counting = __atomic_load_n(&pml__call_counting, __ATOMIC_ACQUIRE);
  if (PML_UNLIKELY(counting != NULL)) counting->read(&e);
  pml_stream_raise(kind, &e);
}

/* ---- constructs ---- */

__attribute__((noinline, cold)) static bool deepen(struct pml__openmp_thread *t) {
  uint32_t more = t->capacity == 0 ? 32 : 2 * t->capacity;
  if (more > DEPTH_MAX) return false;
  int cancel = pml__cancel_hold();
  struct pml__openmp_frame *frame = realloc(t->frame, more * sizeof *frame);
  if (frame != NULL) {
    t->frame = frame;
    t->capacity = more;
  }
  pml__cancel_again(cancel);
  return frame != NULL;
}

/* NULL: no room; its leave finds none, either. */
static struct pml__openmp_frame *push(struct pml__openmp_thread *t, struct pml__openmp_place *p, uint64_t ticks) {
  if (p == NULL || t->beyond > 0 || (t->depth == t->capacity && !deepen(t))) {
    t->beyond++;
    return NULL;
  }
  struct pml__openmp_frame *f = &t->frame[t->depth++];
  *f = (struct pml__openmp_frame){.place = p, .begin = ticks, .waited = t->waited, .before = t->role};
  return f;
}

static struct pml__openmp_frame *innermost(struct pml__openmp_thread *t) {
  return t->depth > 0 && t->beyond == 0 ? &t->frame[t->depth - 1] : NULL;
}

static struct pml__openmp_frame *open_construct(struct pml__openmp_thread *t, struct pml__openmp_place *p) {
  uint64_t ticks = now(t);
  struct pml__openmp_frame *f = push(t, p, ticks);
  if (f != NULL) raise_event(PML_STREAM_ENTER, p, ticks);
  return f;
}

static void add(struct pml__log_openmp *sums, const struct pml__openmp_thread *t, uint64_t ticks, uint64_t waited) {
  if (sums->threads < t->role.threads) sums->threads = t->role.threads;
  pml__own_add(&sums->calls, 1);
  pml__own_add(&sums->ticks, ticks);
  pml__own_add(&sums->waited, waited);
}

/* Of a wait: tasks that the thread executed meanwhile are work. */
static void stop_waiting(struct pml__openmp_thread *t, struct pml__openmp_frame *f, uint64_t ticks) {
  uint64_t all = ticks - f->waiting;
  if (all > f->tasks) t->waited += all - f->tasks;
  f->waiting = f->tasks = 0;
}

static void pop(struct pml__openmp_thread *t, uint64_t ticks) {
  struct pml__openmp_frame *f = &t->frame[t->depth - 1];
  uint64_t took = ticks - f->begin;
  if (PML_UNLIKELY(f->waiting != 0)) stop_waiting(t, f, ticks);
  add(f->place->sums, t, took, t->waited - f->waited);
  if (f->place->construct == PML__LOG_OPENMP_TASK && t->depth > 1) f[-1].tasks += took;
  raise_event(PML_STREAM_LEAVE, f->place, ticks);
  t->role = f->before;
  t->depth--;
}

static void pop_to(struct pml__openmp_thread *t, uint32_t depth, uint64_t ticks) {
  t->beyond = 0;
  while (t->depth > depth) pop(t, ticks);
}

/* The depth of the innermost @construct of the current task; 0: not inside one. */
static uint32_t depth_of(const struct pml__openmp_thread *t, enum pml__log_openmp_construct construct) {
  for (uint32_t depth = t->depth; depth > 0; depth--) {
    enum pml__log_openmp_construct is = t->frame[depth - 1].place->construct;
    if (is == construct) return depth;
    if (is == PML__LOG_OPENMP_IMPLICIT_TASK || is == PML__LOG_OPENMP_TASK) return 0;
  }
  return 0;
}

void pml__openmp_enter(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct, const void *code) {
  if (code == NULL && t->role.team != NULL) code = t->role.team->code;
  (void)open_construct(t, pml__openmp_place(t, construct, code));
}

void pml__openmp_leave(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct) {
  if (PML_UNLIKELY(t->beyond > 0)) {
    t->beyond--;
    return;
  }
  uint32_t depth = depth_of(t, construct);
  if (depth > 0) pop_to(t, depth - 1, now(t));
}

void pml__openmp_count(struct pml__openmp_thread *t, uint64_t n) {
  struct pml__openmp_frame *f = innermost(t);
  if (f != NULL && t->role.index == 0) pml__own_add(&f->place->sums->count, n);
}

void pml__openmp_wait(struct pml__openmp_thread *t) {
  struct pml__openmp_frame *f = innermost(t);
  if (f == NULL) return;
  f->tasks = 0;
  f->waiting = now(t);
}

void pml__openmp_waited(struct pml__openmp_thread *t) {
  struct pml__openmp_frame *f = innermost(t);
  if (f != NULL && f->waiting != 0) stop_waiting(t, f, now(t));
}

/* ---- teams ---- */

static void release(struct pml__openmp_team *team) {
  __atomic_fetch_sub(&team->holders, 1, __ATOMIC_RELEASE);
}

__attribute__((noinline, cold)) static struct pml__openmp_team *new_team(struct pml__openmp_thread *t) {
  int cancel = pml__cancel_hold();
  struct pml__openmp_team *team = calloc(1, sizeof *team);
  pml__cancel_again(cancel);
  if (team == NULL) return NULL;
  team->next = t->teams;
  t->teams = team;
  return team;
}

/* The release of the last holder comes before all that is written here. */
static struct pml__openmp_team *free_team(struct pml__openmp_thread *t) {
  struct pml__openmp_team *team = t->teams;
  while (team != NULL && __atomic_load_n(&team->holders, __ATOMIC_ACQUIRE) != 0) team = team->next;
  return team != NULL ? team : new_team(t);
}

struct pml__openmp_team *pml__openmp_fork(struct pml__openmp_thread *t, const void *code, uint32_t asked) {
  uint64_t value = asked;
  struct pml__openmp_team *team = free_team(t);
  struct pml__openmp_frame *f = open_construct(t, pml__openmp_place(t, PML__LOG_OPENMP_PARALLEL, code));
  if (team == NULL) return NULL;
  team->code = code;
  team->number = __atomic_add_fetch(&teams, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&team->ended, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&team->holders, 1, __ATOMIC_RELAXED);
  if (f != NULL) tell(f->begin, PML__LOG_OPENMP_FORK, &value, 1);
  return team;
}

void pml__openmp_join(struct pml__openmp_thread *t, struct pml__openmp_team *team) {
  uint64_t ticks = now(t);
  if (team != NULL) {
    __atomic_store_n(&team->ended, ticks, __ATOMIC_RELEASE);
    release(team);
  }
  if (t->beyond > 0) {
    t->beyond--;
    return;
  }
  uint32_t depth = depth_of(t, PML__LOG_OPENMP_PARALLEL);
  if (depth == 0) return;
  pop_to(t, depth, ticks);
  tell(ticks, PML__LOG_OPENMP_JOIN, NULL, 0);
  pop(t, ticks);
}

void pml__openmp_begin(struct pml__openmp_thread *t, struct pml__openmp_team *team, void *task, uint32_t index,
                       uint32_t threads) {
  const struct pml__openmp_role before = t->role;
  t->role = (struct pml__openmp_role){team, index, threads};
  struct pml__openmp_frame *f = open_construct(t, pml__openmp_place(t, PML__LOG_OPENMP_IMPLICIT_TASK, team->code));
  if (f == NULL) {
    t->role = before;
    return;
  }
  f->before = before;
  f->task = task;
  __atomic_fetch_add(&team->holders, 1, __ATOMIC_RELAXED);
  const uint64_t value[2] = {team->number, (uint64_t)index << 32 | threads};
  tell(f->begin, PML__LOG_OPENMP_TEAM_BEGIN, value, 2);
}

/* The number counts for the sums of the task, too. */
void pml__openmp_end(struct pml__openmp_thread *t) {
  uint32_t depth = t->depth;
  if (t->beyond > 0) {
    t->beyond--;
    return;
  }
  while (depth > 0 && t->frame[depth - 1].place->construct != PML__LOG_OPENMP_IMPLICIT_TASK) depth--;
  if (depth == 0) return;
  struct pml__openmp_team *team = t->role.team;
  uint64_t ticks = now(t), value = team->number;
  pop_to(t, depth, ticks);
  tell(ticks, PML__LOG_OPENMP_TEAM_END, &value, 1);
  pop(t, ticks);
  release(team);
}

/* ---- tasks ---- */

/* Number, thread, region: 32, 12 and 20 bits. */
#define REGION_BITS 20
#define THREAD_BITS 12
static pml_region_t region_of(uint64_t task) {
  return (pml_region_t)(task & ((1u << REGION_BITS) - 1));
}
static uint64_t name_of(uint64_t task) {
  return (task >> REGION_BITS & ((1u << THREAD_BITS) - 1)) << 32 | task >> (REGION_BITS + THREAD_BITS);
}

static uint32_t next_task(struct pml__openmp_thread *t) {
  if (t->task == t->tasks_end) {
    t->task = __atomic_fetch_add(&tasks, TASKS_AT_ONCE, __ATOMIC_RELAXED);
    t->tasks_end = t->task + TASKS_AT_ONCE;
  }
  return ++t->task;
}

uint64_t pml__openmp_create(struct pml__openmp_thread *t, const void *code) {
  struct pml__openmp_place *p = pml__openmp_place(t, PML__LOG_OPENMP_TASK_CREATION, code);
  if (p == NULL || p->region >> REGION_BITS != 0) return 0;
  struct pml__log_openmp *sums = p->sums;
  pml__own_add(&sums->count, 1);
  if (sums->threads < t->role.threads) sums->threads = t->role.threads;
  uint64_t thread = t->role.index & ((1u << THREAD_BITS) - 1);
  uint64_t task = ((uint64_t)next_task(t) << THREAD_BITS | thread) << REGION_BITS | p->region, value = name_of(task);
  tell(now(t), PML__LOG_OPENMP_TASK_CREATED, &value, 1);
  return task;
}

/* The depth of the task at @task on the stack of executed ones; 0: not executed. */
static uint32_t depth_of_task(const struct pml__openmp_thread *t, const void *task) {
  uint32_t depth = t->depth;
  while (depth > 0 && t->frame[depth - 1].task != task) depth--;
  return depth;
}

static uint32_t depth_of_explicit(const struct pml__openmp_thread *t) {
  uint32_t depth = t->depth;
  while (depth > 0 && t->frame[depth - 1].task == NULL) depth--;
  return depth > 0 && t->frame[depth - 1].place->construct == PML__LOG_OPENMP_TASK ? depth : 0;
}

/* The task before leaves the stack when it is complete, and when what called it goes on. */
static void leave_task(struct pml__openmp_thread *t, uint32_t depth, bool complete, uint64_t ticks) {
  uint64_t value = name_of(t->frame[depth - 1].number);
  if (complete) tell(ticks, PML__LOG_OPENMP_TASK_COMPLETE, &value, 1);
  pop_to(t, depth - 1, ticks);
}

static bool enter_task(struct pml__openmp_thread *t, void *task, uint64_t number) {
  const void *region = (const void *)(uintptr_t)region_of(number);
  struct pml__openmp_frame *f = open_construct(t, pml__openmp_place(t, PML__LOG_OPENMP_TASK, region));
  if (f == NULL) return false;
  f->task = task;
  f->number = number;
  return true;
}

void pml__openmp_switch(struct pml__openmp_thread *t, bool complete, void *task, uint64_t next) {
  uint64_t ticks = now(t), value = next != 0 ? name_of(next) : 0;
  uint32_t before = depth_of_explicit(t), depth = depth_of_task(t, task);
  if (before > depth && (complete || depth > 0)) leave_task(t, before, complete, ticks);
  if (depth == 0 && next != 0 && !enter_task(t, task, next)) return;
  tell(ticks, PML__LOG_OPENMP_TASK_SWITCH, &value, 1);
}

void pml__openmp_complete(struct pml__openmp_thread *t) {
  uint64_t ticks = now(t);
  uint32_t depth = depth_of_explicit(t);
  if (depth > 0) leave_task(t, depth, true, ticks);
  depth = depth_of_explicit(t);
  uint64_t value = depth > 0 ? name_of(t->frame[depth - 1].number) : 0;
  tell(ticks, PML__LOG_OPENMP_TASK_SWITCH, &value, 1);
}

void pml__openmp_lock(struct pml__openmp_thread *t, enum pml__log_openmp_event what, uint64_t lock) {
  uint64_t value[2] = {lock};
  if (t == NULL || !pml_stream_wanted(PML_STREAM_OPENMP)) return;
  bool acquired = what == PML__LOG_OPENMP_LOCK_ACQUIRED;
  if (acquired) value[1] = __atomic_add_fetch(&acquisitions, 1, __ATOMIC_RELAXED);
  tell(now(t), what, value, acquired ? 2 : 1);
}
