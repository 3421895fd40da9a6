/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/plugin/pml_plugin_private.h - structures of plugins, their counters and calls. Internal. */
#ifndef PML_PLUGIN_PRIVATE_H
#define PML_PLUGIN_PRIVATE_H

#include "base/pml_cancel.h"
#include "interface/scorep/SCOREP_MetricPlugins.h"
#include "source/plugin/pml_plugin.h"
#include "source/sde/pml_sde_private.h"

#include <pthread.h>
#include <stdatomic.h>

#define PML__PLUGIN_LINE 512u
#define PML__PLUGIN_PREFIX "plugin::" /* prefix of the names of plugins' metrics */

/* A metric at a place. Readers of strictly synchronous metrics call `get` without a lock; the plugin's lock guards all
 * other members. */
struct pml__plugin_counter {
  struct pml__plugin_use *use;
  uint32_t metric;
  int32_t id;
  bool dead;                    /* no id, or the plugin delivered something invalid */
  bool has;                     /* @value is valid */
  uint64_t value;               /* the latest value; for a relative metric the sum */
  uint64_t newest_ticks;        /* for a series: the time of the latest value */
  uint64_t read_ticks;          /* time of the last read */
  struct pml_plugin_pair *pair; /* a series */
  size_t npairs, room;
  bool sorted;
  uint64_t outside, backwards;
  uint32_t number; /* in the log; 0: not in the log */
  bool refused;    /* the log has no room for it */
  size_t kept;     /* pairs in the log */
  struct pml__log_entry *extent;
  struct pml__log_series *log; /* memory of the extent */
};

/* A plugin at a place: one thread, or for a larger scope the first thread that joined. */
struct pml__plugin_use {
  struct pml_plugin *plugin;
  uint64_t thread;
  int tid;
  bool responsible; /* it has counters */
  uint64_t begun_ticks;
  struct pml__plugin_counter *counter; /* [nmetrics]; NULL if not responsible */
  struct pml__plugin_use *next;
};

struct pml_plugin {
  char *name, *path;
  void *object;                   /* returned by dlopen; NULL: provided by the program */
  SCOREP_Metric_Plugin_Info call; /* functions of a library */
  struct pml_plugin_provider provider;
  enum pml_plugin_sync sync;
  enum pml_plugin_scope scope;
  uint64_t delta_ticks;
  struct pml_plugin_metric *metric; /* [nmetrics]; owns its strings */
  uint32_t nmetrics;
  bool here;
  _Atomic int state;      /* enum pml_plugin_state */
  struct pml__mutex lock; /* guards the following members, and all calls except get_current_value */
  struct pml__plugin_use *uses;
  bool closed;                    /* provided by the program, and closed */
  bool inherited;                 /* it belongs to the process from which this one was forked */
  bool silenced;                  /* inherited, and its library is disabled */
  atomic_bool published;          /* pml_plugin_publish() */
  void *events;                   /* of it, then constant */
  char trouble[PML__PLUGIN_LINE]; /* written once, then constant */
  atomic_bool troubled;
  struct pml_plugin *next; /* under the list's lock */
};

/* Incremented whenever a plugin ends or is dropped, so that event sets update their events. */
extern _Atomic uint64_t pml__plugin_epoch
    __attribute__((visibility("hidden"))); /* hidden, so that it is one load away */

/* Readers publish the plugin whose function they call, so that only the caller that ends it waits for them. */
extern __attribute__((visibility("hidden"))) struct pml__sde_body pml__plugin_inside;

/* --- pml_plugin.c --- */

/* Note and report a failure of @p; only the first is stored. */
void pml__plugin_trouble(struct pml_plugin *p, const char *fmt, ...) PML_PRINTF(2, 3);
void pml__plugin_say_trouble(const struct pml_plugin *p); /* report failures noted while it was loaded */
/* Make no more calls to it. */
void pml__plugin_drop(struct pml_plugin *p);
static inline bool pml__plugin_alive(const struct pml_plugin *p) {
  int state = atomic_load_explicit(&((struct pml_plugin *)(uintptr_t)p)->state, memory_order_acquire);
  return state == PML_PLUGIN_LOADED || state == PML_PLUGIN_RUNNING;
}
/* Create a plugin that has only a name, and is not listed yet; NULL: no memory. */
struct pml_plugin *pml__plugin_new(const char *name, const char *path);
void pml__plugin_free(struct pml_plugin *p); /* only if it was never listed */
void pml__plugin_insert(struct pml_plugin *p);
bool pml__plugin_is_taken(const char *name); /* a plugin of this name has not ended */
/* Register again the handler that ends all plugins at exit, so that it runs before all handlers registered so far. */
void pml__plugin_end_at_exit(void);
/* Copies @m; an existing metric does not change. Returns 0, -EINVAL, PML_EFULL, -ENOMEM. */
int pml__plugin_add_metric(struct pml_plugin *p, const struct pml_plugin_metric *m);

