/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_eventset_open.c - opening of an event set, source by source. */
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "source/base/pml_eventset_private.h"
#include "source/pml_sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LINE 64u

static const struct pml__source *source_of(const struct pml_event *ev) {
  return ev->source != NULL ? ev->source : &pml__source_kernel;
}

static uint32_t events_of(const struct pml__source *source, const struct pml_event *ev, uint32_t n) {
  uint32_t own = 0;
  for (uint32_t i = 0; i < n; i++) own += source_of(&ev[i]) == source;
  return own;
}

static int add_backend(struct pml_eventset *s, const struct pml__source *source, const struct pml_event *ev,
                       uint32_t n) {
  struct pml__backend *backend = calloc(1, source->backend_bytes + 2 * n * sizeof(uint32_t));
  if (backend == NULL) return pml_fail(-ENOMEM, "event set of %u events: out of memory", s->n);
  uint32_t *event = (uint32_t *)(void *)((char *)backend + source->backend_bytes);
  backend->source = source;
  backend->set = s;
  backend->event = event;
  backend->word = event + n;
  for (uint32_t i = 0; i < s->n; i++) {
    if (source_of(&ev[i]) != source) continue;
    s->info[i].backend = backend;
    s->info[i].k = backend->n;
    event[backend->n++] = i;
  }
  backend->next = s->backend; /* each before the previous one: the kernel, the last in the table, is read first */
  s->backend = backend;
  return 0;
}

static int add_backends(struct pml_eventset *s, const struct pml_event *ev) {
  const struct pml__source *source;
  for (size_t i = 0; (source = pml__source_at(i)) != NULL; i++) {
    uint32_t n = events_of(source, ev, s->n);
    int rc = n > 0 ? add_backend(s, source, ev, n) : 0;
    if (rc < 0) return rc;
  }
  return 0;
}

