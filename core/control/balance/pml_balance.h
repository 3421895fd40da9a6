/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/control/balance/pml_balance.h - balancing: threads of this process, or ranks of an MPI job, that would wait for
 * others are slowed to arrive just in time.
 *
 * The blocking calls are regions of the stream: sections around barriers, intercepted or wrapped MPI and OpenMP calls.
 * A synchronised region lasts from the end of one blocking call to the end of the next; the time before the next call
 * begins is computing. Regions are distinguished by the call path of the blocking call that they begin after. Each
 * thread decides for itself, from its own times: nothing is exchanged.
 *
 * After R. Schöne, R. Tschüter, T. Ilsche, J. Schuchart, D. Hackenberg, W. Nagel, Extending the functionality of
 * Score-P through plugins, section 4.5. A synchronised region consists of computing and then waiting for the others.
 * After a repetition that computed t_compute of t at the frequency f_m,
 *
 *   t_compute / t >= 0.95    the target is the reference frequency: this thread is (nearly) the last
 *   t_compute / t >= 0.85    the target is f_m: it fits
 *   else                     the target is f_m * t_compute / t + delta: in time and a bit before
 *
 * and the frequency applied next is the highest target of the last 4 repetitions, within the cpu's range. Before the
 * 4th repetition the missing ones count as the reference, so that a single odd repetition at the start has no effect.
 *
 * A delta of less than a twentieth of the frequency is too small: even without noise the thread then arrives so late
 * (t_compute / t becomes 1 - delta / f) that it counts as the last one and gets the reference frequency again.
 */
#ifndef PML_BALANCE_H
#define PML_BALANCE_H

#include "control/tune/pml_tune.h"

PML_BEGIN_DECLS

/* ---- the frequency of a region's next repetition ---- */

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

/* pml_pace_check - fill in fields that are zero; -EINVAL, with a sentence: an invalid rule. */
PML__SHARED int pml_pace_check(struct pml_pace_rule *rule);

/* pml_pace_begin - start without repetitions: the reference is to be applied. */
PML__SHARED void pml_pace_begin(struct pml_pace_region *r, const struct pml_pace_rule *rule);

/*
 * pml_pace_step - note a repetition that took @total, of it @compute computing, at @used_hz (0: the frequency that was
 * to be applied). Returns the frequency for the next one, also in @r->apply_hz. A repetition without time, or with more
 * computing than time, has no effect. Both times have the same unit. No lock: one thread at a time. Cost: some 30
 * instructions.
 */
PML__SHARED double pml_pace_step(struct pml_pace_region *r, const struct pml_pace_rule *rule, double compute,
                                 double total, double used_hz);

/* ---- balancing ---- */

struct pml_balance;

/*
 * @sync: names or patterns of the blocking regions. @rule: the reference is by default the highest that the cpus have,
 * the least their lowest; where the machine does not tell, they must be given. @tune: the root, whose cpus (the
 * thread's or the one it is on: not all), and dry_run: decide, and set nothing. Then the frequency in force is the
 * reference.
 */
struct pml_balance_options {
  const char *const *sync;
  size_t nsync;
  struct pml_pace_rule rule;
  struct pml_tune_options tune;
};

/*
 * pml_balance_open - start balancing; pml_balance_stop - stop and restore all files; close - also free. Errors and
 * restoring are as in pml_tune_open(); a file shared by cpus gets the highest frequency that one of their threads
 * requests. The file is scaling_setspeed under the governor userspace, else scaling_max_freq.
 */
PML__SHARED int pml_balance_open(struct pml_balance **b, const struct pml_balance_options *o);
PML__SHARED void pml_balance_stop(struct pml_balance *b);
PML__SHARED void pml_balance_close(struct pml_balance *b);

PML__SHARED const char *pml_balance_line(struct pml_balance *b, size_t i);                     /* as pml_tune_line() */
PML__SHARED bool pml_balance_entry(struct pml_balance *b, size_t i, struct pml_tune_entry *e); /* as pml_tune_entry() */

/* The rule in force. */
PML__SHARED void pml_balance_rule(const struct pml_balance *b, struct pml_pace_rule *rule);

/* A repetition of a synchronised region on a thread. */
struct pml_balance_record {
  uint64_t thread;
  uint32_t region;                             /* number of the thread's region, from 1 */
  pml_region_t sync;                           /* the blocking call that ended it */
  uint64_t begin_ticks, sync_ticks, end_ticks; /* of pml_clock: computing is begin to sync */
  double hz, next_hz;                          /* the frequency in force, and the next one */
};

/*
 * pml_balance_take - the oldest records of all threads that were not taken, of each thread in its order; how many. A
 * thread stores 65536 records; further ones are counted in lost. Thread-safe. None in a forked child.
 */
PML__SHARED size_t pml_balance_take(struct pml_balance *b, struct pml_balance_record *out, size_t max);

struct pml_balance_stats {
  uint64_t repetitions, lost;
  uint64_t writes, refused; /* to files */
  uint32_t threads;
  double compute_s, total_s; /* sums over all repetitions of all threads */
};
PML__SHARED void pml_balance_stats(struct pml_balance *b, struct pml_balance_stats *s);

PML_END_DECLS

#endif
