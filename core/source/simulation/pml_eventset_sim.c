/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/simulation/pml_eventset_sim.c - simulated events in an event set: all of them are a block of words of a
 * snapshot. */
#include "base/pml_error.h"
#include "base/pml_thread.h"
#include "source/pml_event_internal.h"
#include "source/pml_eventset_private.h"
#include "source/simulation/pml_sim.h"

#include <errno.h>
#include <unistd.h>

uint32_t pml__eventset_sim_words(const struct pml_event *ev, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (ev[i].source == &pml__source_sim) return PML_SIM_EVENTS;
  return 0;
}

int pml__eventset_sim_open(struct pml_eventset *s, const struct pml_event *ev, const struct pml_target *target) {
  if (pml__eventset_sim_words(ev, s->n) == 0) return 0;
  if ((target->pid != 0 && target->pid != gettid()) || target->inherit)
    return pml_fail(PML_EMODE, "sim:: events count the calling thread alone; pmlua stat --sim counts another program");
  int err = pml_sim_available();
  if (err < 0) return err;
  s->sim_owner = pml_thread_id();
  for (uint32_t i = 0; i < s->n; i++) {
    if (ev[i].source != &pml__source_sim) continue;
    s->word[i] = s->sim_word + pml__event_sim_index(ev[i].name);
    s->nsim++;
  }
  return 0;
}

int pml__eventset_sim_snapshot(struct pml_eventset *s, uint64_t *snapshot, bool times) {
  if (s->sim_owner != pml_thread_id())
    return pml_fail(PML_EMODE, "sim:: events are read by the thread that opened the set");
  int rc = pml_sim_read(snapshot + s->sim_word, NULL);
  return rc < 0 ? rc : s->beneath_sim(s, snapshot, times);
}
