/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/summary/pml_summary_pack.c - serialization of a summary. */
#include "base/pml_error.h"
#include "base/pml_lz.h"
#include "read/summary/pml_summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "PMLS"
#define VERSION 2u
#define NUMBER_MAX (INT64_MAX / 2) /* for a process; neighbouring numbers are also valid */

/* The parts of a row that are not repeated. */
#define TIME_OF_CALLS 1u /* the time has the sum that the calls have */
#define SELF_IS_TIME 2u

/* ---- to bytes ---- */

struct writer {
  struct pml__pack texts, numbers;
};

#define COUNT_MAX (UINT64_C(1) << 63) /* more is of damaged logs */

/* Merging infinities gives NaN, which represents values that are too large. */
static struct pml_summary_spread rounded(struct pml_summary_spread s) {
  s.sum = pml__pack_rounded(s.sum);
  s.of.square = pml__pack_rounded(s.of.square);
  s.of.min = pml__pack_rounded(s.of.min);
  s.of.max = pml__pack_rounded(s.of.max);
  return s;
}

/* The mean is the sum by the count. */
static void pack_spread(struct pml__pack *p, const struct pml_summary_spread *s, bool sum) {
  pml__pack_whole(p, s->of.count < (double)COUNT_MAX ? (uint64_t)s->of.count : COUNT_MAX);
  if (!(s->of.count > 0)) return;
  if (sum) pml__pack_short_real(p, s->sum);
  pml__pack_signed(p, s->least);
  if (s->of.count < 2) return;
  pml__pack_signed(p, s->most);
  pml__pack_short_real(p, s->of.square);
  pml__pack_short_real(p, s->of.min);
  pml__pack_short_real(p, s->of.max);
}

static void pack_value(struct writer *w, const struct pml_summary_value *v) {
  pml__pack_text(&w->texts, v->name);
  pml__pack_whole(&w->numbers, v->real);
  if (!v->real) pml__pack_signed(&w->numbers, v->whole);
  pack_spread(&w->numbers, &v->of, true);
}

static bool same_values(const struct pml_summary_spread *a, const struct pml_summary_spread *b) {
  return a->of.count == b->of.count && a->sum == b->sum && a->least == b->least && a->most == b->most &&
         a->of.square == b->of.square && a->of.min == b->of.min && a->of.max == b->of.max;
}

static void pack_spreads(struct pml__pack *p, const struct pml_summary_row *row) {
  const struct pml_summary_spread calls = rounded(row->calls), time = rounded(row->time), self = rounded(row->self);
  unsigned known = same_values(&self, &time) ? SELF_IS_TIME : 0;
  if (calls.of.count > 0 && time.of.count > 0 && calls.sum == time.sum) known |= TIME_OF_CALLS;
  pml__pack_whole(p, known);
  pack_spread(p, &calls, true);
  pack_spread(p, &time, (known & TIME_OF_CALLS) == 0);
  if ((known & SELF_IS_TIME) == 0) pack_spread(p, &self, true);
}

static void pack_row(struct writer *w, const struct pml_summary_row *row) {
  struct pml__pack *p = &w->numbers;
  pml__pack_whole(p, row->kind);
  pml__pack_whole(p, row->flags);
  pml__pack_text(&w->texts, row->name);
  pml__pack_text(&w->texts, row->detail);
  pml__pack_whole(p, row->processes);
  pml__pack_whole(p, row->threads);
  pml__pack_signed(p, row->first);
  pack_spreads(p, row);
  pml__pack_whole(p, row->nvalues);
  for (size_t i = 0; i < row->nvalues; i++) pack_value(w, &row->value[i]);
  pml__pack_whole(p, row->sketch != NULL);
  if (row->sketch != NULL) pml__sketch_pack(p, row->sketch);
}

