/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/pml_recording_otf2.c - the events of a recording as an OTF2 archive, each thread's balanced and
 * in order. */
#include "base/pml_error.h"
#include "substrate/recording/pml_recording_read_private.h"
#include "substrate/trace/pml_otf2_openmp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIT_MAX_BYTES 64u

/* One thread; what is open, innermost last. */
struct track {
  struct pml_otf2_location *location;
  uint64_t last_ticks;
  pml_region_t *open;
  size_t depth, capacity;
  struct pml__otf2_openmp openmp;
};

/* A list of values of a region's calls. */
struct list {
  pml_region_t region;
  bool results;
  uint32_t n, first; /* of the archive's single metrics */
};

struct writing {
  const struct pml_recording_reader *reader;
  struct pml_otf2 *archive;
  struct list *list; /* [nlists] sorted */
  size_t nlists;
  struct pml_otf2_metric *single; /* [nsingles]; the strings are ours */
  uint32_t nsingles;
  uint32_t nmetrics, nthreads;
  uint64_t left_open;
  uint64_t until; /* ticks of the last event */
  struct pml__otf2_teams *teams;
};

/* ---- threads ---- */

static int add_location(struct writing *w, int64_t tid, struct pml_otf2_location **location) {
  char name[48];
  snprintf(name, sizeof name, "thread %lld", (long long)tid);
  w->nthreads++;
  return pml_otf2_location(w->archive, name, location);
}

static int begin_thread(void *arg, int64_t tid, void **track) {
  struct track *t = calloc(1, sizeof *t);
  if (t == NULL) return pml_fail(-ENOMEM, "no memory for a thread of a trace");
  *track = t;
  return add_location(arg, tid, &t->location);
}

/* A process without a call has its first thread: readers take an archive without a location for broken. */
static int add_first_thread(struct writing *w) {
  struct pml_otf2_location *silent;
  return w->nthreads == 0 ? add_location(w, w->reader->log.head.pid, &silent) : 0;
}

/* Calls that had not returned end with their thread's last event. */
static int end_thread(void *arg, void *track) {
  struct writing *w = arg;
  struct track *t = track;
  int err = 0;
  if (t->last_ticks > w->until) w->until = t->last_ticks;
  while (t->depth > 0 && err == 0) {
    w->left_open++;
    t->location->closed++;
    err = pml__otf2_write(w->archive, t->location, PML__LOG_LEAVE, t->last_ticks, t->open[--t->depth], NULL);
  }
  return err;
}

static void free_thread(void *track) {
  struct track *t = track;
  free(t->open);
  free(t);
}

/* ---- events ---- */

static uint64_t lift(struct track *t, uint64_t ticks) {
  if (ticks >= t->last_ticks) return t->last_ticks = ticks;
  pml__own_add(&t->location->lifted, 1);
  return t->last_ticks;
}

static int enter(struct writing *w, struct track *t, uint64_t ticks, pml_region_t region) {
  if (t->depth == t->capacity) {
    size_t capacity = t->capacity == 0 ? 64 : 2 * t->capacity;
    pml_region_t *more = realloc(t->open, capacity * sizeof *more);
    if (more == NULL) return pml_fail(-ENOMEM, "no memory for %zu calls at a time", capacity);
    t->open = more;
    t->capacity = capacity;
  }
  t->open[t->depth++] = region;
  return pml__otf2_write(w->archive, t->location, PML__LOG_ENTER, lift(t, ticks), region, NULL);
}

static int leave(struct writing *w, struct track *t, uint64_t ticks, pml_region_t region) {
  if (t->depth == 0 || t->open[t->depth - 1] != region) {
    pml__own_add(&t->location->unmatched, 1);
    return 0;
  }
  t->depth--;
  return pml__otf2_write(w->archive, t->location, PML__LOG_LEAVE, lift(t, ticks), region, NULL);
}

static int metric(struct writing *w, struct track *t, uint64_t ticks, const uint64_t *from) {
  uint64_t value[PML_STREAM_METRICS_MAX];
  memcpy(value, from, w->nmetrics * sizeof *value);
  return pml__otf2_write(w->archive, t->location, PML__LOG_METRIC, lift(t, ticks), 0, value);
}

