/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/workloads/recorder/pushes.c - one push of each library and type, timed by itself, or watched. */
#include "recorder.h"

#include <malloc.h>
#include <sys/resource.h>

/* The kernel's counts of this thread since the last call. */
static struct slow look(struct worker *w) {
  struct rusage u;
  struct slow now = w->seen;
  if (getrusage(RUSAGE_THREAD, &u) == 0) {
    now.faults = (uint32_t)u.ru_minflt;
    now.waits = (uint32_t)u.ru_nvcsw;
    now.preemptions = (uint32_t)u.ru_nivcsw;
  }
  struct slow since = {.faults = now.faults - w->seen.faults,
                       .waits = now.waits - w->seen.waits,
                       .preemptions = now.preemptions - w->seen.preemptions};
  w->seen = now;
  return since;
}

static __attribute__((noinline)) void note_slow(struct worker *w, size_t i) {
  struct slow s = look(w);
  s.index = (uint32_t)i;
  if (w->nslow < RECORDER_SLOW_MAX) w->slow[w->nslow++] = s;
}

/*
 * With a constant @one the push is inlined where possible. The kernel's counts are read only after a slow push; an
 * event between two pushes must not be attributed to a later one, so they are also read after a long pause.
 */
static inline __attribute__((always_inline)) void time_all(struct worker *w, int (*one)(void *, double)) {
  uint64_t *duration = w->samples->value, slow = w->slow_ticks, last;
  size_t i = 0;
  (void)look(w);
  last = pml_clock_ticks();
  for (; i < w->n && w->error == 0; i++) {
    double v = w->first + (double)i;
    uint64_t t0 = pml_clock_ticks_ordered();
    int rc = one(w->recorder, v);
    uint64_t t1 = pml_clock_ticks_ordered();
    duration[i] = t1 - t0;
    if (PML_UNLIKELY(rc != 0)) w->error = rc < 0 ? rc : -EIO;
    if (PML_UNLIKELY((i & 1023) == 0 && w->stop != NULL && *w->stop)) w->error = -EINTR;
    if (PML_UNLIKELY(t0 - last > slow)) (void)look(w);
    if (PML_UNLIKELY(t1 - t0 > slow)) note_slow(w, i);
    last = t1;
  }
  w->samples->n = i;
}

#define TYPES(X)                                                                                                       \
  X(int64, PML_TYPE_INT64, int64_t)                                                                                    \
  X(int32, PML_TYPE_INT32, int32_t) X(double, PML_TYPE_DOUBLE, double) X(float, PML_TYPE_FLOAT, float)

#define PUSHES_OF(name, id, type)                                                                                      \
  static int push_##name(void *recorder, double v) {                                                                   \
    type e = (type)v;                                                                                                  \
    return id == PML_TYPE_DOUBLE ? pml_recorder_push_double(recorder, v) : pml_recorder_push(recorder, &e);            \
  }                                                                                                                    \
  static int record_##name(void *recorder, double v) {                                                                 \
    type e = (type)v;                                                                                                  \
    return recorder_peer.record(recorder, sizeof e, &e);                                                               \
  }                                                                                                                    \
  static void time_push_##name(struct worker *w) {                                                                     \
    time_all(w, push_##name);                                                                                          \
  }                                                                                                                    \
  static void time_record_##name(struct worker *w) {                                                                   \
    time_all(w, record_##name);                                                                                        \
  }                                                                                                                    \
  static uint64_t whole_##name(const void *elements, size_t i) {                                                       \
    return (uint64_t)((const type *)elements)[i];                                                                      \
  }
TYPES(PUSHES_OF)

int recorder_push_nothing(void *recorder, double v) {
  (void)recorder, (void)v;
  return 0;
}

void recorder_time_nothing(struct worker *w) {
  time_all(w, recorder_push_nothing);
}

#define ELEMENT(name, id, type)                                                                                        \
  {#name, id, sizeof(type), push_##name, record_##name, time_push_##name, time_record_##name, whole_##name},
static const struct element elements[] = {TYPES(ELEMENT)};

const struct element *recorder_element(const char *name) {
  for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
    if (strcmp(name, elements[i].name) == 0) return &elements[i];
  return NULL;
}

/* The bytes allocated in all arenas; 0 if the allocator does not report them. */
static uint64_t heap_bytes(void) {
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 33)
  struct mallinfo2 m = mallinfo2();
  return m.uordblks + m.hblkhd;
#endif
#endif
  return 0;
}

void recorder_watch(struct worker *w) {
  for (size_t i = 0; i < w->n && w->error == 0; i++) {
    uint64_t before = heap_bytes();
    int rc = w->one(w->recorder, w->first + (double)i);
    uint64_t after = heap_bytes();
    w->samples->value[i] = after > before ? after - before : 0;
    w->samples->n = i + 1;
    if (rc != 0) w->error = rc < 0 ? rc : -EIO;
    if (w->stop != NULL && *w->stop) w->error = -EINTR;
  }
}
