/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/section/pml_section_reader.c - section definitions and statistics in a log. */
#include "read/section/pml_section_reader.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "read/log/pml_log_read.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 20 /* to find sums that stand still */

void *pml__section_zeros(size_t bytes) {
  const size_t line = _Alignof(struct pml__section_stat), all = (bytes + line - 1) / line * line;
  void *zeros = aligned_alloc(line, all);
  return zeros != NULL ? memset(zeros, 0, all) : NULL;
}

/* @bytes of the list's own, zeroed, or NULL. */
static void *keep(struct pml__section_items *list, size_t bytes) {
  void *one = PML__ARRAY_ROOM(list->at, list->capacity, list->n + 1) ? pml__section_zeros(bytes) : NULL;
  if (one != NULL) list->at[list->n++] = one;
  return one;
}

void pml__section_drop(struct pml__section_items *list) {
  for (size_t i = 0; i < list->n; i++) free(list->at[i]);
  free(list->at);
  *list = (struct pml__section_items){0};
}

/* ---- definitions ---- */

static int by_index(const void *a, const void *b) {
  const struct pml__section_definition *x = *(const struct pml__section_definition *const *)a,
                                       *y = *(const struct pml__section_definition *const *)b;
  return (x->index > y->index) - (x->index < y->index);
}

/* Where the sections from @index on begin. */
static size_t first_from(const struct pml__section_reader *b, uint32_t index) {
  size_t i;
  PML__ARRAY_SEARCH(i, b->sections.n, ((const struct pml__section_definition *)b->sections.at[i])->index < index);
  return i;
}

struct pml__section_definition *pml__section_reader_at(const struct pml__section_reader *b, uint32_t index) {
  size_t i = first_from(b, index);
  struct pml__section_definition *s = i < b->sections.n ? b->sections.at[i] : NULL;
  return s != NULL && s->index == index ? s : NULL;
}

static int take_section(struct pml__section_reader *b, const char *at, size_t bytes) {
  struct pml__log_section d;
  if (bytes < sizeof d) return 0;
  memcpy(&d, at, sizeof d);
  if (d.index >= PML_SECTIONS_MAX || d.nevents > PML_SECTION_EVENTS_MAX || d.type > PML_SECTION_COMMUNICATION ||
      d.record > PML_SECTION_RECORD_SKETCH)
    return 0;
  struct pml__section_definition *s = keep(&b->sections, sizeof *s + bytes);
  if (s == NULL) return -ENOMEM;
  size_t left = bytes - sizeof d;
  memcpy(s->text, at + sizeof d, left);
  const char *text = s->text;
  s->index = d.index;
  s->type = (enum pml_section_type)d.type;
  s->exclusive = d.exclusive != 0;
  s->record = (enum pml_section_record)d.record;
  s->real = d.real;
  s->nevents = d.nevents;
  s->label = pml__log_text(&text, &left);
  bool whole = s->label != NULL && s->label[0] != '\0';
  for (uint32_t i = 0; whole && i < d.nevents; i++) whole = (s->event[i] = pml__log_text(&text, &left)) != NULL;
  s->interface = pml__log_text(&text, &left);
  if (s->interface == NULL) s->interface = "";
  if (whole && b->only != NULL) whole = pml__section_is(s, b->only, b->interface);
  if (!whole) free(b->sections.at[--b->sections.n]);
  return 0;
}

static int take_note(struct pml__section_reader *b, const char *at, size_t bytes) {
  static const char *const key[PML__SECTION_NOTES] = {"counted", "uncounted", "permission"};
  const char *what = pml__log_text(&at, &bytes), *text = what != NULL ? pml__log_text(&at, &bytes) : NULL;
  if (text == NULL) return 0;
  char **to = strcmp(what, "unseen") == 0 ? &b->unseen : NULL;
  for (unsigned i = 0; i < PML__SECTION_NOTES; i++)
    if (strcmp(what, key[i]) == 0) to = &b->note[i];
  if (to == NULL) return 0;
  free(*to);
  *to = strdup(text);
  return *to != NULL ? 0 : -ENOMEM;
}

static int take_region(struct pml__section_reader *b, const char *at, size_t bytes) {
  struct pml__log_named_region d;
  if (!pml__log_region_of(at, bytes, &d)) return 0;
  struct pml__section_region *r = keep(&b->regions, sizeof *r + strlen(d.name) + 1);
  if (r == NULL) return -ENOMEM;
  r->region = d.region;
  memcpy(r->name, d.name, strlen(d.name) + 1);
  return 0;
}

static int take_definition(uint32_t what, const char *at, size_t bytes, void *arg) {
  struct pml__section_reader *b = arg;
  if (what == PML__LOG_SECTION) return take_section(b, at, bytes);
  if (what == PML__LOG_NOTE) return take_note(b, at, bytes);
  return what == PML__LOG_REGION ? take_region(b, at, bytes) : 0;
}

