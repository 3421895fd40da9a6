/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/sde/pml_eventset_compiler.c - a thread's compiler counts in an event set: all sums in one pass.
 *
 * pml_eventset_sde.c reads events that are sums over the cells of the set's thread once, as any other event; then their
 * cells are known. Later reads use a list of these cells, and do not access the events, until an event of this kind, or
 * a cell of one, is added or removed (pml__sde_compiler_epoch). They only access the set and the cells, which stay
 * while the set is open, so unregistering an event need not wait for them.
 *
 * Byfl's nine sums, in their order, have a special list (pml_eventset_sums.h).
 */
#include "source/sde/pml_eventset_sde.h"

#include "base/pml_error.h"
#include "source/sde/pml_eventset_sums.h"

#include <errno.h>
#include <stdlib.h>

/* ---- Byfl's summary events ---- */

/* Whether it is worth something in these sums alone; @among: bits of theirs. */
static bool worth_only(const uint16_t *worth, unsigned among) {
  for (unsigned e = 0; e < PML_BYFL_EVENTS; e++)
    if (worth[e] > 0 && (among >> e & 1) == 0) return false;
  return true;
}

#define OF(event) (1u << PML_BYFL_##event)

static bool add_others(struct pml__sums *s, uint16_t cell, const uint16_t *worth) {
  for (uint32_t e = 0; e < PML_BYFL_EVENTS; e++) {
    if (worth[e] == 0) continue;
    if (s->others == PML__SUMS_OTHERS) return false;
    s->other[s->others++] = (struct pml__sums_other){cell, worth[e], (uint16_t)e};
  }
  return true;
}

/* @cell, which is not in @s yet, is in use. False: there is no room. */
static bool add_to_sums(struct pml__sums *s, uint32_t cell) {
  const uint16_t *w = pml_count_cells[cell].worth, at = (uint16_t)pml_count_place(cell);
  bool once = w[PML_BYFL_OP_COUNT] == 1;
  if (worth_only(w, OF(LOAD_COUNT) | OF(LOAD_INS_COUNT) | OF(OP_COUNT)) && once && w[PML_BYFL_LOAD_INS_COUNT] == 1)
    s->load[s->loads++] = (struct pml__sums_move){at, w[PML_BYFL_LOAD_COUNT]};
  else if (worth_only(w, OF(STORE_COUNT) | OF(STORE_INS_COUNT) | OF(OP_COUNT)) && once &&
           w[PML_BYFL_STORE_INS_COUNT] == 1)
    s->store[s->stores++] = (struct pml__sums_move){at, w[PML_BYFL_STORE_COUNT]};
  else if (worth_only(w, OF(OP_COUNT)) && once)
    s->one[s->ones++] = at;
  else if (worth_only(w, OF(CALL_INS_COUNT) | OF(OP_COUNT)) && once && w[PML_BYFL_CALL_INS_COUNT] == 1)
    s->call[s->calls++] = at;
  else if (worth_only(w, OF(FLOP_COUNT) | OF(FP_BITS_COUNT) | OF(OP_COUNT)))
    s->real[s->floats++] =
        (struct pml__sums_float){at, w[PML_BYFL_FLOP_COUNT], w[PML_BYFL_FP_BITS_COUNT], w[PML_BYFL_OP_COUNT]};
  else
    return add_others(s, at, w);
  return true;
}

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
struct pml__compiler_list {
  uint64_t as_of;         /* epoch in which the list is valid; 0: no list */
  uint64_t tried;         /* epoch in which it was made last, or could not be */
  struct pml__sums *sums; /* the set is Byfl's sums; NULL: any events, as follows */
  uint32_t nonce, nweighted;
  uint16_t once[LISTED_MAX];
  struct weighted weighted[LISTED_MAX];
  struct ends end[]; /* end of each event's part */
};

static const struct pml__sde_body *body_in(const struct pml__sde_backend *h, uint32_t i) {
  const struct pml__sde_body *b = pml__sde_body_of(h->event[i]);
  return b != NULL && b->kind == PML_SDE_PER_THREAD ? b : NULL;
}

