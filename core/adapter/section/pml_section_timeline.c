/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_timeline.c - the first enters and leaves of each thread, kept for the section file.
 */
#include "adapter/section/pml_section_file.h"
#include "adapter/section/pml_section_origin.h"
#include "adapter/section/pml_section_text.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_process.h"
#include "base/pml_stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of one thread, which alone writes; readers see the events below n, which do not change any more. */
struct lane {
  struct lane *next;
  uint64_t thread;
  uint32_t capacity;
  uint32_t n;       /* atomic */
  uint64_t dropped; /* atomic */
  struct pml__log_event event[];
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

static void keep(struct lane *lane, const struct pml_stream_event *e, enum pml__log_event_kind kind) {
  uint32_t n = lane->n;
  if (n == lane->capacity) {
    __atomic_store_n(&lane->dropped, lane->dropped + 1, __ATOMIC_RELAXED);
    return;
  }
  lane->event[n] = (struct pml__log_event){e->ticks, PML__LOG_WORD(kind, e->region)};
  __atomic_store_n(&lane->n, n + 1, __ATOMIC_RELEASE);
}

static void enter(void *data, const struct pml_stream_event *e) {
  keep(data, e, PML__LOG_ENTER);
}

static void leave(void *data, const struct pml_stream_event *e) {
  keep(data, e, PML__LOG_LEAVE);
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

/* Once for each region that is in the timeline: @told has a bit for each that was. */
struct names {
  uint32_t regions;
  uint8_t *told;
};

static bool first_time(const struct names *names, pml_region_t region, struct pml_region_info *info) {
  if (region > names->regions || (names->told[region / 8] >> region % 8 & 1) != 0) return false;
  names->told[region / 8] |= (uint8_t)(1u << region % 8);
  return pml_region_describe(region, info) == 0;
}

static bool make_names(struct names *names) {
  names->regions = pml_region_count();
  names->told = calloc(names->regions / 8u + 1u, 1);
  return names->told != NULL;
}

/* The lanes as they are now; the caller leaves `control` when it has told them. */
static struct lane *take_lanes(uint32_t *others) {
  pml__process_look();
  pml__lock_take(&control);
  pml__lock_take(&lock);
  struct lane *first = lanes;
  *others = unseen;
  pml__lock_leave(&lock);
  return first;
}

static void tell_lane(struct pml__text *t, const struct lane *lane, const struct names *names) {
  uint64_t zero = pml_clock_at_ns(pml__section_origin()->zero_ticks);
  uint32_t n = __atomic_load_n(&lane->n, __ATOMIC_ACQUIRE);
  struct pml_region_info info;
  for (uint32_t i = 0; i < n; i++) {
    pml_region_t region = (pml_region_t)lane->event[i].word;
    if (first_time(names, region, &info)) pml__section_tell_region(t, region, info.name);
  }
  pml__section_tell_lane(t, lane->thread, n, __atomic_load_n(&lane->dropped, __ATOMIC_RELAXED));
  for (uint32_t i = 0; i < n && !t->failed; i++) {
    const struct pml__log_event *e = &lane->event[i];
    pml__section_tell_event(t, e->word >> 32 == PML__LOG_LEAVE, (int64_t)(pml_clock_at_ns(e->ticks) - zero),
                            (pml_region_t)e->word);
  }
}

void pml__section_timeline_text(struct pml__text *t) {
  struct names names;
  uint32_t others;
  if (!make_names(&names)) {
    t->failed = true;
    return;
  }
  const struct lane *lane = take_lanes(&others);
  if (others > 0) {
    pml__text_add(t, "unseen\t%u", others);
    pml__text_end(t);
  }
  for (; lane != NULL; lane = lane->next) tell_lane(t, lane, &names);
  pml__lock_leave(&control);
  free(names.told);
}

static void log_lane(struct pml__log *log, const struct lane *lane, const struct names *names) {
  struct pml__log_entry *entry;
  struct pml_region_info info;
  uint32_t n = __atomic_load_n(&lane->n, __ATOMIC_ACQUIRE);
  uint64_t dropped = __atomic_load_n(&lane->dropped, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < n; i++) {
    struct pml__log_region d = {(pml_region_t)lane->event[i].word, 0};
    if (!first_time(names, d.region, &info)) continue;
    const char *const text[2] = {info.name, info.file};
    (void)pml__log_define(log, PML__LOG_REGION, &d, sizeof d, text, 2);
  }
  size_t bytes = n * sizeof lane->event[0];
  void *at = pml__log_extent(log, PML__LOG_SECTION_EVENTS, dropped < UINT32_MAX ? (uint32_t)dropped : UINT32_MAX,
                             lane->thread, bytes > 0 ? bytes : 1, 0, &entry);
  if (at == NULL) return;
  memcpy(at, lane->event, bytes);
  pml__log_commit(entry, bytes);
}

void pml__section_timeline_log(struct pml__log *log) {
  struct names names;
  uint32_t others;
  char text[16];
  const char *const note[2] = {"unseen", text};
  if (!make_names(&names)) return;
  const struct lane *lane = take_lanes(&others);
  (void)snprintf(text, sizeof text, "%u", others);
  if (others > 0) (void)pml__log_define(log, PML__LOG_NOTE, NULL, 0, note, 2);
  for (; lane != NULL; lane = lane->next) log_lane(log, lane, &names);
  pml__lock_leave(&control);
  free(names.told);
}
