/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/summary/pml_summary.c - rows by name, summed over processes, and the list of processes. */
#include "read/summary/pml_summary.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "base/pml_map.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct range {
  int64_t first, last;
};

struct pml_summary {
  struct pml_summary_row **row;
  size_t capacity;
  struct pml__map rows; /* by kind, name and detail */
  struct range *range;  /* in order, with gaps between them */
  size_t nranges, ranges;
};

/* ---- spreads ---- */

struct pml_summary_spread pml_summary_one(double value, int64_t process) {
  return (struct pml_summary_spread){{1, value, 0, value, value}, value, process, process};
}

/* @a of process @of_a is more than @b; that of the lowest number of several, and any number rather than NaN. */
static bool is_more(double a, int64_t of_a, double b, int64_t of_b) {
  if (isnan(a) || isnan(b)) return isnan(b) && (!isnan(a) || of_a < of_b);
  return a > b || (a == b && of_a < of_b);
}

void pml_summary_join(struct pml_summary_spread *to, const struct pml_summary_spread *from) {
  if (!(from->of.count > 0)) return;
  bool none = !(to->of.count > 0);
  if (none || is_more(-from->of.min, from->least, -to->of.min, to->least)) to->least = from->least;
  if (none || is_more(from->of.max, from->most, to->of.max, to->most)) to->most = from->most;
  pml_sums_merge(&to->of, &from->of);
  to->sum += from->sum;
}

/* ---- rows ---- */

static void drop_row(struct pml_summary_row *row) {
  for (size_t i = 0; i < row->nvalues; i++) free((char *)(uintptr_t)row->value[i].name);
  free(row->value);
  free((char *)(uintptr_t)row->name);
  free((char *)(uintptr_t)row->detail);
  pml_sketch_close(row->sketch);
  free(row);
}

int pml_summary_open(struct pml_summary **s) {
  *s = calloc(1, sizeof **s);
  return *s != NULL ? 0 : pml_fail(-ENOMEM, "no memory for a summary");
}

void pml_summary_close(struct pml_summary *s) {
  if (s == NULL) return;
  for (size_t i = 0; i < s->rows.n; i++) drop_row(s->row[i]);
  free(s->row);
  pml__map_free(&s->rows);
  free(s->range);
  free(s);
}

static const char *text_of(const char *text) {
  return text != NULL ? text : "";
}

static uint64_t hash(enum pml_summary_kind kind, const char *name, const char *detail) {
  return pml__hash_text(pml__hash_text(pml__hash(PML__HASH, kind), name), detail);
}

static struct pml_summary_row *find(const struct pml_summary *s, enum pml_summary_kind kind, const char *name,
                                    const char *detail) {
  uint32_t at = 0;
  for (uint32_t i; (i = pml__map_next(&s->rows, hash(kind, name, detail), &at)) != PML__MAP_NONE;) {
    struct pml_summary_row *row = s->row[i];
    if (row->kind == kind && strcmp(row->name, name) == 0 && strcmp(row->detail, detail) == 0) return row;
  }
  return NULL;
}

const struct pml_summary_row *pml_summary_find(const struct pml_summary *s, enum pml_summary_kind kind,
                                               const char *name, const char *detail) {
  return find(s, kind, text_of(name), text_of(detail));
}

const struct pml_summary_row *pml_summary_row(const struct pml_summary *s, size_t i) {
  return i < s->rows.n ? s->row[i] : NULL;
}

static struct pml_summary_row *new_row(struct pml_summary *s, const struct pml_summary_row *like) {
  struct pml_summary_row *row = calloc(1, sizeof *row);
  if (row == NULL) return NULL;
  row->kind = like->kind;
  row->flags = like->flags;
  row->first = like->first;
  row->name = strdup(text_of(like->name));
  row->detail = strdup(text_of(like->detail));
  bool has_names = row->name != NULL && row->detail != NULL;
  uint32_t i = PML__MAP_NONE;
  if (has_names && PML__ARRAY_ROOM(s->row, s->capacity, (size_t)s->rows.n + 1))
    i = pml__map_add(&s->rows, hash(row->kind, row->name, row->detail));
  if (i == PML__MAP_NONE) {
    drop_row(row);
    return NULL;
  }
  s->row[i] = row;
  return row;
}

