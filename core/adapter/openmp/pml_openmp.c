/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/openmp/pml_openmp.c - per-thread stacks of open constructs: enters, leaves and sums. */
#include "adapter/arch/pml_call.h"
#include "adapter/openmp/pml_openmp_private.h"
#include "base/pml_array.h"
#include "base/pml_cancel.h"
#include "base/pml_clock.h"
#include "base/pml_own.h"
#include "base/stream/pml_stream_private.h"

#include <stdlib.h>

#define DEPTH_MAX 65536u
#define TASKS_AT_ONCE 1024u /* task numbers reserved by a thread at once */

static uint32_t teams, tasks, acquisitions; /* atomic: the last numbers in use */

/* ---- events ---- */

/* Functions end with these calls, so that the functions need not save their own values. */
__attribute__((always_inline)) static inline void emit_event(enum pml_stream_kind kind, pml_region_t region,
                                                             uint64_t ticks) {
  if (PML_UNLIKELY(region == 0) || !pml__stream_wanted(kind)) return;
  (void)(kind == PML_STREAM_ENTER ? pml__stream_emit_enter : pml__stream_emit_leave)(region, ticks);
}
__attribute__((noinline)) static void emit_enter(pml_region_t region, uint64_t ticks) {
  emit_event(PML_STREAM_ENTER, region, ticks);
}
__attribute__((noinline)) static void emit_leave(pml_region_t region, uint64_t ticks) {
  emit_event(PML_STREAM_LEAVE, region, ticks);
}

/* Emit an event of a team, a task or a lock with the first @n of the two values. */
#define EVENT(what, n) PML__LOG_COMMUNICATED(what, n, 0)
static void emit_note(uint64_t ticks, uint32_t what, uint64_t first, uint64_t second) {
  const uint64_t values[2] = {first, second};
  const struct pml_stream_event e = {.ticks = ticks, .region = what, .values = values};
  pml__stream_emit(PML_STREAM_OPENMP, &e);
}

static inline bool is_noted(void) {
  return PML_UNLIKELY(pml__stream_wanted(PML_STREAM_OPENMP));
}
static inline void note(uint64_t ticks, enum pml__log_openmp_event what, uint32_t n, uint64_t first, uint64_t second) {
  if (is_noted()) emit_note(ticks, EVENT(what, n), first, second);
}

__attribute__((noinline)) static void emit_enter_and_note(pml_region_t region, uint64_t ticks, uint32_t what,
                                                          uint64_t first, uint64_t second) {
  emit_event(PML_STREAM_ENTER, region, ticks);
  emit_note(ticks, what, first, second);
}
__attribute__((noinline)) static void note_and_emit_leave(pml_region_t region, uint64_t ticks, uint32_t what,
                                                          uint64_t first) {
  emit_note(ticks, what, first, 0);
  emit_event(PML_STREAM_LEAVE, region, ticks);
}

/* ---- time ---- */

/* The end of the current activity of @t: a thread that leaves its last barrier after the join was idle since then. */
static inline uint64_t ends_at(const struct pml__openmp_thread *t) {
  uint64_t ticks = pml_clock_ticks(), ended;
  if (t->role.team == NULL) return ticks;
  ended = __atomic_load_n(&t->role.team->ended, __ATOMIC_ACQUIRE);
  return PML_UNLIKELY(ended != 0) && ended < ticks ? ended : ticks;
}

/* ---- constructs ---- */

__attribute__((noinline, cold)) static bool deepen(struct pml__openmp_thread *t) {
  if (t->capacity >= DEPTH_MAX) return false;
  int cancel = pml__cancel_hold();
  bool done = PML__ARRAY_ROOM(t->frame, t->capacity, t->capacity + 1);
  pml__cancel_again(cancel);
  return done;
}

/* There must be room. */
static inline struct pml__openmp_frame *push(struct pml__openmp_thread *t, struct pml__openmp_place *p,
                                             uint64_t ticks) {
  struct pml__openmp_frame *f = &t->frame[t->depth++];
  f->place = p;
  f->task = NULL;
  f->begin = ticks;
  f->waiting = ticks & p->waits;
  f->tasks = 0;
  f->waited = t->waited;
  return f;
}

/* Open a construct, whose enter the caller emits. Returns NULL without room: then the construct is counted in overflow
 * until its leave. */
