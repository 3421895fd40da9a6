/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/scorep/pml_scorep.c - substrate plugins: load, ordered calls, end. */
#include "substrate/scorep/pml_scorep_private.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_library.h"
#include "base/pml_process.h"
#include "base/pml_thread.h"
#include "source/plugin/pml_plugin_guard.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pml__lock lock; /* held while plugins are opened and closed */
static struct pml_scorep *plugins[PML_SCOREP_MAX];

/* ---- calls ---- */

#define NAME(id, name) #name,
static const char *const call_names[] = {PML__SCOREP_CALLS(NAME)};
#undef NAME

struct calling {
  struct pml_scorep *p;
  struct pml__scorep_arguments *a;
  enum pml__scorep_call which;
};

static uint64_t call(uint64_t arg) {
  const struct calling *c = (const struct calling *)(uintptr_t)arg; /* NOLINT(performance-no-int-to-ptr) */
  const SCOREP_SubstratePluginInfo *i = &c->p->info;
  struct pml__scorep_arguments *a = c->a;
  switch (c->which) {
  case PML__SCOREP_INIT:
    return (uint64_t)(int64_t)i->init();
  case PML__SCOREP_ASSIGN_ID:
    i->assign_id(c->p->slot);
    break;
  case PML__SCOREP_INIT_MPP:
    i->init_mpp();
    break;
  case PML__SCOREP_SET_CALLBACKS:
    i->set_callbacks(&pml__scorep_callbacks, sizeof pml__scorep_callbacks);
    break;
  case PML__SCOREP_GET_EVENTS:
    return i->get_event_functions(a->mode, &a->functions);
  case PML__SCOREP_GET_REQUIREMENT:
    return i->get_requirement((SCOREP_Substrates_RequirementFlag)a->handle);
  case PML__SCOREP_DEFINE:
    i->new_definition_handle(a->handle, a->type);
    break;
  case PML__SCOREP_CREATE:
    i->create_location(a->location, a->parent);
    break;
  case PML__SCOREP_ACTIVATE:
    i->activate_cpu_location(a->location, a->parent, a->handle);
    break;
  case PML__SCOREP_DEACTIVATE:
    i->deactivate_cpu_location(a->location, a->parent);
    break;
  case PML__SCOREP_DELETE:
    i->delete_location(a->location);
    break;
  case PML__SCOREP_PRE_UNIFY:
    i->pre_unify();
    break;
  case PML__SCOREP_WRITE_DATA:
    i->write_data();
    break;
  case PML__SCOREP_MANIFEST:
    i->dump_manifest(a->manifest, ".", "."); /* the path is relative to the manifest's folder */
    break;
  case PML__SCOREP_FINALIZE:
    i->finalize();
    break;
  }
  return 0;
}

bool pml__scorep_has(const struct pml_scorep *p, enum pml__scorep_call which) {
#define HAS(id, name) p->info.name != NULL,
  const bool has[] = {PML__SCOREP_CALLS(HAS)};
#undef HAS
  return has[which];
}

void pml__scorep_drop(struct pml_scorep *p, struct _Unwind_Exception *e) {
  char what[200];
  bool was = atomic_exchange(&p->dropped, true);
  pml__guard_end(e, p->library, what, sizeof what);
  if (!was) pml__scorep_say("substrate plugin %s: threw %s; it gets no more events", p->name, what);
}

int64_t pml__scorep_call(struct pml_scorep *p, enum pml__scorep_call which, struct pml__scorep_arguments *a) {
  if (!pml__scorep_has(p, which) || atomic_load(&p->dropped)) return 0;
  struct calling c = {p, a, which};
  struct pml__guarded g = pml__guard_get((uintptr_t)&c, call);
  if (g.e == NULL) return (int64_t)g.value;
  char what[200];
  pml__guard_end(g.e, p->library, what, sizeof what);
  if (!atomic_exchange(&p->dropped, true))
    pml__scorep_say("substrate plugin %s: its %s threw %s; plugin dropped", p->name, call_names[which], what);
  return 0;
}

/* ---- the library ---- */

static int check_name(const char *name) {
  size_t n = name != NULL ? strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") : 0;
  if (n == 0 || name[n] != '\0' || n >= sizeof(((struct pml_scorep *)0)->name))
    return pml_fail(-EINVAL, "the name of a substrate plugin is up to 63 letters, digits and _");
  return 0;
}

