/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_cut.h - reader of truncated event files. Internal. */
#ifndef PML_OTF2_CUT_H
#define PML_OTF2_CUT_H

#include "read/otf2/pml_otf2_read_private.h"

/*
 * pml__otf2_repair - if event files are truncated, set t->repaired to the anchor of an archive in TMPDIR: it has links
 * to the intact files, and copies of the intact part of the others, with the number of their events in t->whole. NULL:
 * no file is truncated, or there is no room; then reading a location with a truncated file fails. Cost: a read from
 * each location's file. pml__otf2_forget_mended - remove the archive.
 */
void pml__otf2_repair(struct pml_otf2_read *t);
void pml__otf2_forget_mended(struct pml_otf2_read *t);

/* pml__otf2_was_cut - PML_EFORMAT with its detail if location @i is read from such a copy; otherwise 0. */
int pml__otf2_was_cut(const struct pml_otf2_read *t, size_t i);

#endif
