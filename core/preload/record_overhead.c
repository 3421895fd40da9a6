/* SPDX-License-Identifier: BSD-3-Clause */
/* core/preload/record_overhead.c - PMLUA_RECORD_OVERHEAD: functions that are too frequent are no longer recorded. */
#include "preload/record_overhead.h"

#include "adapter/intercept/pml_intercept_overhead.h"
#include "base/pml_clock.h"
#include "base/pml_setting.h"
#include "base/pml_stream.h"

#include <stdio.h>
#include <stdlib.h>

#define BATCHES 16
#define CALLS 256
#define NAMES_BYTES 65536u
#define JUMPS_NS 5.0 /* a thunk and a return slot, which a call has besides its events */

static bool stopped; /* atomic */

void pml__record_overhead_stop(void) {
  __atomic_store_n(&stopped, true, __ATOMIC_RELAXED);
}

/* The cost of an enter and a leave in a profile, the least of some batches. */
static double measure(void) {
  struct pml_profile *p;
  struct pml_stream_event e = {0};
  double least = 0;
  if (pml_region_intern("pmlua", "", 0, &e.region) < 0 || pml_profile_open(&p) < 0) return JUMPS_NS;
  for (int batch = 0; batch < BATCHES; batch++) {
    uint64_t from = pml_clock_ticks();
    for (int i = 0; i < CALLS; i++) {
      e.ticks = pml_clock_ticks();
      pml_stream_emit(PML_STREAM_ENTER, &e);
      e.ticks = pml_clock_ticks();
      pml_stream_emit(PML_STREAM_LEAVE, &e);
    }
    double ns = (double)(pml_clock_ticks() - from) / pml__clock.ticks_per_second * 1e9 / CALLS;
    if (batch == 0 || ns < least) least = ns;
  }
  pml_profile_close(p);
  return least + JUMPS_NS;
}

struct names {
  size_t n;
  char *text;
};

static void add_name(pml_region_t region, void *arg) {
  struct names *all = arg;
  struct pml_region_info info;
  if (pml_region_describe(region, &info) < 0) return;
  int n = snprintf(all->text + all->n, NAMES_BYTES - all->n, "%s\t%s\n", info.name, info.file);
  if (n > 0 && (size_t)n < NAMES_BYTES - all->n) all->n += (size_t)n;
  all->text[all->n] = '\0';
}

static void note(struct pml_recording *calls) {
  struct names all = {0, calloc(1, NAMES_BYTES)};
  if (all.text == NULL) return;
  pml__overhead_visit(add_name, &all);
  if (all.n > 0) pml_recording_note(calls, "dropped_functions", all.text);
  free(all.text);
}

static void frequent(void *calls, pml_region_t region) {
  if (!__atomic_load_n(&stopped, __ATOMIC_RELAXED) && pml__overhead_add(region, PML_PROFILE_FREQUENT)) note(calls);
}

void pml__record_overhead(struct pml_profile_memory *m) {
  static double call_ns;
  const char *share = pml__setting("PMLUA_RECORD_OVERHEAD");
  if (share == NULL) return;
  if (call_ns == 0) call_ns = measure();
  pml__overhead_begin(strtod(share, NULL), call_ns);
  m->frequent = frequent;
  note(m->arg); /* a child has its parent's code */
}