static void pack_all(struct writer *w, const struct pml_summary *s) {
  const struct pml_summary_row *row;
  int64_t first, last;
  for (size_t i = 0; pml_summary_range(s, i, &first, &last); i++) {
    pml__pack_whole(&w->numbers, 1);
    pml__pack_signed(&w->numbers, first);
    pml__pack_signed(&w->numbers, last);
  }
  pml__pack_whole(&w->numbers, 0);
  for (size_t i = 0; (row = pml_summary_row(s, i)) != NULL; i++) {
    pml__pack_whole(&w->numbers, 1);
    pack_row(w, row);
  }
  pml__pack_whole(&w->numbers, 0);
}

/* Texts stand together, so that each is near what it repeats. */
static void pack_file(struct pml__pack *p, struct writer *w) {
  pml__pack_text(p, MAGIC);
  pml__pack_whole(p, VERSION);
  pml__pack_whole(p, w->texts.n);
  pml__pack_whole(p, w->numbers.n);
  pml__pack_bytes(&w->texts, w->numbers.at, w->numbers.n);
  p->failed |= w->texts.failed | w->numbers.failed;
  if (!p->failed) pml__lz_pack(p, w->texts.at, w->texts.n);
}

int pml_summary_pack(const struct pml_summary *s, unsigned char **bytes, size_t *n) {
  struct pml__pack p = {0};
  struct writer w = {{0}, {0}};
  pack_all(&w, s);
  pack_file(&p, &w);
  free(w.texts.at);
  free(w.numbers.at);
  *bytes = p.at;
  *n = p.n;
  if (!p.failed) return 0;
  free(p.at);
  *bytes = NULL;
  return pml_fail(-ENOMEM, "no memory to pack a summary");
}

/* ---- from bytes ---- */

static int64_t unpack_number(struct pml__unpack *u) {
  int64_t v = pml__unpack_signed(u);
  if (v < -NUMBER_MAX || v > NUMBER_MAX) u->failed = true;
  return v;
}

struct reader {
  struct pml__unpack texts, numbers;
};

/* Doubles count up to 2^53 without gaps. @known: its sum, or NULL where that is written. */
static struct pml_summary_spread unpack_spread(struct pml__unpack *u, const double *known) {
  struct pml_summary_spread s = {{0}, 0, 0, 0};
  uint64_t count = pml__unpack_whole(u, COUNT_MAX);
  if (count == 0) return s;
  double sum = known != NULL ? *known : pml__unpack_short_real(u);
  int64_t least = unpack_number(u);
  if (count == 1) return pml_summary_one(sum, least);
  s.of.count = (double)count;
  s.sum = sum;
  s.least = least;
  s.most = unpack_number(u);
  s.of.mean = sum / s.of.count;
  s.of.square = pml__unpack_short_real(u);
  s.of.min = pml__unpack_short_real(u);
  s.of.max = pml__unpack_short_real(u);
  if (!(s.of.square >= 0 && s.of.min <= s.of.max)) u->failed = true;
  return s;
}

static struct pml_summary_value unpack_value(struct reader *r) {
  struct pml_summary_value v = {.name = pml__unpack_text(&r->texts)};
  v.real = pml__unpack_whole(&r->numbers, 1) == 1;
  if (!v.real) v.whole = pml__unpack_signed(&r->numbers);
  v.of = unpack_spread(&r->numbers, NULL);
  return v;
}

static bool has_failed(const struct reader *r) {
  return r->texts.failed || r->numbers.failed;
}

/* As many as there are bytes for: each takes two at least. */
static void unpack_values(struct reader *r, struct pml_summary_row *row) {
  size_t n = (size_t)pml__unpack_whole(&r->numbers, r->numbers.left / 2);
  row->value = calloc(n + 1, sizeof *row->value);
  for (; row->value != NULL && row->nvalues < n && !has_failed(r); row->nvalues++)
    row->value[row->nvalues] = unpack_value(r);
}

static void unpack_spreads(struct pml__unpack *u, struct pml_summary_row *row) {
  uint64_t known = pml__unpack_whole(u, TIME_OF_CALLS | SELF_IS_TIME);
  row->calls = unpack_spread(u, NULL);
  row->time = unpack_spread(u, known & TIME_OF_CALLS ? &row->calls.sum : NULL);
  row->self = known & SELF_IS_TIME ? row->time : unpack_spread(u, NULL);
}

