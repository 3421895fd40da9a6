/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/section/pml_section_totals.c - a log's sections as rows of a summary. */
#include "read/section/pml_section_totals.h"

#include "adapter/section/pml_section_private.h"
#include "base/pml_array.h"
#include "read/section/pml_sde_log_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Values besides the events, with names that no event has. */
enum own { RUNNING, WORK, ITERATIONS, TORN, OWN };
static const char *const own_name[OWN] = {" running", " work", " iterations", " torn"};
static const char *const misuse_name[PML_SECTION_MISUSES] = {
#define NAME(id, name, text) " misuse " name,
    PML_SECTION_MISUSE_LIST(NAME)
#undef NAME
};

/* Sums over the threads of the process, for the reader's definition of the same index. */
struct sum {
  struct pml__section_stat stat;
  uint64_t threads, torn, overlap;
  struct pml_section_value *value; /* [nevents] */
};

struct adding {
  const struct pml__section_reader *reader;
  struct sum *sum;
  struct pml__section_totals *totals;
  uint64_t *thread; /* seen so far */
  size_t threads, room;
};

static int place_of(const void *key, const void *at) {
  uint32_t index = *(const uint32_t *)key, other = (*(const struct pml__section_definition *const *)at)->index;
  return (index > other) - (index < other);
}

static struct sum *sum_of(const struct adding *a, const struct pml__section_definition *s) {
  void **found =
      bsearch(&s->index, a->reader->sections.at, a->reader->sections.n, sizeof *a->reader->sections.at, place_of);
  return &a->sum[found - a->reader->sections.at];
}

/* A sum that no integer has becomes a double. */
static void add_value(struct pml_section_value *to, struct pml_section_value v) {
  int64_t sum;
  if (!to->real && !v.real && !__builtin_add_overflow(to->i, v.i, &sum)) {
    to->i = sum;
    return;
  }
  to->d = (to->real ? to->d : (double)to->i) + (v.real ? v.d : (double)v.i);
  to->real = true;
}

static int add_values(struct sum *sum, const struct pml__section_entry *row) {
  const struct pml__section_definition *section = row->section;
  struct pml_section_value value[PML_SECTION_EVENTS_MAX];
  if (section->nevents > 0 && sum->value == NULL) sum->value = calloc(section->nevents, sizeof *sum->value);
  if (section->nevents > 0 && sum->value == NULL) return -ENOMEM;
  if (row->values == NULL) return 0;
  pml__section_values(row->values, section->nevents, section->real, value);
  for (uint32_t i = 0; i < section->nevents; i++) add_value(&sum->value[i], value[i]);
  return 0;
}

/* A thread's extents lie in any order, most often behind each other. */
static int see_thread(struct adding *a, uint64_t thread) {
  if (a->threads > 0 && a->thread[a->threads - 1] == thread) return 0;
  if (!PML__ARRAY_ROOM(a->thread, a->room, a->threads + 1)) return -ENOMEM;
  a->thread[a->threads++] = thread;
  return 0;
}

static int add_row(const struct pml__section_entry *row, void *arg) {
  struct adding *a = arg;
  struct sum *sum = sum_of(a, row->section);
  if (sum->threads++ == 0) sum->stat.calls.min = UINT64_MAX;
  sum->torn += row->torn;
  sum->overlap +=
      row->section->exclusive && row->sums.calls.count > 0 && row->sums.self < row->sums.calls.sum - row->sums.recurred;
  pml__section_add(&sum->stat, &row->sums);
  a->totals->rows++;
  int err = add_values(sum, row);
  return err == 0 ? see_thread(a, row->thread) : err;
}

/* ---- a section ---- */

struct values {
  struct pml_summary_value at[PML_SECTION_EVENTS_MAX + OWN + PML_SECTION_MISUSES];
  size_t n;
  int64_t number;
};

static void put(struct values *v, const char *name, struct pml_section_value value) {
  double real = value.real ? value.d : (double)value.i;
  v->at[v->n++] =
      (struct pml_summary_value){name, value.real, value.real ? 0 : value.i, pml_summary_one(real, v->number)};
}

static void put_count(struct values *v, const char *name, uint64_t n) {
  if (n > 0) put(v, name, (struct pml_section_value){.i = n > INT64_MAX ? INT64_MAX : (int64_t)n});
}

static void put_values(struct values *v, const struct sum *sum, const struct pml__section_definition *section,
                       const struct pml_section_row *row) {
  for (uint32_t i = 0; i < section->nevents; i++) put(v, section->event[i], sum->value[i]);
  put_count(v, own_name[RUNNING], sum->stat.depth);
  if (row->work != 0) put(v, own_name[WORK], (struct pml_section_value){.real = true, .d = row->work});
  put_count(v, own_name[ITERATIONS], row->iterations);
  put_count(v, own_name[TORN], sum->torn);
  for (unsigned m = 0; m < PML_SECTION_MISUSES; m++)
    put_count(v, misuse_name[m], sum->stat.misuse[m] + (m == PML_SECTION_OVERLAP ? sum->overlap : 0));
}

