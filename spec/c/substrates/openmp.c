/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/substrates/openmp.c - a substrate plugin that counts OpenMP's teams, tasks and locks into openmp.txt of the
 * experiment's folder, and how often something did not fit together. Not a spec by itself.
 */
#include "plugin.h"

#include <stdatomic.h>

#define MANY 65536u

/* clang-format off */
#define COUNTS(X)                                                                                                      \
  X(fork) X(asked) X(join) X(team_begin) X(team_end) X(task_create) X(task_begin) X(task_switch) X(task_end)           \
  X(acquire) X(release) X(teams) X(regions) X(unfit)
/* clang-format on */
enum {
#define NUMBER(name) of_##name,
  COUNTS(NUMBER)
#undef NUMBER
      counts
};

static atomic_uint count[counts];
static atomic_uint created[MANY]; /* 1 + the thread that created the task with this number */
static atomic_uint taken[MANY];   /* 1 + the lock that the acquisition with this number took */
static _Atomic uint32_t newest;   /* the team that was defined last */

static void fits(bool does) {
  if (!does) atomic_fetch_add(&count[of_unfit], 1);
}
static void one(unsigned which, SCOREP_ParadigmType paradigm) {
  atomic_fetch_add(&count[which], 1);
  fits(paradigm == SCOREP_PARADIGM_OPENMP);
}

static void define(SCOREP_AnyHandle handle, SCOREP_HandleType type) {
  if (type == SCOREP_HANDLE_TYPE_INTERIM_COMMUNICATOR) {
    atomic_fetch_add(&count[of_teams], 1);
    atomic_store(&newest, handle);
  } else if (type == SCOREP_HANDLE_TYPE_REGION && host->SCOREP_RegionHandle_GetType(handle) == SCOREP_REGION_PARALLEL) {
    atomic_fetch_add(&count[of_regions], 1);
    fits(host->SCOREP_RegionHandle_GetParadigmType(handle) == SCOREP_PARADIGM_OPENMP);
  } else if (type == SCOREP_HANDLE_TYPE_PARADIGM &&
             host->SCOREP_ParadigmHandle_GetType(handle) == SCOREP_PARADIGM_OPENMP) {
    fits(host->SCOREP_ParadigmHandle_GetClass(handle) == SCOREP_PARADIGM_CLASS_THREAD_FORK_JOIN);
    fits(strcmp(host->SCOREP_ParadigmHandle_GetName(handle), "openmp") == 0);
  }
}

static void fork_team(struct SCOREP_Location *location, uint64_t time, SCOREP_ParadigmType paradigm, uint32_t threads,
                      uint32_t sequence) {
  (void)location, (void)time;
  fits(sequence == atomic_load(&count[of_fork]));
  one(of_fork, paradigm);
  atomic_fetch_add(&count[of_asked], threads);
}
static void join_team(struct SCOREP_Location *location, uint64_t time, SCOREP_ParadigmType paradigm) {
  (void)location, (void)time;
  one(of_join, paradigm);
}
static void begin_team(struct SCOREP_Location *location, uint64_t time, SCOREP_ParadigmType paradigm,
                       SCOREP_InterimCommunicatorHandle team, uint64_t thread) {
  (void)location, (void)time;
  one(of_team_begin, paradigm);
  fits(thread != SCOREP_INVALID_TID && team != 0 && team <= atomic_load(&newest));
}
static void end_team(struct SCOREP_Location *location, uint64_t time, SCOREP_ParadigmType paradigm,
                     SCOREP_InterimCommunicatorHandle team) {
  (void)location, (void)time;
  one(of_team_end, paradigm);
  fits(team != 0);
}

