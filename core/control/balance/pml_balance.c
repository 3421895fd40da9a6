/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/balance/pml_balance.c - lifecycle and results of balancing. */
#include "control/balance/pml_balance.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "control/balance/pml_balance_private.h"
#include "control/tune/pml_tune_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the frequency of a region's next repetition ---- */

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

static double target_of(const struct pml_pace_rule *rule, double share, double used_hz) {
  if (share >= rule->last) return rule->reference_hz;
  if (share >= rule->fits) return used_hz;
  return share * used_hz + rule->delta_hz;
}

double pml_pace_step(struct pml_pace_region *r, const struct pml_pace_rule *rule, double compute, double total,
                     double used_hz) {
  if (!(total > 0 && compute >= 0 && compute <= total)) return r->apply_hz;
  double highest = rule->min_hz;
  r->target_hz[r->next] = target_of(rule, compute / total, used_hz > 0 ? used_hz : r->apply_hz);
  r->next = (r->next + 1) % rule->window;
  for (unsigned i = 0; i < rule->window; i++)
    if (r->target_hz[i] > highest) highest = r->target_hz[i];
  r->apply_hz = highest < rule->reference_hz ? highest : rule->reference_hz;
  return r->apply_hz;
}

/* --- threads --- */

static void *thread_begin(void *arg, uint64_t id) {
  struct pml_balance *b = arg;
  struct pml__balance_thread *th = calloc(1, sizeof *th);
  if (th == NULL) return NULL;
  th->balancer = b;
  th->id = id;
  th->used_hz = b->rule.reference_hz;
  pthread_mutex_init(&th->lock.mutex, NULL);
  pml__mutex_take(&b->lock);
  th->next = b->threads;
  b->threads = th;
  b->nthreads++;
  pml__mutex_leave(&b->lock);
  return th;
}

/* The thread's records stay available. */
static void thread_end(void *arg, void *data) {
  struct pml__balance_thread *th = data;
  (void)arg;
  pml__balance_withdraw(th);
  th->depth = th->blocking = 0;
  th->current = NULL;
}

static void free_thread(struct pml__balance_thread *th) {
  for (uint32_t i = 0; i < PML__BALANCER_SLOTS; i++) free(th->slot[i]);
  pthread_mutex_destroy(&th->lock.mutex);
  free(th->record);
  free(th->step);
  free(th->table.of);
  free(th);
}

/* --- opening --- */

static int copy_names(struct pml_balance *b) {
  size_t n = b->options.nsync;
  if (n == 0) return pml_fail(-EINVAL, "no names of blocking regions given");
  b->sync = calloc(n, sizeof *b->sync);
  b->entered = calloc(n, sizeof *b->entered);
  if (b->sync == NULL || b->entered == NULL) return pml_fail(-ENOMEM, "no memory for %zu names", n);
  for (size_t i = 0; i < n; i++) {
    if (b->options.sync[i][0] == '\0') return pml_fail(-EINVAL, "the name of a blocking region is empty");
    b->sync[i] = strdup(b->options.sync[i]);
    if (b->sync[i] == NULL) return pml_fail(-ENOMEM, "no memory for %zu names", n);
  }
  return 0;
}

/* Unset limits come from the machine. */
static int find_rule(struct pml_balance *b) {
  double min, max;
  int err = pml__cpu_range_hz(pml__controls_root(b->controls), &b->cpus, &min, &max);
  b->rule = b->options.rule;
  if (err < 0 && err != -ENOENT) return err;
  if (err < 0 && (b->rule.reference_hz == 0 || b->rule.min_hz == 0))
    return pml_fail(-ENOENT,
                    "%s/cpu%u/cpufreq/cpuinfo_max_freq: no cpu has this file: the kernel does not set frequencies, as "
                    "in most virtual machines; dry_run with reference and min decides all the same",
                    pml__controls_root(b->controls), b->cpus.number[0]);
  if (b->rule.reference_hz == 0) b->rule.reference_hz = max;
  if (b->rule.min_hz == 0) b->rule.min_hz = min;
  return pml_pace_check(&b->rule);
}

/* Find the files to write; a dry run works without any. */
static int find_files(struct pml_balance *b) {
  const char *root = pml__controls_root(b->controls);
  bool user;
  int err = pml__cpu_is_userspace(root, &b->cpus, &user);
  if (err < 0) return err;
  const char *file = user ? "scaling_setspeed" : "scaling_max_freq";
  err = pml__cpu_frequency(b->controls, &b->cpus, file, b->rule.reference_hz, &b->setting);
  if (err == -ENOENT && pml__controls_dry(b->controls)) {
    free(b->setting.control);
    b->setting.control = NULL;
    err = 0;
  }
  return err;
}

static int start(struct pml_balance *b) {
  const struct pml_stream_consumer c = {.thread_begin = thread_begin,
                                        .thread_end = thread_end,
                                        .event = {pml__balance_enter, pml__balance_leave, NULL},
                                        .fast = {pml__balance_enter_fast, pml__balance_leave_fast},
                                        .arg = b,
                                        .name = "balance"};
  int err = pml__controls_guard(b->controls, true);
  return err < 0 ? err : pml_stream_add(&c, &b->consumer);
}

