/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_eventset_sde.c - software-defined events in an event set: open, read, differences. */
#include "source/sde/pml_eventset_sde.h"

#include "base/pml_bits.h"
#include "base/pml_error.h"
#include "base/pml_libc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int pml__sde_backend_snapshot(struct pml__backend *backend, uint64_t *words, bool times) {
  struct pml__sde_backend *h = (struct pml__sde_backend *)backend;
  (void)times;
  pml__sde_enter(h->reader);
  pml__sde_snapshot(h->reader, h->event, backend->n, words);
  pml__sde_leave(h->reader);
  return 0;
}

/* An event that came or changed its type since the start has no start to be relative to. */
static uint64_t difference(const uint64_t *now, const uint64_t *base) {
  bool since =
      (base[PML__SDE_WHAT] & PML__SDE_HAS) != 0 && ((base[PML__SDE_WHAT] ^ now[PML__SDE_WHAT]) & PML__SDE_DOUBLE) == 0;
  if ((now[PML__SDE_WHAT] & PML__SDE_HAS) == 0 || !since) return now[PML__SDE_VALUE];
  if ((now[PML__SDE_WHAT] & PML__SDE_DOUBLE) == 0) return now[PML__SDE_VALUE] - base[PML__SDE_BASE];
  return pml__as_bits(pml__as_double(now[PML__SDE_VALUE]) - pml__as_double(base[PML__SDE_BASE]));
}

static inline uint64_t event_difference(const uint64_t *now, const uint64_t *base) {
  if (PML_LIKELY(now[PML__SDE_WHAT] == PML__SDE_HAS && base[PML__SDE_WHAT] == PML__SDE_HAS))
    return now[PML__SDE_VALUE] - base[PML__SDE_BASE];
  return difference(now, base);
}

static void difference_all(const struct pml__backend *backend, uint64_t *values) {
  const uint64_t *now = pml__backend_now(backend), *base = pml__backend_base(backend);
  for (uint32_t i = 0; i < backend->n; i++, now += PML__SDE_WORDS, base += PML__SDE_WORDS)
    values[backend->event[i]] = event_difference(now, base);
}

/* From event @i on, of which the first is not usual; the reader is inside. */
static __attribute__((noinline)) int read_rest(const struct pml_eventset *s, uint64_t *values, uint32_t i) {
  const struct pml__sde_backend *h = (const struct pml__sde_backend *)s->backend;
  struct pml__sde_reader *r = h->reader;
  uint64_t *now = s->now + i * PML__SDE_WORDS, v;
  const uint64_t *base = s->base + i * PML__SDE_WORDS;
  for (uint32_t n = s->n; i < n; i++, now += PML__SDE_WORDS, base += PML__SDE_WORDS) {
    const struct pml__sde_body *b = pml__sde_body_of(h->event[i]);
    if (pml__sde_plain(r, b, &v)) { /* also if it came since the start: then all of it is new */
      now[PML__SDE_WHAT] = PML__SDE_HAS;
      values[i] = base[PML__SDE_WHAT] == PML__SDE_HAS ? v - base[PML__SDE_BASE] : v;
    } else {
      pml__sde_snapshot_one(r, b, now);
      values[i] = event_difference(now, base);
    }
  }
  pml__sde_leave(r);
  return 0;
}

/*
 * Snapshot and difference in one pass. Unusual cases are in a separate function, so that registers for them need not be
 * saved here. Only the kind of plain events is stored; to get their values again, take a snapshot.
 */
int pml__sde_backend_read(struct pml_eventset *s, uint64_t *values) {
  struct pml__sde_backend *h = (struct pml__sde_backend *)s->backend;
  struct pml_sde_event *const *event = h->event;
  uint64_t *now = s->now, v;
  const uint64_t *base = s->base;
  struct pml__sde_reader *r = h->reader;
  uint32_t n = s->n;
  uint64_t inside = pml__sde_enter(r);
  for (uint32_t i = 0; i < n; i++, now += PML__SDE_WORDS, base += PML__SDE_WORDS) {
    if (PML_UNLIKELY(base[PML__SDE_WHAT] != PML__SDE_HAS || !pml__sde_usual(pml__sde_body_of(event[i]), &v)))
      return read_rest(s, values, i);
    now[PML__SDE_WHAT] = PML__SDE_HAS;
    values[i] = v - base[PML__SDE_BASE];
  }
  pml__sde_leave_from(r, inside);
  return 0;
}

/*
 * Accum adds integers. For any other value the count is set to the difference between the bits of the new sum and the
 * existing bits. Doubles are added as doubles; an instant value replaces the previous one.
 */
static void prepare_add(const struct pml__backend *backend, const uint64_t *values, uint64_t *count) {
  const uint64_t *now = pml__backend_now(backend);
  for (uint32_t i = 0; i < backend->n; i++, now += PML__SDE_WORDS) {
    uint32_t at = backend->event[i];
    if ((now[PML__SDE_WHAT] & PML__SDE_HAS) == 0 || (now[PML__SDE_WHAT] & PML__SDE_LEVEL) != 0)
      count[at] -= values[at];
    else if ((now[PML__SDE_WHAT] & PML__SDE_DOUBLE) != 0)
      count[at] = pml__as_bits(pml__as_double(values[at]) + pml__as_double(count[at])) - values[at];
  }
}

/* ---- opened and described ---- */

