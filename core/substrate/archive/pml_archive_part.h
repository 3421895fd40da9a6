/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/archive/pml_archive_part.h - one process's part of an archive, written separately and merged. */
#ifndef PML_ARCHIVE_PART_H
#define PML_ARCHIVE_PART_H

#include "substrate/archive/pml_archive_waits.h"

/*
 * pml__archive_part_write - write process @i alone as an archive in a folder of its own, which is renamed to @i when it
 * is whole. pml__archive_part_threads - how many threads part @i has. pml__archive_part_take - move part @i into
 * m->whole: its threads get the numbers from m->thread on; its series, those from m->series on, wait in a list until
 * all threads are added.
 */
int pml__archive_part_write(struct pml__archive *a, uint32_t i);
int pml__archive_part_threads(const struct pml__archive *a, uint32_t i, uint64_t *threads);
struct pml__archive_merge {
  struct pml_otf2 *whole;
  uint64_t thread, series; /* the next numbers */
  struct pml_otf2_location *waiting, **last;
  struct pml__archive_waits waits;
};
int pml__archive_part_take(struct pml__archive *a, uint32_t i, struct pml__archive_merge *m);

#endif
