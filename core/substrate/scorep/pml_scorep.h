/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/scorep/pml_scorep.h - Score-P's substrate plugins as consumers of pml_stream.
 *
 * A plugin NAME is libscorep_substrate_NAME.so; its headers are core/interface. It gets enters and leaves
 * with their values, and metric events as triggered counters; regions, metrics and threads are its definitions and
 * locations. Features without a source in pmlua are reported once, in one line.
 *
 * These of the interface's 83 events are emitted: ENTER_REGION and EXIT_REGION; TRIGGER_COUNTER_INT64, _UINT64 and
 * _DOUBLE (by the type of a plugin's metric, other integers unsigned); ENABLE_RECORDING and DISABLE_RECORDING;
 * PROGRAM_BEGIN when the plugin has begun, with the command, and PROGRAM_END, whose status is not known yet, before it
 * ends; THREAD_FORK_JOIN_* and THREAD_ACQUIRE_LOCK and _RELEASE_LOCK for OpenMP, within the regions of its constructs.
 * Not emitted, because there is no source: samples and calling contexts, rewinding, flushes of trace buffers, MPI, RMA,
 * locks of other paradigms, thread creation, allocations, parameters, post-mortem metrics, files and communicators. The
 * interface of Score-P 9 has no WRITE_METRIC_BEFORE_EVENT: in an earlier version it had the number of
 * WRITE_POST_MORTEM_METRICS, with the same arguments. The management functions of tasks are not called. dump_manifest
 * adds to MANIFEST.md in the directory, after write_data.
 *
 * Teams are interim communicators, one for each fork. A task is identified by the thread that created it, by its
 * number, which is unique in the process, and by a handle that is only useful for comparisons; the implicit task is
 * number 0, without a handle. A task's region is entered before TASK_BEGIN and left after TASK_END; a task that moves
 * to another thread begins there again. All locks of the process share one order of acquisitions.
 *
 * A plugin gets nested events: a leave without its enter is omitted, and regions still open at an outer region's leave
 * or at the end are left first. Times are ticks of pml_clock. Handles of regions are pml_region_t.
 */
#ifndef PML_SCOREP_H
#define PML_SCOREP_H

#include "base/pml_stream.h"

PML_BEGIN_DECLS

struct pml_scorep;

#define PML_SCOREP_MAX 8u          /* open plugins */
#define PML_SCOREP_DEPTH_MAX 4096u /* open regions of a thread; deeper ones are passed on without nesting */
#define PML_SCOREP_LINES_MAX 256u

struct pml_scorep_options {
  const char *name;      /* letters, digits and _ */
  const char *path;      /* the library's folder; NULL: the loader's search path */
  const char *directory; /* experiment directory; NULL: $SCOREP_EXPERIMENT_DIRECTORY, or substrates-TIME-PID */
};

/*
 * pml_scorep_open - load a plugin and start delivering events to it.
 * pml_scorep_close - stop delivering events; the plugin writes its data and ends. NULL is fine. Its library stays
 * loaded.
 *
 * All open plugins share one directory, which is created when a plugin needs it.
 *
 * Returns 0, -EINVAL (the name), -ENOENT (no such library), -ENOEXEC (it cannot be loaded), PML_ENOSYMBOL (it is not a
 * plugin of this name), PML_EFORMAT (its description is invalid), -ECANCELED (it refused, or threw an exception),
 * -EEXIST (it is open, or another directory is in use), PML_EFULL, -ENOMEM, the errno of creating the directory, or an
 * error of pml_stream_add(); *@p is NULL on failure.
 *
 * A plugin that throws a C++ exception is dropped and reported; a crash or hang of a plugin is not caught. In a child
 * after a fork a plugin gets neither events nor its end. Must not be called by a consumer. Thread-safe, not
 * async-signal-safe.
 *
 * Cost of an event: some 32 instructions and the plugin's, besides the stream's; more for a plugin in C++, whose calls
 * are guarded. The plugin may use any register, so intercepted calls take the full path, not the fast one. Memory: 17
 * KiB for each thread that emitted events, until the plugin is closed.
 */
PML__SHARED int pml_scorep_open(struct pml_scorep **p, const struct pml_scorep_options *o);
PML__SHARED void pml_scorep_close(struct pml_scorep *p);

/*
 * pml_scorep_record - switch recording on, which is the default, or off: while it is off, the plugin's functions for
 * this mode get the events. From one thread at a time; the plugin's function for the switch is called on this thread's
 * location.
 */
PML__SHARED void pml_scorep_record(struct pml_scorep *p, bool on);

struct pml_scorep_stats {
  uint32_t threads, regions, metrics; /* numbers of definitions in the plugin */
  uint64_t unmatched;                 /* omitted leaves without enters */
  bool dropped;                       /* it threw an exception */
};
PML__SHARED void pml_scorep_stats(struct pml_scorep *p, struct pml_scorep_stats *s);

/* pml_scorep_line - the @i-th message about plugins, from 0, each once; NULL: no more. Never freed. Thread-safe. */
PML__SHARED const char *pml_scorep_line(size_t i);

PML_END_DECLS

#endif
