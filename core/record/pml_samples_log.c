/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_samples_log.c - samples of an experiment in a log, which survive a kill. */
#include "record/pml_samples_log.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "record/log/pml_log.h"
#include "record/pml_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct {
  struct pml__log *log;
  uint64_t number, visit;
  struct pml__log_cell *cell;
  struct pml_samples single; /* for samples that come one by one */
} run;

static int refused(const char *folder, int err) {
  return pml_fail(err, "%.300s/samples.pmlog: %s", folder, strerror(-err));
}

int pml_samples_log_open(const char *folder) {
  struct pml__log_process p = {.name = "samples", .rank = -1, .size = -1};
  struct pml__log_entry *entry;
  if (run.log != NULL) return pml_fail(-EALREADY, "another run is keeping its samples");
  (void)pml_clock_init();
  p.started_ns = pml_clock_realtime_ns();
  p.started_ticks = pml_clock_ticks();
  int err = pml__log_open(&run.log, folder, &p);
  if (err < 0) return refused(folder, err);
  run.number++;
  run.cell = pml__log_extent(run.log, PML__LOG_CELLS, 0, 0, sizeof *run.cell, 0, &entry);
  if (run.cell != NULL) return 0;
  err = -run.log->head->refused;
  pml_samples_log_close();
  return refused(folder, err);
}

static struct pml__log_samples *head_of(uint64_t *value) {
  return (struct pml__log_samples *)(void *)((char *)value - sizeof(struct pml__log_samples));
}

static size_t bytes_of(size_t capacity) {
  return sizeof(struct pml__log_samples) + capacity * sizeof(uint64_t);
}

/* A child that wrote to it would write to its parent's samples. */
uint64_t *pml__samples_log_memory(size_t capacity, bool real, uint64_t *of) {
  struct pml__log_entry *entry;
  if (run.log == NULL || capacity > PML_SAMPLES_LOG_BYTES / sizeof(uint64_t)) return NULL;
  struct pml__log_samples *head = pml__log_extent(run.log, PML__LOG_SAMPLES, 0, 0, bytes_of(capacity), 0, &entry);
  if (head == NULL) return NULL;
  (void)madvise(head, bytes_of(capacity), MADV_DONTFORK);
  head->real = real;
  *of = run.number;
  pml__samples_log_clear((uint64_t *)(head + 1), capacity);
  return (uint64_t *)(head + 1);
}

void pml__samples_log_clear(uint64_t *value, size_t capacity) {
  struct pml__log_samples *head = head_of(value);
  head->visit = 0;
  memset(value, 0xff, capacity * sizeof *value);
  __atomic_store_n(&head->visit, run.visit, __ATOMIC_RELEASE);
}

/* After a run has ended, its file is deleted, but the mapping remains. */
void pml__samples_log_free(uint64_t *value, size_t capacity, uint64_t of) {
  void *head = head_of(value);
  struct pml__log_entry *entry = of == run.number && run.log != NULL ? pml__log_entry_of(run.log, head) : NULL;
  if (entry != NULL)
    pml__log_free(run.log, entry);
  else
    (void)munmap(head, bytes_of(capacity));
}

void pml_samples_log_visit(uint32_t cell, uint32_t round, uint64_t planned) {
  if (run.log == NULL) return;
  run.visit++;
  run.cell->value = 0;
  run.cell->number = cell;
  run.cell->owner = round;
  run.cell->more = planned;
  run.cell->what = PML__LOG_CELL_VISIT;
  __atomic_store_n(&run.cell->value, run.visit, __ATOMIC_RELEASE);
  if (run.single.capacity < planned) pml_samples_close(&run.single);
  if (run.single.run != 0) pml_samples_clear(&run.single);
}

/* The room is made at the first one: many visits give all at once. */
void pml_samples_log_push(double v) {
  uint64_t bits;
  if (run.log == NULL || run.cell->value == 0) return;
  if (run.single.value == NULL) {
    run.single = (struct pml_samples){.capacity = run.cell->more};
    run.single.value = pml__samples_log_memory(run.cell->more, true, &run.single.run);
    if (run.single.value == NULL) run.single = (struct pml_samples){0};
  }
  memcpy(&bits, &v, sizeof bits);
  (void)pml_samples_push(&run.single, bits);
}

/* The head of a log records that it had no room. */
void pml_samples_log_tell(uint32_t cell, uint32_t round, uint64_t samples, const char *name, const char *value) {
  const struct pml__log_told told = {cell, round, samples};
  const char *const text[] = {name, value};
  if (run.log != NULL) (void)pml__log_define(run.log, PML__LOG_TOLD, &told, sizeof told, text, 2);
}

void pml_samples_log_kept(void) {
  if (run.log != NULL) __atomic_store_n(&run.cell->value, 0, __ATOMIC_RELEASE);
}

void pml_samples_log_close(void) {
  if (run.log == NULL) return;
  pml_samples_close(&run.single);
  pml__log_remove(run.log, PML__LOG_SAMPLES);
  run.log = NULL;
}
