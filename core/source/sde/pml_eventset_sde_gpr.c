/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_eventset_sde_gpr.c - software-defined events that are plain loads, in general registers only. */
#include "base/pml_own.h"
#include "source/sde/pml_eventset_sde.h"

static inline const struct pml__sde_backend *backend_of(const struct pml_eventset *s) {
  return (const struct pml__sde_backend *)PML__OWN_AGAIN(s->backend);
}

/* As pml__sde_backend_read(); the kinds of the events are not stored, because they are unchanged. */
int pml__sde_plain_read(void *set, uint64_t *values) {
  const struct pml_eventset *s = set;
  uint64_t v;
  (void)pml__sde_enter(backend_of(s)->reader);
  struct pml_sde_event *const *event = backend_of(s)->event;
  const uint64_t *base = s->base, *end = values + s->n;
  do {
    /* an event created since the start has a base of 0 */
    if (PML_UNLIKELY((base[PML__SDE_WHAT] & PML__SDE_DOUBLE) != 0 || !pml__sde_usual(pml__sde_body_of(*event), &v)))
      break;
    *values++ = v - base[PML__SDE_BASE];
    base += PML__SDE_WORDS;
    event++;
  } while (values < end);
  pml__sde_leave(backend_of(s)->reader);
  return PML_LIKELY(values == end) ? 0 : -1;
}
