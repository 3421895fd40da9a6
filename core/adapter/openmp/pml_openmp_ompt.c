/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/openmp/pml_openmp_ompt.c - OMPT tool for OpenMP runtimes (OpenMP 5.1, chapter 4).
 *
 * A runtime looks up ompt_start_tool() when it starts. If nothing is measured the function returns NULL, and the
 * runtime makes no callbacks. LLVM's libomp reports the end of a team's last barrier to a worker when it next wakes the
 * worker.
 */
#include "adapter/openmp/pml_openmp_private.h"
#include "base/pml_setting.h"

#if defined(__has_include)
#if __has_include(<omp-tools.h>)
#define HAS_OMPT 1
#include <omp-tools.h>
#endif
#endif

const char *pml_openmp_libraries(void) {
#ifdef HAS_OMPT
  return "libgomp:libgomp-*:libomp:libomp5:libomp-*:libiomp5";
#else
  return "libgomp:libgomp-*";
#endif
}

#ifdef HAS_OMPT

#include "record/log/pml_log_own.h"

#include <stdatomic.h>
#include <stdlib.h>

static ompt_set_callback_t set_callback; /* from the runtime that loaded the tool */
static atomic_bool watches_waits;

/* ---- teams ---- */

static void on_parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel, unsigned asked,
                              int flags, const void *code) {
  struct pml__openmp_thread *t = pml__openmp_here(PML_OPENMP_OMPT);
  (void)task, (void)frame, (void)flags;
  parallel->ptr = t != NULL ? pml__openmp_fork(t, code, asked) : NULL;
}

static void on_parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *code) {
  struct pml__openmp_thread *t = pml__openmp_here(PML_OPENMP_OMPT);
  (void)task, (void)flags, (void)code;
  if (t != NULL) pml__openmp_join(t, parallel->ptr);
}

static inline void begin_or_end_task(struct pml__openmp_thread *t, ompt_scope_endpoint_t endpoint,
                                     const ompt_data_t *parallel, ompt_data_t *task, unsigned threads, unsigned index) {
  if (endpoint == ompt_scope_end)
    pml__openmp_end(t);
  else if (parallel != NULL && parallel->ptr != NULL)
    pml__openmp_begin(t, parallel->ptr, task, index, threads);
}

__attribute__((noinline, cold)) static void on_implicit_task_slow(ompt_scope_endpoint_t endpoint,
                                                                  const ompt_data_t *parallel, ompt_data_t *task,
                                                                  unsigned threads, unsigned index) {
  struct pml__openmp_thread *t = pml__openmp_here(PML_OPENMP_OMPT);
  if (t != NULL) begin_or_end_task(t, endpoint, parallel, task, threads, index);
}

/* The end of a worker's task is reported without its team. The program's initial task has no team. */
static void on_implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task, unsigned threads,
                             unsigned index, int flags) {
  struct pml__openmp_thread *t = pml__openmp_known;
  if (PML_UNLIKELY((flags & ompt_task_initial) != 0)) return;
  if (PML_LIKELY(pml__openmp_is_current(t)) && PML_LIKELY(t->runtime == PML_OPENMP_OMPT))
    begin_or_end_task(t, endpoint, parallel, task, threads, index);
  else
    on_implicit_task_slow(endpoint, parallel, task, threads, index);
}

/* ---- constructs ---- */

static enum pml__log_openmp_construct of_work(ompt_work_t work) {
  static const enum pml__log_openmp_construct of[] = {[ompt_work_loop] = PML__LOG_OPENMP_LOOP,
                                                      [ompt_work_sections] = PML__LOG_OPENMP_SECTIONS,
                                                      [ompt_work_single_executor] = PML__LOG_OPENMP_SINGLE,
                                                      [ompt_work_workshare] = PML__LOG_OPENMP_WORKSHARE,
                                                      [ompt_work_distribute] = PML__LOG_OPENMP_DISTRIBUTE,
                                                      [ompt_work_taskloop] = PML__LOG_OPENMP_TASKLOOP,
                                                      [ompt_work_scope] = PML__LOG_OPENMP_SCOPE};
  return (size_t)work < sizeof of / sizeof of[0] ? of[work] : 0;
}