static bool same_section(const struct pml__section_definition *a, const struct pml__section_definition *b) {
  return a->nevents == b->nevents && strcmp(a->label, b->label) == 0;
}

/* A section is defined again when an event turns out to have doubles. */
static int merge_definitions(struct pml__section_reader *b) {
  void **at = b->sections.at;
  size_t n = b->sections.n, kept = 0;
  for (size_t i = 1; i < n; i++)
    if (by_index(&at[i - 1], &at[i]) == 0 && !same_section(at[i - 1], at[i]))
      return pml_fail(PML_EFORMAT, "%.300s: damaged: two sections share a number", b->log.path);
  for (size_t i = 0; i < n; i++) {
    struct pml__section_definition *s = at[i];
    if (kept == 0 || by_index(&at[kept - 1], &at[i]) != 0) {
      at[kept++] = s;
      continue;
    }
    ((struct pml__section_definition *)at[kept - 1])->real |= s->real;
    free(s);
  }
  b->sections.n = kept;
  return 0;
}

static int take_definitions(struct pml__section_reader *b) {
  int err = pml__log_read_definitions(&b->log, take_definition, b);
  if (err < 0) return err;
  if (b->sections.n > 0) qsort(b->sections.at, b->sections.n, sizeof *b->sections.at, by_index);
  return merge_definitions(b);
}

int pml__section_reader_open(struct pml__section_reader *b, const char *path, const char *only, const char *interface) {
  *b = (struct pml__section_reader){.log = {.fd = -1}, .only = only, .interface = interface};
  int err = pml__log_read_open(&b->log, path);
  if (err == 0) err = take_definitions(b);
  if (err == 0) err = pml__log_cells_read(&b->cells, &b->log);
  return err == -ENOMEM ? pml_fail(err, "%.300s: no memory to read it", path) : err;
}

void pml__section_reader_close(struct pml__section_reader *b) {
  pml__log_cells_drop(&b->cells);
  pml__log_read_close(&b->log);
  for (size_t i = 0; i < b->sections.n; i++)
    pml_sketch_close(((struct pml__section_definition *)b->sections.at[i])->sketch);
  pml__section_drop(&b->sections);
  pml__section_drop(&b->regions);
  for (unsigned i = 0; i < PML__SECTION_NOTES; i++) free(b->note[i]);
  free(b->unseen);
}

/* ---- sums ---- */

/*
 * Records of an extent, read twice with the values in between: a record that is the same both times was not being
 * written. For a process that ended, one read is enough.
 */
struct block {
  uint32_t first, n; /* the extent's sections from the first to the last defined one */
  struct pml__section_stat *sums, *again;
  uint64_t *values; /* [n][PML_SECTION_EVENTS_MAX], or NULL */
  bool events;
};

static void drop_block(struct block *k) {
  free(k->sums);
  if (k->again != k->sums) free(k->again);
  free(k->values);
  k->sums = k->again = NULL;
  k->values = NULL;
}

/* Which records of the extent are of sections that the reader has, and whether they count events. */
static struct block block_of(const struct pml__section_reader *b, const struct pml__log_entry *e) {
  struct block k = {0};
  uint64_t room = e->bytes / sizeof(struct pml__section_stat), end = 0;
  for (size_t i = first_from(b, e->key); i < b->sections.n; i++) {
    const struct pml__section_definition *s = b->sections.at[i];
    if (s->index - e->key >= room) break;
    if (end == 0) k.first = s->index - e->key;
    end = s->index - e->key + 1;
    k.events |= s->nevents > 0;
  }
  k.n = end > 0 ? (uint32_t)end - k.first : 0;
  return k;
}

static int read_values(const struct pml__section_reader *b, const struct pml__log_entry *of, struct block *k) {
  const uint64_t one = PML_SECTION_EVENTS_MAX * sizeof *k->values;
  int err = 0;
  for (size_t i = 0; i < b->log.n && k->values == NULL && err == 0; i++) {
    const struct pml__log_entry *e = &b->log.entry[i];
    if (e->kind != PML__LOG_SECTION_VALUES || e->owner != of->owner || e->key != of->key) continue;
    if (e->bytes < (k->first + k->n) * one) continue;
    k->values = pml__log_read_part(&b->log, i, k->first * one, k->n * one, &err);
  }
  return err;
}

static bool stands_still(const struct block *k) {
  bool still = memcmp(k->sums, k->again, k->n * sizeof *k->sums) == 0;
  for (size_t j = 0; still && j < k->n; j++) still = k->sums[j].seq % 2 == 0;
  return still;
}