/* ---- adding ---- */

static struct pml_summary_value *new_value(struct pml_summary_row *row, const struct pml_summary_value *like) {
  struct pml_summary_value *all = realloc(row->value, (row->nvalues + 1) * sizeof *all);
  if (all == NULL) return NULL;
  row->value = all;
  struct pml_summary_value *v = &all[row->nvalues];
  *v = (struct pml_summary_value){.name = strdup(text_of(like->name)), .real = like->real};
  if (v->name == NULL) return NULL;
  row->nvalues++;
  return v;
}

/* Most processes have the same values in the same places. */
static struct pml_summary_value *value_of(struct pml_summary_row *row, size_t place,
                                          const struct pml_summary_value *like) {
  if (place < row->nvalues && strcmp(row->value[place].name, text_of(like->name)) == 0) return &row->value[place];
  for (size_t i = 0; i < row->nvalues; i++)
    if (strcmp(row->value[i].name, text_of(like->name)) == 0) return &row->value[i];
  return new_value(row, like);
}

static int add_value(struct pml_summary_row *row, size_t place, const struct pml_summary_value *from) {
  struct pml_summary_value *to = value_of(row, place, from);
  if (to == NULL) return -ENOMEM;
  to->real |= from->real || __builtin_add_overflow(to->whole, from->whole, &to->whole);
  if (to->real) to->whole = 0;
  pml_summary_join(&to->of, &from->of);
  return 0;
}

int pml_summary_sketch(struct pml_sketch **sketch) {
  return pml_sketch_open(sketch, 0.01, 512);
}

static int add_sketch(struct pml_summary_row *row, const struct pml_sketch *from) {
  if (from == NULL) return 0;
  if (row->sketch == NULL) row->sketch = pml__sketch_like(from);
  return row->sketch != NULL ? pml_sketch_merge(row->sketch, from) : -ENOMEM;
}

static bool too_many(uint64_t a, uint64_t b) {
  return a > INT64_MAX || b > INT64_MAX - a;
}

/* Limits of a packed summary. */
static bool is_countable(const struct pml_summary_row *a, const struct pml_summary_row *b) {
  if (too_many(a->processes, b->processes) || too_many(a->threads, b->threads)) return false;
  return a->sketch == NULL || b->sketch == NULL || !too_many(pml_sketch_count(a->sketch), pml_sketch_count(b->sketch));
}

static int check(const struct pml_summary *s, const struct pml_summary_row *row) {
  const struct pml_summary_row *other = pml_summary_find(s, row->kind, row->name, row->detail);
  if (other == NULL) return 0;
  if (!is_countable(other, row))
    return pml_fail(-EINVAL,
                    "%.100s has more than 2^63 processes, threads or values; what process %lld left is damaged",
                    text_of(row->name), (long long)row->first);
  if (other->flags != row->flags)
    return pml_fail(-EINVAL, "%.100s has another type in process %lld than in process %lld", text_of(row->name),
                    (long long)row->first, (long long)other->first);
  if (row->sketch != NULL && other->sketch != NULL && !pml__sketch_alike(row->sketch, other->sketch))
    return pml_fail(-EINVAL, "%.100s keeps quantiles with another error in process %lld than in process %lld",
                    text_of(row->name), (long long)row->first, (long long)other->first);
  return 0;
}

static int add(struct pml_summary *s, const struct pml_summary_row *from) {
  struct pml_summary_row *to = find(s, from->kind, text_of(from->name), text_of(from->detail));
  if (to == NULL) to = new_row(s, from);
  if (to == NULL) return -ENOMEM;
  if (from->first < to->first) to->first = from->first;
  to->processes += from->processes;
  to->threads += from->threads;
  pml_summary_join(&to->calls, &from->calls);
  pml_summary_join(&to->time, &from->time);
  pml_summary_join(&to->self, &from->self);
  int err = 0;
  for (size_t i = 0; i < from->nvalues && err == 0; i++) err = add_value(to, i, &from->value[i]);
  return err == 0 ? add_sketch(to, from->sketch) : err;
}

