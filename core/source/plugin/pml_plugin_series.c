/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/plugin/pml_plugin_series.c - series of asynchronous plugins: collection, order, delivery. */
#include "source/plugin/pml_plugin_private.h"

#include "base/pml_array.h"
#include "base/pml_bits.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_process.h"
#include "record/log/pml_log_own.h"

#include <stdlib.h>
#include <string.h>

static bool is_less(enum pml_plugin_value type, uint64_t a, uint64_t b) {
  if (type == PML_PLUGIN_DOUBLE) return pml__as_double(a) < pml__as_double(b);
  return type == PML_PLUGIN_INT64 ? (int64_t)a < (int64_t)b : a < b;
}

void pml__plugin_note_value(struct pml__plugin_counter *c, uint64_t value) {
  const struct pml_plugin_metric *m = &c->use->plugin->metric[c->metric];
  c->value =
      c->has && pml_mode_is_relative(m->mode) ? pml_value_plus(c->value, value, m->value == PML_PLUGIN_DOUBLE) : value;
  c->has = true;
}

/* Append the values between the beginning and @now, and count the others. A value that arrives after newer ones does
 * not count as going backwards, and does not become the newest. */
static void append(struct pml__plugin_counter *c, const struct pml_plugin_pair *list, size_t n, uint64_t now) {
  const struct pml_plugin_metric *m = &c->use->plugin->metric[c->metric];
  bool relative = pml_mode_is_relative(m->mode), grows = !pml_mode_is_level(m->mode) && !relative;
  uint64_t begun = c->use->begun_ticks;
  struct pml_plugin_pair *to = c->pair + c->npairs;
  for (size_t i = 0; i < n; i++) {
    struct pml_plugin_pair at = list[i];
    if (PML_UNLIKELY(at.ticks < begun || at.ticks > now)) {
      c->outside++;
      continue;
    }
    bool behind = at.ticks < c->newest_ticks;
    if (PML_UNLIKELY(behind))
      c->sorted = false;
    else
      c->newest_ticks = at.ticks;
    if (grows && !behind && c->has && is_less(m->value, at.value, c->value)) c->backwards++;
    *to++ = at;
    if (relative || !behind) pml__plugin_note_value(c, at.value);
  }
  c->npairs = (size_t)(to - c->pair);
}

/* Reports each kind of trouble once. */
static void tell(struct pml__plugin_counter *c, uint64_t outside, uint64_t backwards) {
  struct pml_plugin *p = c->use->plugin;
  const char *name = p->metric[c->metric].name;
  if (outside == 0 && c->outside > 0)
    pml__plugin_trouble(p, "%llu values of %.64s have times outside the measurement; they are left out",
                        (unsigned long long)c->outside, name);
  if (backwards == 0 && c->backwards > 0)
    pml__plugin_trouble(p, "%.64s fell %llu times although it is declared to grow only", name,
                        (unsigned long long)c->backwards);
}

void pml__plugin_take(struct pml__plugin_counter *c) {
  struct pml_plugin_pair *list;
  uint64_t n, outside = c->outside, backwards = c->backwards;
  if (c->dead || !pml__plugin_pairs(c, &list, &n)) return;
  uint64_t now = pml_clock_ticks();
  c->read_ticks = now;
  if (!PML__ARRAY_ROOM(c->pair, c->room, c->npairs + n))
    pml__plugin_trouble(c->use->plugin, "no memory for %llu values; they are left out", (unsigned long long)n);
  else
    append(c, list, n, now);
  free(list);
  tell(c, outside, backwards);
  pml__plugin_keep(c);
}

static int by_time(const void *a, const void *b) {
  const struct pml_plugin_pair *x = a, *y = b;
  if (x->ticks != y->ticks) return x->ticks < y->ticks ? -1 : 1;
  return x < y ? -1 : 1;
}

void pml__plugin_sort(struct pml_plugin_pair *pair, size_t n) {
  if (n > 0) qsort(pair, n, sizeof *pair, by_time);
}

