/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/plugin/pml_plugin.h - metric plugins: sources of values, loaded at run time.
 *
 * A plugin written for Score-P's metric interface runs unchanged (interface/scorep); a program may also provide a
 * plugin without a library. Each metric is an event, plugin::NAME::METRIC, for any event set. A plugin that measures
 * asynchronously delivers series.
 *
 *   struct pml_plugin *p;
 *   pml_plugin_load(&(struct pml_plugin_options){.name = "demo_plugin"}, &p);  // libdemo_plugin.so, its metrics from
 *   pml_eventset_open(&set, (const char *[]){"plugin::demo_plugin::x"}, 1, NULL); // $SCOREP_METRIC_DEMO_PLUGIN
 *   ...
 *   pml_plugin_end(p);                                                        // the last values are collected
 *   pml_plugin_series(p, visit, NULL);
 *
 * Life cycle. A plugin is loaded and lists its metrics. The first event set that names one of them, or
 * pml_plugin_start(), starts it: its counters are added, on each joining thread or once, depending on its scope.
 * pml_plugin_end(), or the end of the process, stops it: the plugin is notified, its series are collected, and it is
 * finalized. Event sets then keep its last values. Its library is never unloaded, because its threads may still run.
 *
 * Faults of a plugin are contained: a failure, an exception, a NULL, a wrong size. Each is reported in one line, the
 * plugin or the metric is dropped, and the rest continues. Code that crashes or hangs is not contained.
 *
 * A child after a fork has no plugins: they belong to the parent, and their events keep their values. It may load
 * others. When it exits, destructors of its parent's plugins do not run, because they would wait for threads that a
 * child does not have.
 */
#ifndef PML_PLUGIN_H
#define PML_PLUGIN_H

#include "base/pml_value.h"

#include <stddef.h>

PML_BEGIN_DECLS

struct pml_plugin; /* never freed */

#define PML_PLUGIN_METRICS_MAX 4096u

/* In Score-P's order. */
enum pml_plugin_sync {
  PML_PLUGIN_STRICTLY_SYNC, /* a value at each read */
  PML_PLUGIN_SYNC,          /* a new value at a read, if available; otherwise the previous one */
  PML_PLUGIN_ASYNC_EVENT,   /* a series; reads collect its current values */
  PML_PLUGIN_ASYNC,         /* a series, collected at the end */
  PML_PLUGIN_SYNCS
};
enum pml_plugin_scope { PML_PLUGIN_THREAD, PML_PLUGIN_PROCESS, PML_PLUGIN_HOST, PML_PLUGIN_ONCE, PML_PLUGIN_SCOPES };
enum pml_plugin_value { PML_PLUGIN_INT64, PML_PLUGIN_UINT64, PML_PLUGIN_DOUBLE, PML_PLUGIN_VALUES };
enum pml_plugin_state { PML_PLUGIN_LOADED, PML_PLUGIN_RUNNING, PML_PLUGIN_ENDED, PML_PLUGIN_DROPPED };

/* Their names: "strictly_sync" ...; NULL for an invalid one. Static. */
PML_API const char *pml_plugin_sync_name(enum pml_plugin_sync s);
PML_API const char *pml_plugin_scope_name(enum pml_plugin_scope s);
PML_API const char *pml_plugin_value_name(enum pml_plugin_value v);
PML_API const char *pml_plugin_state_name(enum pml_plugin_state s);
PML_API const char *pml_mode_name(enum pml_mode m);

/* A value means value * base^exponent unit. */
struct pml_plugin_metric {
  const char *name;
  const char *description; /* may be "" */
  const char *unit;
  enum pml_mode mode;
  enum pml_plugin_value value;
  bool binary; /* the base is 2, else 10 */
  int64_t exponent;
};
PML_API double pml_plugin_scale(const struct pml_plugin_metric *m); /* base^exponent */

struct pml_plugin_info {
  const char *name;
  const char *path; /* path of its library, or "" */
  enum pml_plugin_sync sync;
  enum pml_plugin_scope scope;
  enum pml_plugin_state state;
  bool here;            /* this process measures for its host or for all processes */
  uint64_t delta_ticks; /* minimum time between two reads */
  size_t nmetrics;
  const struct pml_plugin_metric *metric; /* [nmetrics] */
  const char *trouble;                    /* the first failure, one line, or "" */
};

/* A value of a series, at ticks of pml_clock; its bits have the metric's type. */
struct pml_plugin_pair {
  uint64_t ticks, value;
};

struct pml_plugin_options {
  const char *name; /* "NAME" of libNAME.so */
  const char
      *path; /* its file, or the folder of the file; NULL: where the loader finds it, or among the plugins of pmlua */
  const char *const *metrics; /* [nmetrics] tokens; NULL: from $SCOREP_METRIC_<NAME>, separated by its _SEP or "," */
  size_t nmetrics;
};

