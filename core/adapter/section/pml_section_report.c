/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_report.c - copies of all threads' statistics, merged, in ns. */
#include "adapter/section/pml_section_private.h"
#include "base/pml_array.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_NS UINT64_C(1000000000)

/* The statistics of a section on one thread, or on several. */
struct sum {
  struct pml__section_stat stat;
  uint64_t values[PML_SECTION_EVENTS_MAX];
  uint32_t nthreads;
};

static const struct sum empty = {.stat = {.calls = {.min = UINT64_MAX}}};

/* Rows in the making. The values of row i begin at [i * width]. */
struct rows {
  struct pml_section_report report;
  size_t room, values_room, width; /* width: the longest list of events */
};

/* ---- statistics of one section ---- */

/* Forget all but the calls under way, if @stat is of before the last reset. */
void pml__section_forget_old(struct pml__section_stat *stat, uint32_t epoch) {
  if (stat->epoch == epoch) return;
  uint32_t depth = stat->depth;
  memset(stat, 0, sizeof *stat);
  stat->calls.min = UINT64_MAX;
  stat->depth = depth;
}

bool pml__section_says_something(const struct pml__section_stat *stat) {
  uint64_t misuse = 0;
  for (unsigned m = 0; m < PML_SECTION_MISUSES; m++) misuse += stat->misuse[m];
  return stat->calls.count > 0 || stat->depth > 0 || misuse > 0;
}

