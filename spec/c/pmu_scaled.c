/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/pmu_scaled.c - estimates from events that take turns lie within their stated bound of the truth. */
#include "source/kernel/pml_eventset_kernel.h"

#include "pmu.h"

#define MOST (2 * PMU_MOST + 1)
#define LOOP UINT64_C(200000000)
#define UNSTEADY                                                                                                       \
  0.25 /* how much the rate of a steady loop may differ between the turns of an event and the others'                  \
        */

static struct pml_event insns;

/* More events than there are counters, in one set each of whose groups takes its turn. */
static struct pml_eventset *open_many(size_t *n) {
  const struct pml_eventset_options options = {.flags = PML_EVENTSET_MULTIPLEX};
  static struct pml_event ev[MOST];
  struct pml_eventset *s = NULL;
  for (size_t i = 0; i < MOST; i++) ev[i] = insns;
  for (*n = 2; *n <= MOST; ++*n) {
    if (pml__eventset_open_events(&s, ev, *n, &options) != 0) return NULL;
    if (pml__kernel_backend_of(s)->ngroups >= 3) return s;
    pml_eventset_close(s);
    s = NULL;
  }
  return s;
}

static void estimates(struct pml_eventset *s, size_t n) {
  struct pml_reading r[MOST];
  unsigned within = 0, turns = 0, raw_less = 0;
  double worst = 0, worst_bound = 0;
  pml_eventset_start(s);
  pmu_spin(LOOP);
  int rc = pml_eventset_readings(s, r);
  for (size_t i = 0; i < n; i++) {
    double estimate = pml_reading_scaled(&r[i]), truth = (double)LOOP;
    double share = (double)r[i].running_ns / (double)r[i].enabled_ns;
    double off = (estimate > truth ? estimate - truth : truth - estimate) / estimate;
    double bound = UNSTEADY * (1 - share) + 0.0001; /* calls around the loop */
    turns += r[i].running_ns > 0 && r[i].running_ns < r[i].enabled_ns;
    raw_less += r[i].raw < LOOP * 9 / 10;
    within += off <= bound;
    if (off >= worst) worst = off, worst_bound = bound;
  }
  CHECK(rc >= 0 && turns == n, "%u of %zu events ran part of the time", turns, n);
  CHECK(raw_less == n, "and what they saw is too little, unscaled");
  CHECK(within == n, "%u of %zu estimates within their bound; the worst is off by %.4f of at most %.4f", within, n,
        worst, worst_bound);
}

static void never_ran(void) {
  struct pml_reading r = {.raw = 0, .enabled_ns = 1000, .running_ns = 0};
  double estimate = pml_reading_scaled(&r);
  CHECK(estimate != estimate, "an event that never ran has no estimate");
}

int main(void) {
  size_t n;
  never_ran();
  if (!pmu_is_here() || !pmu_event(&insns, "instructions:u")) return check_done();
  struct pml_eventset *s = open_many(&n);
  if (s == NULL) {
    SKIP("no number of events makes three groups here");
    return check_done();
  }
  estimates(s, n);
  pml_eventset_close(s);
  return check_done();
}
