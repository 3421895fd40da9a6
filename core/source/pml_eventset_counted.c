/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/pml_eventset_counted.c - what a thread counts for itself, in an event set: all sums in one pass.
 *
 * Events that are sums over the cells of the set's thread are read as any other, by pml_eventset_sde.c, once: then it
 * is known which cells they are. From there on a list of them is read, and no event is looked at, for as long as no
 * such event, nor a cell of one, came or went (pml__sde_counted_epoch). What is then touched is the set's own and the
 * cells, which stay while the set is open: so who takes an event back need not wait for such a read.
 */
#include "source/pml_eventset_private.h"

#include "source/pml_sde_private.h"

#include <stdlib.h>

/*
 * Of each event in turn: how many cells count once and how many with a weight, the cells of the first kind, then the
 * others, each with its weight. Both fit: a cell is below PML_COUNT_CELLS, and what it is worth in an event a uint16_t.
 */
struct pml__eventset_counted {
  uint64_t as_of; /* epoch that the list is right in; 0: there is none */
  uint64_t tried; /* epoch in which it was made last, or could not be */
  size_t room;
  uint16_t list[];
};

static const struct pml__sde_body *body_in(const struct pml_eventset *s, uint32_t i) {
  const struct pml__sde_body *b = pml__sde_body_of(s->sde_event[i]);
  return b != NULL && b->kind == PML_SDE_PER_THREAD ? b : NULL;
}

int pml__eventset_counted_open(struct pml_eventset *s) {
  size_t room = 0;
  if (s->nsde == 0 || s->reader->whole) return 0;
  pml__sde_enter(s->reader);
  for (uint32_t i = 0; i < s->nsde; i++) {
    const struct pml__sde_body *b = body_in(s, i);
    room = b == NULL || (i > 0 && room == 0) ? 0 : room + 2 + 2 * (size_t)b->terms->room;
  }
  pml__sde_leave(s->reader);
  if (room == 0) return 0;
  s->counted = malloc(sizeof *s->counted + room * sizeof s->counted->list[0]);
  if (s->counted == NULL) return -1;
  s->counted->as_of = s->counted->tried = 0;
  s->counted->room = room;
  return 0;
}

void pml__eventset_counted_close(struct pml_eventset *s) {
  free(s->counted);
}

/* The list of one event at @to, where there is room for it; NULL: there is not. */
static uint16_t *list_terms(struct pml__sde_terms *t, uint16_t *to, const uint16_t *end) {
  uint32_t n = atomic_load_explicit(&t->n, memory_order_acquire);
  uint16_t *head = to;
  if ((size_t)(end - to) < 2 + 2 * (size_t)n) return NULL;
  head[0] = head[1] = 0;
  to += 2;
  for (uint32_t k = 0; k < n; k++) {
    if (t->term[k].weight != 1) continue;
    *to++ = (uint16_t)t->term[k].cell;
    head[0]++;
  }
  for (uint32_t k = 0; k < n; k++) {
    if (t->term[k].weight == 1) continue;
    *to++ = (uint16_t)t->term[k].cell;
    *to++ = (uint16_t)t->term[k].weight;
    head[1]++;
  }
  return to;
}

/* Whoever appends a term or takes an event back raises the epoch after that: a list of the epoch before is of before. */
static void make_list(struct pml_eventset *s) {
  struct pml__eventset_counted *c = s->counted;
  uint64_t epoch = atomic_load_explicit(&pml__sde_counted_epoch, memory_order_acquire);
  uint16_t *to = c->list;
  if (c->tried == epoch || s->reader->cells == NULL) return;
  pml__sde_enter(s->reader);
  for (uint32_t i = 0; to != NULL && i < s->nsde; i++) {
    const struct pml__sde_body *b = body_in(s, i);
    to = b != NULL ? list_terms(b->terms, to, c->list + c->room) : NULL;
  }
  pml__sde_leave(s->reader);
  c->tried = epoch;
  c->as_of = to != NULL ? epoch : 0;
}

static inline bool is_listed(const struct pml__eventset_counted *c) {
  return c->as_of == atomic_load_explicit(&pml__sde_counted_epoch, memory_order_acquire);
}

/* The sum of the event whose list begins at *@at, which goes to the next. Relaxed: each cell is right for itself. */
static inline uint64_t sum_of(const uint64_t *cells, const uint16_t **at) {
  const uint16_t *t = *at + 2, *once = t + (*at)[0], *end = once + 2 * (size_t)(*at)[1];
  uint64_t sum = 0;
  for (; t < once; t++) sum += __atomic_load_n(&cells[*t], __ATOMIC_RELAXED);
  for (; t < end; t += 2) sum += t[1] * __atomic_load_n(&cells[*t], __ATOMIC_RELAXED);
  *at = end;
  return sum;
}

int pml__eventset_counted_snapshot(struct pml_eventset *s, uint64_t *snapshot, bool times) {
  if (PML_UNLIKELY(!is_listed(s->counted))) {
    int rc = pml__eventset_sde_snapshot(s, snapshot, times);
    make_list(s);
    return rc;
  }
  int rc = pml__eventset_snapshot(s, snapshot, times);
  if (PML_UNLIKELY(rc < 0)) return rc;
  const uint64_t *cells = s->reader->cells;
  const uint16_t *at = s->counted->list;
  uint64_t *words = snapshot + s->sde_word;
  for (uint32_t i = 0; i < s->nsde; i++, words += PML__SDE_WORDS) {
    words[PML__SDE_VALUE] = words[PML__SDE_BASE] = sum_of(cells, &at);
    words[PML__SDE_WHAT] = PML__SDE_HAS;
  }
  return rc;
}

/* What was no event at the start has a base of 0. */
int pml__eventset_counted_read(struct pml_eventset *s, uint64_t *values) {
  if (PML_UNLIKELY(!is_listed(s->counted))) {
    int rc = pml__eventset_sde_read(s, values);
    make_list(s);
    return rc;
  }
  const uint64_t *cells = s->reader->cells, *base = s->base + s->sde_word + PML__SDE_BASE;
  const uint16_t *at = s->counted->list;
  uint32_t n = s->n;
  for (uint32_t i = 0; i < n; i++, base += PML__SDE_WORDS) values[i] = sum_of(cells, &at) - *base;
  return 0;
}
