/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/scorep/pml_scorep_private.h - declarations shared by the files of pml_scorep. Internal. */
#ifndef PML_SCOREP_PRIVATE_H
#define PML_SCOREP_PRIVATE_H

#include "base/pml_cancel.h"
#include "interface/scorep/SCOREP_SubstratePlugins.h"
#include "source/plugin/pml_plugin.h"
#include "substrate/scorep/pml_scorep.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/types.h>

/* The binary interface of compiled plugins, which must not change. */
_Static_assert(sizeof(SCOREP_SubstratePluginInfo) == 936 && offsetof(SCOREP_SubstratePluginInfo, init) == 8 &&
                   offsetof(SCOREP_SubstratePluginInfo, get_event_functions) == 112 &&
                   offsetof(SCOREP_SubstratePluginInfo, get_requirement) == 128,
               "the layout of a substrate plugin");
_Static_assert(sizeof(SCOREP_SubstratePluginCallbacks) == 424, "the layout of what its host offers");
_Static_assert(SCOREP_SUBSTRATES_NUM_EVENTS == 83 && SCOREP_EVENT_ENTER_REGION == 4 && SCOREP_EVENT_EXIT_REGION == 5 &&
                   SCOREP_EVENT_COMM_DESTROY == 82 && SCOREP_HANDLE_TYPE_REGION == 11,
               "the numbers of events and handles");

/* Handles: a region's is its id, the others have a mark. */
#define PML__SCOREP_STRING UINT32_C(0x30000000)
#define PML__SCOREP_METRIC UINT32_C(0x40000000)
#define PML__SCOREP_SET UINT32_C(0x50000000)
#define PML__SCOREP_PARADIGM UINT32_C(0x60000000)
#define PML__SCOREP_LOCATION UINT32_C(0x70000000)
#define PML__SCOREP_TEAM UINT32_C(0x80000000)
#define PML__SCOREP_KIND UINT32_C(0xf0000000)

/* A thread. It exists until no plugin is open. */
struct SCOREP_Location {
  uint64_t thread;
  uint32_t id;
  char name[40];
  void *_Atomic data[PML_SCOREP_MAX];
  struct SCOREP_Location *next;
};

struct pml__scorep_functions {
  SCOREP_Substrates_EnterRegionCb enter;
  SCOREP_Substrates_ExitRegionCb leave;
  SCOREP_Substrates_TriggerCounterUint64Cb whole;
  SCOREP_Substrates_TriggerCounterInt64Cb whole_signed;
  SCOREP_Substrates_TriggerCounterDoubleCb real;
  SCOREP_Substrates_EnableRecordingCb enable;
  SCOREP_Substrates_DisableRecordingCb disable;
  SCOREP_Substrates_ProgramBeginCb program_begin; /* may be NULL, like the next one */
  SCOREP_Substrates_ProgramEndCb program_end;
  SCOREP_Substrates_ThreadAcquireLockCb acquire; /* may be NULL, like all following ones */
  SCOREP_Substrates_ThreadReleaseLockCb release;
  SCOREP_Substrates_ThreadForkJoinForkCb fork;
  SCOREP_Substrates_ThreadForkJoinJoinCb join;
  SCOREP_Substrates_ThreadForkJoinTeamBeginCb team_begin;
  SCOREP_Substrates_ThreadForkJoinTeamEndCb team_end;
  SCOREP_Substrates_ThreadForkJoinTaskCreateCb task_create;
  SCOREP_Substrates_ThreadForkJoinTaskSwitchCb task_switch;
  SCOREP_Substrates_ThreadForkJoinTaskBeginCb task_begin;
  SCOREP_Substrates_ThreadForkJoinTaskEndCb task_end;
};