static int done(int err) {
  return err == -ENOMEM ? pml_fail(err, "no memory for a summary") : err;
}

int pml_summary_add(struct pml_summary *s, const struct pml_summary_row *row) {
  int err = check(s, row);
  return err == 0 ? done(add(s, row)) : err;
}

/* ---- processes ---- */

static int insert_range(struct pml_summary *s, size_t at, struct range r) {
  if (!PML__ARRAY_ROOM(s->range, s->ranges, s->nranges + 1)) return -ENOMEM;
  memmove(&s->range[at + 1], &s->range[at], (s->nranges - at) * sizeof r);
  s->range[at] = r;
  s->nranges++;
  return 0;
}

/* Ranges that @r meets, or is beside, become one with it. */
static int add_range(struct pml_summary *s, struct range r) {
  size_t at, end;
  PML__ARRAY_SEARCH(at, s->nranges, s->range[at].last < r.first - 1);
  for (end = at; end < s->nranges && s->range[end].first - 1 <= r.last; end++) {
    if (s->range[end].first < r.first) r.first = s->range[end].first;
    if (s->range[end].last > r.last) r.last = s->range[end].last;
  }
  if (end == at) return insert_range(s, at, r);
  s->range[at] = r;
  memmove(&s->range[at + 1], &s->range[end], (s->nranges - end) * sizeof r);
  s->nranges -= end - at - 1;
  return 0;
}

int pml_summary_seen(struct pml_summary *s, int64_t first, int64_t last) {
  return done(add_range(s, (struct range){first, last}));
}

bool pml_summary_range(const struct pml_summary *s, size_t i, int64_t *first, int64_t *last) {
  if (i >= s->nranges) return false;
  *first = s->range[i].first;
  *last = s->range[i].last;
  return true;
}

/* ---- joining ---- */

/* The difference between sections with the same name. */
static const char *type_of(uint32_t flags) {
  static const char *const text[] = {"exclusive calculation", "exclusive communication", "calculation",
                                     "communication"};
  return flags < sizeof text / sizeof *text ? text[flags] : NULL;
}

static bool is_alike(const struct pml_summary_row *other, const struct pml_summary_row *row) {
  return other != NULL && other->flags == row->flags;
}

/* @row as it joins @s: with its type as detail, if the section of its name is of another one. */
static struct pml_summary_row apart(const struct pml_summary *s, const struct pml_summary_row *row) {
  struct pml_summary_row as = *row;
  const char *type = type_of(row->flags), *detail = text_of(row->detail);
  const struct pml_summary_row *other = pml_summary_find(s, row->kind, row->name, detail);
  if (row->kind != PML_SUMMARY_SECTION || type == NULL || is_alike(other, row)) return as;
  if (other != NULL && detail[0] != '\0')
    as.flags = other->flags; /* a label of another interface */
  else if (other != NULL)
    as.detail = type;
  else if (strcmp(detail, type) == 0 && is_alike(pml_summary_find(s, row->kind, row->name, ""), row))
    as.detail = "";
  return as;
}

int pml_summary_merge(struct pml_summary *s, const struct pml_summary *from) {
  int err = 0;
  for (size_t i = 0; i < from->rows.n && err == 0; i++) {
    const struct pml_summary_row row = apart(s, from->row[i]);
    err = check(s, &row);
  }
  for (size_t i = 0; i < from->rows.n && err == 0; i++) {
    const struct pml_summary_row row = apart(s, from->row[i]);
    err = add(s, &row);
  }
  for (size_t i = 0; i < from->nranges && err == 0; i++) err = add_range(s, from->range[i]);
  return done(err);
}
