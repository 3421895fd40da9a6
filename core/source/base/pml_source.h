/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/base/pml_source.h - interface of an event source: an entry of the table in source/pml_sources.h.
 * Internal.
 */
#ifndef PML_SOURCE_H
#define PML_SOURCE_H

#include "source/base/pml_event_parse.h"
#include "source/pml_eventset.h"

struct pml__backend;
typedef int pml__source_plain_read(void *set, uint64_t *values);

/* One walk over the list of events; made by pml_event_list() and, without querying the kernel, by the search for near
 * names. */
struct pml__walk {
  const char *pattern; /* NULL: all */
  bool all;            /* also PMUs that are not here */
  bool probe;          /* find out availability */
  const char *pmu;     /* NULL, or the only libpfm4 PMU to walk */
  pml_event_visit *visit;
  void *arg;
};

/* pml__walk_row - give @info to the visitor if it matches. Returns what the visitor returns. */
int pml__walk_row(const struct pml__walk *w, const struct pml_event_info *info);

/*
 * A new source fills in an entry in a separate file and is added by pml__source_add(), or listed in pml_sources.c if it
 * comes with pmlua. Event names, the list of events, the search for near names, and event sets then support it.
 *
 * @k numbers an event among the events of the backend, not of the set.
 */
struct pml__source {
  const char *name;   /* one word, which pml_event_source() returns */
  const char *prefix; /* beginning of its events' names, colons included; NULL: accepts names without a known prefix */

  /*
   * Fill in @ev, which is zero except for its name and a scale of 1. @rest: the name behind the prefix. As
   * pml_event_parse().
   */
  int (*parse)(struct pml_event *ev, const char *rest);
  /* Give every event to pml__walk_row(). Returns what that returns, or a negative code. */
  int (*walk)(const struct pml__walk *w);

  size_t backend_bytes; /* size of the source's struct, which begins with a struct pml__backend */
  /*
   * Open the events of @backend, which are some of the set's events @ev; the memory behind the struct pml__backend is
   * zero. As pml_eventset_open(); close is called even after a failure.
   */
  int (*open)(struct pml__backend *backend, const struct pml_event *ev, const struct pml_eventset_options *options);

  /* The functions below may be NULL. */
  void (*close)(struct pml__backend *backend); /* release the resources of open; the set owns the backend itself */
  /* Correct @info, which describes an integer that does not come from the kernel. */
  void (*describe)(const struct pml__backend *backend, uint32_t k, struct pml_eventset_event *info);
  enum pml_type (*type)(const struct pml__backend *backend, uint32_t k); /* type of its last value; NULL: integers */
  bool (*absent)(const struct pml__backend *backend, uint32_t k, uint64_t value); /* NULL: none is absent */
  /* As pml__eventset_declared(). NULL: as @type, and *@may is 0. */
  enum pml_type (*declared)(const struct pml__backend *backend, uint32_t k, unsigned *may);
  /* The last reading and its estimate; NULL: the value, with the time that passed. */
  void (*reading)(const struct pml__backend *backend, uint32_t k, struct pml_reading *out, double *scaled);
  /* As pml_eventset_part(); NULL: events have no parts. */
  int (*part)(const struct pml__backend *backend, uint32_t k, unsigned p, const char **pmu, struct pml_reading *out);
};

/*
 * A backend: the part of an event set that belongs to one source. The backends of a set are read one after the other,
 * the kernel's first, into a snapshot, in which each has a block of 64-bit words. A value is the increase of its word
 * since the start, unless the backend has a difference function.
 */
struct pml__backend {
  struct pml__backend *next;            /* in the order of reading */
  struct pml__backend *next_read;       /* with words in the snapshot */
  struct pml__backend *next_difference; /* with a difference function */
  struct pml__backend *next_add;        /* with a prepare_add function */
  const struct pml__source *source;
  struct pml_eventset *set;
  uint32_t n;            /* events */
  const uint32_t *event; /* [n] their numbers in the set */
  uint32_t at;           /* index of its words in a snapshot, once all backends are open */

  /* Filled in by open. */
  uint32_t words; /* in a snapshot; 0: its events count the time, whose word is the set's */
  uint32_t *word; /* [n] of each value, among them; zeros */
  /* @times: also what readings need. Returns how often a page was read again, or a negative code. */
  int (*snapshot)(struct pml__backend *backend, uint64_t *words, bool times);
  /* Correct its events' differences in @values, the set's values. NULL: each is the difference of its word. */
  void (*difference)(const struct pml__backend *backend, uint64_t *values);
  /* Also set each @count to the integer that pml_eventset_accum() adds to @values. NULL: it is the difference. */
  void (*prepare_add)(const struct pml__backend *backend, const uint64_t *values, uint64_t *count);
  /* pml_eventset_read() of a running set that has no other backend. NULL: a snapshot and the differences. */
  int (*read)(struct pml_eventset *set, uint64_t *values);
  /*
   * The same with general registers only, on x86-64 only those that pml_stream_consumer.fast may use. Returns non-zero,
   * with nothing changed, if it needs other registers now. NULL: it always needs them.
   */
  pml__source_plain_read *plain_read;
};

/* pml__eventset_plain_read - the fast read of @set, a struct pml_eventset, which must run as long as this is used;
 * NULL: it has none. */
pml__source_plain_read *pml__eventset_plain_read(const struct pml_eventset *set);

/* Those that come with pmlua. */
extern const struct pml__source pml__source_clock, pml__source_sde, pml__source_plugin, pml__source_sim,
    pml__source_kernel;

/* pml__source_rest - what follows the prefix in @name; NULL: it begins otherwise. */
const char *pml__source_rest(const struct pml__source *source, const char *name);

/* pml__source_nearest - as pml__nearest_text(), of the events that @source lists. */
const char *pml__source_nearest(const struct pml__source *source, const char *name, char *buf, size_t size);

#endif
