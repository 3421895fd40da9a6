/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/sde/pml_sde_memo.h - memo table of nested groups during one read.
 *
 * Without it a group that two others share is read twice, and n levels of such sharing cost 2^n. Only shared groups are
 * stored, so ordinary groups have no extra cost. One reader at a time. Without memory for the table, reads are right
 * but slow.
 */
#ifndef PML_SDE_MEMO_H
#define PML_SDE_MEMO_H

#include "base/pml_map.h"
#include "base/pml_value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* A value, and its part that is relative to a start: all of a counter, nothing of an instant event, the counters of a
 * sum. */
struct pml__sde_sample {
  struct pml_value value, base; /* both have the same type */
  bool has;
};

struct pml__sde_memo {
  struct pml__sde_found {
    const void *what;
    uint64_t pass; /* another pass: the entry is empty */
    struct pml__sde_sample sample;
  } * found;
  uint32_t room, used; /* a power of two, or 0; of @pass */
  uint64_t pass;
};

#define PML__SDE_MEMO_FIRST 64u

static inline struct pml__sde_found *pml__sde_memo_place(const struct pml__sde_memo *m, const void *what) {
  uint64_t hash = (uint64_t)(uintptr_t)what * PML__HASH_FACTOR;
  struct pml__sde_found *f;
  for (uint32_t i = (uint32_t)(hash >> 32);; i++) {
    f = &m->found[i & (m->room - 1)];
    if (f->pass != m->pass || f->what == what) return f;
  }
}

/* The sample of @what stored in this @pass (not 0), or NULL. */
static inline const struct pml__sde_sample *pml__sde_memo_find(struct pml__sde_memo *m, const void *what,
                                                               uint64_t pass) {
  if (m->pass != pass) m->used = 0;
  m->pass = pass;
  if (m->used == 0) return NULL;
  const struct pml__sde_found *f = pml__sde_memo_place(m, what);
  return f->pass == pass ? &f->sample : NULL;
}

static inline bool pml__sde_memo_grow(struct pml__sde_memo *m) {
  struct pml__sde_memo larger = {.room = m->room > 0 ? 2 * m->room : PML__SDE_MEMO_FIRST, .pass = m->pass};
  larger.found = calloc(larger.room, sizeof *larger.found);
  if (larger.found == NULL) return false;
  for (uint32_t i = 0; i < m->room; i++)
    if (m->found[i].pass == m->pass) *pml__sde_memo_place(&larger, m->found[i].what) = m->found[i];
  larger.used = m->used;
  free(m->found);
  *m = larger;
  return true;
}

/* After a find of the same pass. */
static inline void pml__sde_memo_keep(struct pml__sde_memo *m, const void *what, const struct pml__sde_sample *s) {
  if (2 * (m->used + 1) > m->room && !pml__sde_memo_grow(m)) return;
  struct pml__sde_found *f = pml__sde_memo_place(m, what);
  if (f->pass != m->pass) m->used++;
  f->what = what;
  f->pass = m->pass;
  f->sample = *s;
}

#endif