static int set_up(struct pml_balance *b) {
  const struct pml_tune_options *t = &b->options.tune;
  const struct pml__controls_options files = {
      .root = t->root != NULL ? t->root : PML_TUNE_ROOT, .dry_run = t->dry_run, .highest = true};
  if (t->cpus == PML_TUNE_ALL) return pml_fail(-EINVAL, "balancing sets each thread's own cpus, not all");
  int err = pml__controls_open(&b->controls, &files);
  if (err == 0) err = copy_names(b);
  if (err == 0) err = pml__cpus_find(&b->cpus, pml__controls_root(b->controls));
  if (err == 0) err = find_rule(b);
  if (err == 0) err = pml__tune_permission(b->controls);
  if (err == 0) err = find_files(b);
  return err == 0 ? start(b) : err;
}

int pml_balance_open(struct pml_balance **out, const struct pml_balance_options *o) {
  *out = NULL;
  struct pml_balance *b = calloc(1, sizeof *b);
  if (b == NULL) return pml_fail(-ENOMEM, "no memory to balance");
  (void)pml_clock_init(); /* an error concerns only PMLUA_CLOCK; there is always a clock */
  b->options = *o;
  b->pid = getpid();
  pthread_mutex_init(&b->lock.mutex, NULL);
  int err = set_up(b);
  if (err == 0) {
    *out = b;
    return 0;
  }
  b->stopped = true;
  pml_balance_close(b);
  return err;
}

/* --- closing --- */

void pml_balance_stop(struct pml_balance *b) {
  if (b == NULL || b->stopped || b->pid != getpid()) return;
  b->stopped = true;
  (void)pml_stream_remove(b->consumer);
  for (struct pml__balance_thread *th = b->threads; th != NULL; th = th->next) pml__balance_withdraw(th);
  pml__controls_restore(b->controls);
  for (size_t i = 0; i < b->options.nsync; i++)
    if (!atomic_load(&b->entered[i])) pml__notes_unentered(pml__controls_notes(b->controls), "sync", b->sync[i]);
}

void pml_balance_close(struct pml_balance *b) {
  if (b == NULL || b->pid != getpid()) return;
  pml_balance_stop(b);
  pml__controls_close(b->controls);
  for (struct pml__balance_thread *th = b->threads, *next; th != NULL; th = next) {
    next = th->next;
    free_thread(th);
  }
  for (size_t i = 0; b->sync != NULL && i < b->options.nsync; i++) free(b->sync[i]);
  free(b->sync);
  free(b->entered);
  free(b->setting.control);
  pml__cpus_free(&b->cpus);
  pthread_mutex_destroy(&b->lock.mutex);
  free(b);
}

/* ---- results ---- */

const char *pml_balance_line(struct pml_balance *b, size_t i) {
  return pml__notes_line(pml__controls_notes(b->controls), i);
}

bool pml_balance_entry(struct pml_balance *b, size_t i, struct pml_tune_entry *e) {
  return pml__tune_entry_of(b->controls, i, e);
}

void pml_balance_rule(const struct pml_balance *b, struct pml_pace_rule *rule) {
  *rule = b->rule;
}

size_t pml_balance_take(struct pml_balance *b, struct pml_balance_record *out, size_t max) {
  size_t n = 0;
  if (b->pid != getpid()) return 0;
  pml__mutex_take(&b->lock);
  for (struct pml__balance_thread *th = b->threads; th != NULL && n < max; th = th->next) {
    pml__mutex_take(&th->lock);
    while (n < max && th->taken < th->nrecords) out[n++] = th->record[th->taken++];
    if (th->taken == th->nrecords) th->taken = th->nrecords = 0;
    pml__mutex_leave(&th->lock);
  }
  pml__mutex_leave(&b->lock);
  return n;
}

void pml_balance_stats(struct pml_balance *b, struct pml_balance_stats *s) {
  struct pml__controls_stats k;
  pml__controls_stats(b->controls, &k);
  *s = (struct pml_balance_stats){.writes = k.writes, .refused = k.refused};
  if (b->pid != getpid()) return;
  uint64_t compute = 0, total = 0;
  pml__mutex_take(&b->lock);
  s->threads = b->nthreads;
  for (struct pml__balance_thread *th = b->threads; th != NULL; th = th->next) {
    pml__mutex_take(&th->lock);
    s->repetitions += th->repetitions;
    s->lost += th->lost;
    compute += th->compute_ticks;
    total += th->total_ticks;
    pml__mutex_leave(&th->lock);
  }
  pml__mutex_leave(&b->lock);
  s->compute_s = (double)pml_clock_ticks_to_ns(compute) * 1e-9;
  s->total_s = (double)pml_clock_ticks_to_ns(total) * 1e-9;
}