/* A thread's position in OpenMP's teams and tasks, and its locks; deeper levels count as the deepest. */
#define PML__SCOREP_TEAMS 16u
#define PML__SCOREP_TASKS 64u
#define PML__SCOREP_HELD 32u
struct pml__scorep_openmp {
  struct pml__scorep_member {
    uint64_t team;
    uint32_t index, tasks; /* tasks: begun before this team */
  } team[PML__SCOREP_TEAMS];
  uint64_t task[PML__SCOREP_TASKS]; /* begun, innermost last */
  struct pml__scorep_held {
    uint32_t lock, order;
  } held[PML__SCOREP_HELD];
  uint32_t nteams, ntasks, nheld;
};

/* A plugin's data for a thread; except for the list, used only by this thread while it gets events. */
struct pml__scorep_stream {
  struct pml_scorep *plugin;
  struct SCOREP_Location *location;
  SCOREP_Substrates_EnterRegionCb _Atomic enter; /* functions of the current mode, copied for locality */
  SCOREP_Substrates_ExitRegionCb _Atomic leave;
  uint32_t depth; /* open regions */
  uint32_t known; /* regions known to the plugin when this per-thread stream last looked */
  uint32_t plain; /* the same if their events need no guard; otherwise 0 */
  bool guarded, active;
  const struct pml_stream_metrics *last; /* metrics to which @map applies */
  uint8_t map[PML_STREAM_METRICS_MAX];
  uint64_t values[PML_STREAM_METRICS_MAX];
  uint32_t open[PML_SCOREP_DEPTH_MAX];
  struct pml__scorep_openmp openmp;
  struct pml__scorep_stream *next;
};

struct pml_scorep {
  const struct pml__scorep_functions *_Atomic now; /* functions of the current mode */
  _Atomic uint32_t regions, metrics;               /* numbers of definitions in the plugin; under @lock */
  struct pml__scorep_functions functions[SCOREP_SUBSTRATES_NUM_MODES];
  SCOREP_SubstratePluginInfo info;
  struct pml__mutex lock;                      /* guards per-thread streams, and definitions */
  struct pml__scorep_stream *streams, *master; /* of the thread that opened it */
  uint32_t nstreams;
  uint64_t consumer;                 /* 0: it wants no events */
  _Atomic uint64_t unmatched, teams; /* teams: defined for the plugin; under @lock */
  _Atomic uint32_t forks;
  atomic_bool dropped;
  uint32_t slot;
  void *library;
  pid_t pid;
  char name[64];
};

/* --- pml_scorep.c: calls of plugins, which stop exceptions --- */

/* Numbers and names of a plugin's functions. */
#define PML__SCOREP_CALLS(X)                                                                                           \
  X(INIT, init)                                                                                                        \
  X(ASSIGN_ID, assign_id)                                                                                              \
  X(INIT_MPP, init_mpp)                                                                                                \
  X(SET_CALLBACKS, set_callbacks)                                                                                      \
  X(GET_EVENTS, get_event_functions)                                                                                   \
  X(GET_REQUIREMENT, get_requirement)                                                                                  \
  X(DEFINE, new_definition_handle)                                                                                     \
  X(CREATE, create_location)                                                                                           \
  X(ACTIVATE, activate_cpu_location)                                                                                   \
  X(DEACTIVATE, deactivate_cpu_location)                                                                               \
  X(DELETE, delete_location)                                                                                           \
  X(PRE_UNIFY, pre_unify)                                                                                              \
  X(WRITE_DATA, write_data)                                                                                            \
  X(MANIFEST, dump_manifest)                                                                                           \
  X(FINALIZE, finalize)
#define PML__SCOREP_CALL(id, name) PML__SCOREP_##id,
enum pml__scorep_call { PML__SCOREP_CALLS(PML__SCOREP_CALL) };
#undef PML__SCOREP_CALL

struct pml__scorep_arguments {
  SCOREP_AnyHandle handle;
  SCOREP_HandleType type;
  SCOREP_Substrates_Mode mode;
  SCOREP_Substrates_Callback *functions; /* returned by the plugin */
  const struct SCOREP_Location *location, *parent;
  FILE *manifest;
};

