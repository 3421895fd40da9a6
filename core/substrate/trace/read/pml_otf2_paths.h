/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/read/pml_otf2_paths.h - calls and times of an archive by call path. */
#ifndef PML_OTF2_PATHS_H
#define PML_OTF2_PATHS_H

#include "substrate/trace/read/pml_otf2_read.h"

PML_BEGIN_DECLS

struct pml_otf2_path {
  size_t parent; /* the path of the call around it, which comes before; PML_OTF2_NONE: outermost */
  size_t region;
  uint64_t calls;                  /* that began in the window */
  double inclusive_s, exclusive_s; /* in the window */
};

struct pml_otf2_paths {
  struct pml_otf2_path *path; /* to be freed with free() */
  size_t n;
  uint64_t unmatched; /* leaves without an enter, and enters that were open when an outer call returned */
};

/*
 * pml_otf2_read_paths - the call paths of the locations that @q asks for, as one tree. With a pattern of regions, paths
 * consist of such regions alone, and time in others belongs to the call around them.
 * Returns 0, -EBUSY, -ENOMEM or PML_EOTF2; p->path is NULL then. Memory: for paths, and for the depth of calls.
 */
PML__SHARED int pml_otf2_read_paths(struct pml_otf2_read *t, const struct pml_otf2_question *q,
                                    struct pml_otf2_paths *p);

PML_END_DECLS

#endif