static enum pml__log_openmp_construct of_sync(ompt_sync_region_t sync) {
  static const enum pml__log_openmp_construct of[] = {
      [1] = PML__LOG_OPENMP_BARRIER, /* in OpenMP 5.0: any barrier, an implicit barrier */
      [2] = PML__LOG_OPENMP_IMPLICIT_BARRIER,
      [ompt_sync_region_barrier_explicit] = PML__LOG_OPENMP_BARRIER,
      [ompt_sync_region_barrier_implementation] = PML__LOG_OPENMP_IMPLICIT_BARRIER,
      [ompt_sync_region_taskwait] = PML__LOG_OPENMP_TASKWAIT,
      [ompt_sync_region_taskgroup] = PML__LOG_OPENMP_TASKGROUP,
      [ompt_sync_region_barrier_implicit_workshare] = PML__LOG_OPENMP_IMPLICIT_BARRIER,
      [ompt_sync_region_barrier_implicit_parallel] = PML__LOG_OPENMP_IMPLICIT_BARRIER,
      [ompt_sync_region_barrier_teams] = PML__LOG_OPENMP_IMPLICIT_BARRIER};
  return (size_t)sync < sizeof of / sizeof of[0] ? of[sync] : 0;
}

static inline void begin_or_end(struct pml__openmp_thread *t, enum pml__log_openmp_construct construct,
                                ompt_scope_endpoint_t endpoint, uint64_t count, const void *code) {
  if (endpoint == ompt_scope_end)
    pml__openmp_leave(t, construct);
  else
    pml__openmp_enter(t, construct, code, count);
}

/* Also handles a construct that begins and ends at once. */
__attribute__((noinline, cold)) static void on_construct_slow(enum pml__log_openmp_construct construct,
                                                              ompt_scope_endpoint_t endpoint, uint64_t count,
                                                              const void *code) {
  struct pml__openmp_thread *t = construct != 0 ? pml__openmp_here(PML_OPENMP_OMPT) : NULL;
  if (t == NULL) return;
  begin_or_end(t, construct, endpoint, count, code);
  if (endpoint != ompt_scope_begin && endpoint != ompt_scope_end) pml__openmp_leave(t, construct);
}

/* Each branch ends with a call, so that it needs no frame. */
static inline void on_construct(enum pml__log_openmp_construct construct, ompt_scope_endpoint_t endpoint,
                                uint64_t count, const void *code) {
  struct pml__openmp_thread *t = pml__openmp_known;
  bool usual = pml__openmp_is_current(t) && construct != 0 && endpoint <= ompt_scope_end;
  if (PML_LIKELY(usual))
    begin_or_end(t, construct, endpoint, count, code);
  else
    on_construct_slow(construct, endpoint, count, code);
}

static void on_work(ompt_work_t work, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,
                    uint64_t count, const void *code) {
  (void)parallel, (void)task;
  bool counts = work == ompt_work_loop || work == ompt_work_sections || work == ompt_work_taskloop;
  on_construct(of_work(work), endpoint, counts ? count : 0, code);
}

static void on_masked(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task, const void *code) {
  (void)parallel, (void)task;
  on_construct(PML__LOG_OPENMP_MASKED, endpoint, 0, code);
}

/* Only for taskgroups: other synchronizations wait from begin to end. */
static void on_sync_wait(ompt_sync_region_t sync, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel,
                         ompt_data_t *task, const void *code) {
  (void)parallel, (void)task, (void)code;
  struct pml__openmp_thread *t = sync == ompt_sync_region_taskgroup ? pml__openmp_here(PML_OPENMP_OMPT) : NULL;
  if (t == NULL) return;
  if (endpoint != ompt_scope_end) pml__openmp_wait(t);
  if (endpoint != ompt_scope_begin) pml__openmp_waited(t);
}

/* Registered at the first taskgroup, because the runtime also makes this callback at each barrier. */
__attribute__((noinline, cold)) static void watch_waits(void) {
  (void)set_callback(ompt_callback_sync_region_wait, (ompt_callback_t)on_sync_wait);
  atomic_store_explicit(&watches_waits, true, memory_order_relaxed);
}

static void on_sync(ompt_sync_region_t sync, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,
                    const void *code) {
  (void)parallel, (void)task;
  if (PML_UNLIKELY(sync == ompt_sync_region_taskgroup) && !atomic_load_explicit(&watches_waits, memory_order_relaxed))
    watch_waits();
  on_construct(of_sync(sync), endpoint, 0, code);
}

/* ---- locks ---- */