/* Its texts are in @r, the rest is its own. */
static int unpack_row(struct reader *r, struct pml_summary_row *row) {
  struct pml__unpack *u = &r->numbers;
  *row = (struct pml_summary_row){.kind = (enum pml_summary_kind)pml__unpack_whole(u, PML_SUMMARY_KINDS - 1)};
  row->flags = (uint32_t)pml__unpack_whole(u, UINT32_MAX);
  row->name = pml__unpack_text(&r->texts);
  row->detail = pml__unpack_text(&r->texts);
  row->processes = pml__unpack_whole(u, INT64_MAX);
  row->threads = pml__unpack_whole(u, INT64_MAX);
  row->first = unpack_number(u);
  unpack_spreads(u, row);
  unpack_values(r, row);
  bool sketch = pml__unpack_whole(u, 1) == 1;
  if (sketch && !u->failed) row->sketch = pml__sketch_unpack(u);
  return row->value == NULL || (sketch && row->sketch == NULL) ? -ENOMEM : 0;
}

/* A name that is there twice would be two things. */
static int take_row(struct pml_summary *s, struct reader *r) {
  struct pml_summary_row row;
  int err = unpack_row(r, &row);
  bool failed = has_failed(r) || pml_summary_find(s, row.kind, row.name, row.detail) != NULL;
  if (!failed && err == 0) err = pml_summary_add(s, &row);
  free(row.value);
  pml_sketch_close(row.sketch);
  r->numbers.failed |= failed;
  return failed ? 0 : err;
}

static int take_ranges(struct pml_summary *s, struct pml__unpack *u) {
  int err = 0;
  while (pml__unpack_whole(u, 1) == 1 && err == 0) {
    int64_t first = unpack_number(u), last = unpack_number(u);
    if (first > last) u->failed = true;
    if (!u->failed) err = pml_summary_seen(s, first, last);
  }
  return err;
}

static int take(struct pml_summary *s, struct reader *r) {
  int err = take_ranges(s, &r->numbers);
  while (err == 0 && pml__unpack_whole(&r->numbers, 1) == 1) err = take_row(s, r);
  if (err == 0 && (has_failed(r) || r->texts.left > 0 || r->numbers.left > 0))
    return pml_fail(PML_EFORMAT, "a summary is damaged");
  return err;
}

static int take_file(struct pml_summary *s, struct pml__unpack *u) {
  size_t texts = (size_t)pml__unpack_whole(u, SIZE_MAX / 4), numbers = (size_t)pml__unpack_whole(u, SIZE_MAX / 4);
  unsigned char *bytes = pml__lz_unpack(u, texts + numbers);
  if (bytes == NULL)
    return u->failed ? pml_fail(PML_EFORMAT, "a summary is damaged") : pml_fail(-ENOMEM, "no memory for a summary");
  struct reader r = {{bytes, texts, false}, {bytes + texts, numbers, false}};
  int err = take(s, &r);
  free(bytes);
  return err;
}

int pml_summary_unpack(struct pml_summary **s, const void *bytes, size_t n) {
  struct pml__unpack u = {bytes, n, false};
  *s = NULL;
  if (n < sizeof MAGIC || memcmp(bytes, MAGIC, sizeof MAGIC) != 0) return pml_fail(PML_EFORMAT, "not a summary");
  (void)pml__unpack_text(&u);
  uint64_t version = pml__unpack_whole(&u, UINT64_MAX);
  if (version != VERSION)
    return pml_fail(PML_EFORMAT, "a summary of version %llu; this pmlua reads version %u", (unsigned long long)version,
                    VERSION);
  int err = pml_summary_open(s);
  if (err == 0) err = take_file(*s, &u);
  if (err == 0) return 0;
  pml_summary_close(*s);
  *s = NULL;
  return err;
}
