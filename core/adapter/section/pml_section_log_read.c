/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_log_read.c - the text of the sections in a log, which is not trusted. */
#include "adapter/section/pml_section_file.h"
#include "adapter/section/pml_section_note.h"
#include "adapter/section/pml_section_private.h"
#include "adapter/section/pml_section_text.h"
#include "base/pml_error.h"
#include "source/sde/log/pml_sde_log.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 20 /* to find sums that stand still */

struct definition {
  uint32_t index;
  struct pml__section_told told; /* its texts stand behind the struct */
  struct pml__log_quantiles quantiles;
  const char *event[PML_SECTION_EVENTS_MAX];
  char text[];
};

struct row {
  const struct definition *section;
  uint64_t thread;
  struct pml__section_stat sums;
  bool torn;
  uint64_t values[];
};

struct region {
  uint32_t region;
  char name[];
};

/* Pointers to memory of their own. */
struct list {
  void **at;
  size_t n, capacity;
};

struct book {
  struct pml__log_reader log;
  struct pml__log_cells cells;
  int err; /* of reading while the text is written */
  struct list sections, rows, regions;
  char *note[PML__SECTION_NOTES], *unseen;
};

static void *keep(struct list *list, size_t bytes) {
  if (list->n == list->capacity) {
    size_t capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
    void **more = realloc(list->at, capacity * sizeof *more);
    if (more == NULL) return NULL;
    list->at = more;
    list->capacity = capacity;
  }
  void *one = calloc(1, bytes);
  if (one != NULL) list->at[list->n++] = one;
  return one;
}

static void drop(struct list *list) {
  for (size_t i = 0; i < list->n; i++) free(list->at[i]);
  free(list->at);
}

/* ---- definitions ---- */

static int by_index(const void *a, const void *b) {
  const struct definition *x = *(const struct definition *const *)a, *y = *(const struct definition *const *)b;
  return (x->index > y->index) - (x->index < y->index);
}

static struct definition *section_at(const struct book *b, uint32_t index) {
  const struct definition key = {.index = index}, *at = &key;
  if (b->sections.n == 0) return NULL;
  struct definition **found = bsearch(&at, b->sections.at, b->sections.n, sizeof at, by_index);
  return found != NULL ? *found : NULL;
}

static int take_section(struct book *b, const char *at, size_t bytes) {
  struct pml__log_section d;
  if (bytes < sizeof d) return 0;
  memcpy(&d, at, sizeof d);
  if (d.index >= PML_SECTIONS_MAX || d.nevents > PML_SECTION_EVENTS_MAX || d.type > PML_SECTION_COMMUNICATION ||
      d.record > PML_SECTION_RECORD_SKETCH)
    return 0;
  struct definition *s = keep(&b->sections, sizeof *s + bytes);
  if (s == NULL) return -ENOMEM;
  size_t left = bytes - sizeof d;
  memcpy(s->text, at + sizeof d, left);
  const char *text = s->text;
  s->index = d.index;
  s->told = (struct pml__section_told){.type = (enum pml_section_type)d.type,
                                       .exclusive = d.exclusive != 0,
                                       .record = (enum pml_section_record)d.record,
                                       .event = s->event,
                                       .real = d.real,
                                       .nevents = d.nevents};
  s->told.label = pml__log_text(&text, &left);
  bool whole = s->told.label != NULL && s->told.label[0] != '\0';
  for (uint32_t i = 0; whole && i < d.nevents; i++) whole = (s->event[i] = pml__log_text(&text, &left)) != NULL;
  if (!whole) free(b->sections.at[--b->sections.n]);
  return 0;
}