/* A lock's construct is its acquisition; the runtime reports no end for a test that fails. */
static enum pml__log_openmp_construct of_mutex(ompt_mutex_t mutex) {
  switch (mutex) {
  case ompt_mutex_lock:
  case ompt_mutex_nest_lock:
    return PML__LOG_OPENMP_LOCK;
  case ompt_mutex_critical:
    return PML__LOG_OPENMP_CRITICAL;
  case ompt_mutex_ordered:
    return PML__LOG_OPENMP_ORDERED;
  default:
    return 0;
  }
}

/* To users, atomic operations are not locks. */
static bool is_lock(ompt_mutex_t mutex) {
  return mutex != ompt_mutex_atomic;
}

static void on_acquire(ompt_mutex_t mutex, unsigned hint, unsigned how, ompt_wait_id_t lock, const void *code) {
  struct pml__openmp_thread *t = of_mutex(mutex) != 0 ? pml__openmp_here(PML_OPENMP_OMPT) : NULL;
  (void)hint, (void)how, (void)lock;
  if (t != NULL) pml__openmp_enter(t, of_mutex(mutex), code, 0);
}

static void on_acquired(ompt_mutex_t mutex, ompt_wait_id_t lock, const void *code) {
  struct pml__openmp_thread *t = is_lock(mutex) ? pml__openmp_here(PML_OPENMP_OMPT) : NULL;
  (void)code;
  if (t != NULL) pml__openmp_acquired(t, of_mutex(mutex), lock);
}

static void on_released(ompt_mutex_t mutex, ompt_wait_id_t lock, const void *code) {
  struct pml__openmp_thread *t = is_lock(mutex) ? pml__openmp_here(PML_OPENMP_OMPT) : NULL;
  (void)code;
  if (t != NULL) pml__openmp_released(t, of_mutex(mutex), lock);
}

/* ---- tasks ---- */

static void on_task_create(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *created, int flags,
                           int dependences, const void *code) {
  struct pml__openmp_thread *t = (flags & ompt_task_explicit) != 0 ? pml__openmp_here(PML_OPENMP_OMPT) : NULL;
  (void)task, (void)frame, (void)dependences;
  if (t != NULL) created->value = pml__openmp_create(t, code);
}

static void on_task_schedule(ompt_data_t *prior, ompt_task_status_t status, ompt_data_t *next) {
  struct pml__openmp_thread *t = next != NULL ? pml__openmp_here(PML_OPENMP_OMPT) : NULL;
  (void)prior;
  bool complete = status == ompt_task_complete || status == ompt_task_cancel || status == ompt_task_detach;
  if (t != NULL) pml__openmp_switch(t, complete, next, next->value);
}

/* ---- the tool ---- */

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *tool) {
  static const struct {
    ompt_callbacks_t event;
    ompt_callback_t call;
  } callbacks[] = {
      {ompt_callback_parallel_begin, (ompt_callback_t)on_parallel_begin},
      {ompt_callback_parallel_end, (ompt_callback_t)on_parallel_end},
      {ompt_callback_implicit_task, (ompt_callback_t)on_implicit_task},
      {ompt_callback_work, (ompt_callback_t)on_work},
      {ompt_callback_masked, (ompt_callback_t)on_masked},
      {ompt_callback_sync_region, (ompt_callback_t)on_sync},
      {ompt_callback_mutex_acquire, (ompt_callback_t)on_acquire},
      {ompt_callback_mutex_acquired, (ompt_callback_t)on_acquired},
      {ompt_callback_mutex_released, (ompt_callback_t)on_released},
      {ompt_callback_task_create, (ompt_callback_t)on_task_create},
      {ompt_callback_task_schedule, (ompt_callback_t)on_task_schedule},
  };
  set_callback = (ompt_set_callback_t)lookup("ompt_set_callback");
  (void)device, (void)tool;
  if (set_callback == NULL) return 0;
  for (size_t i = 0; i < sizeof callbacks / sizeof callbacks[0]; i++)
    (void)set_callback(callbacks[i].event, callbacks[i].call);
  return 1;
}

static void finalize(ompt_data_t *tool) {
  (void)tool;
}

static bool is_wanted(void) {
  const char *folder = pml__setting("PMLUA_RECORD_DIR");
  return (folder != NULL && folder[0] != '\0') || pml__log_asked();
}

PML_API ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *name);

/* Called only by the runtime. */
PML_API ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *name) {
  static ompt_start_tool_result_t tool = {initialize, finalize, {0}};
  (void)version, (void)name;
  return is_wanted() ? &tool : NULL;
}

#endif
