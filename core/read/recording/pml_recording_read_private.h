/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/recording/pml_recording_read_private.h - declarations shared by the files of the reader. Internal. */
#ifndef PML_RECORDING_READ_PRIVATE_H
#define PML_RECORDING_READ_PRIVATE_H

#include "read/log/pml_log_read.h"
#include "read/recording/pml_recording_read.h"
#include "record/events/pml_recording_file.h"

struct pml__source_lines;

struct pml__recording_noted {
  struct pml__recording_noted *next; /* an earlier one */
  const char *text;
  char key[];
};

/* A list of values; name NULL: it is not defined. */
struct pml__recording_named {
  struct pml__log_list is;
  const char **name; /* [is.n], and the texts behind them */
};

struct pml_recording_reader {
  struct pml__log_reader log;
  struct pml__log_recording head;
  struct pml__recording_noted *notes; /* the latest one first */
  pml_region_t *region;               /* [nregions] this process's region for each region of the log; 0: no name */
  uint32_t nregions;
  struct pml__recording_named *list; /* [nlists] by number */
  uint32_t nlists;
  uint64_t count[PML__LOG_COUNTERS];
  struct pml__source_lines *lines; /* for names with addresses */
};

/* pml__recording_intern - a region of the log as ours: OpenMP's by the source lines of their addresses. */
struct pml__log_named_region;
int pml__recording_intern(struct pml_recording_reader *r, const struct pml__log_named_region *of, pml_region_t *region);

/* Visits each block of memory, used or not, @at in the file, until @visit returns a value other than 0. */
typedef int pml__recording_visit_block(const struct pml_recording_reader *r, const struct pml__log_block *b,
                                       uint64_t at, void *arg);
int pml__recording_each_block(const struct pml_recording_reader *r, pml__recording_visit_block *visit, void *arg);
/* pml__recording_plausible - whether that many calls, or that many ticks in one call, are possible since the recording
 * began: a cpu makes at most one call per nanosecond, no call began earlier, and no machine has more than 2^16 cpus. */
bool pml__recording_plausible_calls(const struct pml_recording_reader *r, uint64_t calls);
bool pml__recording_plausible_ticks(const struct pml_recording_reader *r, uint64_t ticks);

/* This process's region for a region of the log; 0: none. */
pml_region_t pml__recording_region(const struct pml_recording_reader *r, uint32_t theirs);

struct pml__recording_event {
  enum pml_stream_kind kind;
  pml_region_t region; /* in this process; for a metric: 0, or the region of the call with these values */
  uint64_t ticks;
  const uint64_t *values; /* for a metric, which follows its enter or precedes its leave; valid during the call */
  uint32_t nvalues;       /* of a call, of OpenMP */
  const struct pml__recording_named *list; /* names of a metric's values; NULL: the recording's metrics */
  uint32_t what;                           /* of OpenMP: enum pml__log_openmp_event */
  bool results;                            /* for a call's values: results, not arguments */
  bool unreturned;                         /* a leave of a call that did not return */
};

/* An MPI event, as in docs/log.md. */
struct pml__recording_communicated {
  uint32_t what, code; /* enum pml__log_communication; the kind of collective operation */
  uint64_t ticks;
  const uint64_t *values; /* [nvalues], valid during the call */
  uint32_t nvalues;
};

/* A receiver of a recording's events. A function that returns a value other than 0 stops the work. */
struct pml__recording_listener {
  /* Each function may be NULL. Without @begin, @arg is the lane of all threads. */
  int (*begin)(void *arg, int64_t tid,
               void **lane); /* at a thread's first event; if *lane stays NULL, its events are omitted */
  int (*event)(void *arg, void *lane, const struct pml__recording_event *e); /* in the order of emission */
  int (*communication)(void *arg, void *lane, const struct pml__recording_communicated *e);
  int (*end)(void *arg, void *lane); /* for each thread, at the end */
  void (*free)(void *lane);          /* also after a failure */
  int (*progress)(uint64_t done, uint64_t all, void *arg);
  void *progress_arg;
  uint32_t nmetrics; /* expected number of values; an event with another number ends its extent */
  void *arg;
};
int pml__recording_listen(const struct pml_recording_reader *r, const struct pml__recording_listener *to);

/* Visit each list of values of a region's calls; valid during the visit. */
struct pml__recording_named_values {
  pml_region_t region; /* in this process, with a name */
  bool results;
  uint32_t n;
  uint64_t real;                              /* a bit for each value that is a double */
  const char *name[PML_RECORDING_VALUES_MAX]; /* [n] */
};
int pml__recording_name_values(const struct pml_recording_reader *r,
                               int (*visit)(const struct pml__recording_named_values *v, void *arg), void *arg);

/* Copy the names of the metrics of events with values, [PML_STREAM_METRICS_MAX]. Returns their number; 0: unknown. */
#define PML__RECORDING_METRIC_BYTES 256u
uint32_t pml__recording_metrics(const struct pml_recording_reader *r, char (*name)[PML__RECORDING_METRIC_BYTES]);

/* The end of the process in ticks of its clock; 0: unknown. */
uint64_t pml__recording_end_ticks(const struct pml_recording_reader *r);

#endif