static int read_block(const struct pml__section_reader *b, size_t i, struct block *k) {
  const uint64_t one = sizeof *k->sums;
  const bool ended = b->log.head.ended != PML__LOG_RUNNING;
  int err = 0;
  for (int tries = 0; tries < TRIES && err == 0; tries++) {
    drop_block(k);
    k->sums = pml__log_read_part(&b->log, i, k->first * one, k->n * one, &err);
    if (k->sums != NULL && k->events) err = read_values(b, &b->log.entry[i], k);
    if (k->sums == NULL || err < 0) break;
    k->again = ended ? k->sums : pml__log_read_part(&b->log, i, k->first * one, k->n * one, &err);
    if (k->again == NULL || ended || stands_still(k)) break;
    sched_yield();
  }
  if (k->again == NULL) drop_block(k);
  return err;
}

/* Byte by byte: a record may be half written. */
static bool is_same(const void *then, const void *now, size_t bytes) {
  return memcmp(then, now, bytes) == 0;
}

static int visit_record(const struct pml__section_reader *b, const struct pml__log_entry *e, const struct block *k,
                        const struct pml__section_definition *s,
                        int (*visit)(const struct pml__section_entry *row, void *arg), void *arg) {
  const uint32_t i = s->index - e->key - k->first;
  struct pml__section_entry row = {.section = s, .thread = e->owner, .sums = k->sums[i]};
  const bool old = row.sums.epoch != b->log.head.epoch;
  pml__section_forget_old(&row.sums, b->log.head.epoch);
  if (!pml__section_says_something(&row.sums)) return 0;
  if (!(row.sums.work >= 0)) row.sums.work = 0; /* damaged */
  row.torn = row.sums.seq % 2 != 0 || !is_same(&k->sums[i], &k->again[i], sizeof row.sums);
  if (k->values != NULL && !old) row.values = k->values + i * PML_SECTION_EVENTS_MAX;
  return visit(&row, arg);
}

static int visit_extent(const struct pml__section_reader *b, size_t i,
                        int (*visit)(const struct pml__section_entry *row, void *arg), void *arg) {
  const struct pml__log_entry *e = &b->log.entry[i];
  struct block k = block_of(b, e);
  if (k.n == 0) return 0;
  int err = read_block(b, i, &k);
  for (size_t j = first_from(b, e->key); j < b->sections.n && k.sums != NULL && err == 0; j++) {
    const struct pml__section_definition *s = b->sections.at[j];
    if (s->index - e->key - k.first >= k.n) break;
    err = visit_record(b, e, &k, s, visit, arg);
  }
  drop_block(&k);
  return err;
}

int pml__section_reader_rows(const struct pml__section_reader *b,
                             int (*visit)(const struct pml__section_entry *row, void *arg), void *arg) {
  int err = 0;
  for (size_t i = b->first; b->kept != NULL && i < b->end && err == 0; i++)
    err = visit(&((const struct pml__section_stored *)b->kept->at[i])->entry, arg);
  for (size_t i = 0; b->kept == NULL && i < b->log.n && err == 0; i++)
    if (b->log.entry[i].kind == PML__LOG_SECTION_SUMS) err = visit_extent(b, i, visit, arg);
  return err;
}

static int keep_row(const struct pml__section_entry *entry, void *arg) {
  const size_t bytes = entry->section->nevents * sizeof(uint64_t);
  struct pml__section_stored *row = keep(arg, sizeof *row + bytes);
  if (row == NULL) return -ENOMEM;
  row->entry = *entry;
  if (entry->values == NULL) return 0;
  memcpy(row->values, entry->values, bytes);
  row->entry.values = row->values;
  return 0;
}

static int by_section(const void *a, const void *b) {
  const struct pml__section_entry *x = &(*(const struct pml__section_stored *const *)a)->entry,
                                  *y = &(*(const struct pml__section_stored *const *)b)->entry;
  if (x->section->index != y->section->index) return x->section->index < y->section->index ? -1 : 1;
  return (x->thread > y->thread) - (x->thread < y->thread);
}

int pml__section_reader_sorted(const struct pml__section_reader *b, struct pml__section_items *rows) {
  int err = pml__section_reader_rows(b, keep_row, rows);
  if (rows->n > 0) qsort(rows->at, rows->n, sizeof *rows->at, by_section);
  return err;
}

/* ---- the timeline ---- */

struct pml__log_timeline *pml__section_reader_timeline(const struct pml__section_reader *b, size_t i, int *err) {
  uint64_t bytes;
  *err = 0;
  if (b->log.entry[i].kind != PML__LOG_SECTION_EVENTS) return NULL;
  struct pml__log_timeline *lane = pml__log_read_extent(&b->log, i, &bytes, err);
  if (lane == NULL || bytes < sizeof *lane) {
    free(lane);
    return NULL;
  }
  uint64_t room = (bytes - sizeof *lane) / sizeof(struct pml__log_event);
  if (lane->n > room) lane->n = (uint32_t)room;
  return lane;
}
