/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/base/pml_source.h - what a source of events is: one entry in one table. */
#ifndef PML_SOURCE_H
#define PML_SOURCE_H

#include "source/base/pml_event_parse.h"
#include "source/pml_eventset.h"

struct pml__share;

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
};

/* Those that come with pmlua. */
extern const struct pml__source pml__source_clock, pml__source_sde, pml__source_plugin, pml__source_sim,
    pml__source_kernel;

/*
 * pml__source_add - take @source into the table, for good: it is not copied.
 * Returns 0, -EINVAL (no prefix, name, parse, walk or open, no room for a share), -EEXIST (its prefix begins another's,
 * or another's begins it), PML_EFULL. Thread-safe, without a lock; what is parsed or listed from now on knows it.
 */
int pml__source_add(const struct pml__source *source);

/* pml__source_at - entry @i, in the order of the list of events; NULL past the last. The one without a prefix is last.
 */
const struct pml__source *pml__source_at(size_t i);

/* pml__source_of - the source that an event of this name belongs to, whether it has such an event or not. */
const struct pml__source *pml__source_of(const char *name);

/* pml__source_rest - what follows the prefix in @name, an event's of @source; NULL: another source's. */
const char *pml__source_rest(const struct pml__source *source, const char *name);

/* pml__source_nearest - as pml__nearest_text(), of the events that @source lists. */
const char *pml__source_nearest(const struct pml__source *source, const char *name, char *buf, size_t size);

/* pml__sources_nearest - the same of prefixes, near to what @name begins with up to the end of its first colons. */
const char *pml__sources_nearest(const char *name, char *buf, size_t size);

#endif