static int take_note(struct book *b, const char *at, size_t bytes) {
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

static int take_region(struct book *b, const char *at, size_t bytes) {
  struct pml__log_region d;
  if (bytes <= sizeof d) return 0;
  memcpy(&d, at, sizeof d);
  const char *text = at + sizeof d;
  size_t left = bytes - sizeof d;
  const char *name = pml__log_text(&text, &left);
  if (name == NULL) return 0;
  struct region *r = keep(&b->regions, sizeof *r + strlen(name) + 1);
  if (r == NULL) return -ENOMEM;
  r->region = d.region;
  memcpy(r->name, name, strlen(name) + 1);
  return 0;
}

static int take_definition(uint32_t what, const char *at, size_t bytes, void *arg) {
  struct book *b = arg;
  if (what == PML__LOG_SECTION) return take_section(b, at, bytes);
  if (what == PML__LOG_NOTE) return take_note(b, at, bytes);
  return what == PML__LOG_REGION ? take_region(b, at, bytes) : 0;
}

/* After the sections, which may be defined in any order. */
static int take_quantiles(uint32_t what, const char *at, size_t bytes, void *arg) {
  struct pml__log_quantiles q;
  if (what != PML__LOG_QUANTILES || bytes < sizeof q) return 0;
  memcpy(&q, at, sizeof q);
  struct definition *s = section_at(arg, q.index);
  if (s == NULL) return 0;
  s->quantiles = q;
  s->told.quantile = s->quantiles.ns;
  return 0;
}

/* Durations are in ticks. What exit wrote of a sketch is there already; a sketch is not in the log. */
static int take_recorder(uint32_t what, const char *at, size_t bytes, void *arg) {
  static const double share[PML__LOG_QUANTILES_N] = {0, 0.25, 0.5, 0.75, 0.95, 0.99, 1};
  struct book *b = arg;
  struct pml__log_recorder d;
  struct pml__recorder_left left;
  if (what != PML__LOG_RECORDER || bytes < sizeof d) return 0;
  memcpy(&d, at, sizeof d);
  struct definition *s = d.section > 0 && d.type == PML_TYPE_DOUBLE ? section_at(b, d.section - 1) : NULL;
  if (s == NULL || s->told.quantile != NULL) return 0;
  int err = pml__recorder_left(&b->cells, &d, &left);
  for (size_t i = 0; i < PML__LOG_QUANTILES_N && err == 0; i++) {
    err = pml_quantile_value(left.quantile, share[i], &s->quantiles.ns[i]);
    s->quantiles.ns[i] *= 1e9 / b->log.head.ticks_per_second;
  }
  pml_quantile_close(left.quantile);
  if (err == -ENOMEM || err == PML_EFORMAT) return err;
  if (err == 0) s->told.quantile = s->quantiles.ns;
  return 0;
}

static int take_definitions(struct book *b) {
  int err = pml__log_read_definitions(&b->log, take_definition, b);
  if (err < 0) return err;
  if (b->sections.n > 0) qsort(b->sections.at, b->sections.n, sizeof *b->sections.at, by_index);
  for (size_t i = 1; i < b->sections.n; i++)
    if (section_at(b, ((struct definition *)b->sections.at[i])->index) == NULL ||
        by_index(&b->sections.at[i - 1], &b->sections.at[i]) == 0)
      return pml_fail(PML_EFORMAT, "%.300s: damaged: two sections share a number", b->log.path);
  err = pml__log_read_definitions(&b->log, take_quantiles, b);
  if (err == 0) err = pml__log_cells_read(&b->cells, &b->log);
  return err == 0 ? pml__log_read_definitions(&b->log, take_recorder, b) : err;
}

/* ---- sums ---- */

/* An extent of sums, read twice with the values in between: what is the same both times was not being written. */
struct block {
  struct pml__section_stat *sums, *again;
  uint64_t *values; /* [n][PML_SECTION_EVENTS_MAX], or NULL */
  size_t n;
};

static void drop_block(struct block *k) {
  free(k->sums);
  free(k->again);
  free(k->values);
  *k = (struct block){0};
}

static int read_values(struct book *b, const struct pml__log_entry *of, struct block *k) {
  int err = 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < b->log.n && k->values == NULL && err == 0; i++) {
    const struct pml__log_entry *e = &b->log.entry[i];
    if (e->kind != PML__LOG_SECTION_VALUES || e->owner != of->owner || e->key != of->key) continue;
    k->values = pml__log_read_extent(&b->log, i, &bytes, &err);
  }
  if (k->values == NULL || bytes >= k->n * PML_SECTION_EVENTS_MAX * sizeof *k->values) return err;
  free(k->values);
  k->values = NULL;
  return 0;
}

static bool has_events(const struct book *b, uint32_t first, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const struct definition *s = section_at(b, first + (uint32_t)i);
    if (s != NULL && s->told.nevents > 0) return true;
  }
  return false;
}

