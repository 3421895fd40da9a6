/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/write/pml_otf2_series.c - metrics of a trace, and series on separate locations. */
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "read/log/pml_plugin_load_log.h"
#include "read/otf2/write/pml_otf2_write.h"
#include "source/plugin/pml_plugin_log.h"

#include <errno.h>
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAME_RATE 1e-4 /* limit for one clock: two processes measure its rate far more precisely */

/* ---- metrics ---- */

/* Returns false without memory. */
static bool copy_metric(struct pml_otf2_metric *to, const struct pml_otf2_metric *from) {
  *to = *from;
  to->name = strdup(from->name);
  to->description = strdup(from->description != NULL ? from->description : "");
  to->unit = strdup(from->unit != NULL ? from->unit : "");
  return to->name != NULL && to->description != NULL && to->unit != NULL;
}

static void free_metric(struct pml_otf2_metric *m) {
  free((char *)(uintptr_t)m->name);
  free((char *)(uintptr_t)m->description);
  free((char *)(uintptr_t)m->unit);
}

static void set_free(struct pml__otf2_set *set) {
  for (size_t i = 0; set->metric != NULL && i < set->n; i++) free_metric(&set->metric[i]);
  free(set->metric);
}

void pml__otf2_sets_free(struct pml_otf2 *a) {
  set_free(&a->own);
  for (struct pml__otf2_set *s = a->own.next, *next; s != NULL; s = next) {
    next = s->next;
    set_free(s);
    free(s);
  }
}

void pml__otf2_singles_free(struct pml_otf2 *a) {
  for (uint32_t i = 0; i < a->nsingles; i++) free_metric(&a->single[i].metric);
  free(a->single);
}

void pml__otf2_series_free(struct pml__otf2_series *s) {
  if (s == NULL) return;
  free_metric(&s->metric);
  free(s);
}

/* OTF2's modes, in the order of pmlua's. */
static const OTF2_MetricMode otf2_mode[PML_MODES] = {OTF2_METRIC_ACCUMULATED_START, OTF2_METRIC_ACCUMULATED_POINT,
                                                     OTF2_METRIC_ACCUMULATED_LAST,  OTF2_METRIC_ACCUMULATED_NEXT,
                                                     OTF2_METRIC_ABSOLUTE_POINT,    OTF2_METRIC_ABSOLUTE_LAST,
                                                     OTF2_METRIC_ABSOLUTE_NEXT,     OTF2_METRIC_RELATIVE_POINT,
                                                     OTF2_METRIC_RELATIVE_LAST,     OTF2_METRIC_RELATIVE_NEXT};

/* A compiler count is meaningful only with its stage, which is known once the program has loaded its modules. */
static OTF2_StringRef describe(struct pml__otf2_defs *d, const struct pml_otf2_metric *m) {
  const char *label = pml_count_is_event(m->name) && !d->a->of_logs ? pml_count_at_label(d->a->counted) : "";
  const char *own = m->description;
  char text[PML__OTF2_TEXT_BYTES];
  if (label[0] == '\0') return pml__otf2_string(d, own);
  (void)snprintf(text, sizeof text, "%s%s%.*s", label, own[0] != '\0' ? "; " : "",
                 (int)(sizeof text - strlen(label) - sizeof "; "), own);
  return pml__otf2_string(d, text);
}

static bool same_metric(const struct pml_otf2_metric *a, const struct pml_otf2_metric *b) {
  return strcmp(a->name, b->name) == 0 && strcmp(a->unit, b->unit) == 0 &&
         strcmp(a->description, b->description) == 0 && a->mode == b->mode && a->exponent == b->exponent &&
         a->binary == b->binary && a->real == b->real && a->is_signed == b->is_signed;
}

/* Note @m as the next member; returns false without memory. */
static bool add_member(struct pml__otf2_defs *d, const struct pml_otf2_metric *m) {
  const struct pml_otf2_metric **more = realloc(d->member, (d->nmembers + 1) * sizeof *more);
  if (more == NULL) {
    if (d->err == 0) d->err = pml_fail(-ENOMEM, "no memory to define the metrics of a trace");
    return false;
  }
  d->member = more;
  d->member[d->nmembers++] = m;
  return true;
}