/*
 * pml_plugin_load - load a plugin and get its metrics.
 *
 * Returns 0; -EINVAL (no name); -EEXIST (a plugin of this name is loaded and has not ended); -ENOENT (no such library);
 * PML_EPLUGIN (it cannot be loaded, is not a plugin, or failed: the detail names the call and the failure); -ENOMEM.
 * *@p is NULL on failure. A plugin without metrics is also loaded, and has no cost. Thread-safe; a plugin must not call
 * it. Cost: the loader's and the plugin's.
 */
PML_API int pml_plugin_load(const struct pml_plugin_options *o, struct pml_plugin **p);

/*
 * pml_plugin_load_environment - load the plugins listed in $SCOREP_METRIC_PLUGINS (separated by
 * $SCOREP_METRIC_PLUGINS_SEP or ","), once per process; failed ones are in the list, dropped. Listing and parsing
 * events call it.
 */
PML__SHARED void pml_plugin_load_environment(void);

/* A program's functions for a plugin without a library. All calls are made with the plugin's lock held, one at a time;
 * they must not call pml_plugin functions for the same plugin. NULL: no action. */
struct pml_plugin_provider {
  enum pml_plugin_sync sync; /* not strictly synchronous */
  enum pml_plugin_scope scope;
  uint64_t delta_ticks;
  const struct pml_plugin_metric *metric; /* [nmetrics], copied */
  size_t nmetrics;
  int (*start)(void *arg); /* at the first join; returns 0 or a negative code with its detail */
  int (*read)(void *arg, size_t metric, uint64_t *value); /* synchronous: 1, 0 (nothing new) or negative */
  int (*collect)(void *arg, size_t metric, struct pml_plugin_pair **list, size_t *n); /* the list from malloc() */
  void (*stop)(void *arg);  /* stop measuring; existing values may still be collected */
  void (*close)(void *arg); /* the last call, also after a failed provide or start */
  void *arg;
};
PML_API int pml_plugin_provide(const char *name, const struct pml_plugin_provider *provider, struct pml_plugin **p);

/* pml_plugin_find - the plugin loaded under @name, or NULL. An ended one is found until a newer one is loaded. */
PML_API struct pml_plugin *pml_plugin_find(const char *name);
PML_API void pml_plugin_describe(struct pml_plugin *p, struct pml_plugin_info *info);
typedef int pml_plugin_visit(struct pml_plugin *p, void *arg); /* non-zero stops the walk */
PML_API int pml_plugin_list(pml_plugin_visit *visit, void *arg);

/*
 * pml_plugin_start - let the calling thread join: add its counters and start the plugin. Idempotent. Returns 0,
 * PML_ECLOSED (ended), PML_EPLUGIN (dropped).
 * pml_plugin_collect - collect the current values of an ASYNC_EVENT plugin. Returns 0, PML_EMODE (another kind),
 * PML_ECLOSED.
 * pml_plugin_end - stop the plugin, collect its series, finalize it; idempotent. Waits for running reads. -EBUSY: a
 * read did not return within a second; the plugin is not finalized. -EDEADLK: called by a plugin. Thread-safe.
 */
PML_API int pml_plugin_start(struct pml_plugin *p);
PML_API int pml_plugin_collect(struct pml_plugin *p);
PML_API int pml_plugin_end(struct pml_plugin *p);

/* A series of one metric at one place, ordered by time. */
struct pml_plugin_series {
  const struct pml_plugin_metric *metric;
  uint64_t thread; /* pml_thread id of the thread that added the counter; 0: the scope is the process or larger */
  int tid;         /* the system's number of that thread */
  size_t n;
  const struct pml_plugin_pair *pair; /* [n], valid until the visitor returns */
  uint64_t outside;                   /* omitted values: earlier than the beginning, or in the future */
  uint64_t backwards;                 /* decreases of a metric that should only grow; the values are kept */
};
typedef int pml_plugin_series_visit(const struct pml_plugin_series *s, void *arg); /* non-zero stops */
PML_API int pml_plugin_series(struct pml_plugin *p, pml_plugin_series_visit *visit, void *arg)
    PML_NAMESAKE(pml_plugin_series);

/*
 * pml_plugin_publish - make the metrics of all running plugins software-defined events, "plugin::NAME::METRIC", for
 * readers of these; metrics that cannot be published are left out. A plugin that replaces an ended one replaces its
 * events. A read takes the plugin's lock and calls it. Thread-safe. Cost: a few instructions for each plugin that was
 * published before.
 */
PML__SHARED void pml_plugin_publish(void);

/* pml_plugin_on_first - call @notify once, on the thread that starts the next plugin, after the start, without locks.
 * NULL: no longer. Thread-safe. */
PML__SHARED void pml_plugin_on_first(void (*notify)(void));

/* pml_plugin_on_trouble - call @say with each line of trouble outside of a call (a failing load reports it as its
 * detail); NULL: no reports. It may be called on any thread, with locks held: it must not call the core. */
PML__SHARED void pml_plugin_on_trouble(void (*say)(const char *line));

PML_END_DECLS

#endif
