/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/base/pml_eventset.c - hot paths of an event set: snapshots and differences. */
#include "source/pml_eventset.h"

#include "base/pml_clock.h"
#include "source/base/pml_eventset_private.h"

#include <errno.h>
#include <string.h>

/* Take a snapshot of several shares. */
static inline int pass(const struct pml_eventset *s, uint64_t *snapshot, bool times) {
  struct pml__share *share = s->read_share;
  int again = 0;
  do {
    int rc = share->snapshot(share, snapshot + share->at, times);
    if (PML_UNLIKELY(rc < 0)) return rc;
    again += rc;
    share = share->next_read;
  } while (share != NULL);
  return again;
}

static int snapshot_all(struct pml_eventset *s, uint64_t *snapshot) {
  snapshot[s->clock_word] = pml_clock_ticks();
  return pass(s, snapshot, true);
}

/* Take a snapshot of one share; other shares at most count the time. */
static int snapshot_first(struct pml_eventset *s, uint64_t *snapshot) {
  uint64_t now = pml_clock_ticks();
  snapshot[s->clock_word] = now;
  return s->read_share->snapshot(s->read_share, snapshot, true);
}

/* Most sets are simple, and their read costs no more than read(2), because no other field is tested. The block of a
 * single group begins at 0. */
static inline int snapshot(struct pml_eventset *s, uint64_t *into) {
  if (PML_LIKELY(s->simple)) return pml__kernel_read_block(s->group, into);
  return s->snapshot(s, into);
}

__attribute__((noinline)) void pml__eventset_differences_mixed(const struct pml_eventset *s, uint64_t *values) {
  const struct pml__share *share = s->difference_share;
  for (; share->next_difference != NULL; share = share->next_difference) share->difference(share, values);
  share->difference(share, values);
}

int pml_eventset_start(struct pml_eventset *s) {
  int rc = snapshot(s, s->base);
  if (PML_UNLIKELY(!s->running && rc >= 0)) {
    s->running = true;
    s->read = s->read_running;
  }
  return rc;
}

static int read_all(struct pml_eventset *s, uint64_t *values) {
  if (s->clocked) s->now[s->clock_word] = pml_clock_ticks();
  int rc = pass(s, s->now, false);
  if (PML_LIKELY(rc >= 0)) pml__eventset_differences(s, values);
  return rc;
}

static int read_first(struct pml_eventset *s, uint64_t *values) {
  if (s->clocked) s->now[s->clock_word] = pml_clock_ticks();
  int rc = s->read_share->snapshot(s->read_share, s->now, false);
  if (PML_LIKELY(rc >= 0)) pml__eventset_differences(s, values);
  return rc;
}

static int read_stopped(struct pml_eventset *s, uint64_t *values) {
  pml__eventset_differences(s, values);
  return 0;
}

void pml__eventset_choose_read(struct pml_eventset *s) {
  const struct pml__share *first = s->share;
  bool alone = s->read_share->next_read == NULL;
  s->snapshot = alone ? snapshot_first : snapshot_all;
  s->read_running = alone ? read_first : read_all;
  if (first->next == NULL && first->read != NULL) s->read_running = first->read;
  s->read = s->running ? s->read_running : read_stopped;
}

pml__source_plain_read *pml__eventset_plain_read(const struct pml_eventset *s) {
  return s->share->next == NULL ? s->share->plain_read : NULL;
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
  if (PML_LIKELY(s->running)) rc = snapshot(s, s->now);
  if (PML_UNLIKELY(rc < 0)) return rc;
  s->running = false;
  s->read = read_stopped;
  pml__eventset_differences(s, values);
  return rc;
}

int pml_eventset_reset(struct pml_eventset *s) {
  if (PML_LIKELY(s->running)) return snapshot(s, s->base);
  memcpy(s->base, s->now, s->words * sizeof *s->base);
  return 0;
}

static __attribute__((noinline)) void prepare_add_mixed(const struct pml_eventset *s, const uint64_t *values,
                                                        uint64_t *count) {
  const struct pml__share *share = s->add_share;
  if (share == NULL) return;
  for (; share->next_add != NULL; share = share->next_add) share->prepare_add(share, values, count);
  share->prepare_add(share, values, count);
}

int pml_eventset_accum(struct pml_eventset *s, uint64_t *values) {
  uint64_t count[PML_EVENTSET_MAX];
  int rc = 0;
  if (PML_LIKELY(s->running)) rc = snapshot(s, s->now);
  if (PML_UNLIKELY(rc < 0)) return rc;
  pml__eventset_differences(s, count);
  if (PML_UNLIKELY(s->mixed)) prepare_add_mixed(s, values, count);
  for (uint32_t i = 0; i < s->n; i++) values[i] += count[i];
  if (PML_UNLIKELY(!s->running)) return pml_eventset_reset(s);
  uint64_t *was = s->base; /* this snapshot is the new start, so no count is lost between two accums */
  s->base = s->now;
  s->now = was;
  return rc;
}

enum pml_type pml__eventset_declared(const struct pml_eventset *s, size_t i, unsigned *may) {
  const struct pml__source *source = s->info[i].share->source;
  *may = 0;
  return source->declared != NULL ? source->declared(s->info[i].share, s->info[i].k, may) : pml_eventset_type(s, i);
}

enum pml_type pml_eventset_type(const struct pml_eventset *s, size_t i) {
  if (i >= s->n || s->info[i].share->source->type == NULL) return PML_TYPE_INT64;
  return s->info[i].share->source->type(s->info[i].share, s->info[i].k);
}

/* The value, and the time that passed. */
static void read_plainly(const struct pml_eventset *s, uint32_t i, uint64_t value, struct pml_reading *out,
                         double *scaled) {
  uint64_t ns = pml_clock_ticks_to_ns(s->now[s->clock_word] - s->base[s->clock_word]);
  *out = (struct pml_reading){.raw = value, .enabled_ns = ns, .running_ns = ns};
  *scaled = (double)value;
  if (pml_eventset_type(s, i) == PML_TYPE_DOUBLE) memcpy(scaled, &value, sizeof *scaled);
}

int pml_eventset_scaled(struct pml_eventset *s, struct pml_reading *out, double *scaled) {
  uint64_t values[PML_EVENTSET_MAX] = {0};
  int rc = s->running ? snapshot(s, s->now) : 0;
  if (rc < 0) return rc;
  pml__eventset_differences(s, values);
  for (uint32_t i = 0; i < s->n; i++) {
    const struct pml__eventset_info *e = &s->info[i];
    const struct pml__source *source = e->share->source;
    if (source->reading != NULL)
      source->reading(e->share, e->k, &out[i], &scaled[i]);
    else
      read_plainly(s, i, values[i], &out[i], &scaled[i]);
  }
  return rc;
}

int pml_eventset_readings(struct pml_eventset *s, struct pml_reading *out) {
  double scaled[PML_EVENTSET_MAX];
  return pml_eventset_scaled(s, out, scaled);
}

int pml_eventset_part(struct pml_eventset *s, size_t i, unsigned p, const char **pmu, struct pml_reading *out) {
  if (i >= s->n || s->info[i].share->source->part == NULL) return -ENOENT;
  int rc = s->running ? snapshot(s, s->now) : 0;
  if (rc < 0) return rc;
  int err = s->info[i].share->source->part(s->info[i].share, s->info[i].k, p, pmu, out);
  return err < 0 ? err : rc;
}

size_t pml_eventset_size(const struct pml_eventset *s) {
  return s->n;
}
