/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/simulation/pml_event_sim.c - simulated events among all other events: their names, the list, what is
 * near. */
#include "source/pml_source.h"
#include "source/simulation/pml_sim.h"

#include <stdio.h>
#include <string.h>

#define PREFIX "sim::"
#define NPREFIX (sizeof PREFIX - 1)

static int walk(const struct pml__walk *w) {
  int rc = 0, err = pml_sim_available();
  char reason[256];
  (void)snprintf(reason, sizeof reason, "%s", err < 0 ? pml_error_detail(err) : "");
  for (unsigned i = 0; rc == 0 && i < PML_SIM_EVENTS; i++) {
    char name[32];
    (void)snprintf(name, sizeof name, PREFIX "%s", pml_sim_name(i));
    struct pml_event_info row = {.name = name, .description = pml_sim_description(i), .source = "sim"};
    row.pmu = "callgrind";
    row.available = err == 0;
    row.reason = reason;
    rc = pml__walk_row(w, &row);
  }
  return rc;
}

unsigned pml__event_sim_index(const char *name) {
  unsigned i = 0;
  while (i < PML_SIM_EVENTS && strcmp(pml_sim_name(i), name + NPREFIX) != 0) i++;
  return i;
}

static int parse(struct pml_event *ev, const char *name) {
  (void)ev;
  if (pml__event_sim_index(name) < PML_SIM_EVENTS) return 0;
  char text[512];
  return pml_fail(PML_ENOEVENT, "no simulated event \"%.128s\"%s (without modifiers)", name,
                  pml__source_nearest(&pml__source_sim, name, text, sizeof text));
}

const struct pml__source pml__source_sim = {.name = "sim", .prefix = PREFIX, .parse = parse, .walk = walk};