/* The metric NAME::METRIC; -ENOENT: no such plugin, PML_ENOEVENT: no such metric. */
int pml__plugin_lookup(const char *event, struct pml_plugin **p, uint32_t *metric);

/* --- pml_event_plugin.c: functions for the table of sources --- */

struct pml_event;
struct pml__walk;
int pml__plugin_parse(struct pml_event *ev, const char *rest);
int pml__plugin_walk(const struct pml__walk *w);

/* --- pml_plugin_library.c: libraries; each call is guarded, and faults are stored as trouble --- */

int pml__plugin_open(struct pml_plugin *p, const struct pml_plugin_options *o);

/* --- pml_plugin_call.c: calls of plugins of both kinds; the caller holds the plugin's lock --- */

int32_t pml__plugin_add(struct pml_plugin *p, uint32_t metric); /* returns the counter's id, or a negative number */
void pml__plugin_synchronize(struct pml_plugin *p, bool responsible, bool begin);
int pml__plugin_value(struct pml__plugin_counter *c, uint64_t *value); /* 1: a value, 0: no value, < 0: dropped */
bool pml__plugin_pairs(struct pml__plugin_counter *c, struct pml_plugin_pair **list, uint64_t *n);
void pml__plugin_finalize(struct pml_plugin *p);
/* Drop the plugin, because its call @what threw an exception. */
struct _Unwind_Exception;
void pml__plugin_threw(struct pml_plugin *p, const char *what, struct _Unwind_Exception *e);

/* --- pml_plugin_use.c --- */

/* The calling thread's use of @p, created if necessary; NULL: the plugin is not measured here or has ended. *@err: 0 or
 * why. */
struct pml__plugin_use *pml__plugin_join(struct pml_plugin *p, int *err);
/* Read a value, or collect the series of an asynchronous plugin, and store the latest value. Returns false if there is
 * no value yet. Takes the lock. */
bool pml__plugin_ask(struct pml__plugin_counter *c, uint64_t *value);
/* The value for a thread that does not join: read now, but for plugins of threads, whose functions only these threads
 * call, the latest values; their sum, or of a level one of them. False: no value. Takes the lock. */
bool pml__plugin_now(struct pml_plugin *p, uint32_t metric, uint64_t *value);

/*
 * Disable the library of an inherited plugin: each of its functions returns at once. Used at the exit of a process,
 * with no thread inside the library. It skips libraries that register fork handlers, and all libraries if the system
 * allows no new code or the machine is neither x86-64 nor arm64. Cost: a copy of its code.
 */
void pml__plugin_silence(const struct pml_plugin *p);

/* --- pml_plugin_series.c --- */

/* The caller holds the lock. */
void pml__plugin_take(struct pml__plugin_counter *c); /* collect the series and append it */
void pml__plugin_note_value(struct pml__plugin_counter *c, uint64_t value);

/* Sort @pair by time; fast if it is mostly sorted. */
PML__SHARED void pml__plugin_sort(struct pml_plugin_pair *pair, size_t n);

/* Append new values to the process's log, if the process is recorded. The caller holds the lock. Cost: a copy of 16
 * bytes per value; rarely a call of pml__log_extent(). */
void pml__plugin_keep(struct pml__plugin_counter *c);

/* pml__plugin_define - define metric @number of a log; returns 0 or -errno. pml__plugin_log_bytes - the size of an
 * extent of @n pairs. */
struct pml__log;
int pml__plugin_define(struct pml__log *log, uint32_t number, const char *plugin, const struct pml_plugin_metric *m,
                       uint64_t thread, int tid);
size_t pml__plugin_log_bytes(size_t pairs);

/* --- pml_plugin_load.c --- */

bool pml__plugin_is_here(enum pml_plugin_scope scope);
/* The tokens of $SCOREP_METRIC_<NAME>: [*n], as one block for free(). Returns 0 or -ENOMEM. */
int pml__plugin_tokens(const char *name, char ***token, size_t *n);

#endif
