/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/spool/pml_spool.c - the part of a log that recorded calls have: memory, names, and how it went. */
#include "substrate/spool/pml_spool.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "substrate/spool/pml_spool_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE (PML__SPOOL_BLOCKS_BYTES / 4) /* blocks from here on have an extent of their own */

/* ---- memory ---- */

/* @bytes is a multiple of 64. */
static struct pml__log_block **list_for(struct pml_spool *s, uint64_t bytes) {
  return &s->free[57 - __builtin_clzll(bytes)];
}

static struct pml__log_block *reuse(struct pml_spool *s, uint64_t bytes) {
  struct pml__log_block **at = list_for(s, bytes);
  while (*at != NULL && (*at)->bytes != bytes) at = &(*at)->next;
  struct pml__log_block *b = *at;
  if (b == NULL) return NULL;
  *at = b->next;
  memset(b + 1, 0, bytes);
  return b;
}

static void *more_memory(struct pml_spool *s, uint64_t bytes) {
  struct pml__log_entry *entry;
  return pml__log_extent(s->log, PML__LOG_BLOCKS, 0, 0, bytes, 0, &entry);
}

static struct pml__log_block *carve(struct pml_spool *s, uint64_t bytes) {
  uint64_t whole = sizeof(struct pml__log_block) + bytes;
  if (whole >= LARGE) return more_memory(s, whole);
  if (s->at == NULL || (uint64_t)(s->end - s->at) < whole) {
    char *more = more_memory(s, PML__SPOOL_BLOCKS_BYTES);
    if (more == NULL) return NULL;
    s->at = more;
    s->end = more + PML__SPOOL_BLOCKS_BYTES;
  }
  struct pml__log_block *b = (struct pml__log_block *)(void *)s->at;
  s->at += whole;
  return b;
}

void *pml_spool_get(struct pml_spool *s, uint32_t whose, uint32_t part, size_t bytes) {
  uint64_t rounded = ((uint64_t)bytes + 63) & ~UINT64_C(63);
  if (bytes == 0 || bytes > (UINT64_C(1) << 40)) return NULL;
  pthread_mutex_lock(&s->lock);
  struct pml__log_block *b = reuse(s, rounded);
  if (b == NULL) b = carve(s, rounded);
  if (b != NULL) {
    b->bytes = rounded;
    b->whose = whose;
    b->part = part;
    b->next = NULL;
    __atomic_store_n(&b->used, PML__LOG_USED, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&s->lock);
  return b != NULL ? b + 1 : NULL;
}

void pml_spool_put(struct pml_spool *s, void *memory) {
  if (memory == NULL) return;
  struct pml__log_block *b = (struct pml__log_block *)memory - 1;
  pthread_mutex_lock(&s->lock);
  __atomic_store_n(&b->used, 0, __ATOMIC_RELEASE);
  struct pml__log_block **list = list_for(s, b->bytes);
  b->next = *list;
  *list = b;
  pthread_mutex_unlock(&s->lock);
}

/* ---- names ---- */

/* Who sets the bit writes the name. */
void pml_spool_name(struct pml_spool *s, pml_region_t region) {
  struct pml_region_info info;
  if (region >= PML__SPOOL_MARKS) return;
  uint32_t *mark = &s->mark[region];
  if ((__atomic_load_n(mark, __ATOMIC_RELAXED) & PML__SPOOL_NAMED) != 0) return;
  if (pml_region_describe(region, &info) < 0) return;
  if ((__atomic_fetch_or(mark, PML__SPOOL_NAMED, __ATOMIC_RELAXED) & PML__SPOOL_NAMED) != 0) return;
  const struct pml__log_region d = {region, 0};
  const char *const text[2] = {info.name, info.file};
  (void)pml__log_define(s->log, PML__LOG_REGION, &d, sizeof d, text, 2);
}

/* ---- what is told of the process ---- */

void pml_spool_note(struct pml_spool *s, const char *key, const char *text) {
  char full[64];
  const char *const note[2] = {full, text};
  (void)snprintf(full, sizeof full, "%s%s", PML__SPOOL_NOTE, key);
  (void)pml__log_define(s->log, PML__LOG_NOTE, NULL, 0, note, 2);
}

void pml_spool_counted(struct pml_spool *s, enum pml_count_at at) {
  __atomic_store_n(&s->recording->counted, (uint32_t)at, __ATOMIC_RELAXED);
}

void pml_spool_end(struct pml_spool *s, enum pml_spool_end how) {
  if (how == PML_SPOOL_EXIT)
    pml__log_end(s->log);
  else if (how == PML_SPOOL_LEFT)
    pml__log_left(s->log);
  else
    __atomic_store_n(&s->recording->failed, how == PML_SPOOL_FAILED, __ATOMIC_RELEASE);
}

void pml_spool_seal(struct pml_spool *s) {
  pml__log_seal(s->log);
}

void pml_spool_lose_counts(struct pml_spool *s, int err) {
  __atomic_store_n(&s->recording->uncounted, -err, __ATOMIC_RELAXED);
}

void pml_spool_lose_child(struct pml_spool *s) {
  __atomic_fetch_add(&s->recording->lost_children, 1, __ATOMIC_RELAXED);
}

/* ---- life ---- */

const char *pml_spool_path(const struct pml_spool *s) {
  return s->log->file.path;
}

void pml_spool_share(struct pml_spool *s) {
  pml__log_share(s != NULL ? s->log : NULL);
}

static void unmap_all(struct pml_spool *s) {
  if (s->mark != NULL) munmap(s->mark, PML__SPOOL_MARKS * sizeof *s->mark);
  pml__spool_values_end(s);
}

static int make(struct pml_spool *s, const char *folder, const char *name) {
  const struct pml__log_process process = {name, -1, -1, pml_clock_realtime_ns(), pml_clock_ticks()};
  struct pml__log_entry *entry;
  s->mark = mmap(NULL, PML__SPOOL_MARKS * sizeof *s->mark, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (s->mark == MAP_FAILED) s->mark = NULL;
  int err = s->mark != NULL ? pml__log_open(&s->log, folder, &process) : -ENOMEM;
  if (err < 0) return err;
  s->recording = pml__log_extent(s->log, PML__LOG_RECORDING, 0, 0, sizeof *s->recording, 0, &entry);
  if (s->recording != NULL) return 0;
  err = -s->log->head->refused;
  (void)unlink(pml_spool_path(s));
  pml__log_close(s->log);
  return err;
}

int pml_spool_open(struct pml_spool **out, const char *folder, const char *name) {
  *out = NULL;
  int err = pml_clock_init();
  if (err < 0) return err;
  struct pml_spool *s = calloc(1, sizeof *s);
  if (s == NULL) return pml_fail(-ENOMEM, "no memory for what is recorded");
  pthread_mutex_init(&s->lock, NULL);
  err = make(s, folder, name);
  if (err == 0) {
    *out = s;
    return 0;
  }
  unmap_all(s);
  pthread_mutex_destroy(&s->lock);
  free(s);
  return pml_fail(err, "%.400s: %s", folder, pml_error_text(err));
}

void pml_spool_abandon(struct pml_spool *s) {
  if (s == NULL || pml__log_is_sealed(s->log)) return;
  unmap_all(s);
  pml__log_abandon(s->log);
}

void pml_spool_close(struct pml_spool *s) {
  if (s == NULL) return;
  pml__spool_trace_end(s);
  pml__spool_sum_end(s);
  if (!pml__log_is_sealed(s->log)) unmap_all(s);
  pml__log_close(s->log);
  pthread_mutex_destroy(&s->lock);
  free(s);
}