static int by_region(const void *a, const void *b) {
  const struct list *x = a, *y = b;
  if (x->region != y->region) return x->region < y->region ? -1 : 1;
  return x->results - y->results;
}

static int values_of_call(const struct writing *w, struct track *t, const struct pml__recording_told *e) {
  const struct list key = {.region = e->region, .results = e->results};
  const struct list *l = w->nlists > 0 ? bsearch(&key, w->list, w->nlists, sizeof key, by_region) : NULL;
  if (l == NULL || l->n != e->nvalues || t->depth == 0 || t->open[t->depth - 1] != e->region) return 0;
  uint64_t ticks = lift(t, e->ticks);
  int err = 0;
  for (uint32_t i = 0; i < l->n && err == 0; i++)
    err = pml__otf2_write_single(w->archive, t->location, ticks, l->first + i, e->values[i]);
  return err;
}

static int openmp(struct writing *w, struct track *t, const struct pml__recording_told *e) {
  return pml__otf2_openmp_event(w->archive, t->location, w->teams, &t->openmp, lift(t, e->ticks), e);
}

static int write_event(void *arg, void *track, const struct pml__recording_told *e) {
  struct writing *w = arg;
  switch (e->kind) {
  case PML_STREAM_ENTER:
    return enter(w, track, e->ticks, e->region);
  case PML_STREAM_LEAVE:
    w->left_open += e->unreturned;
    return leave(w, track, e->ticks, e->region);
  case PML_STREAM_OPENMP:
    return openmp(w, track, e);
  default:
    return e->region != 0 ? values_of_call(w, track, e) : metric(w, track, e->ticks, e->values);
  }
}

/* ---- the archive ---- */

/* The line of the note "units" that begins with @name and a tab; NULL: there is none. */
static const char *line_of(const char *units, const char *name) {
  size_t n = strlen(name);
  while (units != NULL && !(strncmp(units, name, n) == 0 && units[n] == '\t')) {
    units = strchr(units, '\n');
    units += units != NULL;
  }
  return units;
}

/*
 * What the line "NAME<TAB>SCALE<TAB>MODE<TAB>BINARY<TAB>EXPONENT<TAB>TYPE<TAB>UNIT" says of a plugin's metric, if there
 * is one. @unit: where it is kept.
 */
