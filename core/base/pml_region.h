/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_region.h - names of code regions, interned as small ids. */
#ifndef PML_REGION_H
#define PML_REGION_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stdint.h>

PML_BEGIN_DECLS

/* 0 is no region; ids count from 1 without gaps, in the order of interning. */
typedef uint32_t pml_region_t;
#define PML_REGIONS_MAX (UINT32_C(1) << 20) /* ids are smaller: a recording has tables by id */

struct pml_region_info {
  const char *name;
  const char *file; /* "" if unknown */
  uint32_t line;    /* 0 if unknown */
};

/*
 * pml_region_intern - the id of the region @name at @file:@line (@file may be NULL).
 * The same three give the same id, from any thread, for the life of the process; the strings are copied
 * and never freed, so that what pml_region_describe() gives stays valid. After a fork the child has a copy.
 *
 * Returns 0 with *@id set, -EINVAL for a NULL or empty name, -ENOMEM: also if there are PML_REGIONS_MAX regions.
 * Cost: a lock and a hash; intern once, outside the hot path. Thread-safe, not async-signal-safe.
 */
PML_API int pml_region_intern(const char *name, const char *file, uint32_t line, pml_region_t *id);

/* pml_region_describe - what @id stands for; -ENOENT if it was never given out. Lock-free, async-signal-safe. */
PML_API int pml_region_describe(pml_region_t id, struct pml_region_info *info);

/* pml_region_count - the largest id given out so far. Lock-free, async-signal-safe. */
PML_API uint32_t pml_region_count(void);

/*
 * pml__region_overlaps - from now on, @id is a region that may begin or end inside a call that contains only a part of
 * it, such as a section. When the outer one ends first, consumers leave the inner one before it, and enter it again, if
 * at most PML__REGION_INSIDE calls are open in the outer one: each takes some of the stack.
 * pml__region_may_overlap - whether this was called. Lock-free, async-signal-safe.
 */
#define PML__REGION_INSIDE 64u
void pml__region_overlaps(pml_region_t id);
bool pml__region_may_overlap(pml_region_t id);

/*
 * pml__region_of - pml_region_intern() of a region of @kind: PML__REGION_*, or the name of a language or annotation
 * interface, of which the lower case is stored. The first kind of a region stays. @kind may be "": unknown.
 * pml__region_intern - the same for a caller that has the pml__region_hash() of the three, none of them NULL.
 * pml__region_kind - the kind, such as "library"; "" if unknown. Permanent. Lock-free, async-signal-safe.
 */
#define PML__REGION_FUNCTION "function" /* the program defines it */
#define PML__REGION_LIBRARY "library"   /* a library defines it */
#define PML__REGION_SECTION "section"
#define PML__REGION_MPI "mpi"
#define PML__REGION_OPENMP "openmp"
#define PML__REGION_KIND_BYTES 32u
uint64_t pml__region_hash(const char *name, const char *file, uint32_t line);
PML__SHARED int pml__region_of(const char *kind, const char *name, const char *file, uint32_t line, pml_region_t *id);
int pml__region_intern(const char *kind, const char *name, const char *file, uint32_t line, uint64_t hash,
                       pml_region_t *id);
PML__SHARED const char *pml__region_kind(pml_region_t id);

PML_END_DECLS

#endif
