/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_eventset.c - the hot paths of an event set: snapshots and their differences. */
#include "source/pml_eventset.h"

#include "base/pml_clock.h"
#include "base/pml_thread.h"
#include "source/kernel/pml_rdpmc.h"
#include "source/pml_eventset_private.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static inline int read_block(const struct pml__eventset_group *g, uint64_t *snapshot) {
  ssize_t got = read(g->fd, snapshot + g->offset, g->bytes);
  if (PML_LIKELY(got == (ssize_t)g->bytes)) return 0;
  return got < 0 ? -errno : -EIO;
}

/* Every member by its page; -EAGAIN when any of them needs the kernel. */
static inline int read_pages(const struct pml_eventset *s, const struct pml__eventset_group *g, uint64_t *snapshot,
                             bool times) {
  uint64_t *value = snapshot + g->values;
  int again = 0;
  for (uint32_t i = 0; i < g->n; i++) {
    struct pml_reading r;
    bool timed = times && i == 0; /* members are scheduled together: one's times are everyone's */
    const volatile struct perf_event_mmap_page *page = s->page[g->first + i];
    int tries = timed ? pml_rdpmc_read(page, &r) : pml_rdpmc_count(page, &value[i]);
    if (PML_UNLIKELY(tries == 0)) return -EAGAIN;
    again += tries - 1;
    if (!timed) continue;
    value[i] = r.raw;
    snapshot[g->offset + PML__WORD_ENABLED] = r.enabled_ns;
    snapshot[g->offset + PML__WORD_RUNNING] = r.running_ns;
  }
  return again;
}

int pml__eventset_snapshot(struct pml_eventset *s, uint64_t *snapshot, bool times) {
  bool owner = s->owner == pml_thread_id();
  int again = 0;
  if (s->clocked || times) snapshot[s->clock_word] = pml_clock_ticks();
  for (uint32_t i = 0; i < s->ngroups; i++) {
    const struct pml__eventset_group *g = &s->group[i];
    int rc = g->paged && owner ? read_pages(s, g, snapshot, times) : -EAGAIN;
    if (rc == -EAGAIN) rc = read_block(g, snapshot);
    if (PML_UNLIKELY(rc < 0)) return rc;
    again += rc;
  }
  return again;
}

/* What most sets are, and what a read of them costs is what read(2) costs: nothing else is looked at. */
static inline int snapshot(struct pml_eventset *s, uint64_t *into, bool times) {
  if (PML_LIKELY(s->simple)) return read_block(&s->group[0], into);
  return s->snapshot(s, into, times);
}

static void differences_mixed(const struct pml_eventset *s, uint64_t *values) {
  for (uint32_t i = 0; i < s->nextra; i++) {
    uint32_t word = s->extra[i].word;
    values[s->extra[i].event] += s->now[word] - s->base[word];
  }
  for (uint32_t i = 0; i < s->nns; i++) values[s->ns[i]] = pml_clock_ticks_to_ns(values[s->ns[i]]);
  if (s->nsde > 0) pml__eventset_sde_differences(s, values);
  if (s->nplugin > 0) pml__eventset_plugin_differences(s, values);
}

static inline void differences(const struct pml_eventset *s, uint64_t *values) {
  const uint64_t *now = s->now, *base = s->base;
  const uint32_t *word = s->word;
  uint32_t n = s->n;
  for (uint32_t i = 0; i < n; i++) values[i] = now[word[i]] - base[word[i]];
  if (PML_UNLIKELY(s->mixed)) differences_mixed(s, values);
}

int pml_eventset_start(struct pml_eventset *s) {
  int rc = snapshot(s, s->base, true);
  if (PML_UNLIKELY(!s->running && rc >= 0)) {
    s->running = true;
    s->read = s->read_running;
  }
  return rc;
}

static int read_mixed(struct pml_eventset *s, uint64_t *values) {
  int rc = s->snapshot(s, s->now, false);
  if (PML_LIKELY(rc >= 0)) differences(s, values);
  return rc;
}

static int read_simple(struct pml_eventset *s, uint64_t *values) {
  int rc = read_block(&s->group[0], s->now);
  if (PML_LIKELY(rc >= 0)) differences(s, values);
  return rc;
}

static int read_stopped(struct pml_eventset *s, uint64_t *values) {
  differences(s, values);
  return 0;
}

void pml__eventset_choose_read(struct pml_eventset *s) {
  s->snapshot = s->nsde > 0 ? pml__eventset_sde_snapshot : pml__eventset_snapshot;
  s->read_running = s->nsde == s->n ? pml__eventset_sde_read : read_mixed;
  if (s->counted != NULL) {
    s->snapshot = pml__eventset_counted_snapshot;
    if (s->nsde == s->n) s->read_running = pml__eventset_counted_read;
  }
  if (s->nplugin > 0) s->snapshot = pml__eventset_plugin_snapshot;
  if (s->nplugin == s->n)
    s->read_running = s->n == 1 && s->plugin_plain ? pml__eventset_plugin_read_one : pml__eventset_plugin_read;
  if (s->simple) s->read_running = read_simple;
  if (s->nsim > 0) {
    s->beneath_sim = s->snapshot;
    s->snapshot = pml__eventset_sim_snapshot;
    s->read_running = read_mixed;
  }
  s->read = s->running ? s->read_running : read_stopped;
}

int pml_eventset_read(struct pml_eventset *s, uint64_t *values) {
  return s->read(s, values);
}

int pml_eventset_read_ts(struct pml_eventset *s, uint64_t *values, uint64_t *ticks) {
  *ticks = pml_clock_ticks();
  return s->read(s, values);
}