/* The member of this metric, defined unless an equal one exists. */
static OTF2_MetricMemberRef define_member(struct pml__otf2_defs *d, const struct pml_otf2_metric *m) {
  for (uint32_t ref = 0; ref < d->nmembers; ref++)
    if (same_metric(d->member[ref], m)) return ref;
  OTF2_MetricMemberRef ref = d->nmembers;
  if (!add_member(d, m)) return OTF2_UNDEFINED_METRIC_MEMBER;
  OTF2_StringRef name = pml__otf2_string(d, m->name);
  OTF2_StringRef description = describe(d, m);
  OTF2_StringRef unit = pml__otf2_string(d, m->unit);
  pml__otf2_defined(d, OTF2_GlobalDefWriter_WriteMetricMember(
                           d->out, ref, name, description, OTF2_METRIC_TYPE_OTHER, otf2_mode[m->mode],
                           pml__otf2_type(m), m->binary ? OTF2_BASE_BINARY : OTF2_BASE_DECIMAL, m->exponent, unit));
  return ref;
}

/* Each series has a class and its instance, numbered after the archive's other classes. */
static void define_series(struct pml__otf2_defs *d, const struct pml_otf2_location *loc) {
  const struct pml__otf2_series *s = loc->series;
  OTF2_MetricMemberRef member = define_member(d, &s->metric);
  pml__otf2_defined(d, OTF2_GlobalDefWriter_WriteMetricClass(d->out, s->class, 1, &member, OTF2_METRIC_ASYNCHRONOUS,
                                                             OTF2_RECORDER_KIND_ABSTRACT));
  pml__otf2_defined(d, OTF2_GlobalDefWriter_WriteMetricInstance(d->out, s->ref, s->class, loc->ref,
                                                                OTF2_SCOPE_LOCATION_GROUP, loc->process->ref));
}

static void define_class(struct pml__otf2_defs *d, uint32_t ref, uint8_t n, const OTF2_MetricMemberRef *member) {
  pml__otf2_defined(d, OTF2_GlobalDefWriter_WriteMetricClass(d->out, ref, n, member, OTF2_METRIC_ASYNCHRONOUS,
                                                             OTF2_RECORDER_KIND_CPU));
}

static void define_set(struct pml__otf2_defs *d, const struct pml__otf2_set *set) {
  OTF2_MetricMemberRef together[PML__OTF2_METRICS_MAX], member[PML__OTF2_METRICS_MAX];
  uint8_t n = 0;
  for (size_t i = 0; i < set->n; i++) {
    member[i] = define_member(d, &set->metric[i]);
    if (!pml_mode_is_level(set->metric[i].mode)) together[n++] = member[i];
  }
  if (n > 0) define_class(d, set->class, n, together);
  for (size_t i = 0; i < set->n; i++)
    if (pml_mode_is_level(set->metric[i].mode)) define_class(d, pml__otf2_class(set, i), 1, &member[i]);
}

void pml__otf2_define_metrics(struct pml__otf2_defs *d) {
  const struct pml_otf2 *a = d->a;
  const struct pml__otf2_set *set = &a->own;
  do define_set(d, set);
  while ((set = set->next) != NULL);
  for (uint32_t i = 0; i < a->nsingles; i++) {
    OTF2_MetricMemberRef member = define_member(d, &a->single[i].metric);
    define_class(d, a->single[i].class, 1, &member);
  }
  for (const struct pml_otf2_location *loc = a->first; loc != NULL; loc = loc->next)
    if (loc->series != NULL) define_series(d, loc);
}

/* ---- sets ---- */

int pml__otf2_fill_set(struct pml_otf2 *a, struct pml__otf2_set *set, const struct pml_otf2_metric *metrics, size_t n) {
  set->metric = calloc(n + 1, sizeof *set->metric);
  bool good = set->metric != NULL;
  for (size_t i = 0; good && i < n; i++) good = copy_metric(&set->metric[set->n++], &metrics[i]);
  if (!good) return pml_fail(-ENOMEM, "no memory for %zu metrics of a trace", n);
  set->class = a->nclasses;
  a->nclasses = pml__otf2_class(set, n);
  return 0;
}

/* Compares with the values that a copy would have. */
static bool is_set(const struct pml__otf2_set *set, const struct pml_otf2_metric *metrics, size_t n) {
  bool same = set->n == n;
  for (size_t i = 0; same && i < n; i++) {
    struct pml_otf2_metric m = metrics[i];
    if (m.description == NULL) m.description = "";
    if (m.unit == NULL) m.unit = "";
    same = same_metric(&set->metric[i], &m);
  }
  return same;
}

