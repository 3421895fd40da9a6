/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/section/pml_section_timeline.c - first enters and leaves of each thread, for the section file. */
#include "adapter/section/pml_section_file.h"
#include "adapter/section/pml_section_private.h"
#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_process.h"
#include "base/pml_stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The events of one thread, which alone writes; readers see the events below n, which do not change any more. It is in
 * the process's log, if there is one.
 */
struct event_buffer {
  struct pml__log_timeline head;
  struct pml__log_event event[];
};

/* Where the events of a thread are: a list, which only this process sees. */
struct thread_entry {
  struct thread_entry *next;
  struct event_buffer *buffer;
  struct pml__log *log; /* NULL: the buffer is private memory */
  struct pml__log_entry *entry;
};

/*
 * Functions that change or read the timeline hold `control`, also while the stream changes; consumers take only `lock`.
 */
static struct pml__lock control, lock;
static struct thread_entry *buffers;
static uint32_t nbuffers, capacity, unseen; /* unseen: threads without a buffer */
static uint32_t named;                      /* regions up to this one are in the log. Under `lock` */
static bool on;
static uint64_t id;

/* ---- in the log: under `lock` ---- */

/* Regions that are interned later are named when an enter may follow, or the section is defined. */
static void name_regions(struct pml__log *log, uint32_t *last) {
  while (*last < pml_region_count()) (void)pml__log_region(log, ++*last);
}

static void note_unseen(struct pml__log *log) {
  char text[16];
  const char *const note[2] = {"unseen", text};
  (void)snprintf(text, sizeof text, "%u", unseen);
  if (log != NULL) (void)pml__log_define(log, PML__LOG_NOTE, NULL, 0, note, 2);
}

static bool make_buffer(struct thread_entry *k, uint64_t thread) {
  size_t bytes = sizeof *k->buffer + capacity * sizeof k->buffer->event[0];
  k->log = pml__log_own();
  if (k->log != NULL) k->buffer = pml__log_extent(k->log, PML__LOG_SECTION_EVENTS, 0, thread, bytes, 0, &k->entry);
  if (k->buffer == NULL) {
    k->log = NULL;
    k->buffer = calloc(1, bytes);
  }
  if (k->buffer == NULL) return false;
  k->buffer->head.thread = thread;
  k->buffer->head.capacity = capacity;
  if (k->log != NULL) name_regions(k->log, &named);
  return true;
}

static void free_buffer(struct thread_entry *k) {
  if (k->log != NULL)
    pml__log_free(k->log, k->entry);
  else
    free(k->buffer);
  free(k);
}

/* ---- the stream's side ---- */

static void *thread_begin(void *arg, uint64_t thread) {
  (void)arg;
  pml__lock_take(&lock);
  struct thread_entry *k = nbuffers < PML_SECTION_TIMELINE_THREADS_MAX ? calloc(1, sizeof *k) : NULL;
  bool made = k != NULL && make_buffer(k, thread);
  if (made) {
    k->next = buffers;
    buffers = k;
    nbuffers++;
  } else if (unseen < UINT32_MAX) {
    unseen++;
    note_unseen(pml__log_own());
  }
  struct event_buffer *buffer = made ? k->buffer : NULL;
  if (!made) free(k);
  pml__lock_leave(&lock);
  return buffer;
}

void pml__section_timeline_name(pml_region_t region) {
  if (region <= __atomic_load_n(&named, __ATOMIC_RELAXED)) return;
  pml__lock_take(&lock);
  struct pml__log *log = buffers != NULL ? pml__log_own() : NULL;
  if (log != NULL) name_regions(log, &named);
  pml__lock_leave(&lock);
}

static void prepare(void *data, pml_region_t region) {
  (void)data;
  pml__section_timeline_name(region);
}

static void append(struct event_buffer *buffer, const struct pml_stream_event *e, enum pml__log_event_kind kind) {
  uint32_t n = buffer->head.n;
  if (n == buffer->head.capacity) {
    __atomic_store_n(&buffer->head.dropped, buffer->head.dropped + 1, __ATOMIC_RELAXED);
    return;
  }
  buffer->event[n] = (struct pml__log_event){e->ticks, PML__LOG_WORD(kind, e->region)};
  __atomic_store_n(&buffer->head.n, n + 1, __ATOMIC_RELEASE);
}

static void enter(void *data, const struct pml_stream_event *e) {
  append(data, e, PML__LOG_ENTER);
}

static void leave(void *data, const struct pml_stream_event *e) {
  append(data, e, PML__LOG_LEAVE);
}

/* ---- beginning and ending ---- */

/* The child has no consumers, and the buffers are its parent's: the memory is left alone. */
static void in_child(void) {
  buffers = NULL;
  nbuffers = unseen = named = 0;
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
  static const struct pml_stream_consumer consumer = {
      .thread_begin = thread_begin, .prepare = prepare, .event = {enter, leave, NULL}};
  while (buffers != NULL) {
    struct thread_entry *next = buffers->next;
    free_buffer(buffers);
    buffers = next;
  }
  nbuffers = unseen = 0;
  capacity = events;
  int err = pml_stream_add(&consumer, &id);
  on = err == 0;
  return err;
}

int pml_section_timeline(uint32_t events) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (events > PML_SECTION_TIMELINE_EVENTS_MAX)
    return pml_fail(-EINVAL, "a timeline keeps at most %u events per thread", PML_SECTION_TIMELINE_EVENTS_MAX);
  (void)pml_clock_init();
  pthread_once(&once, watch_forks);
  pml__process_look();
  pml__lock_take(&control);
  int err = end();
  if (err == 0 && events > 0) err = begin(events);
  pml__lock_leave(&control);
  return err;
}

/* ---- copying ---- */

static int copy_buffer(struct pml__log *log, const struct event_buffer *buffer) {
  uint32_t n = __atomic_load_n(&buffer->head.n, __ATOMIC_ACQUIRE);
  struct pml__log_entry *entry;
  struct event_buffer *to = pml__log_extent(log, PML__LOG_SECTION_EVENTS, 0, buffer->head.thread,
                                            sizeof *to + n * sizeof to->event[0], 0, &entry);
  if (to == NULL) return -ENOMEM;
  to->head =
      (struct pml__log_timeline){buffer->head.thread, n, n, __atomic_load_n(&buffer->head.dropped, __ATOMIC_RELAXED)};
  memcpy(to->event, buffer->event, n * sizeof to->event[0]);
  return 0;
}

int pml__section_timeline_copy(struct pml__log *log) {
  uint32_t from = 0;
  int err = 0;
  pml__process_look();
  pml__lock_take(&control);
  pml__lock_take(&lock);
  const struct thread_entry *k = buffers;
  if (k != NULL) name_regions(log, &from);
  if (unseen > 0) note_unseen(log);
  pml__lock_leave(&lock);
  for (; k != NULL && err == 0; k = k->next) err = copy_buffer(log, k->buffer);
  pml__lock_leave(&control);
  return err;
}
