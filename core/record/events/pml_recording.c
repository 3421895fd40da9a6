/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/events/pml_recording.c - recorded calls in a log: memory, names, status. */
#include "record/events/pml_recording.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "base/pml_process.h"
#include "record/events/pml_recording_file.h"
#include "record/log/pml_log_own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE (PML__RECORDING_BLOCKS_BYTES / 4) /* larger blocks have a separate extent */

/* ---- memory ---- */

/* @bytes is a multiple of 64. */
static struct pml__log_block **list_for(struct pml_recording *s, uint64_t bytes) {
  return &s->free[57 - __builtin_clzll(bytes)];
}

static struct pml__log_block *reuse(struct pml_recording *s, uint64_t bytes) {
  struct pml__log_block **at = list_for(s, bytes);
  while (*at != NULL && (*at)->bytes != bytes) at = &(*at)->next;
  struct pml__log_block *b = *at;
  if (b == NULL) return NULL;
  *at = b->next;
  memset(b + 1, 0, bytes);
  return b;
}

static void *more_memory(struct pml_recording *s, uint64_t bytes) {
  struct pml__log_entry *entry;
  return pml__log_extent(s->log, PML__LOG_BLOCKS, 0, 0, bytes, 0, &entry);
}

static struct pml__log_block *carve(struct pml_recording *s, uint64_t bytes) {
  uint64_t whole = sizeof(struct pml__log_block) + bytes;
  if (whole >= LARGE) return more_memory(s, whole);
  if (s->at == NULL || (uint64_t)(s->end - s->at) < whole) {
    char *more = more_memory(s, PML__RECORDING_BLOCKS_BYTES);
    if (more == NULL) return NULL;
    s->at = more;
    s->end = more + PML__RECORDING_BLOCKS_BYTES;
  }
  struct pml__log_block *b = (struct pml__log_block *)(void *)s->at;
  s->at += whole;
  return b;
}

void *pml_recording_get(struct pml_recording *s, uint32_t whose, uint32_t part, size_t bytes) {
  uint64_t rounded = ((uint64_t)bytes + 63) & ~UINT64_C(63);
  if (bytes == 0 || bytes > (UINT64_C(1) << 40)) return NULL;
  pml__mutex_take(&s->lock);
  struct pml__log_block *b = reuse(s, rounded);
  if (b == NULL) b = carve(s, rounded);
  if (b != NULL) {
    b->bytes = rounded;
    b->whose = whose;
    b->part = part;
    b->next = NULL;
    __atomic_store_n(&b->used, PML__LOG_USED, __ATOMIC_RELEASE);
  }
  pml__mutex_leave(&s->lock);
  return b != NULL ? b + 1 : NULL;
}

void pml_recording_put(struct pml_recording *s, void *memory) {
  if (memory == NULL) return;
  struct pml__log_block *b = (struct pml__log_block *)memory - 1;
  pml__mutex_take(&s->lock);
  __atomic_store_n(&b->used, 0, __ATOMIC_RELEASE);
  struct pml__log_block **list = list_for(s, b->bytes);
  b->next = *list;
  *list = b;
  pml__mutex_leave(&s->lock);
}

/* ---- names ---- */

/* The thread that sets the bit writes the name. */
void pml_recording_name(struct pml_recording *s, pml_region_t region) {
  if (region == 0 || region >= PML_REGIONS_MAX || region > pml_region_count()) return;
  uint32_t *mark = &s->mark[region];
  if ((__atomic_load_n(mark, __ATOMIC_RELAXED) & PML__RECORDING_NAMED) != 0) return;
  int cancel = pml__cancel_hold();
  if ((__atomic_fetch_or(mark, PML__RECORDING_NAMED, __ATOMIC_RELAXED) & PML__RECORDING_NAMED) == 0)
    (void)pml__log_region(s->log, region);
  pml__cancel_again(cancel);
}

/* ---- facts about the process ---- */

void pml_recording_note(struct pml_recording *s, const char *key, const char *text) {
  char full[64];
  const char *const note[2] = {full, text};
  (void)snprintf(full, sizeof full, "%s%s", PML__RECORDING_NOTE, key);
  (void)pml__log_define(s->log, PML__LOG_NOTE, NULL, 0, note, 2);
}

void pml_recording_name_thread(uint32_t tid, const char *name) {
  char key[48], text[256];
  const char *const note[2] = {key, text};
  struct pml__log *log = pml__log_own();
  if (log == NULL || name == NULL || name[0] == '\0') return;
  (void)snprintf(key, sizeof key, "%sthread.%u", PML__RECORDING_NOTE, tid != 0 ? tid : (unsigned)gettid());
  (void)snprintf(text, sizeof text, "%s", name);
  (void)pml__log_define(log, PML__LOG_NOTE, NULL, 0, note, 2);
}