static struct pml__openmp_frame *open_construct(struct pml__openmp_thread *t, struct pml__openmp_place *p,
                                                uint64_t ticks) {
  if (PML_UNLIKELY(p == NULL || t->overflow > 0 || (t->depth == t->capacity && !deepen(t)))) {
    t->overflow++;
    return NULL;
  }
  return push(t, p, ticks);
}

/* The place of a construct that opens without further calls; NULL if memory, a name or another clock is needed. */
static inline struct pml__openmp_place *usual_place(const struct pml__openmp_thread *t,
                                                    enum pml__log_openmp_construct construct, const void *code) {
  bool has_room = PML_LIKELY(t->overflow == 0) && PML_LIKELY(t->depth != t->capacity);
  return has_room && PML_LIKELY(pml__clock.kind == PML_CLOCK_COUNTER) ? pml__openmp_glance(t, construct, code) : NULL;
}

static inline struct pml__openmp_frame *innermost(struct pml__openmp_thread *t) {
  return t->depth > 0 && t->overflow == 0 ? &t->frame[t->depth - 1] : NULL;
}

static inline bool is_innermost(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct) {
  const struct pml__openmp_frame *f = innermost(t);
  return PML_LIKELY(f != NULL) && PML_LIKELY(f->place->construct == construct);
}

static inline void add(struct pml__log_openmp *sums, const struct pml__openmp_thread *t, uint64_t ticks,
                       uint64_t waited) {
  if (PML_UNLIKELY(sums->threads < t->role.threads)) sums->threads = t->role.threads;
  pml__own_add(&sums->calls, 1);
  pml__own_add(&sums->ticks, ticks);
  pml__own_add(&sums->waited, waited);
}

/* Time of tasks that ran during the wait counts as work. */
static inline void stop_waiting(struct pml__openmp_thread *t, struct pml__openmp_frame *f, uint64_t ticks) {
  uint64_t all = ticks - f->waiting;
  if (all > f->tasks) t->waited += all - f->tasks;
  f->waiting = f->tasks = 0;
}

/* Close the innermost construct; the caller emits its leave. */
__attribute__((always_inline)) static inline const struct pml__openmp_place *close(struct pml__openmp_thread *t,
                                                                                   uint64_t ticks) {
  struct pml__openmp_frame *f = &t->frame[t->depth - 1];
  const struct pml__openmp_place *p = f->place;
  uint64_t took = ticks - f->begin;
  if (f->waiting != 0) stop_waiting(t, f, ticks);
  add(p->sums, t, took, t->waited - f->waited);
  t->depth--;
  if (PML_UNLIKELY(f->task != NULL)) {
    if (p->construct == PML__LOG_OPENMP_IMPLICIT_TASK)
      t->role = f->before;
    else if (t->depth > 0)
      f[-1].tasks += took;
  }
  return p;
}

__attribute__((always_inline)) static inline void pop(struct pml__openmp_thread *t, uint64_t ticks) {
  const struct pml__openmp_place *p = close(t, ticks);
  emit_leave(p->region, ticks);
}

__attribute__((noinline)) static void pop_to(struct pml__openmp_thread *t, uint32_t depth, uint64_t ticks) {
  t->overflow = 0;
  while (t->depth > depth) pop(t, ticks);
}

/* The depth of the innermost @construct of the current task; 0: there is no such construct. */
static uint32_t depth_of(const struct pml__openmp_thread *t, enum pml__log_openmp_construct construct) {
  for (uint32_t depth = t->depth; depth > 0; depth--) {
    enum pml__log_openmp_construct is = t->frame[depth - 1].place->construct;
    if (is == construct) return depth;
    if (is == PML__LOG_OPENMP_IMPLICIT_TASK || is == PML__LOG_OPENMP_TASK) return 0;
  }
  return 0;
}

/* The team's first thread reports the iterations of a loop; a single thread begins a taskloop. */
static inline void add_count(const struct pml__openmp_thread *t, enum pml__log_openmp_construct construct,
                             struct pml__openmp_place *p, uint64_t count) {
  if (count > 0 && (t->role.index == 0 || construct == PML__LOG_OPENMP_TASKLOOP)) pml__own_add(&p->sums->count, count);
}

__attribute__((noinline)) static void enter_slow(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct,
                                                 const void *code, uint64_t count) {
  struct pml__openmp_place *p = pml__openmp_place(t, construct, code);
  const struct pml__openmp_frame *f = open_construct(t, p, pml_clock_ticks());
  if (f == NULL) return;
  add_count(t, construct, p, count);
  emit_enter(p->region, f->begin);
}

