/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/pml_otf2_series.c - metrics of a trace: what they are, and series of them on locations of their
 * own.
 */
#include "base/pml_error.h"
#include "source/plugin/pml_plugin_log.h"
#include "substrate/trace/pml_otf2_write.h"

#include <errno.h>
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- metrics ---- */

bool pml__otf2_metric_copy(struct pml_otf2_metric *to, const struct pml_otf2_metric *from) {
  *to = *from;
  to->name = strdup(from->name);
  to->description = strdup(from->description != NULL ? from->description : "");
  to->unit = strdup(from->unit != NULL ? from->unit : "");
  return to->name != NULL && to->description != NULL && to->unit != NULL;
}

void pml__otf2_metric_free(struct pml_otf2_metric *m) {
  free((char *)(uintptr_t)m->name);
  free((char *)(uintptr_t)m->description);
  free((char *)(uintptr_t)m->unit);
}

void pml__otf2_singles_free(struct pml_otf2 *a) {
  for (uint32_t i = 0; i < a->nsingles; i++) pml__otf2_metric_free(&a->single[i].metric);
  free(a->single);
}

void pml__otf2_series_free(struct pml__otf2_series *s) {
  if (s == NULL) return;
  pml__otf2_metric_free(&s->metric);
  free(s);
}

/* What OTF2 calls the modes, in the order of ours. */
static const OTF2_MetricMode otf2_mode[PML_MODES] = {OTF2_METRIC_ACCUMULATED_START, OTF2_METRIC_ACCUMULATED_POINT,
                                                     OTF2_METRIC_ACCUMULATED_LAST,  OTF2_METRIC_ACCUMULATED_NEXT,
                                                     OTF2_METRIC_ABSOLUTE_POINT,    OTF2_METRIC_ABSOLUTE_LAST,
                                                     OTF2_METRIC_ABSOLUTE_NEXT,     OTF2_METRIC_RELATIVE_POINT,
                                                     OTF2_METRIC_RELATIVE_LAST,     OTF2_METRIC_RELATIVE_NEXT};

uint8_t pml__otf2_type(const struct pml_otf2_metric *m) {
  return m->real ? OTF2_TYPE_DOUBLE : m->is_signed ? OTF2_TYPE_INT64 : OTF2_TYPE_UINT64;
}

/* A compiler count means little without its stage, which is known when the program has loaded what it loads. */
static OTF2_StringRef describe(struct pml__otf2_defs *d, const struct pml_otf2_metric *m) {
  const char *label = pml_count_is_event(m->name) ? pml_count_at_label(d->a->counted) : "", *own = m->description;
  char text[PML__OTF2_TEXT_BYTES];
  if (label[0] == '\0') return pml__otf2_string(d, own);
  (void)snprintf(text, sizeof text, "%s%s%.*s", label, own[0] != '\0' ? "; " : "",
                 (int)(sizeof text - strlen(label) - sizeof "; "), own);
  return pml__otf2_string(d, text);
}

static void define_member(struct pml__otf2_defs *d, uint32_t ref, const struct pml_otf2_metric *m) {
  OTF2_StringRef name = pml__otf2_string(d, m->name);
  OTF2_StringRef description = describe(d, m);
  OTF2_StringRef unit = pml__otf2_string(d, m->unit);
  pml__otf2_defined(d, OTF2_GlobalDefWriter_WriteMetricMember(
                           d->out, ref, name, description, OTF2_METRIC_TYPE_OTHER, otf2_mode[m->mode],
                           pml__otf2_type(m), m->binary ? OTF2_BASE_BINARY : OTF2_BASE_DECIMAL, m->exponent, unit));
}

/* Behind the archive's own classes, if it has some, each series has a class and its instance. */
static void define_series(struct pml__otf2_defs *d, const struct pml_otf2_location *loc, uint32_t member) {
  const struct pml__otf2_series *s = loc->series;
  define_member(d, member, &s->metric);
  pml__otf2_defined(d, OTF2_GlobalDefWriter_WriteMetricClass(d->out, s->class, 1, &member, OTF2_METRIC_ASYNCHRONOUS,
                                                             OTF2_RECORDER_KIND_ABSTRACT));
  pml__otf2_defined(
      d, OTF2_GlobalDefWriter_WriteMetricInstance(d->out, s->ref, s->class, loc->ref, OTF2_SCOPE_LOCATION_GROUP, 0));
}

static void define_class(struct pml__otf2_defs *d, uint32_t ref, uint8_t n, const OTF2_MetricMemberRef *member) {
  pml__otf2_defined(d, OTF2_GlobalDefWriter_WriteMetricClass(d->out, ref, n, member, OTF2_METRIC_ASYNCHRONOUS,
                                                             OTF2_RECORDER_KIND_CPU));
}

/* 0 is that of what is not absolute, if there is such; the absolute ones follow, each in its own, in their order. */
uint32_t pml__otf2_class(const struct pml_otf2 *a, size_t metric) {
  uint32_t before = 0;
  bool any = false;
  for (size_t i = 0; i < a->nmetrics; i++) {
    bool level = pml_mode_is_level(a->metric[i].mode);
    any |= !level;
    before += level && i < metric;
  }
  return before + any;
}

