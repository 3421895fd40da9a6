/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/pml_probe.h - cost of one operation on an event set at a probe site.
 *
 * A workload calls pml_probe_hit() wherever an application would read its counters. Each hit reads the clock, performs
 * the chosen operation, reads the clock again and stores the difference. PML_PROBE_EMPTY does nothing in between: it is
 * the baseline of all operations.
 */
#ifndef PML_PROBE_H
#define PML_PROBE_H

#include "base/pml_clock.h"
#include "base/pml_region.h"
#include "record/pml_samples.h"
#include "source/pml_eventset.h"

PML_BEGIN_DECLS

#define PML_PROBE_OPERATION_LIST(X)                                                                                    \
  X(EMPTY, "empty")                                                                                                    \
  X(START_STOP, "start_stop") X(READ, "read") X(READ_TS, "read_ts") X(ACCUM, "accum") X(RESET, "reset")

#define PML_PROBE_ENUM(id, name) PML_PROBE_##id,
enum pml_probe_operation { PML_PROBE_OPERATION_LIST(PML_PROBE_ENUM) PML_PROBE_OPERATIONS };
#undef PML_PROBE_ENUM

struct pml_probe {
  int (*operation)(struct pml_eventset *set, uint64_t *values);
  struct pml_eventset *set;    /* borrowed; may be NULL for PML_PROBE_EMPTY */
  struct pml_samples *samples; /* borrowed; one tick difference per hit */
  uint64_t retries;            /* page reads tried again, summed over hits */
  uint64_t skipped;            /* hits after the samples were full: they perform no operation */
  int error;                   /* first failure of the operation, or 0 */
  uint64_t values[PML_EVENTSET_MAX];
};

/* pml_probe_init - returns 0 or -EINVAL (unknown operation, or a missing set). */
PML__SHARED int pml_probe_init(struct pml_probe *p, enum pml_probe_operation op, struct pml_eventset *set,
                               struct pml_samples *samples);

/* pml_probe_hit - measure one operation, unless the samples are full. Cost besides the operation: two ordered clock
 * reads, one indirect call, one store. No lock, no allocation. */
static inline void pml_probe_hit(struct pml_probe *p) {
  struct pml_samples *s = p->samples;
  if (PML_UNLIKELY(s->n == s->capacity)) {
    p->skipped++;
    return;
  }
  uint64_t t0 = pml_clock_ticks_ordered();
  int rc = p->operation(p->set, p->values);
  uint64_t t1 = pml_clock_ticks_ordered();
  s->value[s->n++] = t1 - t0;
  if (PML_UNLIKELY(rc != 0)) {
    if (rc > 0)
      p->retries += (uint64_t)rc;
    else if (p->error == 0)
      p->error = rc;
  }
}

PML_END_DECLS

#endif
