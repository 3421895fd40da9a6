/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/base/pml_eventset.c - hot paths of an event set: snapshots and differences. */
#include "source/pml_eventset.h"

#include "base/pml_clock.h"
#include "source/base/pml_eventset_private.h"

#include <errno.h>
#include <string.h>

/* Take a snapshot of several backends. */
static inline int pass(const struct pml_eventset *s, uint64_t *snapshot, bool times) {
  struct pml__backend *backend = s->read_backend;
  int again = 0;
  do {
    int rc = backend->snapshot(backend, snapshot + backend->at, times);
    if (PML_UNLIKELY(rc < 0)) return rc;
    again += rc;
    backend = backend->next_read;
  } while (backend != NULL);
  return again;
}

static int snapshot_all(struct pml_eventset *s, uint64_t *snapshot) {
  snapshot[s->clock_word] = pml_clock_ticks();
  return pass(s, snapshot, true);
}

/* Take a snapshot of one backend; other backends at most count the time. */
static int snapshot_first(struct pml_eventset *s, uint64_t *snapshot) {
  uint64_t now = pml_clock_ticks();
  snapshot[s->clock_word] = now;
  return s->read_backend->snapshot(s->read_backend, snapshot, true);
}

/* Most sets are simple, and their read costs no more than read(2), because no other field is tested. The block of a
 * single group begins at 0. */
static inline int snapshot(struct pml_eventset *s, uint64_t *into) {
  if (PML_LIKELY(s->simple)) return pml__kernel_read_block(s->group, into);
  return s->snapshot(s, into);
}

__attribute__((noinline)) void pml__eventset_differences_mixed(const struct pml_eventset *s, uint64_t *values) {
  const struct pml__backend *backend = s->difference_backend;
  for (; backend->next_difference != NULL; backend = backend->next_difference) backend->difference(backend, values);
  backend->difference(backend, values);
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
  int rc = s->read_backend->snapshot(s->read_backend, s->now, false);
  if (PML_LIKELY(rc >= 0)) pml__eventset_differences(s, values);
  return rc;
}

static int read_stopped(struct pml_eventset *s, uint64_t *values) {
  pml__eventset_differences(s, values);
  return 0;
}

void pml__eventset_choose_read(struct pml_eventset *s) {
  const struct pml__backend *first = s->backend;
  bool alone = s->read_backend->next_read == NULL;
  s->snapshot = alone ? snapshot_first : snapshot_all;
  s->read_running = alone ? read_first : read_all;
  if (first->next == NULL && first->read != NULL) s->read_running = first->read;
  s->read = s->running ? s->read_running : read_stopped;
}

pml__source_plain_read *pml__eventset_plain_read(const struct pml_eventset *s) {
  return s->backend->next == NULL ? s->backend->plain_read : NULL;
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
  const struct pml__backend *backend = s->add_backend;
  if (backend == NULL) return;
  for (; backend->next_add != NULL; backend = backend->next_add) backend->prepare_add(backend, values, count);
  backend->prepare_add(backend, values, count);
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
  const struct pml__source *source = s->info[i].backend->source;
  *may = 0;
  return source->declared != NULL ? source->declared(s->info[i].backend, s->info[i].k, may) : pml_eventset_type(s, i);
}

enum pml_type pml_eventset_type(const struct pml_eventset *s, size_t i) {
  if (i >= s->n || s->info[i].backend->source->type == NULL) return PML_TYPE_INT64;
  return s->info[i].backend->source->type(s->info[i].backend, s->info[i].k);
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
    const struct pml__source *source = e->backend->source;
    if (source->reading != NULL)
      source->reading(e->backend, e->k, &out[i], &scaled[i]);
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
  if (i >= s->n || s->info[i].backend->source->part == NULL) return -ENOENT;
  int rc = s->running ? snapshot(s, s->now) : 0;
  if (rc < 0) return rc;
  int err = s->info[i].backend->source->part(s->info[i].backend, s->info[i].k, p, pmu, out);
  return err < 0 ? err : rc;
}

size_t pml_eventset_size(const struct pml_eventset *s) {
  return s->n;
}
