/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/plugin/pml_plugin_private.h - structures of plugins, their counters and calls. Internal. */
#ifndef PML_PLUGIN_PRIVATE_H
#define PML_PLUGIN_PRIVATE_H

#include "base/pml_cancel.h"
#include "compat/scorep/include/scorep/SCOREP_MetricPlugins.h"
#include "source/plugin/pml_plugin.h"
#include "source/sde/pml_sde_private.h"

#include <pthread.h>
#include <stdatomic.h>

#define PML__PLUGIN_LINE 512u
#define PML__PLUGIN_PREFIX "plugin::" /* begins the names of plugins' metrics */

/*
 * A metric at a place. Readers of strictly synchronous metrics call `get` without a lock; the plugin's lock guards all
 * else.
 */
struct pml__plugin_counter {
  struct pml__plugin_use *use;
  uint32_t metric;
  int32_t id;
  bool dead;                    /* no id, or the plugin got something wrong with it */
  bool has;                     /* @value is one */
  uint64_t value;               /* the newest; for a relative metric the sum */
  uint64_t newest_ticks;        /* for a series: the time of the newest value */
  uint64_t read_ticks;          /* of the last read */
  struct pml_plugin_pair *pair; /* a series */
  size_t npairs, room;
  bool sorted;
  uint64_t outside, backwards;
  uint32_t number; /* in the log; 0: nothing is there */
  bool refused;    /* by the log, which has no room */
  size_t kept;     /* pairs that are in the log */
  struct pml__log_entry *extent;
  struct pml__log_series *log; /* its memory */
};

/* A plugin at a place: a thread, or where its scope is more the one thread that came first. */
struct pml__plugin_use {
  struct pml_plugin *plugin;
  uint64_t thread;
  int tid;
  bool responsible; /* has counters */
  uint64_t begun_ticks;
  struct pml__plugin_counter *counter; /* [nmetrics]; NULL if not responsible */
  struct pml__plugin_use *next;
};

struct pml_plugin {
  char *name, *path;
  void *object;                   /* dlopen's; NULL: provided */
  SCOREP_Metric_Plugin_Info call; /* of a library */
  struct pml_plugin_provider provider;
  enum pml_plugin_sync sync;
  enum pml_plugin_scope scope;
  uint64_t delta_ticks;
  struct pml_plugin_metric *metric; /* [nmetrics]; strings are ours */
  uint32_t nmetrics;
  bool here;
  _Atomic int state;      /* enum pml_plugin_state */
  struct pml__mutex lock; /* guards what follows, and all calls but get_current_value */
  struct pml__plugin_use *uses;
  bool closed;                    /* provided, and told that it is over */
  bool inherited;                 /* of the process that this one was forked from */
  bool silenced;                  /* inherited, and its library does nothing any more */
  char trouble[PML__PLUGIN_LINE]; /* written once, then constant */
  atomic_bool troubled;
  struct pml_plugin *next; /* under the list's lock */
};

/* Counts up whenever a plugin ends or is dropped: event sets then look at their events again. */
extern _Atomic uint64_t pml__plugin_epoch __attribute__((visibility("hidden"))); /* one load away */

/* Readers publish the plugin they are in, so that only the caller that ends it waits for them. */
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
/* A plugin with nothing but its name, not listed yet; NULL: no memory. */
struct pml_plugin *pml__plugin_new(const char *name, const char *path);
void pml__plugin_free(struct pml_plugin *p); /* only if it was never listed */
void pml__plugin_insert(struct pml_plugin *p);
bool pml__plugin_is_taken(const char *name); /* a plugin of this name has not ended */
/* Register again to end all plugins when the process ends, before all exit handlers registered so far. */
void pml__plugin_end_at_exit(void);
/* Copied; an existing metric does not change. Returns 0, -EINVAL, PML_EFULL, -ENOMEM. */
int pml__plugin_add_metric(struct pml_plugin *p, const struct pml_plugin_metric *m);

/* The metric NAME::METRIC; -ENOENT: no such plugin, PML_ENOEVENT: no such metric. */
int pml__plugin_lookup(const char *event, struct pml_plugin **p, uint32_t *metric);

/* --- pml_event_plugin.c: of the entry in the table of sources --- */

struct pml_event;
struct pml__walk;
int pml__plugin_parse(struct pml_event *ev, const char *rest);
int pml__plugin_walk(const struct pml__walk *w);

/* --- pml_plugin_library.c: libraries; each call is guarded, and what it gets wrong is trouble --- */

int pml__plugin_open(struct pml_plugin *p, const struct pml_plugin_options *o);

/* --- pml_plugin_call.c: calls of plugins of both kinds; with the plugin's lock --- */

int32_t pml__plugin_add(struct pml_plugin *p, uint32_t metric); /* the counter's id, < 0 */
void pml__plugin_synchronize(struct pml_plugin *p, bool responsible, bool begin);
int pml__plugin_value(struct pml__plugin_counter *c, uint64_t *value); /* 1: a value, 0: none, < 0: dropped */
bool pml__plugin_pairs(struct pml__plugin_counter *c, struct pml_plugin_pair **list, uint64_t *n);
void pml__plugin_finalize(struct pml_plugin *p);
/* An exception came out of its call @what: it is dropped. */
struct _Unwind_Exception;
void pml__plugin_threw(struct pml_plugin *p, const char *what, struct _Unwind_Exception *e);

/* --- pml_plugin_use.c --- */

/* The calling thread's use of @p, joined if need be; NULL: the plugin is not here or has ended. *@err: 0 or why. */
struct pml__plugin_use *pml__plugin_join(struct pml_plugin *p, int *err);
/* Ask for a value or take in a series, as the plugin is; the newest value; false: no value yet. Takes the lock. */
bool pml__plugin_ask(struct pml__plugin_counter *c, uint64_t *value);

/*
 * Disable the library of an inherited plugin: every function of it returns at once. For the exit of a process, with no
 * thread inside the library. A library that registers fork handlers is left alone; so are all if the system allows no
 * new code or the machine is neither x86-64 nor arm64. Cost: a copy of its code.
 */
void pml__plugin_silence(const struct pml_plugin *p);

/* --- pml_plugin_series.c --- */

/* With the lock. */
void pml__plugin_take(struct pml__plugin_counter *c); /* ask for its series and append it */
void pml__plugin_note_value(struct pml__plugin_counter *c, uint64_t value);

/* Sort @pair by time; fast if it is mostly sorted. */
void pml__plugin_sort(struct pml_plugin_pair *pair, size_t n);

/* Append new values to the process's log, if calls of the process are recorded. With the lock. Cost: a copy of 16 bytes
 * a value; now and then a call of pml__log_extent(). */
void pml__plugin_keep(struct pml__plugin_counter *c);

/* pml__plugin_define - metric @number of a log: 0 or -errno. pml__plugin_log_bytes - bytes of an extent of @n pairs. */
struct pml__log;
int pml__plugin_define(struct pml__log *log, uint32_t number, const char *plugin, const struct pml_plugin_metric *m,
                       uint64_t thread, int tid);
size_t pml__plugin_log_bytes(size_t pairs);

/* --- pml_plugin_load.c --- */

bool pml__plugin_is_here(enum pml_plugin_scope scope);
/* The tokens of $SCOREP_METRIC_<NAME>: [*n] and what they stand in, both to be freed. -ENOMEM. */
int pml__plugin_tokens(const char *name, char ***token, size_t *n);

#endif
