/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_eventset.h - an event set: events of any sources, read together in order. */
#ifndef PML_EVENTSET_H
#define PML_EVENTSET_H

#include "base/pml_value.h"
#include "source/kernel/pml_counter.h"

PML_BEGIN_DECLS

#define PML_EVENTSET_NO_PAGE PML_OPEN_NO_PAGE /* never read in user space */
#define PML_EVENTSET_UNGROUPED 0x10u          /* one read(2) per event, no group: for comparison */
#define PML_EVENTSET_MULTIPLEX 0x20u          /* events that do not fit together take turns; counts need scaling */
#define PML_EVENTSET_ON_EXEC PML_OPEN_ON_EXEC /* count from the target's next execve(2) on, not from open */
#define PML_EVENTSET_MAX 128u

struct pml_eventset_options {
  struct pml_target target; /* {0}: the calling thread */
  unsigned flags;           /* PML_EVENTSET_* */
};

/* Description of an event of a set, and how it is read now. */
struct pml_eventset_event {
  const char *name; /* as asked for; NAME:u where the kernel refuses to count itself */
  const char *unit;
  double scale;
  enum pml_path path;
  const char
      *why; /* reason why not the page path, else NULL; software-defined, plugin: reason for no value, else NULL */
  unsigned nparts;    /* 0: no event of the kernel; > 1: hybrid or of packages, the value is the sum of its parts */
  enum pml_type type; /* PML_TYPE_INT64, or PML_TYPE_DOUBLE: its values are a double's bits; see pml_eventset_type() */
  bool is_unsigned;   /* set by a plugin's metric; else an integer is an int64_t */
  enum pml_mode mode; /* PML_MODE_ACCUMULATED_START, except for plugins' metrics and instant events */
  bool binary;        /* @scale is 2, else 10, ... */
  int64_t exponent;   /* ... to the power of this; 0: a power of neither, only @scale applies */
};

struct pml_eventset; /* opaque: its layout is tuned to the read */

/*
 * pml_eventset_open - parse and open @n events; they count from now on.
 * The values of every read come in the order of @names. *@set is NULL on failure.
 *
 * Returns 0, -EINVAL (n is 0 or above PML_EVENTSET_MAX), or what pml_event_parse() and pml_counter_open() return; the
 * detail names the event. Owned by the caller, one user at a time, closed from any thread; closing NULL is fine.
 */
PML_API int pml_eventset_open(struct pml_eventset **set, const char *const *names, size_t n,
                              const struct pml_eventset_options *options);
PML_API void pml_eventset_close(struct pml_eventset *set);

/* pml_eventset_bytes - about what a set of @n events takes in memory, for callers that bound it. */
PML_API size_t pml_eventset_bytes(size_t n);

/*
 * pml_eventset_size  - how many events a set has.
 * pml_eventset_event - what event @i is; @info points into the set, until it is closed. Returns 0 or -ENOENT (no such
 * event). Neither makes a system call.
 */
PML_API size_t pml_eventset_size(const struct pml_eventset *set);
PML_API int pml_eventset_event(const struct pml_eventset *set, size_t i, struct pml_eventset_event *info)
    PML_NAMESAKE(pml_eventset_event);

/* pml_eventset_typed - may some value be a double, or absent? Else every one is an integer. */
PML_API bool pml_eventset_typed(const struct pml_eventset *set);

/*
 * pml_eventset_type - what the last values of event @i are: PML_TYPE_DOUBLE, their bits are a double's, else
 * PML_TYPE_INT64. An unregistered software-defined event is an integer, -1, until a library registers it.
 */
PML_API enum pml_type pml_eventset_type(const struct pml_eventset *set, size_t i);

/* pml_eventset_absent - is @value of event @i, a metric of a plugin, none: had it no value yet (see pml_value.h)? */
PML_API bool pml_eventset_absent(const struct pml_eventset *set, size_t i, uint64_t value);

/*
 * Start, stop and reset take differences; the counters run all the time and no ioctl is made.
 *
 * pml_eventset_start - counts are taken relative to now.
 * pml_eventset_read  - @values[size]: counts since start (since open, if never started).
 * pml_eventset_stop  - the same, and the set stands still: later reads give the same values until start.
 * pml_eventset_reset - counts are relative to now, running or stopped (a stopped set then reads 0).
 * pml_eventset_accum - @values[i] += counts since start, then as reset.
 * pml_eventset_read_ts - as read, and *@ticks is the clock right before the counters.
 *
 * Each returns the number of page reads tried again (>= 0, normally 0) or a negative code.
 * A set that its owner thread reads takes the page path where it can; any other thread gets read(2): slower, not wrong.
 * Software-defined events count from this set's start, independently of other readers; instant events give the current
 * value, and accum replaces the element of @values by it. Events that each thread counts separately (sde:::BYFL::, by
 * the compiler) belong to the thread that opened the set, as a hardware counter would, even if another thread reads
 * them or the thread has ended; with target.inherit they are summed over all threads of the process. A MIN or MAX group
 * is instant. Doubles are passed as their bits. A placeholder reads as -1. Metrics of plugins behave the same:
 * accumulated and relative metrics count from start, absolute ones give the current value or are absent
 * (pml_eventset_absent()). A set with plugin metrics is not async-signal-safe, and only the thread that opened it,
 * whose counters it has, may read it. Callbacks run at start, at each read and at stop; sets with callbacks or
 * quantiles are not async-signal-safe. clock:: events also count since start. Cost: one group read(2) plus some 30
 * instructions and 7 per event, or some 25 and 30 per event by page, some 15 per software-defined variable. No lock, no
 * allocation. Async-signal-safe (one user at a time).
 */
PML_API int pml_eventset_start(struct pml_eventset *set);
PML_API int pml_eventset_read(struct pml_eventset *set, uint64_t *values);
PML_API int pml_eventset_read_ts(struct pml_eventset *set, uint64_t *values, uint64_t *ticks);
PML_API int pml_eventset_stop(struct pml_eventset *set, uint64_t *values);
PML_API int pml_eventset_reset(struct pml_eventset *set);
PML_API int pml_eventset_accum(struct pml_eventset *set, uint64_t *values);

/*
 * pml_eventset_readings - the same counts with the times that scaling needs, also since start: @out[size]. Clocks and
 * software-defined events have enabled == running == ns since start; raw contains the bits of a double.
 *
 * For an event of several parts, raw is the sum of the parts' counts. The parts of a hybrid event take turns: enabled
 * is the time of the thread, once, and running is the time that any part counted. The places of an uncore event count
 * at the same time: enabled and running are sums over the places.
 *
 * pml_eventset_scaled - as readings, and scaled[size]: the result of pml_reading_scaled() for each reading, summed over
 * the places of an uncore event (a place that never ran adds 0; pml_eventset_part() shows which).
 */
PML_API int pml_eventset_readings(struct pml_eventset *set, struct pml_reading *out);
PML_API int pml_eventset_scaled(struct pml_eventset *set, struct pml_reading *out, double *scaled);

/*
 * pml_eventset_part - part @p of event @i, hybrid or of packages: its PMU's name, with its place if it has one
 * ("power:package0"), and its own reading. -ENOENT past the last.
 */
PML_API int pml_eventset_part(struct pml_eventset *set, size_t i, unsigned p, const char **pmu,
                              struct pml_reading *out);

PML_END_DECLS

#endif