static int load(struct pml_scorep *p, const char *path) {
  char file[4096], symbol[128];
  SCOREP_SubstratePluginInfo (*entry)(void);
  int n = snprintf(file, sizeof file, "%s%slibscorep_substrate_%s.so", path != NULL ? path : "",
                   path != NULL ? "/" : "", p->name);
  if (n >= (int)sizeof file)
    return pml_fail(-ENAMETOOLONG, "the path of the folder of substrate plugin %s is too long", p->name);
  int err = path != NULL && access(file, F_OK) == 0 ? pml__library_check(file) : 0;
  if (err < 0) return err;
  p->library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (p->library == NULL) {
    char foreign[sizeof file + 128];
    const char *why = dlerror();
    if (pml__library_foreign(file, foreign, sizeof foreign))
      return pml_fail(-ENOEXEC, "substrate plugin %s: %s", p->name, foreign);
    bool missing = strstr(why, "No such file") != NULL && strncmp(why, file, strlen(file)) == 0;
    return pml_fail(missing ? -ENOENT : -ENOEXEC, "substrate plugin %s: %s", p->name, why);
  }
  (void)snprintf(symbol, sizeof symbol, "SCOREP_SubstratePlugin_%s_get_info", p->name);
  void *at = dlsym(p->library, symbol);
  if (at == NULL) return pml_fail(PML_ENOSYMBOL, "substrate plugin %s: %s has no %s", p->name, file, symbol);
  memcpy(&entry, &at, sizeof at);
  p->info = entry();
  return 0;
}

static int check_info(struct pml_scorep *p) {
  const SCOREP_SubstratePluginInfo *i = &p->info;
  if (i->plugin_version > SCOREP_SUBSTRATE_PLUGIN_VERSION)
    pml__scorep_say("substrate plugin %s: version %u of the interface; pmlua offers %d", p->name, i->plugin_version,
                    SCOREP_SUBSTRATE_PLUGIN_VERSION);
  if (i->init == NULL) return pml_fail(PML_EFORMAT, "substrate plugin %s: no init function", p->name);
  for (size_t k = 0;
       i->plugin_version <= SCOREP_SUBSTRATE_PLUGIN_VERSION && k < sizeof i->undeclared / sizeof *i->undeclared; k++)
    if (i->undeclared[k] != NULL)
      return pml_fail(PML_EFORMAT, "substrate plugin %s: sets functions that version %u lacks", p->name,
                      i->plugin_version);
  return 0;
}

bool pml__scorep_throws(const struct pml_scorep *p) {
  return dlsym(p->library, "__cxa_throw") != NULL;
}

/* ---- the plugin's events ---- */

#define EVENT_NAME(name, type, arguments) #name,
static const char *const event_names[] = {SCOREP_SUBSTRATES_EVENT_LIST(EVENT_NAME)};
#undef EVENT_NAME

/* Store the functions of events that pmlua has a source for; the other events are listed. */
static bool take_function(struct pml__scorep_functions *f, uint32_t event, SCOREP_Substrates_Callback function) {
#define TO(event, member)                                                                                              \
  { SCOREP_EVENT_##event, offsetof(struct pml__scorep_functions, member) }
  static const struct {
    uint32_t event;
    size_t at;
  } known[] = {TO(ENTER_REGION, enter),
               TO(EXIT_REGION, leave),
               TO(TRIGGER_COUNTER_UINT64, whole),
               TO(TRIGGER_COUNTER_INT64, whole_signed),
               TO(TRIGGER_COUNTER_DOUBLE, real),
               TO(ENABLE_RECORDING, enable),
               TO(DISABLE_RECORDING, disable),
               TO(PROGRAM_BEGIN, program_begin),
               TO(PROGRAM_END, program_end),
               TO(THREAD_ACQUIRE_LOCK, acquire),
               TO(THREAD_RELEASE_LOCK, release),
               TO(THREAD_FORK_JOIN_FORK, fork),
               TO(THREAD_FORK_JOIN_JOIN, join),
               TO(THREAD_FORK_JOIN_TEAM_BEGIN, team_begin),
               TO(THREAD_FORK_JOIN_TEAM_END, team_end),
               TO(THREAD_FORK_JOIN_TASK_CREATE, task_create),
               TO(THREAD_FORK_JOIN_TASK_SWITCH, task_switch),
               TO(THREAD_FORK_JOIN_TASK_BEGIN, task_begin),
               TO(THREAD_FORK_JOIN_TASK_END, task_end)};
#undef TO
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (known[i].event != event) continue;
    memcpy((char *)f + known[i].at, &function, sizeof function);
    return true;
  }
  return false;
}

