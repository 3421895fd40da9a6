/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/tune/pml_tune_private.h - rules in applicable form, and their per-thread state. Internal. */
#ifndef PML_TUNE_PRIVATE_H
#define PML_TUNE_PRIVATE_H

#include "base/pml_cancel.h"
#include "base/pml_stream.h"
#include "control/tune/pml_tune.h"
#include "control/tune/pml_tune_cpu.h"
#include "control/tune/pml_tune_table.h"

#include <sched.h>
#include <stdatomic.h>

#define PML__TUNE_NONE 1u
#define PML__TUNE_FIRST 2u

#define PML__TUNE_SETTINGS_MAX 16u

struct pml__tune_rule {
  char *region;
  struct pml__cpu_setting setting[PML__TUNE_SETTINGS_MAX];
  size_t nsettings;
  unsigned threads;
  int (*call)(void *arg, bool leave, pml_region_t region, char why[PML_TUNE_WHY]);
  void *arg;
  atomic_bool dropped, entered;
};

/* A region with a rule, entered and not left. */
struct pml__tune_frame {
  pml_region_t region;
  struct pml__tune_rule *rule;
  uint64_t owner;
  int threads; /* before; 0: not set */
  bool called;
  cpu_set_t cpus;
};

struct pml__tune_thread {
  struct pml_tune *tune;
  uint64_t id;
  struct pml__table rule_of;     /* PML__TUNE_NONE, or PML__TUNE_FIRST and the rule's index */
  struct pml__tune_frame *frame; /* [nframes], the outermost first */
  size_t nframes, room;
  struct pml__tune_thread *next;
};

struct pml_tune {
  struct pml_tune_options options;
  struct pml__controls *controls;
  struct pml__cpus cpus;
  struct pml__tune_rule *rule;
  size_t nrules;
  uint64_t consumer;
  pid_t pid;
  bool stopped;
  struct pml__mutex lock; /* the list */
  struct pml__tune_thread *threads;
  _Atomic uint64_t entered, lost;
  atomic_bool told_no_openmp;
};

/* pml__tune_permission - 0, or -EPERM: files would be written without permission. */
int pml__tune_permission(const struct pml__controls *k);

/* pml__tune_enter, pml__tune_leave - on the thread concerned; leave also of frames above, that were never left. */
void pml__tune_enter(struct pml__tune_thread *th, pml_region_t region, struct pml__tune_rule *r);
void pml__tune_leave(struct pml__tune_thread *th, pml_region_t region);
/* pml__tune_unwind - all frames; @own: on the thread itself. */
void pml__tune_unwind(struct pml__tune_thread *th, bool own);

bool pml__tune_entry_of(struct pml__controls *k, size_t i, struct pml_tune_entry *e);

/* pml__tune_has_none - the region is known to have no rule: no event of it matters. General registers only. */
static inline bool pml__tune_has_none(const struct pml__tune_thread *th, pml_region_t region) {
  return PML_LIKELY(pml__table_get(&th->rule_of, region) == PML__TUNE_NONE);
}

/* The event of a region that is known to have no rule; general registers only. */
struct pml_stream_event;
pml_stream_fast pml__tune_fast;

/* pml__openmp_threads - set the number of threads of the calling thread's parallel regions to @n. Returns the previous
 * number, or 0: the process has no OpenMP runtime. */
int pml__openmp_threads(int n);

#endif
