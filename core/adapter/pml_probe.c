/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/pml_probe.c - operations of probes. */
#include "adapter/pml_probe.h"

#include <errno.h>

static int op_empty(struct pml_eventset *set, uint64_t *values) {
  (void)set, (void)values;
  return 0;
}

static int op_start_stop(struct pml_eventset *set, uint64_t *values) {
  int started = pml_eventset_start(set);
  if (PML_UNLIKELY(started < 0)) return started;
  int stopped = pml_eventset_stop(set, values);
  return PML_LIKELY(stopped >= 0) ? started + stopped : stopped;
}

static int op_read_ts(struct pml_eventset *set, uint64_t *values) {
  uint64_t ticks;
  return pml_eventset_read_ts(set, values, &ticks);
}

static int op_reset(struct pml_eventset *set, uint64_t *values) {
  (void)values;
  return pml_eventset_reset(set);
}

static int (*const operation[PML_PROBE_OPERATIONS])(struct pml_eventset *, uint64_t *) = {
    [PML_PROBE_EMPTY] = op_empty,     [PML_PROBE_START_STOP] = op_start_stop, [PML_PROBE_READ] = pml_eventset_read,
    [PML_PROBE_READ_TS] = op_read_ts, [PML_PROBE_ACCUM] = pml_eventset_accum, [PML_PROBE_RESET] = op_reset,
};

int pml_probe_init(struct pml_probe *p, enum pml_probe_operation op, struct pml_eventset *set,
                   struct pml_samples *samples) {
  if ((unsigned)op >= PML_PROBE_OPERATIONS || samples == NULL) return -EINVAL;
  if (set == NULL && op != PML_PROBE_EMPTY) return -EINVAL;
  (void)pml_clock_init(); /* an error concerns only PMLUA_CLOCK; there is always a clock */
  *p = (struct pml_probe){.operation = operation[op], .set = set, .samples = samples};
  return 0;
}