static int read_block(struct book *b, size_t i, struct block *k) {
  const struct pml__log_entry *e = &b->log.entry[i];
  uint64_t bytes;
  int err = 0;
  for (int tries = 0; tries < TRIES && err == 0; tries++) {
    drop_block(k);
    k->sums = pml__log_read_extent(&b->log, i, &bytes, &err);
    if (k->sums == NULL) return err;
    k->n = (size_t)(bytes / sizeof *k->sums);
    if (has_events(b, e->key, k->n)) err = read_values(b, e, k);
    if (err == 0) k->again = pml__log_read_extent(&b->log, i, &bytes, &err);
    if (k->again == NULL) {
      drop_block(k);
      return err;
    }
    bool still = memcmp(k->sums, k->again, k->n * sizeof *k->sums) == 0;
    for (size_t j = 0; still && j < k->n; j++) still = k->sums[j].seq % 2 == 0;
    if (still) break;
    sched_yield();
  }
  return err;
}

/* Byte by byte: a record may be half written. */
static bool is_same(const void *then, const void *now, size_t bytes) {
  return memcmp(then, now, bytes) == 0;
}

static int take_row(struct book *b, const struct pml__log_entry *e, const struct block *k, size_t i) {
  struct pml__section_stat sums = k->sums[i];
  const struct definition *s = section_at(b, e->key + (uint32_t)i);
  bool old = sums.epoch != b->log.head.epoch;
  pml__section_forget_old(&sums, b->log.head.epoch);
  if (s == NULL || !pml__section_says_something(&sums)) return 0;
  struct row *row = keep(&b->rows, sizeof *row + s->told.nevents * sizeof row->values[0]);
  if (row == NULL) return -ENOMEM;
  row->section = s;
  row->thread = e->owner;
  row->sums = sums;
  row->torn = sums.seq % 2 != 0 || !is_same(&k->sums[i], &k->again[i], sizeof sums);
  if (k->values != NULL && !old)
    memcpy(row->values, k->values + i * PML_SECTION_EVENTS_MAX, s->told.nevents * sizeof row->values[0]);
  return 0;
}

static int by_section(const void *a, const void *b) {
  const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;
  if (x->section->index != y->section->index) return x->section->index < y->section->index ? -1 : 1;
  return (x->thread > y->thread) - (x->thread < y->thread);
}

static int take_rows(struct book *b) {
  int err = 0;
  for (size_t i = 0; i < b->log.n && err == 0; i++) {
    struct block k = {0};
    if (b->log.entry[i].kind != PML__LOG_SECTION_SUMS) continue;
    err = read_block(b, i, &k);
    for (size_t j = 0; j < k.n && err == 0; j++) err = take_row(b, &b->log.entry[i], &k, j);
    drop_block(&k);
  }
  if (b->rows.n > 0) qsort(b->rows.at, b->rows.n, sizeof *b->rows.at, by_section);
  return err;
}

/* ---- telling ---- */

static void tell_process(struct pml__text *t, const struct book *b) {
  static const char *const key[PML__SECTION_NOTES] = {"counted", "uncounted", "permission"};
  const struct pml__log_head *h = &b->log.head;
  uint64_t written = h->ended_ns != 0 ? h->ended_ns : b->log.modified_ns;
  struct pml__section_process p = {h->pid,
                                   h->rank,
                                   h->size,
                                   h->host,
                                   h->command,
                                   h->started_ns,
                                   written > h->started_ns ? written : h->started_ns,
                                   h->clock,
                                   h->ticks_per_second,
                                   h};
  pml__section_tell_process(t, &p);
  if (b->log.missing > 0) {
    pml__text_add(t, "missing\t%u", b->log.missing);
    pml__text_end(t);
  }
  for (unsigned i = 0; i < PML__SECTION_NOTES; i++)
    if (b->note[i] != NULL) pml__section_tell_note(t, key[i], b->note[i]);
}

static void tell_row(struct pml__text *t, const struct book *b, const struct row *r) {
  struct pml_section_row row;
  struct pml_section_value values[PML_SECTION_EVENTS_MAX];
  const struct pml__section_told *s = &r->section->told;
  pml__section_row(&r->sums, s->exclusive, b->log.head.ticks_per_second, &row);
  row.thread = r->thread;
  pml__section_values(r->values, s->nevents, s->real, values);
  row.value = values;
  pml__section_tell_row(t, &row, s->nevents);
  if (!r->torn) return;
  pml__text_add(t, "torn");
  pml__text_end(t);
}

