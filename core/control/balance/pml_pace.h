/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/control/balance/pml_pace.h - the slowest frequency at which a thread arrives just in time.
 *
 * After R. Schöne, R. Tschüter, T. Ilsche, J. Schuchart, D. Hackenberg, W. Nagel, Extending the functionality of
 * Score-P through plugins, section 4.5. A synchronised region is computing and then waiting for the others. Of each
 * repetition that computed t_compute of t under the frequency f_m,
 *
 *   t_compute / t >= 0.95    the target is the reference frequency: this thread is (nearly) the last
 *   t_compute / t >= 0.85    the target is f_m: it fits
 *   else                     the target is f_m * t_compute / t + delta: in time and a bit before
 *
 * and what is applied next is the highest target of the last 4 repetitions, within the cpu's range. Before there were 4
 * the missing ones count as the reference, so that a single odd repetition at the start has no effect.
 *
 * A delta of less than a twentieth of the frequency is too small: even without noise the thread then arrives so closely
 * (t_compute / t comes to 1 - delta / f) that it is taken for the last one, and set back to the reference.
 */
#ifndef PML_PACE_H
#define PML_PACE_H

#include "base/pml_api.h"

PML_BEGIN_DECLS

#define PML_PACE_WINDOW_MAX 16u

/* Zero is the default: of @delta a tenth of the reference, of the others the paper's figure. */
struct pml_pace_rule {
  double reference_hz, min_hz;
  double delta_hz;
  double last, fits; /* 0.95, 0.85 */
  unsigned window;   /* 4 */
};

/* One for each region of each thread. */
struct pml_pace_region {
  double target_hz[PML_PACE_WINDOW_MAX]; /* a ring */
  unsigned next;
  double apply_hz; /* for the next repetition */
};

/* pml_pace_check - fill in what is zero; -EINVAL, with a sentence: an invalid rule. */
PML__SHARED int pml_pace_check(struct pml_pace_rule *rule);

/* pml_pace_begin - no repetition so far: the reference is to be applied. */
PML__SHARED void pml_pace_begin(struct pml_pace_region *r, const struct pml_pace_rule *rule);

/*
 * pml_pace_step - a repetition took @total, of it @compute computing, under @used_hz (0: what was to be applied).
 * Returns what is to be applied to the next, which is in @r->apply_hz, too. A repetition without time, or of which more
 * was computed than it took, changes nothing. The times have any unit that is the same. No lock: one thread at a time.
 * Cost: some 30 instructions.
 */
PML__SHARED double pml_pace_step(struct pml_pace_region *r, const struct pml_pace_rule *rule, double compute,
                                 double total, double used_hz);

PML_END_DECLS

#endif