static uint64_t *new_snapshot(size_t words) {
  size_t bytes = (words * sizeof(uint64_t) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
  uint64_t *snapshot = aligned_alloc(CACHE_LINE, bytes);
  if (snapshot != NULL) memset(snapshot, 0, bytes);
  return snapshot;
}

/* Place each backend's block; backends that count the time use the word behind all blocks. */
static void lay_out(struct pml_eventset *s) {
  struct pml__backend **read = &s->read_backend, **difference = &s->difference_backend, **add = &s->add_backend;
  for (struct pml__backend *backend = s->backend; backend != NULL; backend = backend->next) {
    backend->at = s->clock_word;
    s->clock_word += backend->words;
    if (backend->words > 0) {
      *read = backend;
      read = &backend->next_read;
    }
    if (backend->difference != NULL) {
      *difference = backend;
      difference = &backend->next_difference;
    }
    if (backend->prepare_add != NULL) {
      *add = backend;
      add = &backend->next_add;
    }
  }
  if (s->read_backend == NULL) s->read_backend = s->backend; /* its snapshot reads only the time */
  s->words = s->clock_word + 1;
  s->mixed = s->difference_backend != NULL;
}

static void lay_out_events(struct pml_eventset *s) {
  for (struct pml__backend *backend = s->backend; backend != NULL; backend = backend->next) {
    if (backend->words == 0) backend->at = s->clock_word;
    s->clocked |= backend->words == 0;
    for (uint32_t k = 0; k < backend->n; k++) s->word[backend->event[k]] = backend->at + backend->word[k];
  }
}

static int allocate_snapshots(struct pml_eventset *s) {
  s->base = new_snapshot(s->words);
  s->now = new_snapshot(s->words);
  return s->base == NULL || s->now == NULL ? pml_fail(-ENOMEM, "event set of %u events: out of memory", s->n) : 0;
}

static int open_all(struct pml_eventset *s, const struct pml_event *ev, const struct pml_eventset_options *options) {
  for (uint32_t i = 0; i < s->n; i++) {
    struct pml__eventset_info *e = &s->info[i];
    e->scale = ev[i].scale;
    memcpy(e->name, ev[i].name, sizeof e->name);
    memcpy(e->unit, ev[i].unit, sizeof e->unit);
  }
  int rc = add_backends(s, ev);
  for (struct pml__backend *backend = s->backend; rc == 0 && backend != NULL; backend = backend->next)
    rc = backend->source->open(backend, ev, options);
  if (rc < 0) return rc;
  lay_out(s);
  lay_out_events(s);
  rc = allocate_snapshots(s);
  if (rc < 0) return rc;
  pml__eventset_choose_read(s);
  rc = pml_eventset_start(s);
  return rc < 0 ? pml_fail(rc, "event set: its first read failed: %s", pml_error_text(rc)) : 0;
}

static struct pml_eventset *new_set(size_t n) {
  struct pml_eventset *s = aligned_alloc(CACHE_LINE, (sizeof *s + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
  if (s == NULL) return NULL;
  memset(s, 0, sizeof *s);
  s->n = (uint32_t)n;
  s->info = calloc(n, sizeof *s->info);
  s->word = calloc(n, sizeof *s->word);
  if (s->info != NULL && s->word != NULL) return s;
  pml_eventset_close(s);
  return NULL;
}

int pml__eventset_open_events(struct pml_eventset **set, const struct pml_event *ev, size_t n,
                              const struct pml_eventset_options *options) {
  static const struct pml_eventset_options none = {0};
  *set = NULL;
  if (n == 0 || n > PML_EVENTSET_MAX)
    return pml_fail(-EINVAL, "an event set takes 1 to %u events, not %zu", PML_EVENTSET_MAX, n);
  int rc = pml_clock_init();
  if (rc < 0) return rc;
  struct pml_eventset *s = new_set(n);
  if (s == NULL) return pml_fail(-ENOMEM, "event set of %zu events: out of memory", n);
  rc = open_all(s, ev, options != NULL ? options : &none);
  if (rc < 0)
    pml_eventset_close(s);
  else
    *set = s;
  return rc;
}

int pml_eventset_open(struct pml_eventset **set, const char *const *names, size_t n,
                      const struct pml_eventset_options *options) {
  *set = NULL;
  if (n == 0 || n > PML_EVENTSET_MAX)
    return pml_fail(-EINVAL, "an event set takes 1 to %u events, not %zu", PML_EVENTSET_MAX, n);
  struct pml_event *ev = calloc(n, sizeof *ev);
  if (ev == NULL) return pml_fail(-ENOMEM, "event set of %zu events: out of memory", n);
  int rc = 0;
  for (size_t i = 0; rc == 0 && i < n; i++) rc = pml_event_parse(&ev[i], names[i]);
  if (rc == 0) rc = pml__eventset_open_events(set, ev, n, options);
  free(ev);
  return rc;
}

void pml_eventset_close(struct pml_eventset *s) {
  if (s == NULL) return;
  while (s->backend != NULL) {
    struct pml__backend *backend = s->backend;
    s->backend = backend->next;
    if (backend->source->close != NULL) backend->source->close(backend);
    free(backend);
  }
  free(s->info);
  free(s->word);
  free(s->base);
  free(s->now);
  free(s);
}

#define BACKEND_BYTES 512u /* bytes of an event in its backend: about the size for most sources */

size_t pml_eventset_bytes(size_t n) {
  const struct pml_eventset *s = NULL;
  size_t words = 8 * sizeof(uint64_t); /* for both snapshots */
  return sizeof *s + n * (sizeof *s->info + sizeof *s->word + words + BACKEND_BYTES);
}

int pml_eventset_event(const struct pml_eventset *s, size_t i, struct pml_eventset_event *info) {
  if (i >= s->n) return -ENOENT;
  const struct pml__eventset_info *e = &s->info[i];
  *info = (struct pml_eventset_event){.name = e->name, .unit = e->unit, .scale = e->scale, .path = PML_PATH_PAGE};
  if (e->backend->source->describe != NULL) e->backend->source->describe(e->backend, e->k, info);
  return 0;
}

bool pml_eventset_typed(const struct pml_eventset *s) {
  for (const struct pml__backend *backend = s->backend; backend != NULL; backend = backend->next)
    if (backend->source->type != NULL || backend->source->absent != NULL) return true;
  return false;
}

bool pml_eventset_absent(const struct pml_eventset *s, size_t i, uint64_t value) {
  if (i >= s->n || s->info[i].backend->source->absent == NULL) return false;
  return s->info[i].backend->source->absent(s->info[i].backend, s->info[i].k, value);
}
