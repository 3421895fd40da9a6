/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/simulation/pml_event_sim.c - simulated events as a source: names, list, event set. */
#include "base/pml_libc.h"
#include "base/pml_thread.h"
#include "source/base/pml_source.h"
#include "source/simulation/pml_sim.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "sim::"

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

/* PML_SIM_EVENTS: no such event. */
static unsigned index_of(const char *rest) {
  unsigned i = 0;
  while (i < PML_SIM_EVENTS && strcmp(pml_sim_name(i), rest) != 0) i++;
  return i;
}

static int parse(struct pml_event *ev, const char *rest) {
  if (index_of(rest) < PML_SIM_EVENTS) return 0;
  char text[512];
  return pml_fail(PML_ENOEVENT, "no simulated event \"%.128s\"%s (without modifiers)", ev->name,
                  pml__source_nearest(&pml__source_sim, ev->name, text, sizeof text));
}

/* ---- in an event set: all of them are a block of words ---- */

struct sim_backend {
  struct pml__backend backend;
  uint64_t owner; /* thread that may read them */
};

static int snapshot(struct pml__backend *backend, uint64_t *words, bool times) {
  (void)times;
  if (((const struct sim_backend *)backend)->owner != pml_thread_id())
    return pml_fail(PML_EMODE, "sim:: events are read by the thread that opened the set");
  return pml_sim_read(words, NULL);
}

static int open_backend(struct pml__backend *backend, const struct pml_event *ev,
                        const struct pml_eventset_options *options) {
  const struct pml_target *target = &options->target;
  if ((target->pid != 0 && target->pid != gettid()) || target->inherit)
    return pml_fail(PML_EMODE,
                    "sim:: events count the calling thread only; count another program with pmlua stat --sim");
  int err = pml_sim_available();
  if (err < 0) return err;
  ((struct sim_backend *)backend)->owner = pml_thread_id();
  for (uint32_t k = 0; k < backend->n; k++)
    backend->word[k] = index_of(pml__source_rest(backend->source, ev[backend->event[k]].name));
  backend->words = PML_SIM_EVENTS;
  backend->snapshot = snapshot;
  return 0;
}

static void describe_one(const struct pml__backend *backend, uint32_t k, struct pml_eventset_event *info) {
  (void)backend, (void)k;
  info->path = PML_PATH_READ;
  info->why = "callgrind is asked";
}

const struct pml__source pml__source_sim = {.name = "sim",
                                            .prefix = PREFIX,
                                            .parse = parse,
                                            .walk = walk,
                                            .backend_bytes = sizeof(struct sim_backend),
                                            .open = open_backend,
                                            .describe = describe_one};