static void create_task(struct SCOREP_Location *location, uint64_t time, SCOREP_ParadigmType paradigm,
                        SCOREP_InterimCommunicatorHandle team, uint32_t thread, uint32_t number) {
  (void)location, (void)time;
  one(of_task_create, paradigm);
  fits(team != 0 && number > 0);
  atomic_store(&created[number % MANY], 1 + thread);
}
static void switch_task(struct SCOREP_Location *location, uint64_t time, uint64_t *values, SCOREP_ParadigmType paradigm,
                        SCOREP_InterimCommunicatorHandle team, uint32_t thread, uint32_t number,
                        SCOREP_TaskHandle task) {
  (void)location, (void)time, (void)values, (void)thread;
  one(of_task_switch, paradigm);
  fits(team != 0 && (number == 0) == (task == NULL));
}
/* The beginning or the end of a task; an end forgets its creator. */
#define BOUND_OF_TASK(name, which, creator)                                                                            \
  static void name(struct SCOREP_Location *location, uint64_t time, SCOREP_RegionHandle region, uint64_t *values,      \
                   SCOREP_ParadigmType paradigm, SCOREP_InterimCommunicatorHandle team, uint32_t thread,               \
                   uint32_t number, SCOREP_TaskHandle task) {                                                          \
    (void)location, (void)time, (void)values;                                                                          \
    one(which, paradigm);                                                                                              \
    fits(host->SCOREP_RegionHandle_GetType(region) == SCOREP_REGION_TASK && team != 0 && task != NULL);                \
    fits((creator) == 1 + thread);                                                                                     \
  }
BOUND_OF_TASK(begin_task, of_task_begin, atomic_load(&created[number % MANY]))
BOUND_OF_TASK(end_task, of_task_end, atomic_exchange(&created[number % MANY], 0))

static void acquire(struct SCOREP_Location *location, uint64_t time, SCOREP_ParadigmType paradigm, uint32_t lock,
                    uint32_t order) {
  (void)location, (void)time;
  one(of_acquire, paradigm);
  atomic_store(&taken[order % MANY], 1 + lock);
}
static void release(struct SCOREP_Location *location, uint64_t time, SCOREP_ParadigmType paradigm, uint32_t lock,
                    uint32_t order) {
  (void)location, (void)time;
  one(of_release, paradigm);
  fits(atomic_exchange(&taken[order % MANY], 0) == 1 + lock);
}

static uint32_t functions(SCOREP_Substrates_Mode mode, SCOREP_Substrates_Callback **out) {
  static SCOREP_Substrates_Callback of[SCOREP_SUBSTRATES_NUM_MODES][SCOREP_SUBSTRATES_NUM_EVENTS];
#define TAKE(event, function) of[mode][SCOREP_EVENT_##event] = (SCOREP_Substrates_Callback)(function)
  if (mode == SCOREP_SUBSTRATES_RECORDING_ENABLED) {
    TAKE(THREAD_FORK_JOIN_FORK, fork_team);
    TAKE(THREAD_FORK_JOIN_JOIN, join_team);
    TAKE(THREAD_FORK_JOIN_TEAM_BEGIN, begin_team);
    TAKE(THREAD_FORK_JOIN_TEAM_END, end_team);
    TAKE(THREAD_FORK_JOIN_TASK_CREATE, create_task);
    TAKE(THREAD_FORK_JOIN_TASK_SWITCH, switch_task);
    TAKE(THREAD_FORK_JOIN_TASK_BEGIN, begin_task);
    TAKE(THREAD_FORK_JOIN_TASK_END, end_task);
    TAKE(THREAD_ACQUIRE_LOCK, acquire);
    TAKE(THREAD_RELEASE_LOCK, release);
  }
#undef TAKE
  *out = of[mode];
  return SCOREP_SUBSTRATES_NUM_EVENTS;
}

static void finalize(void) {
  static const char *const name[] = {
#define NAME(name) #name,
      COUNTS(NAME)
#undef NAME
  };
  FILE *f = open_result("openmp.txt");
  if (f == NULL) return;
  for (unsigned i = 0; i < counts; i++) (void)fprintf(f, "%s %u\n", name[i], atomic_load(&count[i]));
  (void)fclose(f);
}

PLUGIN(openmp, .init = begin_nothing, .new_definition_handle = define, .get_event_functions = functions,
       .finalize = finalize)
