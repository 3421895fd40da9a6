/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_source.h - what a source of events is: one entry in one table. */
#ifndef PML_SOURCE_H
#define PML_SOURCE_H

#include "source/pml_event_internal.h"

/*
 * A source that is new fills in an entry in a file of its own and is added by pml__source_add(), or listed in
 * pml_sources.c if it comes with pmlua. Names, the list, and the search for near names then have it.
 */
struct pml__source {
  const char *name;   /* one word: what pml_event_source() says */
  const char *prefix; /* what its events' names begin with, colons included; NULL: it takes what no prefix takes */

  /* Fill in @ev, which has its name and is zero but for a scale of 1. As pml_event_parse(). */
  int (*parse)(struct pml_event *ev, const char *name);
  /* Give every event to pml__walk_row(). Returns what that returns, or a negative code. */
  int (*walk)(const struct pml__walk *w);
};

/* Those that come with pmlua. */
extern const struct pml__source pml__source_clock, pml__source_sde, pml__source_plugin, pml__source_sim,
    pml__source_kernel;

/*
 * pml__source_add - take @source into the table, for good: it is not copied.
 * Returns 0, -EINVAL (no prefix, name, parse or walk), -EEXIST (its prefix begins another's, or another's begins it),
 * PML_EFULL. Thread-safe, without a lock; what is parsed or listed from now on knows it.
 */
int pml__source_add(const struct pml__source *source);

/* pml__source_at - entry @i, in the order of the list of events; NULL past the last. The one without a prefix is last.
 */
const struct pml__source *pml__source_at(size_t i);

/* pml__source_of - the source that an event of this name belongs to, whether it has such an event or not. */
const struct pml__source *pml__source_of(const char *name);

/* pml__source_nearest - as pml__nearest_text(), of the events that @source lists. */
const char *pml__source_nearest(const struct pml__source *source, const char *name, char *buf, size_t size);

/* pml__sources_nearest - the same of prefixes, near to what @name begins with up to the end of its first colons. */
const char *pml__sources_nearest(const char *name, char *buf, size_t size);

#endif
