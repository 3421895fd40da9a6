/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/otf2/write/pml_otf2_write.h - interface to libotf2 for pml_otf2.c. Internal. Calls are made under the
 * archive's lock, unless stated otherwise.
 *
 * Each returns 0, or the code of a failure with its detail in pml_error_detail(). libotf2 prints nothing, because its
 * error callback is replaced, for the whole process, at the first create.
 */
#ifndef PML_OTF2_WRITE_H
#define PML_OTF2_WRITE_H

#include "base/pml_cancel.h"
#include "read/otf2/write/pml_otf2_location.h"
#include "record/log/pml_log_format.h"
#include "source/compiler/pml_count_file.h"

#include <pthread.h>

#define PML__OTF2_METRICS_MAX 255 /* OTF2 counts them in a byte */
#define PML__OTF2_TEXT_BYTES 400

struct pml__otf2_teams;
/* Metrics recorded together: one class of metrics that are not absolute, and a class for each absolute one. */
struct pml__otf2_set {
  struct pml_otf2_metric *metric; /* [n]; owns the strings */
  size_t n;
  uint32_t class; /* the first of its classes */
  struct pml__otf2_set *next;
};

/* A location group. */
struct pml__otf2_process {
  char *name, *host;
  uint32_t ref;
  uint32_t node; /* node of its host; set for the first process there */
  struct pml__otf2_process *next;
};

#define PML__OTF2_UNUSED 2
struct pml__otf2_chunk;
struct pml_otf2 {
  pid_t pid;              /* process that opened it; a forked child leaves all below alone */
  struct pml__mutex lock; /* guards all below, and each location's second half */
  char *dir;
  struct pml__otf2_set own; /* metrics of locations created by pml_otf2_location(), followed by further sets */
  struct pml__otf2_process *processes, **last_process;
  uint32_t nprocesses;
  struct pml_otf2_location *first, **end;
  uint64_t nlocations;
  struct pml__otf2_single *single; /* [nsingles] */
  uint32_t nsingles;
  uint32_t nclasses;    /* number of classes and instances of sets, single values and series */
  uint32_t *region_ref; /* [region_capacity] by region id: its OTF2 reference + 1; 0: not recorded */
  uint32_t region_capacity, nregions;
  uint64_t opened_ticks, opened_realtime_ns;
  bool of_logs;                    /* descriptions of metrics are complete */
  bool in_ns;                      /* times are ns since @opened_realtime_ns */
  enum pml_count_at counted;       /* otherwise, the level at which the compiler counted in this process */
  const struct pml__otf2_mpi *mpi; /* borrowed; NULL: no process is an MPI rank */
  struct pml__otf2_teams *teams;   /* OpenMP teams; NULL: no team */
  struct pml_recording *recording; /* the log of the locations' events; NULL: no log */
  struct pml_recording *attached;  /* the log of attached threads; NULL: no log */
  int error;                       /* the first failure of libotf2; later events are dropped */
  char error_text[PML__OTF2_TEXT_BYTES];
  struct OTF2_Archive_struct *archive;
  struct pml__otf2_chunk *unused[PML__OTF2_UNUSED]; /* atomic: chunks of libotf2's memory for reuse */
};

/* The metric of a series' location: its class, and its instance for this location. */
struct pml__otf2_series {
  struct pml_otf2_metric metric; /* owns the strings */
  uint32_t class, ref;
};

/* A metric whose values are written one by one, on the location of a thread, in a separate class. */
struct pml__otf2_single {
  struct pml_otf2_metric metric; /* owns the strings */
  uint32_t class;
};

/* The global definitions while they are written; references are given in the order of writing. */
struct pml__otf2_defs {
  struct pml_otf2 *a;
  struct OTF2_GlobalDefWriter_struct *out;
  uint32_t nstrings, ngroups;
  const struct pml_otf2_metric **member; /* [nmembers]: the defined ones */
  uint32_t nmembers;
  int err; /* the first failure */
};

/* --- pml_otf2.c --- */

/*
 * pml__otf2_open_logs - open an archive for logs of other processes: it has no process yet, locations have no log,
 * and times are ns since opened_realtime_ns, which the caller sets. As pml_otf2_open().
 * pml__otf2_add_process - add a process, for locations. pml__otf2_location_of - under the lock: as pml_otf2_location(),
 * for @process, with the metrics of @set. pml__otf2_location_done - under the lock: free the memory and close the file
 * of @loc, which gets no more events.
 */
int pml__otf2_open_logs(struct pml_otf2 **a, const char *dir);
int pml__otf2_add_process(struct pml_otf2 *a, const char *name, const char *host, struct pml__otf2_process **p);
int pml__otf2_location_of(struct pml_otf2 *a, const char *name, struct pml__otf2_process *process,
                          const struct pml__otf2_set *set, struct pml_otf2_location **loc);
int pml__otf2_location_done(struct pml_otf2 *a, struct pml_otf2_location *loc);
/* pml__otf2_location_new - a location of zeros, without a ring; NULL: no memory. */
struct pml_otf2_location *pml__otf2_location_new(void);
/* pml__otf2_regions - the regions by their references, [nregions + 1], to be freed with free(); NULL: no memory. */
pml_region_t *pml__otf2_regions(const struct pml_otf2 *a);
/* Returns 0, or PML_EMODE in a forked child, where a thread that does not exist may hold the lock, and the files belong
 * to the parent. */
int pml__otf2_here(const struct pml_otf2 *a);

