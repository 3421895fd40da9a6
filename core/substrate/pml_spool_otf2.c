/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/pml_spool_otf2.c - the events of a spool as an OTF2 archive, each thread's balanced and in order. */
#include "base/pml_error.h"
#include "substrate/pml_otf2_write.h"
#include "substrate/pml_spool_read_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX (1u << 20)
#define NAME_MAX_BYTES 256u
#define UNIT_MAX_BYTES 64u

/* One thread; what is open, innermost last. */
struct track {
  struct pml_otf2_location *location;
  uint64_t last_ticks;
  pml_region_t *open;
  size_t depth, capacity;
};

struct writing {
  const struct pml_spool_reader *reader;
  struct pml_otf2 *archive;
  struct track *track; /* [nthreads] by the thread's number */
  size_t nthreads;
  uint32_t nmetrics;
  struct track *now; /* NULL: of a thread that there is no place for */
  uint64_t left_open;
};

/* ---- threads ---- */

static int make_room(struct writing *w, uint32_t thread) {
  if (thread < w->nthreads) return 0;
  size_t n = w->nthreads == 0 ? 64 : w->nthreads;
  while (n <= thread) n *= 2;
  struct track *more = realloc(w->track, n * sizeof *more);
  if (more == NULL) return pml_fail(-ENOMEM, "no memory for %u threads of a trace", thread);
  memset(more + w->nthreads, 0, (n - w->nthreads) * sizeof *more);
  w->track = more;
  w->nthreads = n;
  return 0;
}

static int go_to(struct writing *w, uint64_t thread, int64_t tid) {
  w->now = NULL;
  if (thread >= THREADS_MAX) return 0;
  int err = make_room(w, (uint32_t)thread);
  if (err < 0) return err;
  struct track *t = &w->track[thread];
  if (t->location == NULL) {
    char name[48];
    snprintf(name, sizeof name, "thread %lld", (long long)tid);
    err = pml_otf2_location(w->archive, name, &t->location);
    if (err < 0) return err;
  }
  w->now = t;
  return 0;
}

/* ---- events ---- */

static uint64_t lift(struct track *t, uint64_t ticks) {
  if (ticks >= t->last_ticks) return t->last_ticks = ticks;
  atomic_fetch_add_explicit(&t->location->lifted, 1, memory_order_relaxed);
  return t->last_ticks;
}

static int enter(struct writing *w, uint64_t ticks, pml_region_t region) {
  struct track *t = w->now;
  if (t->depth == t->capacity) {
    size_t capacity = t->capacity == 0 ? 64 : 2 * t->capacity;
    pml_region_t *more = realloc(t->open, capacity * sizeof *more);
    if (more == NULL) return pml_fail(-ENOMEM, "no memory for %zu calls at a time", capacity);
    t->open = more;
    t->capacity = capacity;
  }
  t->open[t->depth++] = region;
  return pml__otf2_write(w->archive, t->location, PML__OTF2_ENTER, lift(t, ticks), region, NULL);
}

static int leave(struct writing *w, uint64_t ticks, pml_region_t region) {
  struct track *t = w->now;
  if (t->depth == 0 || t->open[t->depth - 1] != region) {
    atomic_fetch_add_explicit(&t->location->unmatched, 1, memory_order_relaxed);
    return 0;
  }
  t->depth--;
  return pml__otf2_write(w->archive, t->location, PML__OTF2_LEAVE, lift(t, ticks), region, NULL);
}

static int metric(struct writing *w, uint64_t ticks, const uint64_t *from) {
  uint64_t value[PML_STREAM_METRICS_MAX];
  memcpy(value, from, w->nmetrics * sizeof *value);
  return pml__otf2_write(w->archive, w->now->location, PML__OTF2_METRIC, lift(w->now, ticks), 0, value);
}

static int write_call(struct writing *w, const struct pml__spool_event *e) {
  pml_region_t region = pml__spool_region(w->reader, (uint32_t)e->word);
  if (w->now == NULL || region == 0) return 0;
  return e->word >> 32 == PML__SPOOL_ENTER ? enter(w, e->ticks, region) : leave(w, e->ticks, region);
}

/* Events from @at on, until there are no more in this extent. */
static int write_events(struct writing *w, const struct pml__spool_event *at, const struct pml__spool_event *end) {
  int err = 0;
  while (at < end && err == 0) {
    uint32_t low = (uint32_t)at->word;
    size_t values = 0;
    switch (at->word >> 32) {
    case PML__SPOOL_ENTER:
    case PML__SPOOL_LEAVE:
      err = write_call(w, at);
      break;
    case PML__SPOOL_METRIC:
      values = ((size_t)low + 1) / 2;
      if (low == 0 || low != w->nmetrics || values >= (size_t)(end - at)) return 0;
      if (w->now != NULL) err = metric(w, at->ticks, (const uint64_t *)(at + 1));
      break;
    case PML__SPOOL_THREAD:
      err = go_to(w, low, (int64_t)at->ticks);
      break;
    default:
      return 0;
    }
    at += 1 + values;
  }
  return err;
}

