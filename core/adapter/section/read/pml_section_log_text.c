/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/read/pml_section_log_text.c - text of a log's sections. */
#include "adapter/section/pml_section_file.h"
#include "adapter/section/read/pml_section_book.h"
#include "adapter/section/read/pml_section_brief.h"
#include "base/pml_error.h"
#include "source/sde/log/pml_sde_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct telling {
  struct pml__section_book book;
  struct pml__section_items rows;
  bool sections, left, timeline; /* what there is to tell beside the process */
  int err;                       /* of reading while the text is written */
};

/* ---- telling ---- */

static void tell_process(struct pml__text *t, const struct pml__section_book *b) {
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

static void tell_row(struct pml__text *t, const struct pml__section_book *b, const struct pml__section_kept *r) {
  struct pml_section_row row;
  struct pml_section_value values[PML_SECTION_EVENTS_MAX];
  const struct pml__section_told *s = &r->entry.section->told;
  pml__section_row(&r->entry.sums, s->exclusive, b->log.head.ticks_per_second, &row);
  row.thread = r->entry.thread;
  pml__section_values(r->values, s->nevents, s->real, values);
  row.value = values;
  pml__section_tell_row(t, &row, s->nevents);
  if (!r->entry.torn) return;
  pml__text_add(t, "torn");
  pml__text_end(t);
}

static void tell_sections(struct pml__text *t, const struct telling *k) {
  const struct pml__section_definition *last = NULL;
  for (size_t i = 0; i < k->rows.n && !t->failed; i++) {
    const struct pml__section_kept *r = k->rows.at[i];
    if (i == 0 || r->entry.section != last) pml__section_tell_section(t, &r->entry.section->told);
    last = r->entry.section;
    tell_row(t, &k->book, r);
  }
}

static int by_region(const void *a, const void *b) {
  const struct pml__section_region *x = *(const struct pml__section_region *const *)a,
                                   *y = *(const struct pml__section_region *const *)b;
  return (x->region > y->region) - (x->region < y->region);
}

/* A name may have found no room in the log. */
static void tell_unnamed(struct pml__text *t, const struct pml__section_book *b, const struct pml__log_event *event,
                         uint32_t n) {
  char name[32];
  for (uint32_t k = 0; k < n; k++) {
    const struct pml__section_region key = {.region = (uint32_t)event[k].word}, *at = &key;
    if (b->regions.n > 0 && bsearch(&at, b->regions.at, b->regions.n, sizeof at, by_region) != NULL) continue;
    (void)snprintf(name, sizeof name, "region %u", key.region);
    pml__section_tell_region(t, key.region, name);
  }
}

static void tell_timeline(struct pml__text *t, struct pml__section_book *b) {
  const struct pml__log_head *h = &b->log.head;
  if (b->unseen != NULL) pml__section_tell_note(t, "unseen", b->unseen);
  if (b->regions.n > 0) qsort(b->regions.at, b->regions.n, sizeof *b->regions.at, by_region);
  for (size_t i = 0; i < b->regions.n; i++) {
    const struct pml__section_region *r = b->regions.at[i];
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
  struct telling *k = arg;
  tell_process(t, &k->book);
  if (k->sections) tell_sections(t, k);
  if (k->left) k->err = pml__sde_log_tell(t, &k->book.log, &k->book.cells);
  if (k->timeline) tell_timeline(t, &k->book);
}

static int hand_out(struct telling *k, char **text, size_t *length) {
  struct pml__text t;
  int err = pml__section_all_text(&t, tell_all, k);
  if (err == 0) err = pml__section_hand_out(&t, text, length);
  if (err < 0 || k->err == 0) return err;
  free(*text);
  *text = NULL;
  return k->err;
}

int pml_section_log_text(const char *path, char **text, size_t *length) {
  struct telling k = {.sections = true, .left = true, .timeline = true};
  *text = NULL;
  *length = 0;
  int err = pml__section_book_open(&k.book, path, NULL);
  if (err == 0) err = pml__section_book_durations(&k.book, false);
  if (err == 0) err = pml__section_book_sorted(&k.book, &k.rows);
  if (err == 0) err = hand_out(&k, text, length);
  if (err == -ENOMEM) (void)pml_fail(err, "%.300s: no memory to read it", path);
  pml__section_book_close(&k.book);
  pml__section_drop(&k.rows);
  return err;
}

int pml__section_log_brief(const char *path, struct pml_summary *s, int64_t number, struct pml__section_brief *brief,
                           char **text, size_t *length) {
  struct telling k = {.left = true};
  *text = NULL;
  *length = 0;
  int err = pml__section_book_open(&k.book, path, NULL);
  if (err == 0) err = hand_out(&k, text, length);
  if (err == 0) err = pml__section_book_summary(&k.book, s, number, brief);
  if (err == -ENOMEM) (void)pml_fail(err, "%.300s: no memory to read it", path);
  if (err < 0) free(*text);
  if (err < 0) *text = NULL;
  pml__section_book_close(&k.book);
  return err;
}
