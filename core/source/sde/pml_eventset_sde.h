/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_eventset_sde.h - software-defined events in an event set. Internal. */
#ifndef PML_EVENTSET_SDE_H
#define PML_EVENTSET_SDE_H

#include "source/base/pml_eventset_private.h"
#include "source/sde/pml_sde_private.h"

struct pml__compiler_list;

struct pml__sde_backend {
  struct pml__backend backend;
  struct pml_sde_event **event; /* [backend.n] */
  struct pml__sde_reader *reader;
  struct pml__compiler_list *compiler; /* NULL: not all of them are what threads count for themselves */
  char **absent; /* [backend.n] why there is no value while no library has registered it; NULL: not asked yet */
};

/* Functions of the source's entry (pml_event_sde.c) for event sets: pml_eventset_sde.c */
int pml__sde_open(struct pml__backend *backend, const struct pml_event *ev, const struct pml_eventset_options *options);
void pml__sde_close(struct pml__backend *backend);
void pml__sde_describe(const struct pml__backend *backend, uint32_t k, struct pml_eventset_event *info);
enum pml_type pml__sde_type(const struct pml__backend *backend, uint32_t k);
enum pml_type pml__sde_declared(const struct pml__backend *backend, uint32_t k, unsigned *may);

/* As pml__nearest_text(), of the events LIB::EVENT that are registered: pml_event_sde.c */
const char *pml__sde_nearest(const char *name, char *buf, size_t size);

/* How they are read, if nothing more is known of them. */
int pml__sde_backend_snapshot(struct pml__backend *backend, uint64_t *words, bool times);
int pml__sde_backend_read(struct pml_eventset *s, uint64_t *values); /* all events of the set are software-defined */
pml__source_plain_read pml__sde_plain_read;                          /* and all are pml__sde_usual() */

/* Per-thread events: pml_eventset_compiler.c. Changes the read function of @h, which is open, if all its events are
 * per-thread. Returns 0 or -ENOMEM. */
int pml__compiler_open(struct pml__sde_backend *h);
void pml__compiler_close(struct pml__sde_backend *h);

#endif
