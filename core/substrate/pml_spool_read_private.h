/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/pml_spool_read_private.h - what the reader's parts share. Internal. */
#ifndef PML_SPOOL_READ_PRIVATE_H
#define PML_SPOOL_READ_PRIVATE_H

#include "substrate/pml_spool_file.h"
#include "substrate/pml_spool_read.h"

struct pml__spool_part {
  uint64_t at; /* in the file */
  uint32_t kind, units;
};

struct pml_spool_reader {
  int fd;
  uint64_t bytes; /* of the file */
  struct pml__spool_head head;
  struct pml__spool_part *part; /* [nparts], as they follow each other */
  size_t nparts, parts_capacity;
  pml_region_t *region; /* [nregions]: theirs to ours; 0: it has no name */
  uint32_t nregions;
  uint64_t count[PML__SPOOL_COUNTERS];
  struct pml_plugin *beside[PML_SPOOL_BESIDE_MAX];
  size_t nbeside;
};

/* @bytes at @at, all of them. 0, -errno, PML_EFORMAT where the file ends before. */
int pml__spool_read_at(const struct pml_spool_reader *r, uint64_t at, void *to, size_t bytes);
/* The whole extent, to be freed by the caller; NULL: it cannot be read, or there is no memory. */
void *pml__spool_read_part(const struct pml_spool_reader *r, const struct pml__spool_part *p, int *err);
/* Ours for theirs; 0: none. */
pml_region_t pml__spool_region(const struct pml_spool_reader *r, uint32_t theirs);

#endif