int pml_eventset_stop(struct pml_eventset *s, uint64_t *values) {
  int rc = 0;
  if (PML_LIKELY(s->running)) rc = snapshot(s, s->now, true);
  if (PML_UNLIKELY(rc < 0)) return rc;
  s->running = false;
  s->read = read_stopped;
  differences(s, values);
  return rc;
}

int pml_eventset_reset(struct pml_eventset *s) {
  if (PML_LIKELY(s->running)) return snapshot(s, s->base, true);
  memcpy(s->base, s->now, s->words * sizeof *s->base);
  return 0;
}

static void prepare_add_mixed(const struct pml_eventset *s, const uint64_t *values, uint64_t *count) {
  if (s->nsde > 0) pml__eventset_sde_prepare_add(s, values, count);
  if (s->nplugin > 0) pml__eventset_plugin_prepare_add(s, values, count);
}

int pml_eventset_accum(struct pml_eventset *s, uint64_t *values) {
  uint64_t count[PML_EVENTSET_MAX];
  int rc = 0;
  if (PML_LIKELY(s->running)) rc = snapshot(s, s->now, true);
  if (PML_UNLIKELY(rc < 0)) return rc;
  differences(s, count);
  if (PML_UNLIKELY(s->mixed)) prepare_add_mixed(s, values, count);
  for (uint32_t i = 0; i < s->n; i++) values[i] += count[i];
  if (PML_UNLIKELY(!s->running)) return pml_eventset_reset(s);
  uint64_t *was = s->base; /* what is now is the new start: nothing falls between two accums */
  s->base = s->now;
  s->now = was;
  return rc;
}

static struct pml_reading part_reading(const struct pml_eventset *s, const struct pml__eventset_part *p) {
  uint32_t block = s->group[p->group].offset;
  return (struct pml_reading){
      .raw = s->now[p->word] - s->base[p->word],
      .enabled_ns = s->now[block + PML__WORD_ENABLED] - s->base[block + PML__WORD_ENABLED],
      .running_ns = s->now[block + PML__WORD_RUNNING] - s->base[block + PML__WORD_RUNNING],
  };
}

/* Places count side by side, each for its own cpus: each is scaled by itself, and one that never ran adds 0. */
static struct pml_reading side_by_side(const struct pml_reading *part, uint32_t n, double *scaled) {
  struct pml_reading sum = {0};
  *scaled = 0;
  for (uint32_t i = 0; i < n; i++) {
    sum.raw += part[i].raw;
    sum.enabled_ns += part[i].enabled_ns;
    sum.running_ns += part[i].running_ns;
    if (part[i].running_ns > 0) *scaled += pml_reading_scaled(&part[i]);
  }
  return sum;
}

struct pml_reading pml__reading_of_turns(const struct pml_reading *part, uint32_t n) {
  struct pml_reading sum = part[0];
  for (uint32_t i = 1; i < n; i++) {
    sum.raw += part[i].raw;
    sum.running_ns += part[i].running_ns;
    if (part[i].enabled_ns < sum.enabled_ns) sum.enabled_ns = part[i].enabled_ns;
  }
  if (sum.running_ns > sum.enabled_ns) sum.enabled_ns = sum.running_ns;
  return sum;
}

static struct pml_reading perf_reading(const struct pml_eventset *s, const struct pml__eventset_info *e,
                                       double *scaled) {
  struct pml_reading part[PML_EVENT_PARTS_MAX] = {{0}}, all;
  for (uint32_t p = 0; p < e->nparts; p++) part[p] = part_reading(s, &e->part[p]);
  if (e->places) return side_by_side(part, e->nparts, scaled);
  all = pml__reading_of_turns(part, e->nparts);
  *scaled = pml_reading_scaled(&all);
  return all;
}

static struct pml_reading clock_reading(const struct pml_eventset *s, bool in_ns) {
  uint64_t ticks = s->now[s->clock_word] - s->base[s->clock_word];
  uint64_t ns = pml_clock_ticks_to_ns(ticks);
  return (struct pml_reading){.raw = in_ns ? ns : ticks, .enabled_ns = ns, .running_ns = ns};
}

int pml_eventset_scaled(struct pml_eventset *s, struct pml_reading *out, double *scaled) {
  uint64_t values[PML_EVENTSET_MAX] = {0};
  int rc = s->running ? snapshot(s, s->now, true) : 0;
  if (rc < 0) return rc;
  differences(s, values);
  for (uint32_t i = 0; i < s->n; i++) {
    const struct pml__eventset_info *e = &s->info[i];
    if (e->nparts > 0) {
      out[i] = perf_reading(s, e, &scaled[i]);
      continue;
    }
    out[i] = clock_reading(s, strcmp(e->unit, "ns") == 0);
    if (e->source == &pml__source_sde || e->source == &pml__source_plugin || e->source == &pml__source_sim)
      out[i].raw = values[i];
    scaled[i] = (double)out[i].raw;
    if (pml_eventset_type(s, i) == PML_TYPE_DOUBLE) memcpy(&scaled[i], &out[i].raw, sizeof scaled[i]);
  }
  return rc;
}

int pml_eventset_readings(struct pml_eventset *s, struct pml_reading *out) {
  double scaled[PML_EVENTSET_MAX];
  return pml_eventset_scaled(s, out, scaled);
}

int pml_eventset_part(struct pml_eventset *s, size_t i, unsigned p, const char **pmu, struct pml_reading *out) {
  if (i >= s->n || p >= s->info[i].nparts) return -ENOENT;
  int rc = s->running ? snapshot(s, s->now, true) : 0;
  if (rc < 0) return rc;
  const struct pml__eventset_part *part = &s->info[i].part[p];
  *pmu = part->pmu;
  *out = part_reading(s, part);
  return rc;
}

size_t pml_eventset_size(const struct pml_eventset *s) {
  return s->n;
}