int pml__otf2_add_set(struct pml_otf2 *a, const struct pml_otf2_metric *metrics, size_t n,
                      const struct pml__otf2_set **out) {
  struct pml__otf2_set *last = &a->own;
  while (!is_set(last, metrics, n) && last->next != NULL) last = last->next;
  *out = last;
  if (is_set(last, metrics, n)) return 0;
  last->next = calloc(1, sizeof *last);
  if (last->next == NULL) return pml_fail(-ENOMEM, "no memory for %zu metrics of a trace", n);
  *out = last->next;
  return pml__otf2_fill_set(a, last->next, metrics, n);
}

/* ---- single values ---- */

int pml__otf2_add_singles(struct pml_otf2 *a, const struct pml_otf2_metric *metrics, size_t n, uint32_t *first) {
  pml__mutex_take(&a->lock);
  struct pml__otf2_single *more = realloc(a->single, (a->nsingles + n + 1) * sizeof *more);
  bool good = more != NULL;
  if (good) a->single = more;
  *first = a->nsingles;
  for (size_t i = 0; good && i < n; i++) {
    struct pml__otf2_single *to = &a->single[a->nsingles++];
    to->class = a->nclasses++;
    good = copy_metric(&to->metric, &metrics[i]);
  }
  pml__mutex_leave(&a->lock);
  return good ? 0 : pml_fail(-ENOMEM, "no memory for %zu metrics of a trace", n);
}

int pml__otf2_add_single(struct pml_otf2 *a, const struct pml_otf2_metric *metric, uint32_t *single) {
  struct pml_otf2_metric wanted = *metric;
  if (wanted.unit == NULL) wanted.unit = "";
  for (*single = 0; *single < a->nsingles; (*single)++)
    if (same_metric(&a->single[*single].metric, &wanted)) return 0;
  return pml__otf2_add_singles(a, metric, 1, single);
}

int pml__otf2_write_single(struct pml_otf2 *a, struct pml_otf2_location *loc, uint64_t ticks, uint32_t i,
                           uint64_t bits) {
  if (a->error != 0) return pml_fail(a->error, "%s", a->error_text);
  return pml__otf2_value(a, loc, ticks, &a->single[i].metric, a->single[i].class, bits);
}

/* ---- series ---- */

static struct pml_otf2_location *new_location(const struct pml_otf2 *a, const struct pml_otf2_metric *metric,
                                              const char *place, struct pml__otf2_process *process) {
  struct pml_otf2_location *loc = pml__otf2_location_new();
  if (loc == NULL) return NULL;
  loc->ref = a->nlocations;
  loc->process = process;
  loc->set = &a->own;
  loc->name = strdup(place);
  loc->series = calloc(1, sizeof *loc->series);
  if (loc->name == NULL || loc->series == NULL || !copy_metric(&loc->series->metric, metric)) {
    pml__otf2_series_free(loc->series);
    free(loc->name);
    free(loc);
    return NULL;
  }
  loc->series->class = a->nclasses;
  loc->series->ref = loc->series->class + 1;
  return loc;
}

static int write_series(struct pml_otf2 *a, const struct pml_otf2_metric *metric, const char *place,
                        struct pml__otf2_process *process, const struct pml_plugin_pair *pair, size_t n) {
  if (a->error != 0) return pml_fail(a->error, "%s", a->error_text);
  struct pml_otf2_location *loc = new_location(a, metric, place, process);
  if (loc == NULL) return pml_fail(-ENOMEM, "no memory for a series of '%s' in the trace", metric->name);
  int err = pml__otf2_create_location(a, loc);
  if (err < 0) {
    pml__otf2_series_free(loc->series);
    free(loc->name);
    free(loc);
    return err;
  }
  a->nclasses += 2;
  pml__otf2_add_location(a, loc);
  for (size_t i = 0; err == 0 && i < n; i++)
    err = pml__otf2_value(a, loc, pair[i].ticks, &loc->series->metric, loc->series->ref, pair[i].value);
  int closed = pml__otf2_close_writer(a, loc);
  return err != 0 ? err : closed;
}

static int add_series(struct pml_otf2 *a, const struct pml_otf2_metric *metric, const char *place,
                      struct pml__otf2_process *process, const struct pml_plugin_pair *pair, size_t n) {
  int err = pml__otf2_here(a);
  if (err == 0) err = pml__otf2_check_metrics(metric, 1);
  if (err < 0) return err;
  if (place == NULL) return pml_fail(-EINVAL, "a series of a trace needs a place");
  for (size_t i = 1; i < n; i++)
    if (pair[i].ticks < pair[i - 1].ticks)
      return pml_fail(-EINVAL, "the times of series '%s' decrease at value %zu", metric->name, i + 1);
  pml__mutex_take(&a->lock);
  err = write_series(a, metric, place, process, pair, n);
  pml__mutex_leave(&a->lock);
  return err;
}

