/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/base/pml_source.h - interface of an event source: an entry of the table in source/pml_sources.h.
 * Internal.
 */
#ifndef PML_SOURCE_H
#define PML_SOURCE_H

#include "source/base/pml_event_parse.h"
#include "source/pml_eventset.h"

struct pml__share;
typedef int pml__source_plain_read(void *set, uint64_t *values);

/* One walk over the list of events; made by pml_event_list() and, without asking the kernel, by the search for near
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
 * A source that is new fills in an entry in a file of its own and is added by pml__source_add(), or listed in
 * pml_sources.c if it comes with pmlua. Names, the list, the search for near names, and event sets then have it.
 *
 * Of events of a set, @k is the number among those of the share, not of the set.
 */
struct pml__source {
  const char *name;   /* one word: what pml_event_source() says */
  const char *prefix; /* what its events' names begin with, colons included; NULL: it takes what no prefix takes */

  /*
   * Fill in @ev, which has its name and is zero but for a scale of 1. @rest: what follows the prefix in the name.
   * As pml_event_parse().
   */
  int (*parse)(struct pml_event *ev, const char *rest);
  /* Give every event to pml__walk_row(). Returns what that returns, or a negative code. */
  int (*walk)(const struct pml__walk *w);

  size_t share_bytes; /* of what begins with a struct pml__share */
  /*
   * Open the events of @share, out of the set's events @ev; what is beyond the struct pml__share is zero. As
   * pml_eventset_open(); after a failure close is called all the same.
   */
  int (*open)(struct pml__share *share, const struct pml_event *ev, const struct pml_eventset_options *options);

  /* The rest may be NULL. */
  void (*close)(struct pml__share *share); /* what open acquired; the share itself is the set's */
  /* Change in @info, which is that of an integer that needs no kernel, what is different. */
  void (*describe)(const struct pml__share *share, uint32_t k, struct pml_eventset_event *info);
  enum pml_type (*type)(const struct pml__share *share, uint32_t k);          /* of its last value; NULL: integers */
  bool (*absent)(const struct pml__share *share, uint32_t k, uint64_t value); /* NULL: no value is */
  /* The last reading and its estimate; NULL: the value, with the time that passed. */
  void (*reading)(const struct pml__share *share, uint32_t k, struct pml_reading *out, double *scaled);
  /* As pml_eventset_part(); NULL: events have no parts. */
  int (*part)(const struct pml__share *share, uint32_t k, unsigned p, const char **pmu, struct pml_reading *out);
};

/*
 * A share: what an event set holds of one source. Shares of a set are read one after the other, the kernel's first,
 * into a snapshot, in which each has a block of 64-bit words. A value is what its word gained since the start, unless
 * the share says how the difference is taken.
 */
struct pml__share {
  struct pml__share *next;            /* in the order of reading */
  struct pml__share *next_read;       /* that has words of its own */
  struct pml__share *next_difference; /* that has a difference of its own */
  struct pml__share *next_add;        /* that prepares what is added */
  const struct pml__source *source;
  struct pml_eventset *set;
  uint32_t n;            /* events */
  const uint32_t *event; /* [n] their numbers in the set */
  uint32_t at;           /* of its words in a snapshot, once all are open */

  /* What open fills in. */
  uint32_t words; /* in a snapshot; 0: its events count the time, whose word is the set's */
  uint32_t *word; /* [n] of each value, among them; zeros */
  /* @times: also what readings need. Returns how often a page was read again, or a negative code. */
  int (*snapshot)(struct pml__share *share, uint64_t *words, bool times);
  /* Correct its events' differences in @values, which has those of the set. NULL: each is its word's difference. */
  void (*difference)(const struct pml__share *share, uint64_t *values);
  /* Beside it: make each @count what pml_eventset_accum() adds to @values as an integer. NULL: it is. */
  void (*prepare_add)(const struct pml__share *share, const uint64_t *values, uint64_t *count);
  /* pml_eventset_read() of a running set that has no other share. NULL: a snapshot and the differences. */
  int (*read)(struct pml_eventset *set, uint64_t *values);
  /*
   * The same with general registers only, and on x86-64 those alone that pml_stream_consumer.fast leaves. Not 0, and
   * nothing has changed: it takes others now. NULL: it always does.
   */
  pml__source_plain_read *plain_read;
};

/* pml__eventset_plain_read - of @set, which runs as long as this is used and is a struct pml_eventset; NULL: it has
 * none. */
pml__source_plain_read *pml__eventset_plain_read(const struct pml_eventset *set);

/* Those that come with pmlua. */
extern const struct pml__source pml__source_clock, pml__source_sde, pml__source_plugin, pml__source_sim,
    pml__source_kernel;

/* pml__source_rest - what follows the prefix in @name; NULL: it begins otherwise. */
const char *pml__source_rest(const struct pml__source *source, const char *name);

/* pml__source_nearest - as pml__nearest_text(), of the events that @source lists. */
const char *pml__source_nearest(const struct pml__source *source, const char *name, char *buf, size_t size);

#endif