static int by_region(const void *a, const void *b) {
  const struct region *x = *(const struct region *const *)a, *y = *(const struct region *const *)b;
  return (x->region > y->region) - (x->region < y->region);
}

/* A name may have found no room in the log. */
static void tell_unnamed(struct pml__text *t, const struct book *b, const struct pml__log_event *event, uint32_t n) {
  char name[32];
  for (uint32_t k = 0; k < n; k++) {
    const struct region key = {.region = (uint32_t)event[k].word}, *at = &key;
    if (b->regions.n > 0 && bsearch(&at, b->regions.at, b->regions.n, sizeof at, by_region) != NULL) continue;
    (void)snprintf(name, sizeof name, "region %u", key.region);
    pml__section_tell_region(t, key.region, name);
  }
}

static void tell_timeline(struct pml__text *t, struct book *b) {
  const struct pml__log_head *h = &b->log.head;
  if (b->unseen != NULL) pml__section_tell_note(t, "unseen", b->unseen);
  if (b->regions.n > 0) qsort(b->regions.at, b->regions.n, sizeof *b->regions.at, by_region);
  for (size_t i = 0; i < b->regions.n; i++) {
    const struct region *r = b->regions.at[i];
    pml__section_tell_region(t, r->region, r->name);
  }
  for (size_t i = 0; i < b->log.n && !t->failed; i++) {
    const struct pml__log_entry *e = &b->log.entry[i];
    uint64_t bytes;
    int err;
    if (e->kind != PML__LOG_SECTION_EVENTS) continue;
    struct pml__log_lane *lane = pml__log_read_extent(&b->log, i, &bytes, &err);
    if (lane == NULL || bytes < sizeof *lane) {
      free(lane);
      continue;
    }
    const struct pml__log_event *event = (const struct pml__log_event *)(lane + 1);
    uint64_t room = (bytes - sizeof *lane) / sizeof *event;
    uint32_t n = lane->n < room ? lane->n : (uint32_t)room;
    tell_unnamed(t, b, event, n);
    pml__section_tell_lane(t, e->owner, n, lane->dropped);
    for (uint32_t k = 0; k < n; k++) {
      double ns = (double)(int64_t)(event[k].ticks - h->started_ticks) * 1e9 / h->ticks_per_second;
      pml__section_tell_event(t, event[k].word >> 32 == PML__LOG_LEAVE, ns > -9e18 && ns < 9e18 ? (int64_t)ns : -1,
                              (uint32_t)event[k].word);
    }
    free(lane);
  }
}

static void tell_all(struct pml__text *t, void *arg) {
  struct book *b = arg;
  const struct definition *last = NULL;
  tell_process(t, b);
  for (size_t i = 0; i < b->rows.n && !t->failed; i++) {
    const struct row *r = b->rows.at[i];
    if (i == 0 || r->section != last) pml__section_tell_section(t, &r->section->told);
    last = r->section;
    tell_row(t, b, r);
  }
  b->err = pml__sde_log_tell(t, &b->log, &b->cells);
  tell_timeline(t, b);
}

int pml_section_log_text(const char *path, char **text, size_t *length) {
  struct book b = {.log = {.fd = -1}};
  struct pml__text t;
  *text = NULL;
  *length = 0;
  int err = pml__log_read_open(&b.log, path);
  if (err == 0) err = take_definitions(&b);
  if (err == 0) err = take_rows(&b);
  if (err == 0) err = pml__section_all_text(&t, tell_all, &b);
  if (err == 0) err = pml__section_hand_out(&t, text, length);
  if (err == 0 && b.err < 0) {
    free(*text);
    *text = NULL;
    err = b.err;
  }
  if (err == -ENOMEM) (void)pml_fail(err, "%.300s: no memory to read it", path);
  pml__log_cells_drop(&b.cells);
  pml__log_read_close(&b.log);
  drop(&b.sections);
  drop(&b.rows);
  drop(&b.regions);
  for (unsigned i = 0; i < PML__SECTION_NOTES; i++) free(b.note[i]);
  free(b.unseen);
  return err;
}
