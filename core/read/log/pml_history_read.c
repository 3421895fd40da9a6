/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/log/pml_history_read.c - compressed series of a process's values, from its untrusted log. */
#include "read/log/pml_history_read.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "read/log/pml_log_read.h"
#include "record/pml_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct chunk {
  uint32_t number, rate, n;
  uint64_t turn;
  unsigned char *bits; /* in an extent's copy */
};

struct loading {
  const struct pml__log_reader *log;
  void **copy; /* copies of extents */
  size_t copies, copies_room;
  struct chunk *chunk; /* by number and rate, minutes first, in the order of turns */
  size_t nchunks, room;
  int64_t *ms; /* the series that is being read */
  uint64_t *value;
  size_t n, ms_room, value_room;
  pml_history_visit *visit;
  void *arg;
};

/* ---- chunks ---- */

/* @before was read before @at: the number of samples in it is of bits that are in @at. See reassign() of pml_history.c.
 */
static int keep_chunk(struct loading *l, const struct pml__log_history *before, struct pml__log_history *at) {
  bool same = before->seq == at->seq && before->seq % 2 == 0 && before->number == at->number;
  if (!same || at->number == 0 || before->n == 0 || at->rate >= PML__HISTORY_RATES) return 0;
  if (!PML__ARRAY_ROOM(l->chunk, l->room, l->nchunks + 1)) return pml_fail(-ENOMEM, "no memory to read a log");
  l->chunk[l->nchunks++] = (struct chunk){at->number, at->rate, before->n, at->turn, (unsigned char *)(at + 1)};
  return 0;
}

static int read_extent(struct loading *l, size_t i) {
  uint64_t bytes, again;
  int err = 0;
  char *before = pml__log_read_extent(l->log, i, &bytes, &err);
  char *at = before != NULL ? pml__log_read_extent(l->log, i, &again, &err) : NULL;
  if (at != NULL && !PML__ARRAY_ROOM(l->copy, l->copies_room, l->copies + 1)) {
    err = pml_fail(-ENOMEM, "no memory to read a log");
    free(at);
  } else if (at != NULL) {
    l->copy[l->copies++] = at;
    uint64_t both = bytes < again ? bytes : again;
    for (uint64_t k = 0; k + PML__LOG_HISTORY_CHUNK <= both && err == 0; k += PML__LOG_HISTORY_CHUNK)
      err = keep_chunk(l, (const void *)(before + k), (void *)(at + k));
  }
  free(before);
  return err;
}

static int by_series(const void *a, const void *b) {
  const struct chunk *x = a, *y = b;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  if (x->rate != y->rate) return x->rate > y->rate ? -1 : 1;
  return (x->turn > y->turn) - (x->turn < y->turn);
}

static int read_chunks(struct loading *l) {
  int err = 0;
  for (size_t i = 0; i < l->log->n && err == 0; i++)
    if (l->log->entry[i].kind == PML__LOG_HISTORY) err = read_extent(l, i);
  if (l->nchunks > 0) qsort(l->chunk, l->nchunks, sizeof *l->chunk, by_series);
  return err;
}

/* ---- series ---- */

/* Samples of minutes that are not older than the first of seconds say what these say. */
static void drop_overlap(struct loading *l, size_t minutes, int64_t first_ms) {
  size_t keep = 0;
  while (keep < minutes && l->ms[keep] < first_ms) keep++;
  l->n = keep;
}

static int read_chunk(struct loading *l, const struct chunk *c, size_t *minutes) {
  struct pml__compressed from;
  int64_t ms;
  uint64_t value;
  pml__compressed_begin(&from, c->bits, PML__LOG_HISTORY_CHUNK - sizeof(struct pml__log_history));
  for (uint32_t i = 0; i < c->n && pml__compressed_next(&from, &ms, &value); i++) {
    if (c->rate == PML__HISTORY_SECONDS && *minutes > 0) drop_overlap(l, *minutes, ms);
    if (c->rate == PML__HISTORY_SECONDS) *minutes = 0;
    if (!PML__ARRAY_ROOM(l->ms, l->ms_room, l->n + 1) || !PML__ARRAY_ROOM(l->value, l->value_room, l->n + 1))
      return pml_fail(-ENOMEM, "no memory for a series of %zu samples", l->n);
    l->ms[l->n] = ms;
    l->value[l->n++] = value;
  }
  if (c->rate == PML__HISTORY_MINUTES) *minutes = l->n;
  return 0;
}

static int read_series(struct loading *l, uint32_t number) {
  size_t i, minutes = 0;
  int err = 0;
  l->n = 0;
  PML__ARRAY_SEARCH(i, l->nchunks, l->chunk[i].number < number);
  for (; i < l->nchunks && l->chunk[i].number == number && err == 0; i++) {
    err = read_chunk(l, &l->chunk[i], &minutes);
    l->chunk[i].n = 0; /* if another definition has the number, its series is empty */
  }
  return err;
}

static int take_definition(uint32_t what, const char *at, size_t bytes, void *arg) {
  struct loading *l = arg;
  struct pml__log_history_name d;
  if (what != PML__LOG_HISTORY_NAME || bytes <= sizeof d) return 0;
  memcpy(&d, at, sizeof d);
  at += sizeof d;
  bytes -= sizeof d;
  const char *name = pml__log_text(&at, &bytes);
  if (name == NULL) return 0;
  int err = read_series(l, d.number);
  if (err < 0 || l->n == 0) return err;
  const struct pml_history h = {name, d.real != 0, d.instant != 0, l->log->head.started_ns, l->n, l->ms, l->value};
  return l->visit(&h, l->arg);
}

int pml_history_load(const char *path, pml_history_visit *visit, void *arg) {
  struct pml__log_reader r;
  struct loading l = {.log = &r, .visit = visit, .arg = arg};
  int err = pml__log_read_open(&r, path);
  if (err == 0) err = read_chunks(&l);
  if (err == 0 && l.nchunks > 0) err = pml__log_read_definitions(&r, take_definition, &l);
  for (size_t i = 0; i < l.copies; i++) free(l.copy[i]);
  free(l.copy);
  free(l.chunk);
  free(l.ms);
  free(l.value);
  pml__log_read_close(&r);
  return err;
}