static int visit_counter(struct pml__plugin_counter *c, pml_plugin_series_visit *visit, void *arg) {
  if (!c->sorted) {
    pml__plugin_sort(c->pair, c->npairs);
    c->sorted = true;
  }
  const struct pml__plugin_use *use = c->use;
  struct pml_plugin_series s = {.metric = &use->plugin->metric[c->metric], .n = c->npairs, .pair = c->pair};
  s.thread = use->plugin->scope == PML_PLUGIN_THREAD ? use->thread : 0;
  s.tid = use->tid;
  s.outside = c->outside;
  s.backwards = c->backwards;
  return visit(&s, arg);
}

int pml_plugin_series(struct pml_plugin *p, pml_plugin_series_visit *visit, void *arg) {
  int rc = 0;
  if (p->sync != PML_PLUGIN_ASYNC && p->sync != PML_PLUGIN_ASYNC_EVENT)
    return pml_fail(PML_EMODE, "plugin %s is %s: no series", p->name, pml_plugin_sync_name(p->sync));
  pml__process_look();
  pml__mutex_take_open(&p->lock);
  for (const struct pml__plugin_use *use = p->uses; use != NULL && rc == 0; use = use->next)
    for (uint32_t i = 0; use->counter != NULL && i < p->nmetrics && rc == 0; i++)
      rc = visit_counter(&use->counter[i], visit, arg);
  pml__mutex_leave(&p->lock);
  return rc;
}

/* ---- the log ---- */

#define PAIRS_MAX 65536u /* limit of pairs in an extent, unless more are appended at once */

int pml__plugin_define(struct pml__log *log, uint32_t number, const char *plugin, const struct pml_plugin_metric *m,
                       uint64_t thread, int tid) {
  const char *text[] = {plugin, m->name, m->unit, m->description};
  const struct pml__log_measured d = {.number = number,
                                      .tid = tid,
                                      .thread = thread,
                                      .exponent = m->exponent,
                                      .binary = m->binary,
                                      .value = (uint32_t)m->value,
                                      .mode = (uint32_t)m->mode};
  return pml__log_define(log, PML__LOG_MEASURED, &d, sizeof d, text, sizeof text / sizeof text[0]);
}

size_t pml__plugin_log_bytes(size_t pairs) {
  size_t bytes = sizeof(struct pml__log_series) + pairs * sizeof(struct pml_plugin_pair);
  return (bytes + PML__LOG_STEP - 1) / PML__LOG_STEP * PML__LOG_STEP;
}

static bool begin_log(struct pml__log *log, struct pml__plugin_counter *c) {
  const struct pml__plugin_use *use = c->use;
  c->number = pml__log_number();
  return pml__plugin_define(log, c->number, use->plugin->name, &use->plugin->metric[c->metric],
                            use->plugin->scope == PML_PLUGIN_THREAD ? use->thread : 0, use->tid) == 0;
}

/* The new extent has as much room as all former ones, so that long series have few extents. */
static bool extend_log(struct pml__log *log, struct pml__plugin_counter *c) {
  size_t n = c->npairs - c->kept;
  if (n < c->kept) n = c->kept < PAIRS_MAX ? c->kept : PAIRS_MAX;
  c->log = pml__log_extent(log, PML__LOG_SERIES, c->number, c->use->thread, pml__plugin_log_bytes(n), 0, &c->extent);
  if (c->log != NULL) pml__log_commit(c->extent, sizeof *c->log);
  return c->log != NULL;
}

static void append_to_log(struct pml__plugin_counter *c) {
  uint64_t at = c->extent->committed, room = (c->extent->bytes - at) / sizeof *c->pair;
  size_t n = c->npairs - c->kept < room ? c->npairs - c->kept : room;
  memcpy((char *)c->log + at, c->pair + c->kept, n * sizeof *c->pair);
  __atomic_store_n(&c->log->outside, c->outside, __ATOMIC_RELAXED);
  __atomic_store_n(&c->log->backwards, c->backwards, __ATOMIC_RELAXED);
  pml__log_commit(c->extent, at + n * sizeof *c->pair);
  c->kept += n;
}

void pml__plugin_keep(struct pml__plugin_counter *c) {
  struct pml__log *log = pml__log_shared();
  if (log == NULL || c->refused || c->kept == c->npairs) return;
  c->refused = c->number == 0 && !begin_log(log, c);
  if (c->log != NULL) append_to_log(c);
  while (!c->refused && c->kept < c->npairs) {
    c->refused = !extend_log(log, c);
    if (!c->refused) append_to_log(c);
  }
}