void pml__openmp_enter(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct, const void *code,
                       uint64_t count) {
  if (PML_UNLIKELY(code == NULL) && t->role.team != NULL) code = t->role.team->code;
  struct pml__openmp_place *p = usual_place(t, construct, code);
  if (PML_UNLIKELY(p == NULL)) {
    enter_slow(t, construct, code, count);
    return;
  }
  uint64_t ticks = pml__clock_counter();
  (void)push(t, p, ticks);
  add_count(t, construct, p, count);
  emit_enter(p->region, ticks);
}

/* Also ends inner constructs that were left by a jump. */
__attribute__((noinline)) static void leave_several(struct pml__openmp_thread *t,
                                                    enum pml__log_openmp_construct construct, uint64_t ticks) {
  if (t->overflow > 0) {
    t->overflow--;
    return;
  }
  uint32_t depth = depth_of(t, construct);
  if (depth > 0) pop_to(t, depth - 1, ticks);
}

static inline void leave(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct, uint64_t ticks) {
  if (PML_LIKELY(is_innermost(t, construct)))
    pop(t, ticks);
  else
    leave_several(t, construct, ticks);
}

void pml__openmp_leave(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct) {
  leave(t, construct, ends_at(t));
}

void pml__openmp_wait(struct pml__openmp_thread *t) {
  struct pml__openmp_frame *f = innermost(t);
  if (f == NULL) return;
  f->tasks = 0;
  f->waiting = pml_clock_ticks();
}