static void describe_metric(const char *units, struct pml_otf2_metric *m, char unit[UNIT_MAX_BYTES]) {
  int mode, binary, exponent, at = 0;
  char type[8];
  const char *found = line_of(units, m->name);
  if (found == NULL) return;
  found += strlen(m->name) + 1;
  if (sscanf(found, "%*s %d %d %d %7s%n", &mode, &binary, &exponent, type, &at) != 4 || mode < 0 || mode >= PML_MODES ||
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
  m->is_signed = strcmp(type, "uint64") != 0;
}

/* "FUNCTION:VALUE", as recorders and metrics of events are called. */
static bool describe_value(struct pml_otf2_metric *m, const struct pml__recording_named_values *v, uint32_t i) {
  struct pml_region_info info = {.name = "?", .file = "?"};
  char *name = NULL, *description = NULL;
  (void)pml_region_describe(v->region, &info);
  if (asprintf(&name, "%s:%s", info.name, v->name[i]) < 0) name = NULL;
  if (asprintf(&description, "%s of %s in %s", v->results ? "result" : "argument", info.name, info.file) < 0)
    description = NULL;
  *m = (struct pml_otf2_metric){.name = name,
                                .description = description,
                                .mode = PML_OTF2_ABSOLUTE,
                                .real = (v->real >> i & 1) != 0,
                                .is_signed = true};
  return name != NULL && description != NULL;
}

static int add_list(const struct pml__recording_named_values *v, void *arg) {
  struct writing *w = arg;
  struct list *list = realloc(w->list, (w->nlists + 1) * sizeof *list);
  if (list != NULL) w->list = list;
  struct pml_otf2_metric *single = realloc(w->single, (w->nsingles + v->n) * sizeof *single);
  if (single != NULL) w->single = single;
  bool good = list != NULL && single != NULL;
  if (good) list[w->nlists++] = (struct list){v->region, v->results, v->n, w->nsingles};
  for (uint32_t i = 0; i < v->n && good; i++) good = describe_value(&single[w->nsingles++], v, i);
  return good ? 0 : pml_fail(-ENOMEM, "no memory for the values of a trace");
}

static int add_lists(struct writing *w) {
  int err = w->reader->head.traced != 0 ? pml__recording_name_values(w->reader, add_list, w) : 0;
  if (w->nlists > 0) qsort(w->list, w->nlists, sizeof *w->list, by_region);
  uint32_t first;
  return err == 0 ? pml__otf2_add_singles(w->archive, w->single, w->nsingles, &first) : err;
}

static void free_lists(struct writing *w) {
  for (uint32_t i = 0; i < w->nsingles; i++) {
    free((char *)(uintptr_t)w->single[i].name);
    free((char *)(uintptr_t)w->single[i].description);
  }
  free(w->single);
  free(w->list);
}

static int open_archive(struct writing *w, const char *dir, const char *process) {
  char name[PML_STREAM_METRICS_MAX][PML__RECORDING_METRIC_BYTES];
  char unit[PML_STREAM_METRICS_MAX][UNIT_MAX_BYTES];
  struct pml_otf2_metric metric_of[PML_STREAM_METRICS_MAX];
  struct pml_recording_story story;
  uint32_t n = pml__recording_metrics(w->reader, name);
  pml_recording_read_story(w->reader, &story);
  for (uint32_t i = 0; i < n; i++) {
    bool real = (w->reader->head.real[i / 64] >> i % 64 & 1) != 0;
    metric_of[i] =
        (struct pml_otf2_metric){.name = name[i], .mode = PML_OTF2_ACCUMULATED, .real = real, .is_signed = true};
    describe_metric(pml_recording_read_note(w->reader, "units"), &metric_of[i], unit[i]);
  }
  w->nmetrics = n;
  int err = pml_otf2_open(&w->archive, dir, metric_of, n, 16);
  if (err == 0) err = add_lists(w);
  if (err == 0) err = pml__otf2_teams_open(&w->teams, w->reader, n);
  if (err == 0) w->archive->teams = w->teams;
  if (err == 0)
    err = pml__otf2_origin(w->archive, process, w->reader->log.head.started_ticks, w->reader->log.head.started_ns,
                           story.counted);
  return err;
}

int pml_recording_read_beside(struct pml_recording_reader *r, struct pml_plugin *const *plugin, size_t n) {
  if (n > PML_RECORDING_BESIDE_MAX)
    return pml_fail(-EINVAL, "a trace has at most %d plugins, not %zu", PML_RECORDING_BESIDE_MAX, n);
  for (size_t i = 0; i < n; i++) r->beside[i] = plugin[i];
  r->nbeside = n;
  return 0;
}

/* Until the last event: plugins went on when this process had ended. */
static int write_beside(const struct writing *w) {
  const struct pml_recording_reader *r = w->reader;
  uint64_t from = r->log.head.started_ticks, until = w->until > from ? w->until : from;
  int err = 0;
  size_t written;
  for (size_t i = 0; i < r->nbeside && err == 0; i++)
    err = pml__otf2_plugin(w->archive, r->beside[i], from, until, &written);
  return err;
}

int pml_recording_read_trace(struct pml_recording_reader *r, const char *dir, const char *process,
                             int (*progress)(uint64_t done, uint64_t all, void *arg), void *arg, uint64_t *open) {
  struct writing w = {.reader = r};
  int err = open_archive(&w, dir, process);
  const struct pml__recording_listener l = {begin_thread, write_event, end_thread, free_thread,
                                            progress,     arg,         w.nmetrics, &w};
  if (err == 0) err = pml__recording_listen(r, &l);
  if (err == 0) err = add_first_thread(&w);
  if (err == 0) err = write_beside(&w);
  if (err == 0) err = pml__otf2_series_log(w.archive, &r->log);
  int closed = pml_otf2_close(w.archive);
  free_lists(&w);
  pml__otf2_teams_free(w.teams);
  *open = w.left_open;
  return err != 0 ? err : closed;
}
