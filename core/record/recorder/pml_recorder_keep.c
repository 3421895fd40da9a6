/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/recorder/pml_recorder_keep.c - recorders stored in the process's log, and forked children. */
#include "record/recorder/pml_recorder_lane.h"

#include "base/pml_error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GROWTH 4 /* a chunk is a quarter of the elements so far: few, because each is mapped separately */

static struct pml__lock defining;
static struct pml_recorder *logged; /* atomic: recorders with a name, which are never closed */

static void each_logged_lane(const struct pml_recorder *r,
                             void (*f)(const struct pml_recorder *, struct pml__recorder_lane *)) {
  for (struct pml__recorder_lane *l = __atomic_load_n(&r->lanes, __ATOMIC_ACQUIRE); l != NULL;
       l = __atomic_load_n(&l->next, __ATOMIC_ACQUIRE))
    if (l->mark != &l->own) f(r, l);
}

static void note_count(const struct pml_recorder *r, struct pml__recorder_lane *lane) {
  lane->at_fork = pml__recorder_lane_count(lane, r->options.bytes);
}

/* Shared mappings still change while the child reads them. */
void pml__recorder_before_fork(void) {
  for (const struct pml_recorder *r = __atomic_load_n(&logged, __ATOMIC_ACQUIRE); r != NULL; r = r->next)
    each_logged_lane(r, note_count);
}

/* A copy of the first @n elements in a separate chunk; NULL without memory. */
static struct pml__recorder_chunk *copy_of(const struct pml__recorder_lane *lane, size_t element, uint64_t n) {
  struct pml__recorder_chunk *copy = pml__recorder_allocate(sizeof *copy + n * element);
  if (copy == NULL) return NULL;
  *copy = (struct pml__recorder_chunk){.capacity = n, .bytes = sizeof *copy + n * element};
  for (const struct pml__recorder_chunk *c = lane->first; c != NULL && c->first < n; c = c->next) {
    uint64_t some = c->capacity < n - c->first ? c->capacity : n - c->first;
    memcpy((char *)copy->data + c->first * element, c->data, some * element);
  }
  return copy;
}

/* The child may read its elements, but no thread pushes to it any more. */
static void take_home(const struct pml_recorder *r, struct pml__recorder_lane *lane) {
  uint64_t n = pml__recorder_lane_count(lane, r->options.bytes);
  if (pml__process_was_told() && lane->at_fork < n) n = lane->at_fork;
  struct pml__recorder_chunk *copy = n > 0 ? copy_of(lane, r->options.bytes, n) : NULL;
  char *end = copy != NULL ? (char *)copy->data + n * r->options.bytes : NULL;
  lane->first = lane->current = lane->apart = copy;
  lane->own = (struct pml__recorder_mark){.tail = {end, end}, .lane = lane, .epoch = lane->epoch};
  lane->mark = &lane->own;
  lane->log = NULL;
  lane->owned = 1;
}

void pml__recorder_leave_log(void) {
  for (const struct pml_recorder *r = logged; r != NULL; r = r->next) each_logged_lane(r, take_home);
}

/* ---- keeping ---- */

/* In this process's log, under the lock. */
static bool define_in_log(struct pml_recorder *r, struct pml__log *log) {
  struct pml__log_recorder d = {r->number, r->section, (uint32_t)r->options.type, (uint32_t)r->options.bytes};
  const char *name = r->name;
  if (pml__recorder_cell(r) != NULL) return true;
  struct pml__log_cell *cell = pml__log_cells(1, PML__LOG_CELL_RECORDER, r->number);
  if (cell == NULL || pml__log_define(log, PML__LOG_RECORDER, &d, sizeof d, &name, 1) < 0) return false;
  r->cell = cell;
  __atomic_store_n(&r->process, pml__process(), __ATOMIC_SEQ_CST); /* a reset stores its epoch, then looks for it */
  __atomic_store_n(&cell->epoch, __atomic_load_n(&r->head.epoch, __ATOMIC_SEQ_CST), __ATOMIC_RELEASE);
  return true;
}

static struct pml__log *log_with(struct pml_recorder *r) {
  struct pml__log *log = pml__log_own();
  if (log == NULL) return NULL;
  pml__lock_take(&defining);
  bool defined = define_in_log(r, log);
  pml__lock_leave(&defining);
  return defined ? log : NULL;
}

void pml__recorder_keep_lane(struct pml_recorder *r, struct pml__recorder_lane *lane) {
  struct pml__log *log = log_with(r);
  struct pml__recorder_mark *mark =
      log != NULL ? (struct pml__recorder_mark *)(void *)pml__log_cells(1, PML__LOG_CELL_LANE, r->number) : NULL;
  if (mark == NULL) return;
  mark->lane = lane;
  mark->owner = pml__log_number();
  __atomic_store_n(&mark->epoch, lane->epoch, __ATOMIC_RELEASE);
  lane->mark = mark;
  lane->log = log;
}

int pml__recorder_log(struct pml_recorder *r, const char *name, uint32_t section) {
  if (!pml__log_asked() || r->options.keep == PML_KEEP_SKETCH) return 0;
  char *copy = strdup(name);
  if (copy == NULL) return pml_fail(-ENOMEM, "recorder: no memory for its name");
  r->section = section;
  r->number = pml__log_number();
  __atomic_store_n(&r->name, copy, __ATOMIC_RELEASE);
  r->next = __atomic_load_n(&logged, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&logged, &r->next, r, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) continue;
  return 0;
}

void pml__recorder_define(struct pml_recorder *r) {
  if (r->name != NULL) (void)log_with(r);
}

/* A lane that was refused one asks no more. */
struct pml__recorder_chunk *pml__recorder_keep_chunk(struct pml__recorder_lane *lane, size_t element, uint64_t first,
                                                     uint64_t *capacity) {
  struct pml__log_entry *entry;
  if (lane->log == NULL) return NULL;
  size_t bytes = sizeof(struct pml__recorder_chunk) + (first / GROWTH + 1) * element;
  bytes = (bytes + PML__LOG_STEP - 1) / PML__LOG_STEP * PML__LOG_STEP;
  *capacity = (bytes - sizeof(struct pml__recorder_chunk)) / element;
  void *c = pml__log_extent(lane->log, PML__LOG_ELEMENTS, lane->mark->number, lane->mark->owner, bytes, 0, &entry);
  if (c == NULL) lane->log = NULL;
  return c;
}
