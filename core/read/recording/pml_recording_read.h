/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/recording/pml_recording_read.h - reader of a process's recording, complete or growing.
 *
 * No file is trusted: any content leads to results or to PML_EFORMAT. Names become regions of the reading process.
 * Contradictory records (names, paths, events) are omitted.
 */
#ifndef PML_RECORDING_READ_H
#define PML_RECORDING_READ_H

#include "base/pml_value.h"
#include "record/events/pml_recording.h"
#include "source/compiler/pml_count_file.h"
#include "substrate/flow/pml_flow.h"
#include "substrate/profile/pml_profile.h"

PML_BEGIN_DECLS

struct pml_recording_reader;

/*
 * pml_recording_read_open - open @path for reading; its process may still write to it. pml_recording_waited -
 * pml__log_waited(), called by the process that waited for the process of the log at @path. pml_recording_read_open_any
 * - the same for a log that may have no recorded calls, to read its other data, such as OpenMP's constructs; its story
 * describes no process. pml_recording_read_close - NULL is fine. Returns 0, -errno of open or read, PML_EFORMAT (no
 * recording, or a recording of another version or machine), -ENOMEM; *@r is NULL on failure. Memory: 16 bytes per
 * extent, 4 per region.
 */
PML__SHARED int pml_recording_read_open(struct pml_recording_reader **r, const char *path);
PML__SHARED int pml_recording_waited(const char *path, uint32_t waited, uint64_t ns);
PML__SHARED int pml_recording_read_open_any(struct pml_recording_reader **r, const char *path);
PML__SHARED void pml_recording_read_close(struct pml_recording_reader *r);

struct pml_recording_story {
  int pid, parent;
  const char *host; /* the process's host; owned by the reader */
  enum pml_recording_end ended;
  bool end_known;  /* the time of the end is known */
  uint32_t waited; /* 0: unknown; 1 + exit status, 257 + signal: as noted by the process that waited for it */
  bool traced;
  enum pml_count_at counted; /* which modules contained compiler counters, as far as loaded then */
  uint64_t lost_children;    /* children that could not be recorded */
  int refused;               /* -errno: why the file stopped growing; 0: it always grew */
  int uncounted;             /* a code: why a thread's events have no more values; 0: all have values */
  uint64_t dropped, unmatched, lifted, unrecorded; /* counts of the trace, as in pml_otf2_stats */
  uint64_t deep, brief, often;                     /* calls omitted because of limits */
  uint64_t older_bytes;                            /* bytes of older events replaced by later ones */
  uint32_t missing;                                /* extents missing at the end of a truncated file */
};
PML__SHARED void pml_recording_read_story(const struct pml_recording_reader *r, struct pml_recording_story *s);

/* pml_recording_read_note - the last fact noted under @key; NULL: none. Owned by the reader. */
PML__SHARED const char *pml_recording_read_note(const struct pml_recording_reader *r, const char *key);

/* pml_recording_tick_ns - the duration of a tick of the process's clock, in ns. */
PML__SHARED double pml_recording_tick_ns(const struct pml_recording_reader *r);

/* pml_recording_read_profile - the call paths as a profile, with the usual functions. Returns 0, -errno, -ENOMEM. */
PML__SHARED int pml_recording_read_profile(struct pml_recording_reader *r, struct pml_profile **p);

/*
 * pml_recording_read_calls - the call paths of each thread, outer ones first: *@calls, [*@n], to be freed with free().
 * Paths of ended threads are merged into thread 0. Returns 0, -errno, PML_EFORMAT or -ENOMEM; *@calls is NULL on
 * failure.
 */
struct pml_recording_call {
  uint32_t thread, path, parent; /* paths are numbered from 1 in each thread; parent 0: no calling region */
  bool outermost;                /* not inside a call of the same region */
  struct pml_profile_node node;
};
PML__SHARED int pml_recording_read_calls(struct pml_recording_reader *r, struct pml_recording_call **calls, size_t *n);

/*
 * pml_recording_read_sums - visit the sums of pml_recording_sum(); a function may occur several times, to be added.
 * @real: the values that are the bits of doubles. @sum: [n], valid during the call. Stops when @visit returns a value
 * other than 0; @visit may leave by a longjmp. Returns 0, -errno or the value of @visit.
 */
struct pml_recording_function_sums {
  pml_region_t region;
  uint32_t n;
  uint64_t real;
  const uint64_t *sum;
};
PML__SHARED int pml_recording_read_sums(struct pml_recording_reader *r,
                                        int (*visit)(const struct pml_recording_function_sums *sums, void *arg),
                                        void *arg);

/*
 * pml_recording_read_values - visit the values of pml_recording_add_values(); a function's value may occur several
 * times, to be added. An integer sum that needs more than 64 bits is a double. @name: valid during the call. Stops when
 * @visit returns a value other than 0; @visit may leave by a longjmp. Returns 0, -errno, PML_EFORMAT or the value of
 * @visit.
 */
struct pml_recording_function_value {
  pml_region_t region;
  const char *name;
  uint64_t count;
  struct pml_value sum, least, most; /* minimum and maximum; NaN if all values were */
};
PML__SHARED int pml_recording_read_values(struct pml_recording_reader *r,
                                          int (*visit)(const struct pml_recording_function_value *v, void *arg),
                                          void *arg);

/*
 * pml_recording_read_openmp - visit the sums of OpenMP's constructs, per construct, thread and the thread's number in
 * its team; a construct and number may occur several times, to be added. Stops when @visit returns a value other than
 * 0; @visit may leave by a longjmp. Returns 0, -errno or the value of @visit.
 */
struct pml_recording_openmp {
  pml_region_t region;
  const char *construct;   /* "parallel", "for", ...; static */
  unsigned runtime;        /* enum pml_openmp_runtime that reported it */
  uint32_t index, threads; /* the thread's number; the largest size of the team */
  uint64_t calls, count;   /* count: iterations or sections, tasks created */
  uint64_t ns, waited_ns;  /* waiting is included in the time */
};
PML__SHARED int pml_recording_read_openmp(const struct pml_recording_reader *r,
                                          int (*visit)(const struct pml_recording_openmp *o, void *arg), void *arg);

/*
 * pml_recording_read_children - visit the noted children of fork(), and their children, in any order, including those
 * that have a log by now. Reads the file again at each call. Stops when @visit returns a value other than 0; @visit may
 * leave by a longjmp. Returns 0, -errno or the value of @visit.
 */
struct pml_recording_child {
  int pid, parent;
  bool has_log;
  int refused;                  /* a code: why its log could not be made when it was needed; 0: no log was needed */
  enum pml_recording_end ended; /* without a log: RUNNING, EXIT or LEFT */
};
PML__SHARED int pml_recording_read_children(const struct pml_recording_reader *r,
                                            int (*visit)(const struct pml_recording_child *c, void *arg), void *arg);

/*
 * pml_recording_read_flow - create flow graphs of the events, with sums of their values; the flow is stopped, and
 * closed like any other. @progress: called repeatedly with the bytes read so far and in total; a value other than 0
 * stops the work. NULL: no reports. Returns 0, -errno, -ENOMEM, an error of pml_flow_open(), or the value of @progress;
 * *@f is NULL on failure.
 */
PML__SHARED int pml_recording_read_flow(struct pml_recording_reader *r, struct pml_flow **f,
                                        int (*progress)(uint64_t done, uint64_t all, void *arg), void *arg);

PML_END_DECLS

#endif
