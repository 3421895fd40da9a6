/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/clock/pml_eventset_clock.c - pmlua's clock as an event source. */
#include "base/pml_clock.h"
#include "source/base/pml_source.h"

#include <string.h>

static const struct {
  const char *name, *unit, *description;
} clocks[] = {{"clock::ticks", "ticks", "pmlua's clock in its own ticks, the cheapest time stamp"},
              {"clock::ns", "ns", "pmlua's clock in ns"}};

#define CLOCKS (sizeof clocks / sizeof clocks[0])

static int parse(struct pml_event *ev, const char *rest) {
  for (size_t i = 0; i < CLOCKS; i++) {
    if (strcmp(rest, clocks[i].unit) != 0) continue;
    pml__copy(ev->unit, sizeof ev->unit, clocks[i].unit);
    return 0;
  }
  return pml_fail(PML_ENOEVENT, "no clock \"%s\"; use clock::ticks or clock::ns, without modifiers", ev->name);
}

static int walk(const struct pml__walk *w) {
  int rc = 0;
  for (size_t i = 0; rc == 0 && i < CLOCKS; i++) {
    struct pml_event_info row = {clocks[i].name, clocks[i].description, "clock", "clock", true, ""};
    rc = pml__walk_row(w, &row);
  }
  return rc;
}

/* ---- in an event set: its word is the set's, of which each pass says when it was ---- */

struct clock_backend {
  struct pml__backend backend;
  uint32_t nns;
  uint32_t ns[PML_EVENTSET_MAX]; /* numbers in the set */
};

static int snapshot_nothing(struct pml__backend *backend, uint64_t *words, bool times) {
  (void)backend, (void)words, (void)times;
  return 0;
}

static void difference(const struct pml__backend *backend, uint64_t *values) {
  const struct clock_backend *c = (const struct clock_backend *)backend;
  for (uint32_t i = 0; i < c->nns; i++) values[c->ns[i]] = pml_clock_ticks_to_ns(values[c->ns[i]]);
}

static int open_backend(struct pml__backend *backend, const struct pml_event *ev,
                        const struct pml_eventset_options *options) {
  struct clock_backend *c = (struct clock_backend *)backend;
  (void)options;
  for (uint32_t k = 0; k < backend->n; k++)
    if (strcmp(ev[backend->event[k]].unit, "ns") == 0) c->ns[c->nns++] = backend->event[k];
  backend->snapshot = snapshot_nothing;
  backend->difference = c->nns > 0 ? difference : NULL;
  return 0;
}

const struct pml__source pml__source_clock = {.name = "clock",
                                              .prefix = "clock::",
                                              .parse = parse,
                                              .walk = walk,
                                              .backend_bytes = sizeof(struct clock_backend),
                                              .open = open_backend};