void pml__otf2_define_metrics(struct pml__otf2_defs *d) {
  const struct pml_otf2 *a = d->a;
  OTF2_MetricMemberRef member[PML__OTF2_METRICS_MAX];
  uint32_t n = (uint32_t)a->nmetrics;
  uint8_t together = 0;
  for (uint32_t i = 0; i < n; i++) {
    define_member(d, i, &a->metric[i]);
    if (!pml_mode_is_level(a->metric[i].mode)) member[together++] = i;
  }
  if (together > 0) define_class(d, 0, together, member);
  for (uint32_t i = 0; i < n; i++)
    if (pml_mode_is_level(a->metric[i].mode)) define_class(d, pml__otf2_class(a, i), 1, &i);
  for (uint32_t i = 0; i < a->nsingles; i++) {
    define_member(d, n, &a->single[i].metric);
    define_class(d, a->single[i].class, 1, &n);
    n++;
  }
  for (const struct pml_otf2_location *loc = a->first; loc != NULL; loc = loc->next)
    if (loc->series != NULL) define_series(d, loc, n++);
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
    to->class = pml__otf2_class(a, a->nmetrics) + a->nclasses++;
    good = pml__otf2_metric_copy(&to->metric, &metrics[i]);
  }
  pml__mutex_leave(&a->lock);
  return good ? 0 : pml_fail(-ENOMEM, "no memory for %zu metrics of a trace", n);
}

int pml__otf2_write_single(struct pml_otf2 *a, struct pml_otf2_location *loc, uint64_t ticks, uint32_t i,
                           uint64_t bits) {
  pml__mutex_take(&a->lock);
  int err = a->error != 0 ? pml_fail(a->error, "%s", a->error_text)
                          : pml__otf2_value(a, loc, ticks, &a->single[i].metric, a->single[i].class, bits);
  pml__mutex_leave(&a->lock);
  return err;
}

/* ---- series ---- */

static struct pml_otf2_location *new_location(const struct pml_otf2 *a, const struct pml_otf2_metric *metric,
                                              const char *place) {
  struct pml_otf2_location *loc = aligned_alloc(PML__RING_LINE, sizeof *loc);
  if (loc == NULL) return NULL;
  memset(loc, 0, sizeof *loc);
  loc->ref = a->nlocations;
  loc->name = strdup(place);
  loc->series = calloc(1, sizeof *loc->series);
  if (loc->name == NULL || loc->series == NULL || !pml__otf2_metric_copy(&loc->series->metric, metric)) {
    pml__otf2_series_free(loc->series);
    free(loc->name);
    free(loc);
    return NULL;
  }
  loc->series->class = pml__otf2_class(a, a->nmetrics) + a->nclasses;
  loc->series->ref = loc->series->class + 1;
  return loc;
}

static int write_series(struct pml_otf2 *a, const struct pml_otf2_metric *metric, const char *place,
                        const struct pml_plugin_pair *pair, size_t n) {
  if (a->error != 0) return pml_fail(a->error, "%s", a->error_text);
  struct pml_otf2_location *loc = new_location(a, metric, place);
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
  return err;
}

int pml_otf2_series(struct pml_otf2 *a, const struct pml_otf2_metric *metric, const char *place,
                    const struct pml_plugin_pair *pair, size_t n) {
  int err = pml__otf2_here(a);
  if (err == 0) err = pml__otf2_check_metrics(metric, 1);
  if (err < 0) return err;
  if (place == NULL) return pml_fail(-EINVAL, "a series of a trace needs a place");
  for (size_t i = 1; i < n; i++)
    if (pair[i].ticks < pair[i - 1].ticks)
      return pml_fail(-EINVAL, "the times of series '%s' decrease at value %zu", metric->name, i + 1);
  pml__mutex_take(&a->lock);
  err = write_series(a, metric, place, pair, n);
  pml__mutex_leave(&a->lock);
  return err;
}

/* ---- of plugins ---- */

struct writing {
  struct pml_otf2 *a;
  const char *plugin;
  uint64_t since, until;
  size_t written;
};

static int write_one(const struct pml_plugin_series *s, void *arg) {
  struct writing *w = arg;
  char name[512], place[600];
  const struct pml_plugin_metric *m = s->metric;
  size_t from = 0, to = s->n;
  while (from < to && s->pair[from].ticks < w->since) from++;
  while (to > from && s->pair[to - 1].ticks > w->until) to--;
  if (from == to) return 0;
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
  int err = pml_otf2_series(w->a, &metric, place, s->pair + from, to - from);
  if (err == 0) w->written += to - from;
  return err;
}

static int write_loaded(const char *plugin, const struct pml_plugin_series *s, void *a) {
  struct writing w = {.a = a, .plugin = plugin, .until = UINT64_MAX};
  return write_one(s, &w);
}

int pml_otf2_series_file(struct pml_otf2 *a, const char *path) {
  return pml_plugin_load_series(path, write_loaded, a);
}

int pml__otf2_series_log(struct pml_otf2 *a, const struct pml__log_reader *log) {
  return pml__plugin_log_series(log, write_loaded, a);
}

int pml_otf2_plugin(struct pml_otf2 *a, struct pml_plugin *p, uint64_t since_ticks, size_t *written) {
  return pml__otf2_plugin(a, p, since_ticks, UINT64_MAX, written);
}

int pml__otf2_plugin(struct pml_otf2 *a, struct pml_plugin *p, uint64_t since, uint64_t until, size_t *written) {
  struct pml_plugin_info info;
  pml_plugin_describe(p, &info);
  struct writing w = {.a = a, .plugin = info.name, .since = since, .until = until};
  int err = pml_plugin_series(p, write_one, &w);
  *written = w.written;
  return err;
}