static int write_part(struct writing *w, const struct pml__spool_part *p) {
  int err;
  struct pml__spool_extent *e = pml__spool_read_part(w->reader, p, &err);
  if (e == NULL) return err;
  const struct pml__spool_event *events = (const struct pml__spool_event *)(const void *)e;
  err = go_to(w, e->thread, e->tid);
  if (err == 0) err = write_events(w, events + PML__SPOOL_FIRST_EVENT, events + PML__SPOOL_EXTENT_EVENTS);
  free(e);
  return err;
}

/* Calls that had not returned end with their thread's last event. */
static int close_open(struct writing *w) {
  int err = 0;
  for (size_t i = 0; i < w->nthreads && err == 0; i++) {
    struct track *t = &w->track[i];
    while (t->depth > 0 && err == 0) {
      w->left_open++;
      t->location->closed++;
      err = pml__otf2_write(w->archive, t->location, PML__OTF2_LEAVE, t->last_ticks, t->open[--t->depth], NULL);
    }
  }
  return err;
}

static int write_all(struct writing *w, int (*progress)(uint64_t done, uint64_t all, void *arg), void *arg) {
  const struct pml_spool_reader *r = w->reader;
  int err = 0;
  for (size_t i = 0; i < r->nparts && err == 0; i++) {
    if (r->part[i].kind != PML__SPOOL_EVENTS) continue;
    err = write_part(w, &r->part[i]);
    if (err == 0 && progress != NULL) err = progress(r->part[i].at, r->bytes, arg);
  }
  return err == 0 ? close_open(w) : err;
}

/* ---- the archive ---- */

/* Lines "event<TAB>NAME" of the text, as many as there are metrics. */
static uint32_t names_of_metrics(const char *text, uint32_t n, char (*name)[NAME_MAX_BYTES]) {
  uint32_t found = 0;
  while (found < n && text != NULL && *text != '\0') {
    size_t bytes = strcspn(text, "\n");
    if (strncmp(text, "event\t", 6) == 0 && bytes > 6) {
      size_t keep = bytes - 6 < NAME_MAX_BYTES ? bytes - 6 : NAME_MAX_BYTES - 1;
      memcpy(name[found], text + 6, keep);
      name[found++][keep] = '\0';
    }
    text += bytes + (text[bytes] == '\n');
  }
  return found;
}

/*
 * What the line "unit<TAB>NAME<TAB>SCALE<TAB>MODE<TAB>BINARY<TAB>EXPONENT<TAB>UNIT" says of a plugin's metric, if there
 * is one. @unit: where it is kept.
 */
static void describe_metric(const char *text, struct pml_otf2_metric *m, char unit[UNIT_MAX_BYTES]) {
  char line[NAME_MAX_BYTES + 16];
  int mode, binary, exponent, at = 0;
  (void)snprintf(line, sizeof line, "\nunit\t%.255s\t", m->name);
  const char *found = text != NULL ? strstr(text, line) : NULL;
  if (found == NULL) return;
  found += strlen(line);
  if (sscanf(found, "%*s %d %d %d%n", &mode, &binary, &exponent, &at) != 3 || mode < 0 || mode >= PML_MODES ||
      exponent < -1000 || exponent > 1000 || found[at] != '\t')
    return;
  size_t bytes = strcspn(found + at + 1, "\n");
  if (bytes >= UNIT_MAX_BYTES) bytes = UNIT_MAX_BYTES - 1;
  memcpy(unit, found + at + 1, bytes);
  unit[bytes] = '\0';
  m->unit = unit;
  m->mode = (enum pml_mode)mode;
  m->binary = binary != 0;
  m->exponent = exponent;
  m->is_signed = true;
}

static int open_archive(struct writing *w, const char *dir, const char *process) {
  char name[PML_STREAM_METRICS_MAX][NAME_MAX_BYTES];
  char unit[PML_STREAM_METRICS_MAX][UNIT_MAX_BYTES];
  struct pml_otf2_metric metric_of[PML_STREAM_METRICS_MAX];
  struct pml_spool_story story;
  uint32_t n = w->reader->head.nmetrics;
  pml_spool_read_story(w->reader, &story);
  if (n > PML_STREAM_METRICS_MAX || names_of_metrics(story.text, n, name) != n) n = 0;
  for (uint32_t i = 0; i < n; i++) {
    bool real = (w->reader->head.real[i / 64] >> i % 64 & 1) != 0;
    metric_of[i] = (struct pml_otf2_metric){.name = name[i], .mode = PML_OTF2_ACCUMULATED, .real = real};
    describe_metric(story.text, &metric_of[i], unit[i]);
  }
  w->nmetrics = n;
  int err = pml_otf2_open(&w->archive, dir, metric_of, n, 16);
  if (err == 0) err = pml__otf2_origin(w->archive, process, w->reader->head.ticks, w->reader->head.realtime_ns);
  return err;
}

int pml_spool_read_trace(struct pml_spool_reader *r, const char *dir, const char *process, const char *series,
                         int (*progress)(uint64_t done, uint64_t all, void *arg), void *arg, uint64_t *open) {
  struct writing w = {.reader = r};
  int err = open_archive(&w, dir, process);
  if (err == 0) err = write_all(&w, progress, arg);
  if (err == 0 && series != NULL) err = pml_otf2_series_file(w.archive, series);
  int closed = pml_otf2_close(w.archive);
  for (size_t i = 0; i < w.nthreads; i++) free(w.track[i].open);
  free(w.track);
  *open = w.left_open;
  return err != 0 ? err : closed;
}