static int open_one(struct pml__sde_backend *h, uint32_t k, const char *name) {
  int rc = pml_sde_find(name, &h->event[k], NULL);
  if (rc < 0) return rc;
  h->backend.word[k] = k * PML__SDE_WORDS;
  return 0;
}

/* All are, or may be when they are registered. */
static bool all_usual(const struct pml__sde_backend *h) {
  bool all = true;
  uint64_t v;
  pml__sde_enter(h->reader);
  for (uint32_t k = 0; all && k < h->backend.n; k++) {
    const struct pml__sde_body *b = pml__sde_body_of(h->event[k]);
    all = b == NULL || pml__sde_usual(b, &v);
  }
  pml__sde_leave(h->reader);
  return all;
}

int pml__sde_open(struct pml__backend *backend, const struct pml_event *ev,
                  const struct pml_eventset_options *options) {
  struct pml__sde_backend *h = (struct pml__sde_backend *)backend;
  const struct pml_target *target = &options->target;
  if (target->pid != 0 && target->pid != getpid() && target->pid != gettid())
    return pml_fail(PML_EMODE, "software-defined events belong to this process; they cannot be read from pid %d",
                    (int)target->pid);
  h->absent = calloc(backend->n, sizeof *h->absent);
  h->event = calloc(backend->n, sizeof(struct pml_sde_event *));
  h->reader = pml__sde_reader_take();
  if (h->absent == NULL || h->event == NULL || h->reader == NULL)
    return pml_fail(-ENOMEM, "event set with %u software-defined events: out of memory", backend->n);
  /* Per-thread events: the process's sum if the target is another thread, or includes children. */
  h->reader->whole = target->inherit || (target->pid != 0 && target->pid != gettid());
  int rc = 0;
  for (uint32_t k = 0; rc == 0 && k < backend->n; k++) {
    const char *name = ev[backend->event[k]].name;
    rc = open_one(h, k, pml__source_rest(backend->source, name));
  }
  if (rc < 0) return rc;
  backend->words = backend->n * PML__SDE_WORDS;
  backend->snapshot = pml__sde_backend_snapshot;
  backend->read = pml__sde_backend_read;
  if (all_usual(h)) backend->plain_read = pml__sde_plain_read;
  backend->difference = difference_all;
  backend->prepare_add = prepare_add;
  return 0;
}

void pml__sde_close(struct pml__backend *backend) {
  struct pml__sde_backend *h = (struct pml__sde_backend *)backend;
  for (uint32_t k = 0; h->event != NULL && k < backend->n; k++)
    if (h->event[k] != NULL) pml_sde_release(h->event[k]);
  pml__sde_reader_give_back(h->reader);
  free(h->event);
  for (uint32_t k = 0; h->absent != NULL && k < backend->n; k++) free(h->absent[k]);
  free(h->absent);
}

/* Before the first read: the state at the start. */
static uint64_t what(const struct pml__backend *backend, uint32_t k) {
  uint32_t at = k * PML__SDE_WORDS + PML__SDE_WHAT;
  uint64_t now = pml__backend_now(backend)[at];
  return now != 0 ? now : pml__backend_base(backend)[at];
}

enum pml_type pml__sde_type(const struct pml__backend *backend, uint32_t k) {
  return (what(backend, k) & PML__SDE_DOUBLE) != 0 ? PML_TYPE_DOUBLE : PML_TYPE_INT64;
}

/* A recorder without values has no quantiles, and a group of such has no extreme. */
enum pml_type pml__sde_declared(const struct pml__backend *backend, uint32_t k, unsigned *may) {
  struct pml_sde_info sde = {.kind = PML_SDE_PLACEHOLDER};
  (void)pml_sde_info(((const struct pml__sde_backend *)backend)->event[k], &sde);
  if (sde.kind == PML_SDE_QUANTILE) *may = PML__MAY_LACK_VALUE;
  if (sde.kind == PML_SDE_PLACEHOLDER || sde.kind == PML_SDE_GROUP) *may = PML__MAY_LACK_VALUE | PML__MAY_CHANGE_TYPE;
  return sde.type == PML_TYPE_DOUBLE || sde.type == PML_TYPE_FLOAT ? PML_TYPE_DOUBLE : PML_TYPE_INT64;
}

/* Looked for when asked: to compare a name with a million others takes half a second. */
static const char *absence(const struct pml__sde_backend *h, uint32_t k, const char *name) {
  static const char unregistered[] = "no library has registered it yet";
  char near[256];
  if (h->absent[k] == NULL &&
      asprintf(&h->absent[k], "%s%s", unregistered, pml__sde_nearest(name, near, sizeof near)) < 0)
    h->absent[k] = NULL;
  return h->absent[k] != NULL ? h->absent[k] : unregistered;
}

void pml__sde_describe(const struct pml__backend *backend, uint32_t k, struct pml_eventset_event *info) {
  const struct pml__sde_backend *h = (const struct pml__sde_backend *)backend;
  struct pml_sde_info sde;
  info->type = pml__sde_type(backend, k);
  if ((what(backend, k) & PML__SDE_LEVEL) != 0) info->mode = PML_MODE_ABSOLUTE_POINT;
  if (pml_sde_info(h->event[k], &sde) == 0 && sde.kind == PML_SDE_PLACEHOLDER) info->why = absence(h, k, sde.full_name);
}