static void say_unraised(const struct pml_scorep *p, const bool *unraised) {
  char list[4096];
  size_t n = 0;
  list[0] = '\0';
  for (uint32_t i = 0; i < SCOREP_SUBSTRATES_NUM_EVENTS && n < sizeof list; i++)
    if (unraised[i]) n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n > 0 ? ", " : "", event_names[i]);
  if (p->info.core_task_create != NULL && n < sizeof list)
    n += (size_t)snprintf(list + n, sizeof list - n, "%stasks", n > 0 ? ", " : "");
  if (n > 0) pml__scorep_say("substrate plugin %s: pmlua never raises these of its events: %s", p->name, list);
}

static int get_functions(struct pml_scorep *p) {
  bool unraised[SCOREP_SUBSTRATES_NUM_EVENTS] = {false};
  for (int mode = 0; mode < SCOREP_SUBSTRATES_NUM_MODES; mode++) {
    struct pml__scorep_arguments a = {.mode = (SCOREP_Substrates_Mode)mode};
    int64_t n = pml__scorep_call(p, PML__SCOREP_GET_EVENTS, &a);
    if (n > 0 && a.functions == NULL)
      return pml_fail(PML_EFORMAT, "substrate plugin %s: get_event_functions returned no functions", p->name);
    if (n > SCOREP_SUBSTRATES_NUM_EVENTS) {
      pml__scorep_say("substrate plugin %s: requests %lld kinds of events; it gets the first %d", p->name, (long long)n,
                      SCOREP_SUBSTRATES_NUM_EVENTS);
      n = SCOREP_SUBSTRATES_NUM_EVENTS;
    }
    for (uint32_t i = 0; i < n; i++)
      if (a.functions[i] != NULL && !take_function(&p->functions[mode], i, a.functions[i])) unraised[i] = true;
  }
  say_unraised(p, unraised);
  atomic_store(&p->now, &p->functions[SCOREP_SUBSTRATES_RECORDING_ENABLED]);
  return 0;
}

/* ---- begin and end ---- */

static int refused(const struct pml_scorep *p, const char *what) {
  return pml_fail(-ECANCELED, "substrate plugin %s: its %s", p->name, what);
}

static int begin(struct pml_scorep *p) {
  struct pml__scorep_arguments a = {.handle = SCOREP_SUBSTRATES_REQUIREMENT_CREATE_EXPERIMENT_DIRECTORY};
  int64_t said = pml__scorep_call(p, PML__SCOREP_INIT, NULL);
  if (said != 0) return refused(p, "init declined to run");
  (void)pml__scorep_call(p, PML__SCOREP_SET_CALLBACKS, NULL);
  int err = get_functions(p);
  if (err == 0 && (pml__scorep_call(p, PML__SCOREP_GET_REQUIREMENT, &a) & 1) != 0) err = pml__scorep_make_directory();
  if (err < 0) return err;
  (void)pml__scorep_call(p, PML__SCOREP_ASSIGN_ID, NULL);
  struct pml__scorep_arguments paradigm = {.handle = PML__SCOREP_PARADIGM, .type = SCOREP_HANDLE_TYPE_PARADIGM};
  for (; paradigm.handle <= (PML__SCOREP_PARADIGM | SCOREP_PARADIGM_LIBWRAP); paradigm.handle++)
    (void)pml__scorep_call(p, PML__SCOREP_DEFINE, &paradigm);
  paradigm.handle = PML__SCOREP_PARADIGM | SCOREP_PARADIGM_OPENMP;
  (void)pml__scorep_call(p, PML__SCOREP_DEFINE, &paradigm);
  pml__scorep_define(p);
  p->master = pml__scorep_stream(p, pml_thread_self()->id);
  if (p->master == NULL) return pml_fail(-ENOMEM, "no memory for a location");
  (void)pml__scorep_call(p, PML__SCOREP_INIT_MPP, NULL);
  pml__scorep_program(p, p->master, true);
  if (atomic_load(&p->dropped)) return refused(p, "its start threw an exception");
  return pml__scorep_listen(p);
}

