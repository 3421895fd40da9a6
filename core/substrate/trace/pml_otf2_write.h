/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/trace/pml_otf2_write.h - what pml_otf2.c asks of libotf2. Internal; every call is made under the
 * archive's lock.
 *
 * Each returns 0, or the code of a failure whose sentence pml_error_detail() has. libotf2 prints nothing: its error
 * callback is replaced, for the whole process, at the first create.
 */
#ifndef PML_OTF2_WRITE_H
#define PML_OTF2_WRITE_H

#include "base/pml_cancel.h"
#include "source/compiler/pml_count_file.h"
#include "substrate/trace/pml_otf2_location.h"

#include <pthread.h>

#define PML__OTF2_METRICS_MAX 255 /* OTF2 counts them in a byte */
#define PML__OTF2_TEXT_BYTES 400

struct pml__otf2_teams;

struct pml_otf2 {
  pid_t pid;              /* of the process that opened it; a forked child leaves all below alone */
  struct pml__mutex lock; /* guards all below, and each location's flusher half */
  char *dir;
  struct pml_otf2_metric *metric; /* [nmetrics]; the strings are ours */
  size_t nmetrics;
  uint64_t capacity; /* slots of a ring, a power of two */
  struct pml_otf2_location *first, **end;
  uint64_t nlocations;
  struct pml__otf2_single *single; /* [nsingles] */
  uint32_t nsingles;
  uint32_t nclasses;    /* and instances, of single values and series, behind those of the archive's metrics */
  uint32_t *region_ref; /* [region_capacity] by region id: its OTF2 reference + 1, 0 if it is in no record */
  uint32_t region_capacity, nregions;
  uint64_t opened_ticks, opened_realtime_ns;
  char *process;                       /* whose events these are, as "NAME (PID)"; NULL: this process's */
  const struct pml__otf2_teams *teams; /* of OpenMP; the caller's. NULL: none */
  enum pml_count_at counted;           /* where the compiler counted in that process */
  int error;                           /* the first failure of libotf2; nothing is written after it */
  char error_text[PML__OTF2_TEXT_BYTES];
  struct OTF2_Archive_struct *archive;
};

/* The metric that a location has a series of: its class, and the instance that is of this location. */
struct pml__otf2_series {
  struct pml_otf2_metric metric; /* the strings are ours */
  uint32_t class, ref;
};

/* A metric whose values are written one by one, on the location of a thread. Its class is its own. */
struct pml__otf2_single {
  struct pml_otf2_metric metric; /* the strings are ours */
  uint32_t class;
};

/* The global definitions on their way out; string references are given in the order of writing. */
struct pml__otf2_defs {
  struct pml_otf2 *a;
  struct OTF2_GlobalDefWriter_struct *out;
  uint32_t nstrings;
  int err; /* the first failure */
};

/* --- pml_otf2.c --- */

/* 0, or PML_EMODE in a forked child, where a thread that is not there may hold the lock, and the files are its
 * parent's. */
int pml__otf2_here(const struct pml_otf2 *a);
void pml__otf2_add_location(struct pml_otf2 *a, struct pml_otf2_location *loc);
int pml__otf2_check_metrics(const struct pml_otf2_metric *metrics, size_t n);

/* --- pml_otf2_series.c --- */

bool pml__otf2_metric_copy(struct pml_otf2_metric *to, const struct pml_otf2_metric *from); /* false: no memory */
uint8_t pml__otf2_type(const struct pml_otf2_metric *m);                                    /* OTF2_Type */
void pml__otf2_metric_free(struct pml_otf2_metric *m);
void pml__otf2_series_free(struct pml__otf2_series *s);
void pml__otf2_singles_free(struct pml_otf2 *a);

/*
 * pml__otf2_add_singles - @n metrics more, for values that are recorded one at a time; *@first is the first one's
 * number. On any thread. pml__otf2_write_single - a value of the @i-th, past the ring; as pml__otf2_write().
 * pml__otf2_single - the same through the ring, as pml_otf2_metric().
 */
int pml__otf2_add_singles(struct pml_otf2 *a, const struct pml_otf2_metric *metrics, size_t n, uint32_t *first);
int pml__otf2_single(struct pml_otf2_location *loc, uint64_t ticks, uint32_t i, uint64_t bits);
int pml__otf2_write_single(struct pml_otf2 *a, struct pml_otf2_location *loc, uint64_t ticks, uint32_t i,
                           uint64_t bits);

/* --- pml_otf2_write.c --- */

/* pml__otf2_create - make the files; @a->dir is set. */
int pml__otf2_create(struct pml_otf2 *a);

/* pml__otf2_create_location - the event writer of @loc; @loc->ref is set. */
int pml__otf2_create_location(struct pml_otf2 *a, struct pml_otf2_location *loc);

/* pml__otf2_class - the class of an absolute @metric; of a->nmetrics: the first number that is free. */
uint32_t pml__otf2_class(const struct pml_otf2 *a, size_t metric);

/* pml__otf2_event - one event; @region is an OTF2 reference, @values has [nmetrics] for a metric. Counts it. */
int pml__otf2_event(struct pml_otf2 *a, struct pml_otf2_location *loc, uint32_t kind, uint64_t ticks, uint32_t region,
                    const uint64_t *values);

/*
 * pml__otf2_write - one event past the ring, for a caller that has all events at hand; @loc has no others. Events of a
 * location are in order and balanced. pml__otf2_origin - they are those of @process, whose clock said @ticks at
 * @realtime_ns, and where the compiler counted at @counted.
 */
int pml__otf2_write(struct pml_otf2 *a, struct pml_otf2_location *loc, uint32_t kind, uint64_t ticks,
                    pml_region_t region, const uint64_t *values);
int pml__otf2_origin(struct pml_otf2 *a, const char *process, uint64_t ticks, uint64_t realtime_ns,
                     enum pml_count_at counted);

/* pml__otf2_value - one value of @metric, by its class or instance @ref. Counts it. */
int pml__otf2_value(struct pml_otf2 *a, struct pml_otf2_location *loc, uint64_t ticks,
                    const struct pml_otf2_metric *metric, uint32_t ref, uint64_t bits);

/* pml__otf2_wrote - count the events of @loc that there are beside @before, all at @ticks; @code: an OTF2_ErrorCode. */
int pml__otf2_wrote(struct pml_otf2 *a, struct pml_otf2_location *loc, uint64_t ticks, uint64_t before, int code);

/* String 0 is "" and stands for everything that is not said. */
uint32_t pml__otf2_string(struct pml__otf2_defs *d, const char *text);
/* Note what a definition, an OTF2_ErrorCode, returned. */
void pml__otf2_defined(struct pml__otf2_defs *d, int code);
void pml__otf2_define_metrics(struct pml__otf2_defs *d);

/* pml__otf2_finish - write all definitions and close the files, going on after failures; returns the first. */
int pml__otf2_finish(struct pml_otf2 *a);

/* pml__otf2_series_log - as pml_otf2_series_file(), of a log that is open. */
struct pml__log_reader;
int pml__otf2_series_log(struct pml_otf2 *a, const struct pml__log_reader *log);

/* pml__otf2_plugin - as pml_otf2_plugin(), of what was measured from @since to @until [ticks]. */
int pml__otf2_plugin(struct pml_otf2 *a, struct pml_plugin *p, uint64_t since, uint64_t until, size_t *written);

#endif
