/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/clock/pml_eventset_clock.c - pmlua's own clock as a source of events. */
#include "source/pml_source.h"

#include <string.h>

static const struct {
  const char *name, *unit, *description;
} clocks[] = {{"clock::ticks", "ticks", "pmlua's clock in its own ticks, the cheapest time stamp"},
              {"clock::ns", "ns", "pmlua's clock in ns"}};

#define CLOCKS (sizeof clocks / sizeof clocks[0])

static int parse(struct pml_event *ev, const char *name) {
  for (size_t i = 0; i < CLOCKS; i++) {
    if (strcmp(name, clocks[i].name) != 0) continue;
    pml__copy(ev->unit, sizeof ev->unit, clocks[i].unit);
    return 0;
  }
  return pml_fail(PML_ENOEVENT, "no clock \"%s\"; there are clock::ticks and clock::ns (without modifiers)", name);
}

static int walk(const struct pml__walk *w) {
  int rc = 0;
  for (size_t i = 0; rc == 0 && i < CLOCKS; i++) {
    struct pml_event_info row = {clocks[i].name, clocks[i].description, "clock", "clock", true, ""};
    rc = pml__walk_row(w, &row);
  }
  return rc;
}

const struct pml__source pml__source_clock = {.name = "clock", .prefix = "clock::", .parse = parse, .walk = walk};