static void end(struct pml_scorep *p) {
  struct pml__scorep_arguments a = {0};
  if (p->consumer != 0) (void)pml_stream_remove(p->consumer);
  pml__scorep_leave_all(p);
  (void)pml__scorep_call(p, PML__SCOREP_PRE_UNIFY, NULL);
  (void)pml__scorep_call(p, PML__SCOREP_WRITE_DATA, NULL);
  pml__scorep_write_manifest(p);
  for (const struct pml__scorep_stream *l = p->streams; l != NULL; l = l->next) {
    a.location = l->location;
    (void)pml__scorep_call(p, PML__SCOREP_DELETE, &a);
  }
  (void)pml__scorep_call(p, PML__SCOREP_FINALIZE, NULL);
}

static void release(struct pml_scorep *p) {
  while (p->streams != NULL) {
    struct pml__scorep_stream *l = p->streams;
    p->streams = l->next;
    free(l);
  }
  pthread_mutex_destroy(&p->lock.mutex);
  free(p);
}

/* Under the lock: the number of other open plugins; @same if one has this name. */
static uint32_t others(const char *name, bool *same, uint32_t *slot) {
  uint32_t n = 0;
  *slot = PML_SCOREP_MAX;
  for (uint32_t i = PML_SCOREP_MAX; i-- > 0;) {
    if (plugins[i] == NULL) {
      *slot = i;
      continue;
    }
    n++;
    if (strcmp(plugins[i]->name, name) == 0) *same = true;
  }
  return n;
}

static int open_locked(struct pml_scorep *p, const struct pml_scorep_options *o) {
  bool same = false;
  uint32_t n = others(p->name, &same, &p->slot);
  if (same) return pml_fail(-EEXIST, "substrate plugin %s is already open", p->name);
  if (n == PML_SCOREP_MAX)
    return pml_fail(PML_EFULL, "%u substrate plugins are already open, the most possible", PML_SCOREP_MAX);
  int err = pml__scorep_set_directory(o->directory, n > 0);
  if (err == 0) err = load(p, o->path);
  if (err == 0) err = check_info(p);
  if (err < 0) return err;
  plugins[p->slot] = p; /* its functions call back */
  err = begin(p);
  if (err < 0) plugins[p->slot] = NULL;
  if (err < 0 && n == 0) pml__scorep_free_locations();
  return err;
}

int pml_scorep_open(struct pml_scorep **out, const struct pml_scorep_options *o) {
  *out = NULL;
  int err = check_name(o->name);
  if (err == 0) err = pml_clock_init();
  if (err < 0) return err;
  struct pml_scorep *p = calloc(1, sizeof *p);
  if (p == NULL) return pml_fail(-ENOMEM, "no memory for substrate plugin %s", o->name);
  pthread_mutex_init(&p->lock.mutex, NULL);
  memcpy(p->name, o->name, strlen(o->name) + 1);
  p->pid = getpid();
  pml__guard_prepare();
  pml__lock_take(&lock);
  err = open_locked(p, o);
  pml__lock_leave(&lock);
  if (err < 0) {
    release(p);
    return err;
  }
  *out = p;
  return 0;
}

void pml_scorep_close(struct pml_scorep *p) {
  bool same = false;
  uint32_t slot;
  if (p == NULL || p->pid != getpid()) return; /* the parent's plugins stay the parent's */
  pml__lock_take(&lock);
  end(p);
  plugins[p->slot] = NULL;
  if (others("", &same, &slot) == 0) pml__scorep_free_locations();
  pml__lock_leave(&lock);
  release(p);
}

void pml_scorep_stats(struct pml_scorep *p, struct pml_scorep_stats *s) {
  pml__mutex_take(&p->lock);
  s->threads = p->nstreams;
  pml__mutex_leave(&p->lock);
  s->regions = atomic_load(&p->regions);
  s->metrics = atomic_load(&p->metrics);
  s->unmatched = atomic_load(&p->unmatched);
  s->dropped = atomic_load(&p->dropped);
}
