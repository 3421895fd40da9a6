/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/cost_count.h - the reads of compiled-in counts whose instructions cost.c counts, and what they work on. */
#ifndef SPEC_COST_COUNT_H
#define SPEC_COST_COUNT_H

#include "count_loaded.h"
#include "source/pml_eventset.h"

#include <stdio.h>

static struct pml_eventset *counted1, *counted9;
static uint64_t counted_values[9];

static int counted_open(void) {
  static char name[PML_BYFL_EVENTS][48];
  const char *names[PML_BYFL_EVENTS], *flops = "sde:::BYFL::flop_count_I";
  if (!counted_load("../libpmlua_count.so")) return 0; /* after the section was defined, which else would count */
  for (unsigned i = 0; i < PML_BYFL_EVENTS; i++) {
    snprintf(name[i], sizeof name[i], "sde:::BYFL::%s", pml_byfl_events[i].name);
    names[i] = name[i];
  }
  int rc = pml_eventset_open(&counted1, &flops, 1, NULL);
  if (rc == 0) rc = pml_eventset_open(&counted9, names, PML_BYFL_EVENTS, NULL);
  if (rc == 0) rc = pml_eventset_start(counted1);
  return rc < 0 ? rc : pml_eventset_start(counted9);
}

static void counted_close(void) {
  pml_eventset_close(counted1);
  pml_eventset_close(counted9);
}

PATH(eventset_read_counted_1, pml_eventset_read(counted1, counted_values))
PATH(eventset_read_counted_9, pml_eventset_read(counted9, counted_values))

#endif
