/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/counted/pml_eventset_counted.c - what a thread counts for itself, in an event set: all sums in one pass.
 *
 * Events that are sums over the cells of the set's thread are read as any other, by pml_eventset_sde.c, once: then it
 * is known which cells they are. From there on a list of them is read, and no event is looked at, for as long as no
 * such event, nor a cell of one, came or went (pml__sde_counted_epoch). What is then touched is the set's own and the
 * cells, which stay while the set is open: so who takes an event back need not wait for such a read.
 */
#include "source/pml_eventset_private.h"

#include "source/sde/pml_sde_private.h"

#include <stdlib.h>

/* Cells that are listed, of all events together; forty kinds of operation make some ninety in Byfl's nine. */
#define LISTED_MAX 512u

/*
 * The cells of all events, one event's after the other's: those that count once, and those with a weight. All fits: a
 * cell is below PML_COUNT_CELLS, and what it is worth in an event a uint16_t. Running sums are taken over the first and
 * on over the others, and an event is the difference of where its cells end and where the last event's end, in either:
 * so a read has no branch but its loops.
 */
struct weighted {
  uint16_t cell, weight;
};
struct ends {
  uint16_t once, weighted; /* among the running sums */
};
struct pml__eventset_counted {
  uint64_t as_of; /* epoch that the list is right in; 0: there is none */
  uint64_t tried; /* epoch in which it was made last, or could not be */
  uint32_t nonce, nweighted;
  uint16_t once[LISTED_MAX];
  struct weighted weighted[LISTED_MAX];
  struct ends end[]; /* [nsde] */
};

static const struct pml__sde_body *body_in(const struct pml_eventset *s, uint32_t i) {
  const struct pml__sde_body *b = pml__sde_body_of(s->sde_event[i]);
  return b != NULL && b->kind == PML_SDE_PER_THREAD ? b : NULL;
}

int pml__eventset_counted_open(struct pml_eventset *s) {
  bool all = s->nsde > 0 && !s->reader->whole;
  pml__sde_enter(s->reader);
  for (uint32_t i = 0; all && i < s->nsde; i++) all = body_in(s, i) != NULL;
  pml__sde_leave(s->reader);
  if (!all) return 0;
  s->counted = malloc(sizeof *s->counted + s->nsde * sizeof s->counted->end[0]);
  if (s->counted == NULL) return -1;
  s->counted->as_of = s->counted->tried = 0;
  return 0;
}

void pml__eventset_counted_close(struct pml_eventset *s) {
  free(s->counted);
}

/* False: there are too many. */
static bool list_terms(struct pml__eventset_counted *c, struct pml__sde_terms *t, uint32_t event) {
  uint32_t n = atomic_load_explicit(&t->n, memory_order_acquire);
  if (n > LISTED_MAX - c->nonce - c->nweighted) return false;
  for (uint32_t k = 0; k < n; k++) {
    struct pml__sde_term term = t->term[k];
    if (term.weight == 1)
      c->once[c->nonce++] = (uint16_t)term.cell;
    else
      c->weighted[c->nweighted++] = (struct weighted){(uint16_t)term.cell, (uint16_t)term.weight};
  }
  c->end[event] = (struct ends){(uint16_t)c->nonce, (uint16_t)c->nweighted};
  return true;
}

/* Appending a term, or taking an event back, raises the epoch afterwards: a list of an earlier epoch is out of date.
 */
static void make_list(struct pml_eventset *s) {
  struct pml__eventset_counted *c = s->counted;
  uint64_t epoch = atomic_load_explicit(&pml__sde_counted_epoch, memory_order_acquire);
  if (c->tried == epoch || s->reader->cells == NULL) return;
  bool good = true;
  c->as_of = 0;
  c->nonce = c->nweighted = 0;
  pml__sde_enter(s->reader);
  for (uint32_t i = 0; good && i < s->nsde; i++) {
    const struct pml__sde_body *b = body_in(s, i);
    good = b != NULL && list_terms(c, b->terms, i);
  }
  pml__sde_leave(s->reader);
  c->tried = epoch;
  if (!good) return;
  for (uint32_t i = 0; i < s->nsde; i++) c->end[i].weighted = (uint16_t)(c->end[i].weighted + c->nonce);
  c->as_of = epoch;
}

static inline bool is_listed(const struct pml__eventset_counted *c) {
  return c->as_of == atomic_load_explicit(&pml__sde_counted_epoch, memory_order_acquire);
}

static inline uint64_t load(const uint64_t *cells, uint16_t cell) {
  return __atomic_load_n(&cells[cell], __ATOMIC_RELAXED);
}

/* The running sums, [0] being before the first. Relaxed: each cell is right for itself. */
static inline void run(const struct pml__eventset_counted *c, const uint64_t *cells, uint64_t *sum) {
  uint32_t n = c->nonce;
  uint64_t all = 0;
  *sum++ = 0;
#pragma GCC unroll 4
  for (uint32_t i = 0; i < n; i++) *sum++ = all += load(cells, c->once[i]);
  n = c->nweighted;
#pragma GCC unroll 2
  for (uint32_t i = 0; i < n; i++) *sum++ = all += c->weighted[i].weight * load(cells, c->weighted[i].cell);
}

int pml__eventset_counted_snapshot(struct pml_eventset *s, uint64_t *snapshot, bool times) {
  if (PML_UNLIKELY(!is_listed(s->counted))) {
    int rc = pml__eventset_sde_snapshot(s, snapshot, times);
    make_list(s);
    return rc;
  }
  int rc = pml__eventset_snapshot(s, snapshot, times);
  if (PML_UNLIKELY(rc < 0)) return rc;
  const struct pml__eventset_counted *c = s->counted;
  uint64_t sum[LISTED_MAX + 1], *words = snapshot + s->sde_word;
  run(c, s->reader->cells, sum);
  uint64_t last = sum[c->nonce];
  for (uint32_t i = 0; i < s->nsde; i++, words += PML__SDE_WORDS) {
    uint64_t now = sum[c->end[i].once] + sum[c->end[i].weighted];
    words[PML__SDE_VALUE] = words[PML__SDE_BASE] = now - last;
    words[PML__SDE_WHAT] = PML__SDE_HAS;
    last = now;
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
  const struct pml__eventset_counted *c = s->counted;
  uint64_t sum[LISTED_MAX + 1];
  const uint64_t *base = s->base + s->sde_word + PML__SDE_BASE;
  run(c, s->reader->cells, sum);
  uint64_t last = sum[c->nonce];
  uint32_t n = s->n;
  for (uint32_t i = 0; i < n; i++, base += PML__SDE_WORDS) {
    uint64_t now = sum[c->end[i].once] + sum[c->end[i].weighted];
    values[i] = now - last - *base;
    last = now;
  }
  return 0;
}
