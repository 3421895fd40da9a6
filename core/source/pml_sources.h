/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_sources.h - the table of event sources. Internal. */
#ifndef PML_SOURCES_H
#define PML_SOURCES_H

#include "source/base/pml_source.h"

/*
 * pml__source_add - add @source, which is not copied, to the table for the life of the process. Returns 0, -EINVAL (no
 * prefix, name, parse, walk or open, no room for a backend), -EEXIST (its prefix begins another's, or another's begins
 * it), PML_EFULL. Thread-safe, without a lock; later parses and lists include it.
 */
int pml__source_add(const struct pml__source *source);

/* pml__source_at - entry @i in the order of the list of events, the one without a prefix last; NULL past the end. */
const struct pml__source *pml__source_at(size_t i);

/* pml__source_of - the source that an event of this name belongs to, whether it has such an event or not. */
const struct pml__source *pml__source_of(const char *name);

/* pml__sources_nearest - as pml__nearest_text(), of prefixes: near to @name up to the end of its first colons. */
const char *pml__sources_nearest(const char *name, char *buf, size_t size);

#endif
