/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/recording/pml_recording_sums.c - what each function's calls added to the values that events carry: a
 * consumer that keeps its sums in a recording.
 *
 * Values of a call that another one makes are the other's alone, as exclusive time is. Sums are integers; of values
 * that are doubles, doubles.
 */
#include "base/pml_cancel.h"
#include "base/pml_error.h"
#include "base/pml_thread.h"
#include "base/pml_value.h"
#include "substrate/recording/pml_recording_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_DEPTH 64u
#define DEPTH_MAX (1u << 16)
#define FIRST_SLOTS 64u

/* One thread: what is open, innermost last, each with n values at its enter and n of the calls inside. */
struct pml__recording_summer {
  struct pml_recording *recording;
  const struct pml_stream_metrics *metrics;
  uint32_t n, depth, capacity, beyond;
  pml_region_t *region;        /* [capacity] of open calls; 0: its enter brought no values */
  uint64_t *value;             /* [capacity][2 n] */
  struct pml__log_sums **slot; /* [mask + 1] by a hash of regions */
  uint32_t nsums, mask;
  struct pml__recording_summer *following;
};

/* ---- sums ---- */

static struct pml__log_sums **find(struct pml__log_sums **slot, uint32_t mask, pml_region_t region) {
  uint32_t i = (uint32_t)((uint64_t)region * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
  while (slot[i] != NULL && slot[i]->region != region) i = (i + 1) & mask;
  return &slot[i];
}

static bool more_slots(struct pml__recording_summer *t) {
  uint32_t mask = t->slot == NULL ? FIRST_SLOTS - 1 : 2 * t->mask + 1;
  struct pml__log_sums **slot = calloc(mask + 1u, sizeof(struct pml__log_sums *));
  if (slot == NULL) return false;
  for (uint32_t i = 0; t->slot != NULL && i <= t->mask; i++)
    if (t->slot[i] != NULL) *find(slot, mask, t->slot[i]->region) = t->slot[i];
  free(t->slot);
  t->slot = slot;
  t->mask = mask;
  return true;
}

static struct pml__log_sums *sums_of(struct pml__recording_summer *t, pml_region_t region) {
  if ((t->slot == NULL || 2 * (t->nsums + 1) > t->mask + 1) && !more_slots(t)) return NULL;
  struct pml__log_sums **at = find(t->slot, t->mask, region);
  if (*at != NULL) return *at;
  *at = pml_recording_get(t->recording, region, PML__LOG_SUMS_PART, sizeof **at + t->n * sizeof(*at)->sum[0]);
  if (*at == NULL) return NULL;
  pml_recording_name(t->recording, region);
  (*at)->n = t->n;
  (*at)->region = region;
  for (int i = 0; i < 2; i++)
    __atomic_store_n(&t->recording->head->real[i], __atomic_load_n(&t->metrics->real[i], __ATOMIC_RELAXED),
                     __ATOMIC_RELAXED);
  t->nsums++;
  return *at;
}

/* ---- values ---- */

static bool is_absent(uint64_t value, bool real) {
  return value == PML_VALUE_ABSENT || (!real && value == PML_VALUE_ABSENT_SIGNED);
}

/* From or to no value nothing has changed. */
static uint64_t change(uint64_t from, uint64_t to, bool real) {
  return is_absent(from, real) || is_absent(to, real) ? 0 : pml_value_minus(to, from, real);
}

static void end_call(struct pml__recording_summer *t, const struct pml_stream_event *e) {
  uint64_t *mine = t->value + (size_t)2 * t->n * t->depth, *outer = t->depth > 0 ? mine - t->n : NULL;
  struct pml__log_sums *s = sums_of(t, e->region);
  for (uint32_t i = 0; i < t->n; i++) {
    bool real = pml_stream_metrics_real(t->metrics, i);
    uint64_t all = change(mine[i], e->values[i], real), own = pml_value_minus(all, mine[t->n + i], real);
    if (s != NULL) __atomic_store_n(&s->sum[i], pml_value_plus(s->sum[i], own, real), __ATOMIC_RELAXED);
    if (outer != NULL) outer[i] = pml_value_plus(outer[i], all, real);
  }
}

__attribute__((noinline, cold)) static bool deepen(struct pml__recording_summer *t) {
  uint32_t capacity = t->capacity == 0 ? FIRST_DEPTH : 2 * t->capacity;
  if (t->capacity == DEPTH_MAX) return false;
  int cancel = pml__cancel_hold();
  pml_region_t *region = realloc(t->region, capacity * sizeof *region);
  if (region != NULL) t->region = region;
  uint64_t *value = realloc(t->value, (size_t)2 * t->n * capacity * sizeof *value);
  if (value != NULL) t->value = value;
  if (region != NULL && value != NULL) t->capacity = capacity;
  pml__cancel_again(cancel);
  return t->capacity == capacity;
}

static void ready(void *data, pml_region_t region) {
  struct pml__recording_summer *t = data;
  (void)region;
  if (t->beyond == 0 && t->depth == t->capacity) (void)deepen(t);
}

static void on_enter(void *data, const struct pml_stream_event *e) {
  struct pml__recording_summer *t = data;
  if (t->beyond > 0 || (t->depth == t->capacity && !deepen(t))) {
    t->beyond++;
    return;
  }
  bool has = e->metrics == t->metrics;
  uint64_t *at = t->value + (size_t)2 * t->n * t->depth;
  memset(at, 0, 2 * t->n * sizeof *at);
  if (has) memcpy(at, e->values, t->n * sizeof *at);
  t->region[t->depth++] = has ? e->region : 0;
}

static void on_leave(void *data, const struct pml_stream_event *e) {
  struct pml__recording_summer *t = data;
  if (t->beyond > 0) {
    t->beyond--;
    return;
  }
  if (t->depth == 0 || (t->region[t->depth - 1] != e->region && t->region[t->depth - 1] != 0)) return;
  bool has = t->region[--t->depth] != 0 && e->metrics == t->metrics;
  if (has) end_call(t, e);
}

/* ---- threads ---- */

static void free_summer(struct pml__recording_summer *t) {
  free(t->region);
  free(t->value);
  free(t->slot);
  free(t);
}

/* A thread goes on with the sums of one that ended, so that there are no more than threads at a time. */
static void *thread_begin(void *arg, uint64_t thread) {
  struct pml_recording *s = arg;
  (void)thread;
  pml__mutex_take(&s->lock);
  struct pml__recording_summer *t = s->spare_summers;
  if (t != NULL) s->spare_summers = t->following;
  if (t == NULL) t = calloc(1, sizeof *t);
  if (t != NULL) {
    t->recording = s;
    t->metrics = s->metrics;
    t->n = s->metrics->n;
    t->depth = t->beyond = 0;
    t->following = s->summers;
    s->summers = t;
  }
  pml__mutex_leave(&s->lock);
  return t;
}

static void thread_end(void *arg, void *data) {
  struct pml_recording *s = arg;
  struct pml__recording_summer *t = data, **at = &s->summers;
  pml__mutex_take(&s->lock);
  while (*at != t) at = &(*at)->following;
  *at = t->following;
  t->following = s->spare_summers;
  s->spare_summers = t;
  pml__mutex_leave(&s->lock);
}

static void free_all(struct pml__recording_summer *t) {
  for (struct pml__recording_summer *next; t != NULL; t = next) {
    next = t->following;
    free_summer(t);
  }
}

void pml__recording_sum_end(struct pml_recording *s) {
  if (s->summing == 0) return;
  (void)pml_stream_remove(s->summing);
  free_all(s->summers);
  free_all(s->spare_summers);
}

int pml_recording_sum(struct pml_recording *s, const char *const *names, size_t n) {
  struct pml_stream_metrics *m;
  struct pml_stream_consumer c = {.name = "recorded sums",
                                  .thread_begin = thread_begin,
                                  .thread_end = thread_end,
                                  .ready = ready,
                                  .event = {on_enter, on_leave, NULL},
                                  .arg = s};
  int err = pml_stream_metrics(names, n, &m);
  if (err < 0) return err;
  s->metrics = m;
  s->head->nmetrics = m->n;
  return pml_stream_add(&c, &s->summing);
}