int pml_otf2_series(struct pml_otf2 *a, const struct pml_otf2_metric *metric, const char *place,
                    const struct pml_plugin_pair *pair, size_t n) {
  return add_series(a, metric, place, a->processes, pair, n);
}

/* ---- series of plugins ---- */

struct writing {
  struct pml_otf2 *a;
  const char *plugin;
  uint64_t since; /* ticks */
  size_t written;
  struct pml__otf2_process *process;
  uint64_t (*ns)(uint64_t ticks, const void *arg); /* NULL: times are ticks */
  const void *arg;
};

static int write_pairs(struct writing *w, const struct pml_plugin_series *s, const struct pml_plugin_pair *pair,
                       size_t n) {
  char name[512], place[600];
  const struct pml_plugin_metric *m = s->metric;
  if (n == 0) return 0;
  (void)snprintf(name, sizeof name, "plugin::%s::%s", w->plugin, m->name);
  if (s->thread != 0)
    (void)snprintf(place, sizeof place, "%s of thread %d", name, s->tid);
  else
    (void)snprintf(place, sizeof place, "%s", name);
  struct pml_otf2_metric metric = {.name = name, .description = m->description, .unit = m->unit, .mode = m->mode};
  metric.exponent = m->exponent;
  metric.binary = m->binary;
  metric.real = m->value == PML_PLUGIN_DOUBLE;
  metric.is_signed = m->value == PML_PLUGIN_INT64;
  int err = add_series(w->a, &metric, place, w->process, pair, n);
  if (err == 0) w->written += n;
  return err;
}

static int write_since(const struct pml_plugin_series *s, void *arg) {
  struct writing *w = arg;
  size_t from = 0;
  while (from < s->n && s->pair[from].ticks < w->since) from++;
  return write_pairs(w, s, s->pair + from, s->n - from);
}

/* Write a series with times converted to ns. */
static int write_converted(struct writing *w, const struct pml_plugin_series *s) {
  struct pml_plugin_pair *pair = malloc((s->n + 1) * sizeof *pair);
  size_t n = 0;
  if (pair == NULL) return pml_fail(-ENOMEM, "no memory for %zu values of a series", s->n);
  for (size_t i = 0; i < s->n; i++) {
    pair[n] = (struct pml_plugin_pair){.ticks = w->ns(s->pair[i].ticks, w->arg), .value = s->pair[i].value};
    n += pair[n].ticks != PML__OTF2_NEVER;
  }
  int err = write_pairs(w, s, pair, n);
  free(pair);
  return err;
}

static bool is_our_clock(const struct pml_plugin_log_clock *clock) {
  double ratio = clock->tick_ns * pml__clock.ticks_per_second * 1e-9;
  return strcmp(clock->name, pml__clock_name()) == 0 && ratio > 1 - SAME_RATE && ratio < 1 + SAME_RATE;
}

static int write_loaded(const char *plugin, const struct pml_plugin_series *s, const struct pml_plugin_log_clock *clock,
                        void *arg) {
  struct writing *w = arg;
  w->plugin = plugin;
  if (w->ns != NULL) return write_converted(w, s);
  if (!is_our_clock(clock))
    return pml_fail(PML_EFORMAT, "series of %.200s were recorded with another clock than this trace has", plugin);
  return write_since(s, w);
}

int pml_otf2_series_file(struct pml_otf2 *a, const char *path) {
  return pml__otf2_series_of(a, path, a->processes, NULL, NULL);
}

int pml__otf2_series_of(struct pml_otf2 *a, const char *path, struct pml__otf2_process *process,
                        uint64_t (*ns)(uint64_t ticks, const void *arg), const void *arg) {
  struct writing w = {.a = a, .process = process, .ns = ns, .arg = arg};
  return pml_plugin_load_series(path, write_loaded, &w);
}

int pml_otf2_plugin(struct pml_otf2 *a, struct pml_plugin *p, uint64_t since_ticks, size_t *written) {
  struct pml_plugin_info info;
  pml_plugin_describe(p, &info);
  struct writing w = {.a = a, .plugin = info.name, .since = since_ticks, .process = a->processes};
  int err = pml_plugin_series(p, write_since, &w);
  *written = w.written;
  return err;
}