void pml__openmp_waited(struct pml__openmp_thread *t) {
  struct pml__openmp_frame *f = innermost(t);
  if (f != NULL && f->waiting != 0) stop_waiting(t, f, ends_at(t));
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

/*
 * The accesses of its last holder happen before the writes here, because the holder's release pairs with this acquire.
 */
static struct pml__openmp_team *free_team(struct pml__openmp_thread *t) {
  struct pml__openmp_team *team = t->teams;
  while (team != NULL && __atomic_load_n(&team->holders, __ATOMIC_ACQUIRE) != 0) team = team->next;
  return PML_LIKELY(team != NULL) ? team : new_team(t);
}

static inline void begin_team(struct pml__openmp_team *team, const void *code) {
  team->code = code;
  if (is_noted()) team->number = __atomic_add_fetch(&teams, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&team->ended, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&team->holders, 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static struct pml__openmp_team *fork_slow(struct pml__openmp_thread *t, const void *code,
                                                                    uint32_t asked) {
  struct pml__openmp_team *team = free_team(t);
  struct pml__openmp_place *p = pml__openmp_place(t, PML__LOG_OPENMP_PARALLEL, code);
  const struct pml__openmp_frame *f = open_construct(t, p, pml_clock_ticks());
  if (f != NULL) emit_enter(p->region, f->begin);
  if (team == NULL) return NULL;
  begin_team(team, code);
  if (f != NULL) note(f->begin, PML__LOG_OPENMP_FORK, 1, asked, 0);
  return team;
}

struct pml__openmp_team *pml__openmp_fork(struct pml__openmp_thread *t, const void *code, uint32_t asked) {
  struct pml__openmp_team *team = t->teams;
  struct pml__openmp_place *p = usual_place(t, PML__LOG_OPENMP_PARALLEL, code);
  if (PML_UNLIKELY(p == NULL || team == NULL) || PML_UNLIKELY(__atomic_load_n(&team->holders, __ATOMIC_ACQUIRE) != 0))
    return fork_slow(t, code, asked);
  uint64_t ticks = pml__clock_counter();
  (void)push(t, p, ticks);
  begin_team(team, code);
  if (is_noted())
    emit_enter_and_note(p->region, ticks, EVENT(PML__LOG_OPENMP_FORK, 1), asked, 0);
  else
    emit_enter(p->region, ticks);
  return team;
}

static inline void close_parallel(struct pml__openmp_thread *t, uint64_t ticks) {
  const struct pml__openmp_place *p = close(t, ticks);
  if (is_noted())
    note_and_emit_leave(p->region, ticks, EVENT(PML__LOG_OPENMP_JOIN, 0), 0);
  else
    emit_leave(p->region, ticks);
}

__attribute__((noinline)) static void join_slow(struct pml__openmp_thread *t, uint64_t ticks) {
  if (t->overflow > 0) {
    t->overflow--;
    return;
  }
  uint32_t depth = depth_of(t, PML__LOG_OPENMP_PARALLEL);
  if (depth == 0) return;
  if (t->depth > depth) pop_to(t, depth, ticks);
  close_parallel(t, ticks);
}

void pml__openmp_join(struct pml__openmp_thread *t, struct pml__openmp_team *team) {
  uint64_t ticks = ends_at(t);
  if (team != NULL) {
    __atomic_store_n(&team->ended, ticks, __ATOMIC_RELEASE);
    release(team);
  }
  if (PML_LIKELY(is_innermost(t, PML__LOG_OPENMP_PARALLEL)))
    close_parallel(t, ticks);
  else
    join_slow(t, ticks);
}

__attribute__((always_inline)) static inline void join_team(struct pml__openmp_thread *t, struct pml__openmp_team *team,
                                                            const struct pml__openmp_role *before,
                                                            struct pml__openmp_frame *f, void *task) {
  pml_region_t region = f->place->region;
  f->before = *before;
  f->task = task;
  __atomic_fetch_add(&team->holders, 1, __ATOMIC_RELAXED);
  if (is_noted())
    emit_enter_and_note(region, f->begin, EVENT(PML__LOG_OPENMP_TEAM_BEGIN, 2), team->number,
                        (uint64_t)t->role.index << 32 | t->role.threads);
  else
    emit_enter(region, f->begin);
}

__attribute__((noinline)) static void begin_slow(struct pml__openmp_thread *t, struct pml__openmp_team *team,
                                                 void *task, uint32_t index, uint32_t threads) {
  const struct pml__openmp_role before = t->role;
  t->role = (struct pml__openmp_role){team, index, threads};
  struct pml__openmp_place *p = pml__openmp_place(t, PML__LOG_OPENMP_IMPLICIT_TASK, team->code);
  struct pml__openmp_frame *f = open_construct(t, p, pml_clock_ticks());
  if (f != NULL)
    join_team(t, team, &before, f, task);
  else
    t->role = before;
}

void pml__openmp_begin(struct pml__openmp_thread *t, struct pml__openmp_team *team, void *task, uint32_t index,
                       uint32_t threads) {
  const struct pml__openmp_role before = t->role;
  t->role.index = index; /* the place depends on it */
  struct pml__openmp_place *p = usual_place(t, PML__LOG_OPENMP_IMPLICIT_TASK, team->code);
  t->role.index = before.index;
  if (PML_UNLIKELY(p == NULL)) {
    begin_slow(t, team, task, index, threads);
    return;
  }
  t->role = (struct pml__openmp_role){team, index, threads};
  join_team(t, team, &before, push(t, p, pml__clock_counter()), task);
}

/* The sums of the task still need the thread's number. */
static inline void close_task(struct pml__openmp_thread *t, uint64_t ticks) {
  struct pml__openmp_team *team = t->role.team;
  const struct pml__openmp_place *p = close(t, ticks);
  uint32_t number = team->number; /* after the release, the team may get another number */
  release(team);
  if (is_noted())
    note_and_emit_leave(p->region, ticks, EVENT(PML__LOG_OPENMP_TEAM_END, 1), number);
  else
    emit_leave(p->region, ticks);
}

__attribute__((noinline)) static void end_slow(struct pml__openmp_thread *t) {
  uint32_t depth = t->depth;
  if (t->overflow > 0) {
    t->overflow--;
    return;
  }
  while (depth > 0 && t->frame[depth - 1].place->construct != PML__LOG_OPENMP_IMPLICIT_TASK) depth--;
  if (depth == 0) return;
  uint64_t ticks = ends_at(t);
  if (t->depth > depth) pop_to(t, depth, ticks);
  close_task(t, ticks);
}

void pml__openmp_end(struct pml__openmp_thread *t) {
  if (PML_LIKELY(is_innermost(t, PML__LOG_OPENMP_IMPLICIT_TASK)))
    close_task(t, ends_at(t));
  else
    end_slow(t);
}

/* ---- tasks ---- */

/* A task's word: number, thread and region, in 32, 12 and 20 bits. */
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
  if (PML_UNLIKELY(p == NULL || p->region >> REGION_BITS != 0)) return 0;
  struct pml__log_openmp *sums = p->sums;
  pml__own_add(&sums->count, 1);
  if (PML_UNLIKELY(sums->threads < t->role.threads)) sums->threads = t->role.threads;
  uint64_t thread = t->role.index & ((1u << THREAD_BITS) - 1);
  uint64_t task = ((uint64_t)next_task(t) << THREAD_BITS | thread) << REGION_BITS | p->region;
  if (pml__stream_wanted(PML_STREAM_OPENMP)) note(pml_clock_ticks(), PML__LOG_OPENMP_TASK_CREATED, 1, name_of(task), 0);
  return task;
}

/* The depth of the task whose data is at @task; 0: not on the stack. */
static uint32_t depth_of_task(const struct pml__openmp_thread *t, const void *task) {
  uint32_t depth = t->depth;
  while (depth > 0 && t->frame[depth - 1].task != task) depth--;
  return depth;
}

/* The depth of the explicit task that @t executes; 0: it executes an implicit task. */
static uint32_t depth_of_explicit(const struct pml__openmp_thread *t) {
  uint32_t depth = t->depth;
  while (depth > 0 && t->frame[depth - 1].task == NULL) depth--;
  return depth > 0 && t->frame[depth - 1].place->construct == PML__LOG_OPENMP_TASK ? depth : 0;
}

static uint64_t name_at(const struct pml__openmp_thread *t, uint32_t depth) {
  return depth > 0 ? name_of(t->frame[depth - 1].number) : 0;
}

/* A task leaves the stack when it is complete, and when the interrupted task continues. */
static void leave_task(struct pml__openmp_thread *t, uint32_t depth, bool complete, uint64_t ticks) {
  if (complete) note(ticks, PML__LOG_OPENMP_TASK_COMPLETE, 1, name_at(t, depth), 0);
  pop_to(t, depth - 1, ticks);
}

static bool enter_task(struct pml__openmp_thread *t, void *task, uint64_t number, uint64_t ticks) {
  const void *region = (const void *)(uintptr_t)region_of(number);
  struct pml__openmp_frame *f = open_construct(t, pml__openmp_place(t, PML__LOG_OPENMP_TASK, region), ticks);
  if (f == NULL) return false;
  f->task = task;
  f->number = number;
  emit_enter(f->place->region, ticks);
  return true;
}

void pml__openmp_switch(struct pml__openmp_thread *t, bool complete, void *task, uint64_t next) {
  uint64_t ticks = ends_at(t);
  uint32_t before = depth_of_explicit(t), depth = depth_of_task(t, task);
  if (before > depth && (complete || depth > 0)) leave_task(t, before, complete, ticks);
  if (depth == 0 && next != 0 && !enter_task(t, task, next, ticks)) return;
  note(ticks, PML__LOG_OPENMP_TASK_SWITCH, 1, next != 0 ? name_of(next) : 0, 0);
}

void pml__openmp_complete(struct pml__openmp_thread *t) {
  uint64_t ticks = ends_at(t);
  uint32_t depth = depth_of_explicit(t);
  if (depth > 0) leave_task(t, depth, true, ticks);
  note(ticks, PML__LOG_OPENMP_TASK_SWITCH, 1, name_at(t, depth_of_explicit(t)), 0);
}

/* ---- locks ---- */

void pml__openmp_acquired(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct, uint64_t lock) {
  bool wanted = pml__stream_wanted(PML_STREAM_OPENMP);
  if (construct == PML__LOG_OPENMP_NONE && !wanted) return;
  uint64_t ticks = pml_clock_ticks();
  struct pml__openmp_frame *f = innermost(t);
  if (wanted)
    note(ticks, PML__LOG_OPENMP_LOCK_ACQUIRED, 2, lock, __atomic_add_fetch(&acquisitions, 1, __ATOMIC_RELAXED));
  if (construct == PML__LOG_OPENMP_LOCK)
    leave(t, construct, ticks);
  else if (construct != PML__LOG_OPENMP_NONE && f != NULL && f->waiting != 0)
    stop_waiting(t, f, ticks);
}

void pml__openmp_released(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct, uint64_t lock) {
  bool ends = construct != PML__LOG_OPENMP_NONE && construct != PML__LOG_OPENMP_LOCK;
  if (!ends && !pml__stream_wanted(PML_STREAM_OPENMP)) return;
  uint64_t ticks = pml_clock_ticks();
  note(ticks, PML__LOG_OPENMP_LOCK_RELEASED, 1, lock, 0);
  if (ends) leave(t, construct, ticks);
}
