/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/balance/pml_pace.c - frequency of a region's next repetition from its compute and total time. */
#include "control/balance/pml_pace.h"

#include "base/pml_error.h"

#include <errno.h>
#include <math.h>

int pml_pace_check(struct pml_pace_rule *r) {
  if (!(isfinite(r->reference_hz) && r->reference_hz > 0))
    return pml_fail(-EINVAL, "balancing needs a reference frequency above 0 Hz, not %g", r->reference_hz);
  if (r->delta_hz == 0) r->delta_hz = 0.1 * r->reference_hz;
  if (r->last == 0) r->last = 0.95;
  if (r->fits == 0) r->fits = 0.85;
  if (r->window == 0) r->window = 4;
  if (!(r->min_hz >= 0 && r->min_hz <= r->reference_hz))
    return pml_fail(-EINVAL, "the least frequency, %g Hz, must be from 0 to the reference, %g Hz", r->min_hz,
                    r->reference_hz);
  if (!(r->delta_hz > 0 && r->delta_hz <= r->reference_hz))
    return pml_fail(-EINVAL, "delta, %g Hz, must be above 0 and at most the reference, %g Hz", r->delta_hz,
                    r->reference_hz);
  if (!(r->fits > 0 && r->fits <= r->last && r->last <= 1))
    return pml_fail(-EINVAL, "fits and last must satisfy 0 < fits <= last <= 1; they are %g and %g", r->fits, r->last);
  if (r->window > PML_PACE_WINDOW_MAX)
    return pml_fail(-EINVAL, "a window of %u repetitions; at most %u are possible", r->window, PML_PACE_WINDOW_MAX);
  return 0;
}

void pml_pace_begin(struct pml_pace_region *r, const struct pml_pace_rule *rule) {
  for (unsigned i = 0; i < PML_PACE_WINDOW_MAX; i++) r->target_hz[i] = rule->reference_hz;
  r->next = 0;
  r->apply_hz = rule->reference_hz;
}

static double target(const struct pml_pace_rule *rule, double share, double used_hz) {
  if (share >= rule->last) return rule->reference_hz;
  if (share >= rule->fits) return used_hz;
  return share * used_hz + rule->delta_hz;
}

double pml_pace_step(struct pml_pace_region *r, const struct pml_pace_rule *rule, double compute, double total,
                     double used_hz) {
  if (!(total > 0 && compute >= 0 && compute <= total)) return r->apply_hz;
  double highest = rule->min_hz;
  r->target_hz[r->next] = target(rule, compute / total, used_hz > 0 ? used_hz : r->apply_hz);
  r->next = (r->next + 1) % rule->window;
  for (unsigned i = 0; i < rule->window; i++)
    if (r->target_hz[i] > highest) highest = r->target_hz[i];
  r->apply_hz = highest < rule->reference_hz ? highest : rule->reference_hz;
  return r->apply_hz;
}
