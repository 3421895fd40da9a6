/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/probe.c - probes: one operation and one sample per hit. */
#include "adapter/pml_probe.h"
#include "source/kernel/pml_eventset_kernel.h"

#include "check.h"
#include "events.h"

static void refusals(struct pml_eventset *set, struct pml_samples *samples) {
  struct pml_probe p;
  CHECK(pml_probe_init(&p, PML_PROBE_OPERATIONS, set, samples) == -EINVAL, "an unknown operation is refused");
  CHECK(pml_probe_init(&p, PML_PROBE_READ, NULL, samples) == -EINVAL, "a read needs a set");
  CHECK(pml_probe_init(&p, PML_PROBE_EMPTY, set, NULL) == -EINVAL, "any needs samples");
  CHECK(pml_probe_init(&p, PML_PROBE_EMPTY, NULL, samples) == 0, "the empty one needs no set");
}

/* The values, and the counts of the set, after @touched faults before each of two hits. */
static void operation(enum pml_probe_operation op, const char *name, struct pml_eventset *set, uint64_t in_values,
                      uint64_t in_set) {
  struct pml_samples samples;
  struct pml_probe p;
  struct fresh f = fresh_open(100);
  if (pml_samples_open(&samples, 3) != 0 || pml_probe_init(&p, op, set, &samples) != 0) return;
  pml_probe_hit(&p); /* touches the stack it needs */
  p.values[0] = 0;
  samples.n = 0;
  pml_eventset_start(set);
  for (int i = 0; i < 2; i++) {
    fresh_touch(&f, 10);
    pml_probe_hit(&p);
  }
  uint64_t now = 0;
  pml_eventset_read(set, &now);
  CHECK(p.error == 0 && samples.n == 2, "%s: a sample per hit", name);
  CHECK(is_faults(p.values[0], in_values) && is_faults(now, in_set), "%s: values %llu, set %llu", name,
        (unsigned long long)p.values[0], (unsigned long long)now);
  for (int i = 0; i < 5; i++) pml_probe_hit(&p);
  CHECK(samples.n == 3 && p.skipped == 4, "%s: full samples skip the hit and count it", name);
  pml_samples_close(&samples);
  fresh_close(&f);
}

static void failure(void) {
  struct pml_event ev = faults();
  struct pml_eventset *set;
  struct pml_samples samples;
  struct pml_probe p;
  if (pml__eventset_open_events(&set, &ev, 1, NULL) != 0 || pml_samples_open(&samples, 4) != 0) return;
  pml_probe_init(&p, PML_PROBE_READ, set, &samples);
  struct pml__kernel_group *group = pml__kernel_backend_of(set)->group;
  int fd = group->fd;
  group->fd = -1;
  pml_probe_hit(&p);
  group->fd = fd;
  pml_probe_hit(&p);
  CHECK(p.error == -EBADF && samples.n == 2, "the first failure is kept, and hits continue");
  pml_eventset_close(set);
  pml_samples_close(&samples);
}

int main(void) {
  struct pml_event ev = faults();
  struct pml_eventset *set;
  struct pml_samples samples;
  int rc = pml__eventset_open_events(&set, &ev, 1, NULL);
  if (!CHECK(rc == 0 && pml_samples_open(&samples, 8) == 0, "a set to probe: %s", pml_error_detail(rc)))
    return check_done();
  refusals(set, &samples);
  operation(PML_PROBE_EMPTY, "empty", set, 0, 20);
  operation(PML_PROBE_READ, "read", set, 20, 20);
  operation(PML_PROBE_READ_TS, "read_ts", set, 20, 20);
  operation(PML_PROBE_ACCUM, "accum", set, 20, 0);
  operation(PML_PROBE_RESET, "reset", set, 0, 0);
  operation(PML_PROBE_START_STOP, "start_stop", set, 0, 0);
  failure();
  pml_eventset_close(set);
  pml_samples_close(&samples);
  return check_done();
}
