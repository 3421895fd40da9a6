/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/trace/export/pml_export_link.h - matching of sends and receives while locations are read one by one.
 * Internal.
 */
#ifndef PML_EXPORT_LINK_H
#define PML_EXPORT_LINK_H

#include "substrate/trace/read/pml_otf2_events.h"

struct pml__export_links;

struct pml__export_links *pml__export_links_new(void); /* NULL: no memory */
void pml__export_links_free(struct pml__export_links *l);

/*
 * pml__export_link - a number that a send or receive @e of @process has in common with its other end: messages of MPI
 * with the same sender, receiver, communicator and tag do not overtake each other, so that the n-th send is for the
 * n-th receive. 0: the other end is unknown, or there are more than 2^20 such channels.
 */
uint64_t pml__export_link(struct pml__export_links *l, const struct pml_otf2_event *e, size_t process);

#endif
