/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/summary/pml_summary_pack.c - a summary as bytes, and back. */
#include "base/pml_error.h"
#include "base/pml_pack.h"
#include "record/summary/pml_summary_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "PMLS"
#define VERSION 1u
#define NUMBER_MAX (INT64_MAX / 2) /* of a process: one beside it is a number, too */

/* ---- to bytes ---- */

/* Of infinities merging makes NaN, which stands for what is too large here. */
static void pack_real(struct pml__pack *p, double v) {
  pml__pack_real(p, v == v ? v : INFINITY);
}

#define COUNT_MAX (UINT64_C(1) << 63) /* more is of damaged logs */

static void pack_spread(struct pml__pack *p, const struct pml_summary_spread *s) {
  pml__pack_whole(p, s->of.count < (double)COUNT_MAX ? (uint64_t)s->of.count : COUNT_MAX);
  if (!(s->of.count > 0)) return;
  pack_real(p, s->sum);
  pml__pack_signed(p, s->least);
  if (s->of.count < 2) return;
  pml__pack_signed(p, s->most);
  pack_real(p, s->of.mean);
  pack_real(p, s->of.square);
  pack_real(p, s->of.min);
  pack_real(p, s->of.max);
}

static void pack_value(struct pml__pack *p, const struct pml_summary_value *v) {
  pml__pack_text(p, v->name);
  pml__pack_whole(p, v->real);
  if (!v->real) pml__pack_signed(p, v->whole);
  pack_spread(p, &v->of);
}

static void pack_row(struct pml__pack *p, const struct pml_summary_row *row) {
  pml__pack_whole(p, row->kind);
  pml__pack_whole(p, row->flags);
  pml__pack_text(p, row->name);
  pml__pack_text(p, row->detail);
  pml__pack_whole(p, row->processes);
  pml__pack_whole(p, row->threads);
  pml__pack_signed(p, row->first);
  pack_spread(p, &row->calls);
  pack_spread(p, &row->time);
  pack_spread(p, &row->self);
  pml__pack_whole(p, row->nvalues);
  for (size_t i = 0; i < row->nvalues; i++) pack_value(p, &row->value[i]);
  pml__pack_whole(p, row->sketch != NULL);
  if (row->sketch != NULL) pml__sketch_pack(p, row->sketch);
}

int pml_summary_pack(const struct pml_summary *s, unsigned char **bytes, size_t *n) {
  struct pml__pack p = {0};
  const struct pml_summary_row *row;
  int64_t first, last;
  pml__pack_text(&p, MAGIC);
  pml__pack_whole(&p, VERSION);
  for (size_t i = 0; pml_summary_range(s, i, &first, &last); i++) {
    pml__pack_whole(&p, 1);
    pml__pack_signed(&p, first);
    pml__pack_signed(&p, last);
  }
  pml__pack_whole(&p, 0);
  for (size_t i = 0; (row = pml_summary_row(s, i)) != NULL; i++) {
    pml__pack_whole(&p, 1);
    pack_row(&p, row);
  }
  pml__pack_whole(&p, 0);
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

/* Doubles count up to 2^53 without gaps. */
static struct pml_summary_spread unpack_spread(struct pml__unpack *u) {
  struct pml_summary_spread s = {{0}, 0, 0, 0};
  uint64_t count = pml__unpack_whole(u, COUNT_MAX);
  if (count == 0) return s;
  double sum = pml__unpack_real(u);
  int64_t least = unpack_number(u);
  if (count == 1) return pml_summary_one(sum, least);
  s.of.count = (double)count;
  s.sum = sum;
  s.least = least;
  s.most = unpack_number(u);
  s.of.mean = pml__unpack_real(u);
  s.of.square = pml__unpack_real(u);
  s.of.min = pml__unpack_real(u);
  s.of.max = pml__unpack_real(u);
  if (!(s.of.square >= 0 && s.of.min <= s.of.max)) u->failed = true;
  return s;
}

static struct pml_summary_value unpack_value(struct pml__unpack *u) {
  struct pml_summary_value v = {.name = pml__unpack_text(u)};
  v.real = pml__unpack_whole(u, 1) == 1;
  if (!v.real) v.whole = pml__unpack_signed(u);
  v.of = unpack_spread(u);
  return v;
}

/* As many as there are bytes for: each takes three at least. */
static void unpack_values(struct pml__unpack *u, struct pml_summary_row *row) {
  size_t n = (size_t)pml__unpack_whole(u, u->left / 3);
  row->value = calloc(n + 1, sizeof *row->value);
  for (; row->value != NULL && row->nvalues < n && !u->failed; row->nvalues++)
    row->value[row->nvalues] = unpack_value(u);
}

/* Its texts are in @u, the rest is its own. */
static int unpack_row(struct pml__unpack *u, struct pml_summary_row *row) {
  *row = (struct pml_summary_row){.kind = (enum pml_summary_kind)pml__unpack_whole(u, PML_SUMMARY_KINDS - 1)};
  row->flags = (uint32_t)pml__unpack_whole(u, UINT32_MAX);
  row->name = pml__unpack_text(u);
  row->detail = pml__unpack_text(u);
  row->processes = pml__unpack_whole(u, INT64_MAX);
  row->threads = pml__unpack_whole(u, INT64_MAX);
  row->first = unpack_number(u);
  row->calls = unpack_spread(u);
  row->time = unpack_spread(u);
  row->self = unpack_spread(u);
  unpack_values(u, row);
  bool sketch = pml__unpack_whole(u, 1) == 1;
  if (sketch && !u->failed) row->sketch = pml__sketch_unpack(u);
  return row->value == NULL || (sketch && row->sketch == NULL) ? -ENOMEM : 0;
}

/* A name that is there twice would be two things. */
static int take_row(struct pml_summary *s, struct pml__unpack *u) {
  struct pml_summary_row row;
  int err = unpack_row(u, &row);
  if (!u->failed && pml_summary_find(s, row.kind, row.name, row.detail) != NULL) u->failed = true;
  if (!u->failed && err == 0) err = pml_summary_add(s, &row);
  free(row.value);
  pml_sketch_close(row.sketch);
  return u->failed ? 0 : err;
}

static int take_ranges(struct pml_summary *s, struct pml__unpack *u) {
  int err = 0;
  while (pml__unpack_whole(u, 1) == 1 && err == 0) {
    int64_t first = unpack_number(u), last = unpack_number(u);
    if (first > last) u->failed = true;
    if (!u->failed) err = pml__summary_seen(s, first, last);
  }
  return err;
}

static int take(struct pml_summary *s, struct pml__unpack *u) {
  int err = take_ranges(s, u);
  while (err == 0 && pml__unpack_whole(u, 1) == 1) err = take_row(s, u);
  if (err == 0 && (u->failed || u->left > 0)) return pml_fail(PML_EFORMAT, "a summary is damaged");
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
  if (err == 0) err = take(*s, &u);
  if (err == 0) return 0;
  pml_summary_close(*s);
  *s = NULL;
  return err;
}