/* False: there are too many. */
static bool list_terms(struct pml__compiler_list *c, struct pml__sde_terms *t, uint32_t event) {
  uint32_t n = atomic_load_explicit(&t->n, memory_order_acquire);
  if (n > LISTED_MAX - c->nonce - c->nweighted) return false;
  for (uint32_t k = 0; k < n; k++) {
    struct pml__sde_term term = t->term[k];
    if (term.weight == 1)
      c->once[c->nonce++] = term.place;
    else
      c->weighted[c->nweighted++] = (struct weighted){term.place, (uint16_t)term.weight};
  }
  c->end[event] = (struct ends){(uint16_t)c->nonce, (uint16_t)c->nweighted};
  return true;
}

/* The cells of all sums, each once. Every cell with a weight is in at least one sum. */
static bool list_sums(struct pml__sde_backend *h) {
  struct pml__sums *s = h->compiler->sums;
  bool listed[PML_CELL_COUNT] = {false}, good = true;
  s->loads = s->stores = s->floats = s->ones = s->calls = s->others = 0;
  for (uint32_t e = 0; good && e < PML_BYFL_EVENTS; e++) {
    const struct pml__sde_body *b = body_in(h, e);
    good = b != NULL && pml__sde_compiler_is_sum(b->terms, e);
    uint32_t n = good ? atomic_load_explicit(&b->terms->n, memory_order_acquire) : 0;
    for (uint32_t k = 0; good && k < n; k++) {
      uint32_t cell = b->terms->term[k].cell;
      if (!listed[cell]) good = add_to_sums(s, cell);
      listed[cell] = true;
    }
  }
  return good;
}

static bool list_all(struct pml__sde_backend *h) {
  struct pml__compiler_list *c = h->compiler;
  bool good = true;
  c->nonce = c->nweighted = 0;
  for (uint32_t i = 0; good && i < h->backend.n; i++) {
    const struct pml__sde_body *b = body_in(h, i);
    good = b != NULL && list_terms(c, b->terms, i);
  }
  for (uint32_t i = 0; good && i < h->backend.n; i++) c->end[i].weighted = (uint16_t)(c->end[i].weighted + c->nonce);
  return good;
}

/* Appending a term or unregistering an event increments the epoch afterwards: lists of earlier epochs are stale. */
static void make_list(struct pml__sde_backend *h) {
  struct pml__compiler_list *c = h->compiler;
  uint64_t epoch = atomic_load_explicit(&pml__sde_compiler_epoch, memory_order_acquire);
  if (c->tried == epoch || h->reader->cells == NULL) return;
  c->as_of = 0;
  pml__sde_enter(h->reader);
  bool good = c->sums != NULL ? list_sums(h) : list_all(h);
  pml__sde_leave(h->reader);
  c->tried = epoch;
  if (good) c->as_of = epoch;
}

static inline bool is_listed(const struct pml__compiler_list *c) {
  return c->as_of == atomic_load_explicit(&pml__sde_compiler_epoch, memory_order_acquire);
}

static inline uint64_t load(const uint64_t *cells, uint16_t cell) {
  return __atomic_load_n(&cells[cell], __ATOMIC_RELAXED);
}

/* The running sums, [0] being before the first. Relaxed: each cell is right for itself. */
static inline void run(const struct pml__compiler_list *c, const uint64_t *cells, uint64_t *sum) {
  uint32_t n = c->nonce;
  uint64_t all = 0;
  *sum++ = 0;
#pragma GCC unroll 4
  for (uint32_t i = 0; i < n; i++) *sum++ = all += load(cells, c->once[i]);
  n = c->nweighted;
#pragma GCC unroll 2
  for (uint32_t i = 0; i < n; i++) *sum++ = all += c->weighted[i].weight * load(cells, c->weighted[i].cell);
}

static int snapshot_counted(struct pml__backend *backend, uint64_t *words, bool times) {
  struct pml__sde_backend *h = (struct pml__sde_backend *)backend;
  const struct pml__compiler_list *c = h->compiler;
  if (PML_UNLIKELY(!is_listed(c))) {
    int rc = pml__sde_backend_snapshot(backend, words, times);
    make_list(h);
    return rc;
  }
  uint64_t sum[LISTED_MAX + 1];
  run(c, h->reader->cells, sum);
  uint64_t last = sum[c->nonce];
  for (uint32_t i = 0; i < backend->n; i++, words += PML__SDE_WORDS) {
    uint64_t now = sum[c->end[i].once] + sum[c->end[i].weighted];
    words[PML__SDE_VALUE] = words[PML__SDE_BASE] = now - last;
    words[PML__SDE_WHAT] = PML__SDE_HAS;
    last = now;
  }
  return 0;
}

