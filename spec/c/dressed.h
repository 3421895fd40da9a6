/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/dressed.h - a set of software events that seem to have pages which user space may read. */
#ifndef SPEC_DRESSED_H
#define SPEC_DRESSED_H

#include "base/pml_thread.h"
#include "events.h"
#include "source/kernel/pml_eventset_kernel.h"
#include "source/kernel/pml_group.h"

#define MEMBERS 3u

/* @page_of: the page of each event; @restarts: the set belongs to a thread whose reads are restartable. */
static inline struct pml_eventset *open_dressed(volatile struct perf_event_mmap_page *(*page_of)(uint32_t i),
                                                bool restarts) {
  struct pml_event ev[MEMBERS] = {faults(), task_clock(), switches()};
  struct pml_eventset *s;
  if (pml__eventset_open_events(&s, ev, MEMBERS, NULL) != 0) return NULL;
  struct pml__kernel_backend *k = pml__kernel_backend_of(s);
  k->owner = pml_thread_self()->id;
  k->restarts = restarts;
  k->group[0].paged = true;
  pml__kernel_choose_read(k);
  pml__eventset_choose_read(s);
  for (uint32_t i = 0; i < MEMBERS; i++) {
    k->page[i] = k->counter[i].page = page_of(i);
    k->counter[i].owner = k->owner | (restarts ? PML__OWNER_RESTARTS : 0);
  }
  return s;
}

#endif