static uint32_t add_up(uint32_t a, uint32_t b) {
  return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

/* Neither side is in use by others, but for @to of the sum of threads, whose readers wait for the lock. */
void pml__section_add(struct pml__section_stat *to, const struct pml__section_stat *more) {
  pml_exact_sums_merge(&to->calls, &more->calls);
  to->self += more->self;
  to->depth += more->depth;
  to->work += more->work;
  to->iterations += more->iterations;
  to->recurred += more->recurred;
  for (unsigned m = 0; m < PML_SECTION_MISUSES; m++) to->misuse[m] = add_up(to->misuse[m], more->misuse[m]);
}

void pml__section_row(const struct pml__section_stat *s, bool exclusive, double ticks_per_second,
                      struct pml_section_row *row) {
  const double ns = 1e9 / ticks_per_second; /* one product for all: a mean stays between the extremes */
  *row = (struct pml_section_row){.running = s->depth,
                                  .count = s->calls.count,
                                  .total_ns = ns * (double)(s->calls.sum - s->recurred),
                                  .self_ns = ns * (double)s->self,
                                  .work = s->work,
                                  .iterations = s->iterations};
  for (unsigned m = 0; m < PML_SECTION_MISUSES; m++) row->misuse[m] = s->misuse[m];
  if (s->calls.count == 0) return;
  row->min_ns = ns * (double)s->calls.min;
  row->max_ns = ns * (double)s->calls.max;
  struct pml_sums sums = pml_sums_of(&s->calls);
  row->mean_ns = ns * sums.mean;
  row->stddev_ns = ns * pml_sums_deviation(&sums);
  if (exclusive && s->self < s->calls.sum - s->recurred) row->misuse[PML_SECTION_OVERLAP]++;
}

void pml__section_values(const uint64_t *from, uint32_t n, uint64_t real, struct pml_section_value *to) {
  for (uint32_t i = 0; i < n; i++) {
    to[i] = (struct pml_section_value){.real = (real >> i & 1) != 0};
    if (to[i].real)
      memcpy(&to[i].d, &from[i], sizeof to[i].d);
    else
      to[i].i = (int64_t)from[i];
  }
}

/* ---- copying ---- */

static void copy_values(const struct pml_section *s, struct pml__section_stat *from, uint64_t *values) {
  const uint64_t *sums = PML__SECTION_GET(pml__section_own(from)->value);
  for (uint32_t i = 0; sums != NULL && i < s->list->metrics->n; i++) values[i] = PML__SECTION_GET(sums[i]);
}

static void copy_fields(struct pml__section_stat *from, struct pml__section_stat *to) {
  to->calls.count = PML__SECTION_GET(from->calls.count);
  to->calls.sum = PML__SECTION_GET(from->calls.sum);
  to->self = PML__SECTION_GET(from->self);
  to->calls.min = PML__SECTION_GET(from->calls.min);
  to->calls.max = PML__SECTION_GET(from->calls.max);
  to->calls.square[0] = PML__SECTION_GET(from->calls.square[0]);
  to->calls.square[1] = PML__SECTION_GET(from->calls.square[1]);
  to->epoch = PML__SECTION_GET(from->epoch);
  to->depth = PML__SECTION_GET(from->depth);
  __atomic_load(&from->work, &to->work, __ATOMIC_ACQUIRE);
  to->iterations = PML__SECTION_GET(from->iterations);
  to->recurred = PML__SECTION_GET(from->recurred);
  for (unsigned m = 0; m < PML_SECTION_MISUSES; m++) to->misuse[m] = PML__SECTION_GET(from->misuse[m]);
}

int pml__section_copy(const struct pml_section *s, struct pml__section_stat *from, struct pml__section_stat *to,
                      uint64_t *values) {
  uint64_t begun = 0;
  for (unsigned tries = 1;; tries++) {
    uint32_t seq = PML__SECTION_GET(from->seq);
    copy_fields(from, to);
    copy_values(s, from, values);
    if (seq % 2 == 0 && PML__SECTION_GET(from->seq) == seq) return 0;
    if (tries % 64 != 0) continue;
    if (begun == 0) begun = pml_clock_ns();
    if (pml_clock_ns() - begun > PATIENCE_NS) return -EAGAIN;
    sched_yield();
  }
}

/* ---- gathering, under the lock ---- */

static void add_row_values(const struct pml_section *s, uint64_t *to, const uint64_t *from) {
  const struct pml_stream_metrics *m = s->list->metrics;
  for (uint32_t i = 0; i < m->n; i++) to[i] = pml_value_plus(to[i], from[i], pml_stream_metrics_real(m, i));
}

/* Add the statistics of @s on a thread, if it has any. */
static int add_thread(struct sum *sum, const struct pml_section *s, struct pml__section_thread *t) {
  struct pml__section_stat *from = pml__section_stat_at(t, s->index), stat;
  uint64_t values[PML_SECTION_EVENTS_MAX] = {0};
  if (from == NULL) return 0;
  int err = pml__section_copy(s, from, &stat, values);
  if (err < 0) return err;
  bool old = stat.epoch != pml__section_epoch();
  pml__section_forget_old(&stat, pml__section_epoch());
  if (!pml__section_says_something(&stat)) return 0;
  pml__section_add(&sum->stat, &stat);
  sum->nthreads++;
  if (s->list != NULL && !old) add_row_values(s, sum->values, values);
  return 0;
}

/* @values: room for the section's events, or NULL. */
static void fill_row(struct pml_section_row *row, const struct pml_section *s, const struct sum *sum, uint64_t thread,
                     struct pml_section_value *values) {
  pml__section_row(&sum->stat, s->exclusive, pml__clock.ticks_per_second, row);
  row->section = s;
  row->thread = thread;
  row->nthreads = sum->nthreads;
  if (values == NULL || s->list == NULL) return;
  const struct pml_stream_metrics *m = s->list->metrics;
  pml__section_values(sum->values, m->n, __atomic_load_n(&m->real[0], __ATOMIC_RELAXED), values);
  row->value = values;
}

static int add_row(struct rows *r, const struct pml_section *s, const struct sum *sum, uint64_t thread) {
  size_t n = r->report.n;
  if (sum->nthreads == 0) return 0;
  if (!PML__ARRAY_ROOM(r->report.row, r->room, n + 1) ||
      !PML__ARRAY_ROOM(r->report.values, r->values_room, (n + 1) * r->width))
    return -ENOMEM;
  fill_row(&r->report.row[n], s, sum, thread, r->width > 0 ? r->report.values + n * r->width : NULL);
  r->report.n++;
  return 0;
}

static int add_section(struct rows *r, const struct pml_section *s, bool by_thread) {
  struct sum sum = empty;
  int err = 0;
  for (struct pml__section_thread *t = pml__section_threads(); t != NULL && err == 0; t = t->next) {
    err = add_thread(&sum, s, t);
    if (err < 0 || !by_thread) continue;
    err = add_row(r, s, &sum, t->thread);
    sum = empty;
  }
  return err == 0 ? add_row(r, s, &sum, 0) : err;
}

static int add_all(struct rows *r, bool by_thread) {
  uint32_t n = pml__section_count();
  int err = 0;
  for (uint32_t i = 0; i < n; i++) {
    const struct pml_section *s = pml__section_at(i);
    if (s->list != NULL && s->list->metrics->n > r->width) r->width = s->list->metrics->n;
  }
  for (uint32_t i = 0; i < n && err == 0; i++) err = add_section(r, pml__section_at(i), by_thread);
  return err;
}

/* ---- reports ---- */

static int by_section(const void *a, const void *b) {
  const struct pml_section_row *x = a, *y = b;
  if (x->section != y->section) return x->section->index < y->section->index ? -1 : 1;
  return (x->thread > y->thread) - (x->thread < y->thread);
}

int pml_section_report(bool by_thread, struct pml_section_report *r) {
  struct rows rows = {.room = 0};
  pml__section_settle();
  pml__section_lock_take();
  int err = add_all(&rows, by_thread);
  pml__section_lock_leave();
  *r = rows.report;
  if (err < 0) {
    pml_section_report_free(r);
    return pml_fail(err, err == -EAGAIN ? "a thread spent a second inside the stop of a section; try again"
                                        : "no memory for the report of the sections");
  }
  for (size_t i = 0; i < r->n; i++) /* the values may have moved */
    if (r->row[i].value != NULL) r->row[i].value = r->values + i * rows.width;
  if (r->n > 0) qsort(r->row, r->n, sizeof *r->row, by_section);
  return 0;
}

void pml_section_report_free(struct pml_section_report *r) {
  free(r->row);
  free(r->values);
  *r = (struct pml_section_report){0};
}

int pml_section_read(const struct pml_section *s, struct pml_section_row *row, struct pml_section_value *values) {
  struct sum sum = empty;
  int err = 0;
  pml__section_settle();
  pml__section_lock_take();
  for (struct pml__section_thread *t = pml__section_threads(); t != NULL && err == 0; t = t->next)
    err = add_thread(&sum, s, t);
  pml__section_lock_leave();
  fill_row(row, s, &sum, 0, values);
  return err < 0 ? pml_fail(err, "a thread spent a second inside the stop of a section; try again") : 0;
}

static int quantile_at(const struct pml_section *s, double share, double *ns) {
  double ticks;
  int err = pml_recorder_value(s->recorder, share, &ticks);
  if (err == 0) *ns = ticks * 1e9 / pml__clock.ticks_per_second;
  return err;
}

int pml_section_quantile(const struct pml_section *s, unsigned percent, double *ns) {
  *ns = 0;
  if (s->recorder == NULL)
    return pml_fail(PML_EMODE, "section %.200s keeps no durations; define it with record = true", s->label);
  if (percent > 100)
    return pml_fail(-EINVAL, "section %.200s: quantile of %u percent; give 0 to 100", s->label, percent);
  return quantile_at(s, percent / 100.0, ns);
}

bool pml__section_quantiles(const struct pml_section *s, double ns[PML__QUANTILES]) {
  if (s->recorder == NULL) return false;
  for (unsigned i = 0; i < PML__QUANTILES; i++)
    if (quantile_at(s, pml__quantile_share(i), &ns[i]) < 0)
      return false; /* none was recorded, or no memory to sort them */
  return true;
}

/* ---- misuse ---- */

#define MISUSE_NAME(id, name, text) name,
#define MISUSE_TEXT(id, name, text) text,
static const char *const misuse_name[PML_SECTION_MISUSES] = {PML_SECTION_MISUSE_LIST(MISUSE_NAME)};
static const char *const misuse_text[PML_SECTION_MISUSES] = {PML_SECTION_MISUSE_LIST(MISUSE_TEXT)};

const char *pml_section_misuse_name(enum pml_section_misuse m) {
  return (unsigned)m < PML_SECTION_MISUSES ? misuse_name[m] : "unknown";
}

const char *pml_section_misuse_text(enum pml_section_misuse m) {
  return (unsigned)m < PML_SECTION_MISUSES ? misuse_text[m] : "unknown";
}