/* An event that did not exist at the start has a base of 0. */
static int read_counted(struct pml_eventset *s, uint64_t *values) {
  struct pml__sde_backend *h = (struct pml__sde_backend *)s->backend;
  const struct pml__compiler_list *c = h->compiler;
  if (PML_UNLIKELY(!is_listed(c))) {
    int rc = pml__sde_backend_read(s, values);
    make_list(h);
    return rc;
  }
  uint64_t sum[LISTED_MAX + 1];
  const uint64_t *base = s->base + PML__SDE_BASE;
  run(c, h->reader->cells, sum);
  uint64_t last = sum[c->nonce];
  uint32_t n = s->n;
  for (uint32_t i = 0; i < n; i++, base += PML__SDE_WORDS) {
    uint64_t now = sum[c->end[i].once] + sum[c->end[i].weighted];
    values[i] = now - last - *base;
    last = now;
  }
  return 0;
}

static int snapshot_sums(struct pml__backend *backend, uint64_t *words, bool times) {
  struct pml__sde_backend *h = (struct pml__sde_backend *)backend;
  const struct pml__compiler_list *c = h->compiler;
  if (PML_UNLIKELY(!is_listed(c))) {
    int rc = pml__sde_backend_snapshot(backend, words, times);
    make_list(h);
    return rc;
  }
  struct pml__sums_out out = {.to = words + PML__SDE_VALUE, .stride = PML__SDE_WORDS};
  pml__sums_run(c->sums, h->reader->cells, out);
  for (uint32_t i = 0; i < PML_BYFL_EVENTS; i++, words += PML__SDE_WORDS) {
    words[PML__SDE_BASE] = words[PML__SDE_VALUE];
    words[PML__SDE_WHAT] = PML__SDE_HAS;
  }
  return 0;
}

static int read_sums(struct pml_eventset *set, uint64_t *values) {
  struct pml__sde_backend *h = (struct pml__sde_backend *)set->backend;
  const struct pml__compiler_list *c = h->compiler;
  if (PML_UNLIKELY(!is_listed(c))) {
    int rc = pml__sde_backend_read(set, values);
    make_list(h);
    return rc;
  }
  struct pml__sums_out out = {values, set->base + PML__SDE_BASE, 1, PML__SDE_WORDS};
  pml__sums_run(c->sums, h->reader->cells, out);
  return 0;
}

static bool is_sums(const struct pml__sde_backend *h) {
  bool are = h->backend.n == PML_BYFL_EVENTS;
  for (uint32_t e = 0; are && e < PML_BYFL_EVENTS; e++) are = pml__sde_compiler_is_sum(body_in(h, e)->terms, e);
  return are;
}

int pml__compiler_open(struct pml__sde_backend *h) {
  bool all = !h->reader->whole;
  uint32_t n = h->backend.n;
  pml__sde_enter(h->reader);
  for (uint32_t i = 0; all && i < n; i++) all = body_in(h, i) != NULL;
  bool sums = all && is_sums(h);
  pml__sde_leave(h->reader);
  if (!all) return 0;
  h->compiler = malloc(sizeof *h->compiler + n * sizeof h->compiler->end[0]);
  struct pml__sums *list = sums && h->compiler != NULL ? malloc(sizeof *list) : NULL;
  if (h->compiler == NULL || (sums && list == NULL))
    return pml_fail(-ENOMEM, "event set with %u software-defined events: out of memory", h->backend.n);
  h->compiler->as_of = h->compiler->tried = 0;
  h->compiler->sums = list;
  h->backend.snapshot = sums ? snapshot_sums : snapshot_counted;
  h->backend.read = sums ? read_sums : read_counted;
  h->backend.plain_read = NULL;
  return 0;
}

void pml__compiler_close(struct pml__sde_backend *h) {
  if (h->compiler != NULL) free(h->compiler->sums);
  free(h->compiler);
}
