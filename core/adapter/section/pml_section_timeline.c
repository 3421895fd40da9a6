/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_timeline.c - the first enters and leaves of each thread, kept for the section file.
 */
#include "adapter/section/pml_section_file.h"
#include "adapter/section/pml_section_text.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_process.h"
#include "base/pml_stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct event {
  uint64_t ticks;
  pml_region_t region;
  uint32_t leave;
};

/* Of one thread, which alone writes; readers see the events below n, which do not change any more. */
struct lane {
  struct lane *next;
  uint64_t thread;
  uint32_t capacity;
  uint32_t n;       /* atomic */
  uint64_t dropped; /* atomic */
  struct event event[];
};

/* Who changes or reads the timeline holds `control`, also while the stream is asked; consumers take `lock` alone. */
static struct pml__lock control, lock;
static struct lane *lanes;
static uint32_t nlanes, capacity, unseen; /* unseen: threads without a lane */
static bool on;
static uint64_t id;

/* ---- the stream's side ---- */

static void *thread_begin(void *arg, uint64_t thread) {
  (void)arg;
  struct lane *lane = NULL;
  pml__lock_take(&lock);
  if (nlanes < PML_SECTION_TIMELINE_THREADS_MAX) lane = calloc(1, sizeof *lane + capacity * sizeof lane->event[0]);
  if (lane != NULL) {
    lane->thread = thread;
    lane->capacity = capacity;
    lane->next = lanes;
    lanes = lane;
    nlanes++;
  } else if (unseen < UINT32_MAX) {
    unseen++;
  }
  pml__lock_leave(&lock);
  return lane;
}

static void keep(struct lane *lane, const struct pml_stream_event *e, uint32_t leave) {
  uint32_t n = lane->n;
  if (n == lane->capacity) {
    __atomic_store_n(&lane->dropped, lane->dropped + 1, __ATOMIC_RELAXED);
    return;
  }
  lane->event[n] = (struct event){e->ticks, e->region, leave};
  __atomic_store_n(&lane->n, n + 1, __ATOMIC_RELEASE);
}

static void enter(void *data, const struct pml_stream_event *e) {
  keep(data, e, 0);
}

static void leave(void *data, const struct pml_stream_event *e) {
  keep(data, e, 1);
}

/* ---- beginning and ending ---- */

/* The child has no consumers, and what its parent keeps is the parent's: the memory is left alone. */
static void in_child(void) {
  lanes = NULL;
  nlanes = unseen = 0;
  on = false;
}

static void watch_forks(void) {
  (void)pml__process_watch(in_child);
}

static int end(void) {
  int err = on ? pml_stream_remove(id) : 0;
  if (err == 0) on = false;
  return err;
}

static int begin(uint32_t events) {
  static const struct pml_stream_consumer consumer = {.thread_begin = thread_begin, .event = {enter, leave, NULL}};
  while (lanes != NULL) {
    struct lane *next = lanes->next;
    free(lanes);
    lanes = next;
  }
  nlanes = unseen = 0;
  capacity = events;
  int err = pml_stream_add(&consumer, &id);
  on = err == 0;
  return err;
}

int pml_section_timeline(uint32_t events) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (events > PML_SECTION_TIMELINE_EVENTS_MAX)
    return pml_fail(-EINVAL, "a timeline keeps at most %u events of a thread", PML_SECTION_TIMELINE_EVENTS_MAX);
  (void)pml_clock_init();
  pthread_once(&once, watch_forks);
  pml__process_look();
  pml__lock_take(&control);
  int err = end();
  if (err == 0 && events > 0) err = begin(events);
  pml__lock_leave(&control);
  return err;
}

/* ---- telling ---- */

/* A region's name before its first use. @told: a bit for each. */
static void tell_region(struct pml__text *t, pml_region_t region, uint8_t *told, uint32_t regions) {
  struct pml_region_info info;
  if (region > regions || (told[region / 8] >> region % 8 & 1) != 0) return;
  if (pml_region_describe(region, &info) != 0) return;
  told[region / 8] |= (uint8_t)(1u << region % 8);
  pml__text_add(t, "region\t%u", region);
  pml__text_field(t, info.name);
  pml__text_end(t);
}

static void tell_lane(struct pml__text *t, const struct lane *lane, uint8_t *told, uint32_t regions) {
  uint64_t zero = pml__section_origin()->zero_ns;
  uint32_t n = __atomic_load_n(&lane->n, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < n; i++) tell_region(t, lane->event[i].region, told, regions);
  pml__text_add(t, "timeline\t%llu\t%u\t%llu", (unsigned long long)lane->thread, n,
                (unsigned long long)__atomic_load_n(&lane->dropped, __ATOMIC_RELAXED));
  pml__text_end(t);
  for (uint32_t i = 0; i < n && !t->failed; i++) {
    const struct event *e = &lane->event[i];
    pml__text_add(t, "%c\t%lld\t%u", e->leave ? '-' : '+', (long long)(pml_clock_at_ns(e->ticks) - zero), e->region);
    pml__text_end(t);
  }
}

void pml__section_timeline_text(struct pml__text *t) {
  uint32_t regions = pml_region_count();
  uint8_t *told = calloc(regions / 8u + 1u, 1);
  if (told == NULL) {
    t->failed = true;
    return;
  }
  pml__process_look();
  pml__lock_take(&control);
  pml__lock_take(&lock);
  struct lane *lane = lanes;
  uint32_t others = unseen;
  pml__lock_leave(&lock);
  if (others > 0) {
    pml__text_add(t, "unseen\t%u", others);
    pml__text_end(t);
  }
  for (; lane != NULL; lane = lane->next) tell_lane(t, lane, told, regions);
  pml__lock_leave(&control);
  free(told);
}
