/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_report.c - copies of all threads' statistics, merged, in ns. */
#include "adapter/section/pml_section_private.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROWS 64u
#define PATIENCE_NS UINT64_C(1000000000)

/* Data gathered for a row. Its values are in gathering.values. */
struct gathered {
  struct pml__section_stat stat;
  uint64_t thread;
  uint32_t index, nthreads;
};

struct gathering {
  struct gathered *row;
  size_t n, capacity;
  uint64_t *values; /* row i begins at [i * width] */
  size_t width;     /* the longest list of events */
  size_t *row_of;   /* by section, its row + 1, when threads are merged */
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

static bool more_rows(struct gathering *g) {
  size_t capacity = g->capacity == 0 ? FIRST_ROWS : g->capacity * 2;
  struct gathered *row = aligned_alloc(64, capacity * sizeof *row);
  uint64_t *values = calloc(capacity * g->width + 1, sizeof *values);
  if (row == NULL || values == NULL) {
    free(row);
    free(values);
    return false;
  }
  if (g->n > 0) {
    memcpy(row, g->row, g->n * sizeof *row);
    memcpy(values, g->values, g->n * g->width * sizeof *values);
  }
  free(g->row);
  free(g->values);
  g->row = row;
  g->values = values;
  g->capacity = capacity;
  return true;
}

static void add_row_values(const struct pml_section *s, uint64_t *to, const uint64_t *from) {
  const struct pml_stream_metrics *m = s->list->metrics;
  for (uint32_t i = 0; i < m->n; i++) to[i] = pml_value_plus(to[i], from[i], pml_stream_metrics_real(m, i));
}

/* @stat with its values into a row of its own, or that of its section. */
static int gather(struct gathering *g, const struct pml__section_thread *t, const struct pml_section *s,
                  const struct pml__section_stat *stat, const uint64_t *values) {
  size_t at = g->row_of != NULL ? g->row_of[s->index] : 0;
  if (at == 0 || g->row == NULL) {
    if (g->n == g->capacity && !more_rows(g)) return -ENOMEM;
    struct gathered *row = &g->row[g->n++];
    *row = (struct gathered){.stat = *stat, .index = s->index, .nthreads = 1};
    if (g->row_of != NULL)
      g->row_of[s->index] = g->n;
    else
      row->thread = t->thread;
    memcpy(g->values + (g->n - 1) * g->width, values, g->width * sizeof *values);
    return 0;
  }
  pml__section_add(&g->row[at - 1].stat, stat);
  g->row[at - 1].nthreads++;
  if (s->list != NULL) add_row_values(s, g->values + (at - 1) * g->width, values);
  return 0;
}

static int gather_thread(struct gathering *g, struct pml__section_thread *t, uint32_t nsections) {
  uint32_t epoch = pml__section_epoch();
  uint32_t n = t->nstats < nsections ? t->nstats : nsections;
  for (uint32_t i = 0; i < n; i++) {
    struct pml__section_stat *from = pml__section_stat_at(t, i);
    struct pml__section_stat stat;
    uint64_t values[PML_SECTION_EVENTS_MAX] = {0};
    if (from == NULL) {
      i |= PML__SECTION_BLOCK - 1; /* the whole block is not there */
      continue;
    }
    const struct pml_section *s = pml__section_at(i);
    int err = pml__section_copy(s, from, &stat, values);
    if (err < 0) return err;
    if (stat.epoch != epoch) memset(values, 0, sizeof values);
    pml__section_forget_old(&stat, epoch);
    if (!pml__section_says_something(&stat)) continue;
    err = gather(g, t, s, &stat, values);
    if (err < 0) return err;
  }
  return 0;
}

static size_t longest_list(uint32_t nsections) {
  size_t longest = 0;
  for (uint32_t i = 0; i < nsections; i++) {
    const struct pml_section *s = pml__section_at(i);
    if (s->list != NULL && s->list->metrics->n > longest) longest = s->list->metrics->n;
  }
  return longest;
}

static int gather_all(struct gathering *g, bool by_thread) {
  uint32_t nsections = pml__section_count();
  g->width = longest_list(nsections);
  if (!by_thread) {
    g->row_of = calloc(nsections + 1u, sizeof *g->row_of);
    if (g->row_of == NULL) return -ENOMEM;
  }
  int err = 0;
  for (struct pml__section_thread *t = pml__section_threads(); t != NULL && err == 0; t = t->next)
    err = gather_thread(g, t, nsections);
  return err;
}

static void drop(struct gathering *g) {
  free(g->row);
  free(g->values);
  free(g->row_of);
}

/* ---- telling ---- */

static void tell(const struct gathered *g, struct pml_section_row *row) {
  const struct pml_section *s = pml__section_at(g->index);
  pml__section_row(&g->stat, s->exclusive, pml__clock.ticks_per_second, row);
  row->section = s;
  row->thread = g->thread;
  row->nthreads = g->nthreads;
}

static void tell_values(const struct pml_section *s, const uint64_t *from, struct pml_section_value *to) {
  const struct pml_stream_metrics *m = s->list->metrics;
  pml__section_values(from, m->n, __atomic_load_n(&m->real[0], __ATOMIC_RELAXED), to);
}

static int by_section(const void *a, const void *b) {
  const struct gathered *x = *(const struct gathered *const *)a, *y = *(const struct gathered *const *)b;
  if (x->index != y->index) return x->index < y->index ? -1 : 1;
  return (x->thread > y->thread) - (x->thread < y->thread);
}

static int write_report(const struct gathering *g, struct pml_section_report *r) {
  const struct gathered **order = malloc((g->n + 1) * sizeof *order);
  r->row = malloc((g->n + 1) * sizeof *r->row);
  r->values = malloc((g->n * g->width + 1) * sizeof *r->values);
  if (order == NULL || r->row == NULL || r->values == NULL) {
    free(order);
    return -ENOMEM;
  }
  for (size_t i = 0; i < g->n; i++) order[i] = &g->row[i];
  qsort(order, g->n, sizeof *order, by_section);
  for (size_t i = 0; i < g->n; i++) {
    tell(order[i], &r->row[i]);
    if (r->row[i].section->list == NULL) continue;
    r->row[i].value = r->values + i * g->width;
    tell_values(r->row[i].section, g->values + (size_t)(order[i] - g->row) * g->width, r->values + i * g->width);
  }
  r->n = g->n;
  free(order);
  return 0;
}

int pml_section_report(bool by_thread, struct pml_section_report *r) {
  struct gathering g = {0};
  *r = (struct pml_section_report){0};
  pml__section_settle();
  pml__section_lock_take();
  int err = gather_all(&g, by_thread);
  pml__section_lock_leave();
  if (err == 0) err = write_report(&g, r);
  drop(&g);
  if (err == 0) return 0;
  pml_section_report_free(r);
  return pml_fail(err, err == -EAGAIN ? "a thread spent a second inside the stop of a section; try again"
                                      : "no memory for the report of the sections");
}

void pml_section_report_free(struct pml_section_report *r) {
  free(r->row);
  free(r->values);
  *r = (struct pml_section_report){0};
}

/* Adds one thread's statistics of @s, if it has any. */
static int read_thread(struct pml__section_thread *t, const struct pml_section *s, struct gathered *sum,
                       uint64_t *values) {
  struct pml__section_stat *from = pml__section_stat_at(t, s->index);
  struct pml__section_stat stat;
  uint64_t own[PML_SECTION_EVENTS_MAX] = {0};
  if (from == NULL) return 0;
  int err = pml__section_copy(s, from, &stat, own);
  if (err < 0) return err;
  bool old = stat.epoch != pml__section_epoch();
  pml__section_forget_old(&stat, pml__section_epoch());
  if (!pml__section_says_something(&stat)) return 0;
  pml__section_add(&sum->stat, &stat);
  sum->nthreads++;
  if (s->list != NULL && !old) add_row_values(s, values, own);
  return 0;
}

int pml_section_read(const struct pml_section *s, struct pml_section_row *row, struct pml_section_value *values) {
  struct gathered sum = {.stat = {.calls = {.min = UINT64_MAX}}, .index = s->index};
  uint64_t sums[PML_SECTION_EVENTS_MAX] = {0};
  int err = 0;
  pml__section_settle();
  pml__section_lock_take();
  for (struct pml__section_thread *t = pml__section_threads(); t != NULL && err == 0; t = t->next)
    err = read_thread(t, s, &sum, sums);
  pml__section_lock_leave();
  tell(&sum, row);
  if (values != NULL && s->list != NULL) {
    tell_values(s, sums, values);
    row->value = values;
  }
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