static struct pml_summary_spread calls_of(const struct pml_exact_sums *calls, double ns, int64_t number) {
  struct pml_sums s = pml_sums_of(calls);
  return (struct pml_summary_spread){
      {s.count, ns * s.mean, ns * ns * s.square, ns * s.min, ns * s.max}, ns * (double)calls->sum, number, number};
}

/* Labels of other interfaces may be of several types: the type of the first process counts. */
static uint32_t flags_of(const struct pml__section_definition *section, const struct pml_summary *s) {
  const struct pml_summary_row *first =
      section->interface[0] != '\0' ? pml_summary_find(s, PML_SUMMARY_SECTION, section->label, section->interface)
                                    : NULL;
  return first != NULL ? first->flags
                       : (section->type == PML_SECTION_COMMUNICATION ? PML_SUMMARY_COMMUNICATION : 0) |
                             (section->exclusive ? 0 : PML_SUMMARY_INCLUSIVE);
}

static int add_section(const struct adding *a, size_t i, struct pml_summary *s, int64_t number) {
  const struct sum *sum = &a->sum[i];
  const struct pml__section_definition *section = a->reader->sections.at[i];
  const double rate = a->reader->log.head.ticks_per_second;
  struct values v = {.number = number};
  struct pml_section_row row;
  if (sum->threads == 0) return 0;
  pml__section_row(&sum->stat, false, rate, &row);
  put_values(&v, sum, section, &row);
  const struct pml_summary_row to = {
      .kind = PML_SUMMARY_SECTION,
      .flags = flags_of(section, s),
      .name = section->label,
      .detail = section->interface,
      .processes = 1,
      .threads = sum->threads,
      .first = number,
      .calls = calls_of(&sum->stat.calls, 1e9 / rate, number),
      .time = pml_summary_one(row.total_ns, number),
      .self = pml_summary_one(row.self_ns, number),
      .nvalues = v.n,
      .value = v.at,
      .sketch = section->sketch,
  };
  if (section->exclusive) a->totals->exclusive_ns += row.total_ns;
  a->totals->own_ns += row.self_ns;
  a->totals->recorded |= section->record != PML_SECTION_NO_RECORD;
  a->totals->sketch |= section->record == PML_SECTION_RECORD_SKETCH;
  return pml_summary_add(s, &to);
}

static int by_number(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static uint64_t different(uint64_t *thread, size_t n) {
  uint64_t found = n > 0;
  if (n > 0) qsort(thread, n, sizeof *thread, by_number);
  for (size_t i = 1; i < n; i++) found += thread[i] != thread[i - 1];
  return found;
}

int pml__section_reader_summary(const struct pml__section_reader *b, struct pml_summary *s, int64_t number,
                                struct pml__section_totals *totals) {
  *totals = (struct pml__section_totals){0};
  struct adding a = {b, pml__section_zeros((b->sections.n + 1) * sizeof *a.sum), totals, NULL, 0, 0};
  if (a.sum == NULL) return -ENOMEM;
  int err = pml__section_reader_rows(b, add_row, &a);
  for (size_t i = 0; i < b->sections.n && err == 0; i++) err = add_section(&a, i, s, number);
  totals->threads = different(a.thread, a.threads);
  if (err == 0) err = pml_summary_seen(s, number, number);
  for (size_t i = 0; i < b->sections.n; i++) free(a.sum[i].value);
  free(a.sum);
  free(a.thread);
  return err;
}

int pml__section_log_summary(const char *path, struct pml_summary *s, int64_t number) {
  struct pml__section_reader b;
  struct pml__section_totals totals;
  int err = pml__section_reader_open(&b, path, NULL, NULL);
  const struct pml_summary_row host = {
      .kind = PML_SUMMARY_HOST, .name = b.log.head.host, .processes = 1, .first = number};
  if (err == 0) err = pml_summary_add(s, &host);
  if (err == 0) err = pml__section_reader_durations(&b, true);
  if (err == 0) err = pml__section_reader_summary(&b, s, number, &totals);
  if (err == 0) err = pml__sde_log_summary(s, number, &b.log, &b.cells);
  pml__section_reader_close(&b);
  return err;
}

int pml__section_own_summary(const char *path, struct pml_summary *s, int64_t number) {
  pml__section_lock_take();
  int err = pml__section_log_summary(path, s, number);
  pml__section_lock_leave();
  return err;
}