/* pml__otf2_counts - counts of a location's event buffer. */
struct pml_recording;
void pml__otf2_counts(const struct pml_otf2_location *loc, uint64_t count[PML__LOG_COUNTERS]);
/* pml__otf2_end - as pml_otf2_close(), of an archive whose events are written. */
int pml__otf2_end(struct pml_otf2 *a);
void pml__otf2_add_location(struct pml_otf2 *a, struct pml_otf2_location *loc);
int pml__otf2_check_metrics(const struct pml_otf2_metric *metrics, size_t n);

/* --- pml_otf2_series.c --- */

void pml__otf2_series_free(struct pml__otf2_series *s);
void pml__otf2_singles_free(struct pml_otf2 *a);

/*
 * pml__otf2_add_set - add a set of these metrics, or find the existing one. pml__otf2_fill_set - fill in @set, the
 * archive's first set. pml__otf2_set_free - free the contents of a set.
 */
int pml__otf2_add_set(struct pml_otf2 *a, const struct pml_otf2_metric *metrics, size_t n,
                      const struct pml__otf2_set **set);
int pml__otf2_fill_set(struct pml_otf2 *a, struct pml__otf2_set *set, const struct pml_otf2_metric *metrics, size_t n);
void pml__otf2_sets_free(struct pml_otf2 *a);

/*
 * pml__otf2_add_singles - @n metrics more, for values that are recorded one at a time; *@first is the first one's
 * number. On any thread. pml__otf2_add_single - the same of one metric, which may be there already.
 * pml__otf2_write_single - a value of the @i-th, as pml__otf2_write().
 */
int pml__otf2_add_singles(struct pml_otf2 *a, const struct pml_otf2_metric *metrics, size_t n, uint32_t *first);
int pml__otf2_add_single(struct pml_otf2 *a, const struct pml_otf2_metric *metric, uint32_t *single);
int pml__otf2_write_single(struct pml_otf2 *a, struct pml_otf2_location *loc, uint64_t ticks, uint32_t i,
                           uint64_t bits);

/* --- pml_otf2_write.c --- */

/* Name of the anchor and the definitions, without extension, and of the folder of events. */
#define PML__OTF2_NAME "traces"

/* pml__otf2_create - create the files; @a->dir is set. */
int pml__otf2_create(struct pml_otf2 *a);

/* pml__otf2_create_location - create the event writer of @loc; @loc->ref is set. */
int pml__otf2_create_location(struct pml_otf2 *a, struct pml_otf2_location *loc);

/* pml__otf2_type - OTF2_Type of a metric's values. */
uint8_t pml__otf2_type(const struct pml_otf2_metric *m);

/* pml__otf2_class - the class of an absolute @metric; with set->n: the number after the set's classes. */
uint32_t pml__otf2_class(const struct pml__otf2_set *set, size_t metric);

/* pml__otf2_event - write and count one event; @region is an OTF2 reference, @values are a metric's values, in the
 * order of the set. */
int pml__otf2_event(struct pml_otf2 *a, struct pml_otf2_location *loc, uint32_t kind, uint64_t ticks, uint32_t region,
                    const uint64_t *values);

/*
 * pml__otf2_write - one event, for a caller that has all events at hand; @loc has no others. Events of a
 * location are in order and balanced. It takes no lock: a lock costs two system calls, which is four times the rest. No
 * other thread may use the archive meanwhile.
 */
int pml__otf2_write(struct pml_otf2 *a, struct pml_otf2_location *loc, uint32_t kind, uint64_t ticks,
                    pml_region_t region, const uint64_t *values);

/* pml__otf2_value - write one value of @metric, by its class or instance @ref, and count it. */
int pml__otf2_value(struct pml_otf2 *a, struct pml_otf2_location *loc, uint64_t ticks,
                    const struct pml_otf2_metric *metric, uint32_t ref, uint64_t bits);

/* pml__otf2_wrote - count the events of @loc in addition to @before, all at @ticks; @code: an OTF2_ErrorCode. */
int pml__otf2_wrote(struct pml_otf2 *a, struct pml_otf2_location *loc, uint64_t ticks, uint64_t before, int code);

/* String 0 is "" and is used for all unspecified texts. */
uint32_t pml__otf2_string(struct pml__otf2_defs *d, const char *text);
/* Note the result of a definition, an OTF2_ErrorCode. */
void pml__otf2_defined(struct pml__otf2_defs *d, int code);
void pml__otf2_define_metrics(struct pml__otf2_defs *d);

/* pml__otf2_finish - write the definitions made by @define and close the files, continuing after failures; returns the
 * first. */
typedef int pml__otf2_definer(struct pml_otf2 *a, struct OTF2_GlobalDefWriter_struct *out);
int pml__otf2_finish(struct pml_otf2 *a, pml__otf2_definer *define);
/* pml__otf2_close_writer - close the event writer of @loc. pml__otf2_machine - this host's name. */
int pml__otf2_close_writer(struct pml_otf2 *a, struct pml_otf2_location *loc);
const char *pml__otf2_machine(char *buf, size_t size);

/* --- pml_otf2_define.c --- */

pml__otf2_definer pml__otf2_define;
/* pml__otf2_record - open a log in the archive's folder, for events with its metrics. */
int pml__otf2_record(const struct pml_otf2 *a, struct pml_recording **s);

/* --- pml_otf2_series.c --- */

/* pml__otf2_series_of - write all series of the file @path, each on a location of @process; @ns converts ticks, and
 * returns PML__OTF2_NEVER for values to be omitted. Like pml_otf2_series_file(). */
#define PML__OTF2_NEVER UINT64_MAX
int pml__otf2_series_of(struct pml_otf2 *a, const char *path, struct pml__otf2_process *process,
                        uint64_t (*ns)(uint64_t ticks, const void *arg), const void *arg);

#endif
