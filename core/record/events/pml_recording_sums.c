/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/record/events/pml_recording_sums.c - event values by function: a consumer that sums them in a recording.
 *
 * Nested calls are excluded, as in exclusive time. Sums of integers are integers, sums of doubles are doubles.
 */
#include "base/pml_cancel.h"
#include "base/pml_error.h"
#include "base/pml_thread.h"
#include "record/events/pml_recording_accumulator.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_DEPTH 64u
#define DEPTH_MAX (1u << 16)
#define FIRST_SLOTS 64u

/* ---- sums ---- */

static bool more_slots(struct pml__recording_accumulator *t) {
  uint32_t mask = t->slot == NULL ? FIRST_SLOTS - 1 : 2 * t->mask + 1;
  struct pml__log_sums **slot = calloc(mask + 1u, sizeof(struct pml__log_sums *));
  if (slot == NULL) return false;
  for (uint32_t i = 0; t->slot != NULL && i <= t->mask; i++)
    if (t->slot[i] != NULL) *pml__accumulator_find(slot, mask, t->slot[i]->region) = t->slot[i];
  free(t->slot);
  t->slot = slot;
  t->mask = mask;
  return true;
}

static struct pml__log_sums *sums_of(struct pml__recording_accumulator *t, pml_region_t region) {
  if ((t->slot == NULL || 2 * (t->nsums + 1) > t->mask + 1) && !more_slots(t)) return NULL;
  struct pml__log_sums **at = pml__accumulator_find(t->slot, t->mask, region);
  if (*at != NULL) return *at;
  *at = pml_recording_get(t->recording, region, PML__LOG_SUMS_PART, sizeof **at + t->n * sizeof(*at)->sum[0]);
  if (*at == NULL) return NULL;
  pml_recording_name(t->recording, region);
  (*at)->n = t->n;
  (*at)->region = region;
  t->nsums++;
  return *at;
}

/* ---- values ---- */

__attribute__((noinline, cold)) static bool deepen(struct pml__recording_accumulator *t) {
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

static void prepare(void *data, pml_region_t region) {
  struct pml__recording_accumulator *t = data;
  (void)region;
  if (t->overflow == 0 && t->depth == t->capacity) (void)deepen(t);
}

static void on_enter(void *data, const struct pml_stream_event *e) {
  struct pml__recording_accumulator *t = data;
  if (t->overflow > 0 || (t->depth == t->capacity && !deepen(t))) {
    t->overflow++;
    return;
  }
  pml__accumulator_enter(t, e->region, e->metrics == t->metrics ? e->values : NULL);
}

static void on_leave(void *data, const struct pml_stream_event *e) {
  struct pml__recording_accumulator *t = data;
  if (t->overflow > 0) {
    t->overflow--;
    return;
  }
  if (!pml__accumulator_is_innermost(t, e->region)) return;
  bool has = pml__accumulator_has(t, e);
  t->depth--;
  if (!has) return;
  pml__recording_note_types(t->recording, t->metrics);
  pml__accumulator_add(t, e, sums_of(t, e->region), true);
}

/* ---- threads ---- */

static void free_accumulator(struct pml__recording_accumulator *t) {
  free(t->region);
  free(t->value);
  free(t->slot);
  free(t);
}

/* A thread continues with the sums of an ended one, so that there are never more sums than concurrent threads. */
static void *thread_begin(void *arg, uint64_t thread) {
  struct pml_recording *s = arg;
  (void)thread;
  pml__mutex_take(&s->lock);
  struct pml__recording_accumulator *t = s->spare_accumulators;
  if (t != NULL) s->spare_accumulators = t->following;
  if (t == NULL) t = calloc(1, sizeof *t);
  if (t != NULL) {
    t->recording = s;
    t->metrics = s->metrics;
    t->n = s->metrics->n;
    t->depth = t->overflow = 0;
    t->following = s->accumulators;
    s->accumulators = t;
  }
  pml__mutex_leave(&s->lock);
  return t;
}

static void thread_end(void *arg, void *data) {
  struct pml_recording *s = arg;
  struct pml__recording_accumulator *t = data, **at = &s->accumulators;
  pml__mutex_take(&s->lock);
  while (*at != t) at = &(*at)->following;
  *at = t->following;
  t->following = s->spare_accumulators;
  s->spare_accumulators = t;
  pml__mutex_leave(&s->lock);
}

static void free_all(struct pml__recording_accumulator *t) {
  for (struct pml__recording_accumulator *next; t != NULL; t = next) {
    next = t->following;
    free_accumulator(t);
  }
}

void pml__recording_sum_end(struct pml_recording *s) {
  if (s->summing == 0) return;
  (void)pml_stream_remove(s->summing);
  free_all(s->accumulators);
  free_all(s->spare_accumulators);
}

int pml_recording_sum(struct pml_recording *s, const char *const *names, size_t n) {
  struct pml_stream_metrics *m;
  struct pml_stream_consumer c = {
      .name = "recorded sums",
      .thread_begin = thread_begin,
      .thread_end = thread_end,
      .prepare = prepare,
      .event = {on_enter, on_leave, NULL},
      .fast = {pml__accumulator_enter_fast, pml__accumulator_leave_fast},
      .fast_values = {pml__accumulator_enter_fast_values, pml__accumulator_leave_fast_values},
      .arg = s};
  int err = pml_stream_metrics(names, n, &m);
  if (err < 0) return err;
  s->metrics = m;
  s->head->nmetrics = m->n;
  return pml_stream_add(&c, &s->summing);
}