void pml_recording_counted(struct pml_recording *s, uint32_t at) {
  __atomic_store_n(&s->head->counted, at, __ATOMIC_RELAXED);
}

void pml_recording_end(struct pml_recording *s, enum pml_recording_end how) {
  if (how == PML_RECORDING_EXIT)
    pml__log_end(s->log);
  else if (how == PML_RECORDING_LEFT)
    pml__log_left(s->log);
  else
    __atomic_store_n(&s->head->failed, how == PML_RECORDING_FAILED, __ATOMIC_RELEASE);
}

void pml_recording_seal(struct pml_recording *s) {
  pml__log_seal(s->log);
}

void pml_recording_lose_counts(struct pml_recording *s, int err) {
  __atomic_store_n(&s->head->uncounted, -err, __ATOMIC_RELAXED);
}

void pml_recording_lose_child(struct pml_recording *s) {
  __atomic_fetch_add(&s->head->lost_children, 1, __ATOMIC_RELAXED);
}

/* ---- children ---- */

static struct pml__log_child *child_of(int32_t *pid) {
  return (struct pml__log_child *)(void *)((char *)pid - offsetof(struct pml__log_child, pid));
}

int32_t *pml_recording_child(struct pml_recording *s, bool grows) {
  struct pml__log_child *c = pml__log_child(s->log, grows, (int)getpid());
  return c != NULL ? &c->pid : NULL;
}

void pml_recording_child_opened(int32_t *pid, int err) {
  if (err < 0)
    __atomic_store_n(&child_of(pid)->refused, -err, __ATOMIC_RELEASE);
  else
    __atomic_store_n(&child_of(pid)->has_log, 1, __ATOMIC_RELEASE);
}

PML__IN_CHILD void pml_recording_child_ended(int32_t *pid, enum pml_recording_end how) {
  uint32_t ended = how == PML_RECORDING_EXIT ? PML__LOG_ENDED_EXIT : PML__LOG_ENDED_LEFT;
  __atomic_store_n(&child_of(pid)->ended, ended, __ATOMIC_RELEASE);
}

/* ---- life ---- */

const char *pml_recording_path(const struct pml_recording *s) {
  return s->log->file.path;
}

void pml_recording_share(struct pml_recording *s) {
  pml__log_share(s != NULL ? s->log : NULL);
}

static void unmap_all(struct pml_recording *s) {
  if (s->mark != NULL) munmap(s->mark, PML_REGIONS_MAX * sizeof *s->mark);
  pml__recording_values_end(s);
}

static int make(struct pml_recording *s, const char *folder, const char *name) {
  const struct pml__log_process process = {name, -1, -1, pml_clock_realtime_ns(), pml_clock_ticks()};
  struct pml__log_entry *entry;
  s->mark = mmap(NULL, PML_REGIONS_MAX * sizeof *s->mark, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (s->mark == MAP_FAILED) s->mark = NULL;
  int err = s->mark != NULL ? pml__log_open(&s->log, folder, &process) : -ENOMEM;
  if (err < 0) return err;
  s->head = pml__log_extent(s->log, PML__LOG_RECORDING, 0, 0, sizeof *s->head, 0, &entry);
  if (s->head != NULL) return 0;
  err = -s->log->head->refused;
  (void)unlink(pml_recording_path(s));
  pml__log_close(s->log);
  return err;
}

int pml_recording_open(struct pml_recording **out, const char *folder, const char *name) {
  *out = NULL;
  int err = pml_clock_init();
  if (err < 0) return err;
  struct pml_recording *s = calloc(1, sizeof *s);
  if (s == NULL) return pml_fail(-ENOMEM, "no memory for the recording");
  pthread_mutex_init(&s->lock.mutex, NULL);
  err = make(s, folder, name);
  if (err == 0) {
    *out = s;
    return 0;
  }
  unmap_all(s);
  pthread_mutex_destroy(&s->lock.mutex);
  free(s);
  return pml_fail(err, "%.400s: %s", folder, pml_error_text(err));
}

void pml_recording_abandon(struct pml_recording *s) {
  if (s == NULL || pml__log_is_sealed(s->log)) return;
  unmap_all(s);
  pml__log_abandon(s->log);
}

void pml_recording_close(struct pml_recording *s) {
  if (s == NULL) return;
  pml__recording_trace_end(s);
  pml__recording_sum_end(s);
  if (!pml__log_is_sealed(s->log)) unmap_all(s);
  pml__log_close(s->log);
  pthread_mutex_destroy(&s->lock.mutex);
  free(s);
}