/* Call a function of the plugin and return its result; 0 if the plugin lacks the function or was dropped. @a may be
 * NULL. */
int64_t pml__scorep_call(struct pml_scorep *p, enum pml__scorep_call which, struct pml__scorep_arguments *a);
bool pml__scorep_has(const struct pml_scorep *p, enum pml__scorep_call which);

/* Whether its library uses the C++ runtime; otherwise it cannot throw. */
bool pml__scorep_throws(const struct pml_scorep *p);

/* The plugin threw an exception: make no more calls to it. */
struct _Unwind_Exception;
void pml__scorep_drop(struct pml_scorep *p, struct _Unwind_Exception *e);

/* --- pml_scorep_host.c: data shared by all plugins --- */

extern const SCOREP_SubstratePluginCallbacks pml__scorep_callbacks;

/* Stores a message for pml_scorep_line(). */
void pml__scorep_say(const char *fmt, ...) PML_PRINTF(1, 2);

/* The calling thread's location; NULL: no memory. first: the oldest of the remaining ones. */
struct SCOREP_Location *pml__scorep_location(uint64_t thread);
const struct SCOREP_Location *pml__scorep_first_location(void);
void pml__scorep_free_locations(void);

/* The number of the metric @name, from 0; PML_STREAM_METRICS_MAX: there is no room for another one. */
uint32_t pml__scorep_metric(const char *name, bool real);
uint32_t pml__scorep_metrics(void);
const char *pml__scorep_metric_name(uint32_t i);
enum pml_plugin_value pml__scorep_metric_type(uint32_t i);
enum pml_mode pml__scorep_metric_mode(uint32_t i);

/* A handle of @text, never freed; SCOREP_MOVABLE_NULL: too many texts. The text of a handle; NULL: not a handle. */
SCOREP_StringHandle pml__scorep_string(const char *text);
const char *pml__scorep_string_text(SCOREP_StringHandle handle);

/* The folder for data. set: set it for all plugins; make: create it. Return 0 or a negative code. */
int pml__scorep_set_directory(const char *path, bool others);
int pml__scorep_make_directory(void);
const char *pml__scorep_directory(void);

/* --- pml_scorep_host.c --- */

/* Report the begin or end of the program to the plugin, on this per-thread stream (or NULL). */
void pml__scorep_program(struct pml_scorep *p, struct pml__scorep_stream *l, bool begins);
/* Let the plugin add its files to MANIFEST.md of the folder, if it exists. */
void pml__scorep_write_manifest(struct pml_scorep *p);
void pml__scorep_manifest_header(FILE *out, const char *section);
void pml__scorep_manifest_entry(FILE *out, const char *file, const char *description, ...) PML_PRINTF(3, 4);

/* --- pml_scorep_openmp.c --- */

/* Teams are numbered from 1 in the order of their forks. */
static inline SCOREP_InterimCommunicatorHandle pml__scorep_team_handle(uint64_t number) {
  return PML__SCOREP_TEAM | ((uint32_t)number & ~PML__SCOREP_KIND);
}
/* Call the plugin's function for @e, an event of PML_STREAM_OPENMP. */
void pml__scorep_hand_openmp(struct pml__scorep_stream *l, const struct pml_stream_event *e);
/* The number of the innermost team that the thread is in, or 0. */
uint64_t pml__scorep_team(const struct pml__scorep_stream *l);
bool pml__scorep_wants_openmp(const struct pml__scorep_functions *f);

/* --- pml_scorep_events.c --- */

int pml__scorep_listen(struct pml_scorep *p);
/* The per-thread stream of the calling thread, whose location is defined in the plugin; NULL: no memory. */
struct pml__scorep_stream *pml__scorep_stream(struct pml_scorep *p, uint64_t thread);
/* Pass new definitions to the plugin. */
void pml__scorep_define(struct pml_scorep *p);
/* Leave all open regions in all per-thread streams; delivers no more events. */
void pml__scorep_leave_all(struct pml_scorep *p);

#endif
