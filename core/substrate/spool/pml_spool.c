/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/spool/pml_spool.c - the file: its head, its extents, the memory and the names in it. */
#include "substrate/spool/pml_spool.h"

#include "base/pml_clock.h"
#include "base/pml_error.h"
#include "substrate/profile/pml_profile_tree.h"
#include "substrate/spool/pml_spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE (PML__SPOOL_UNIT / 4) /* blocks from here on have an extent of their own */

struct pml__spool_map {
  struct pml__spool_extent *extent;
  struct pml__spool_map *next;
};

/* ---- room on the disk ---- */

struct pml__spool_extent *pml__spool_extent(struct pml_spool *s, uint32_t units) {
  if (pml__spool_is_sealed(s)) return NULL;
  uint64_t bytes = (uint64_t)units * PML__SPOOL_UNIT;
  uint64_t at = __atomic_fetch_add(&s->next_unit, units, __ATOMIC_RELAXED) * PML__SPOOL_UNIT;
  void *memory;
  int err = pml__grown_map(&s->file, at, bytes, NULL, &memory);
  if (err < 0) {
    __atomic_store_n(&s->head->refused, -err, __ATOMIC_RELAXED);
    return NULL;
  }
  struct pml__spool_extent *e = memory;
  e->units = units;
  return e;
}

void pml__spool_unmap(struct pml__spool_extent *e) {
  int saved = errno;
  if (e != NULL) (void)munmap(e, (size_t)e->units * PML__SPOOL_UNIT);
  errno = saved;
}

/* It stays mapped until the spool is closed. */
static struct pml__spool_extent *lasting_extent(struct pml_spool *s, uint32_t units, enum pml__spool_kind kind) {
  if (pml__spool_is_sealed(s)) return NULL;
  struct pml__spool_map *m = malloc(sizeof *m);
  struct pml__spool_extent *e = m != NULL ? pml__spool_extent(s, units) : NULL;
  if (e == NULL) {
    free(m);
    return NULL;
  }
  e->at = sizeof *e;
  __atomic_store_n(&e->kind, kind, __ATOMIC_RELEASE);
  m->extent = e;
  m->next = __atomic_load_n(&s->maps, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&s->maps, &m->next, m, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
  return e;
}

/* ---- memory ---- */

/* @bytes is a multiple of 64. */
static struct pml__spool_block **list_for(struct pml_spool *s, uint64_t bytes) {
  return &s->free[57 - __builtin_clzll(bytes)];
}

static struct pml__spool_block *reuse(struct pml_spool *s, uint64_t bytes) {
  struct pml__spool_block **at = list_for(s, bytes);
  while (*at != NULL && (*at)->bytes != bytes) at = &(*at)->next;
  struct pml__spool_block *b = *at;
  if (b == NULL) return NULL;
  *at = b->next;
  memset(b + 1, 0, bytes);
  return b;
}

static struct pml__spool_block *carve(struct pml_spool *s, uint64_t bytes) {
  uint64_t whole = sizeof(struct pml__spool_block) + bytes;
  if (whole >= LARGE) {
    uint64_t units = (sizeof(struct pml__spool_extent) + whole + PML__SPOOL_UNIT - 1) / PML__SPOOL_UNIT;
    if (units > UINT32_MAX / 2) return NULL;
    struct pml__spool_extent *e = lasting_extent(s, (uint32_t)units, PML__SPOOL_MEMORY);
    return e != NULL ? (struct pml__spool_block *)(e + 1) : NULL;
  }
  if (s->at == NULL || (uint64_t)(s->end - s->at) < whole) {
    struct pml__spool_extent *e = lasting_extent(s, 1, PML__SPOOL_MEMORY);
    if (e == NULL) return NULL;
    s->at = (char *)(e + 1);
    s->end = (char *)e + PML__SPOOL_UNIT;
  }
  struct pml__spool_block *b = (struct pml__spool_block *)(void *)s->at;
  s->at += whole;
  return b;
}

void *pml_spool_get(struct pml_spool *s, uint32_t whose, uint32_t part, size_t bytes) {
  uint64_t rounded = ((uint64_t)bytes + 63) & ~UINT64_C(63);
  if (bytes == 0 || bytes > (UINT64_C(1) << 40)) return NULL;
  pthread_mutex_lock(&s->lock);
  struct pml__spool_block *b = reuse(s, rounded);
  if (b == NULL) b = carve(s, rounded);
  if (b != NULL) {
    b->bytes = rounded;
    b->whose = whose;
    b->part = part;
    b->next = NULL;
    __atomic_store_n(&b->used, PML__SPOOL_USED, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&s->lock);
  return b != NULL ? b + 1 : NULL;
}

void pml_spool_put(struct pml_spool *s, void *memory) {
  if (memory == NULL) return;
  struct pml__spool_block *b = (struct pml__spool_block *)memory - 1;
  pthread_mutex_lock(&s->lock);
  __atomic_store_n(&b->used, 0, __ATOMIC_RELEASE);
  struct pml__spool_block **list = list_for(s, b->bytes);
  b->next = *list;
  *list = b;
  pthread_mutex_unlock(&s->lock);
}

/* ---- names ---- */

/* The place for @bytes in the current extent, or in a new one; of two threads that make one, one is in vain. */
static struct pml__spool_name *place(struct pml_spool *s, uint32_t bytes) {
  for (int i = 0; i < 8; i++) {
    struct pml__spool_extent *e = __atomic_load_n(&s->names, __ATOMIC_ACQUIRE);
    if (e != NULL) {
      uint64_t at = __atomic_fetch_add(&e->at, bytes, __ATOMIC_RELAXED);
      if (at + bytes <= PML__SPOOL_UNIT) return (struct pml__spool_name *)(void *)((char *)e + at);
    }
    struct pml__spool_extent *more = lasting_extent(s, 1, PML__SPOOL_NAMES);
    if (more == NULL) return NULL;
    (void)__atomic_compare_exchange_n(&s->names, &e, more, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  }
  return NULL;
}

/* Who sets the bit writes the name. */
void pml_spool_name(struct pml_spool *s, pml_region_t region) {
  struct pml_region_info info;
  if (region >= PML__SPOOL_MARKS) return;
  uint32_t *mark = &s->mark[region];
  if ((__atomic_load_n(mark, __ATOMIC_RELAXED) & PML__SPOOL_NAMED) != 0) return;
  if (pml_region_describe(region, &info) < 0) return;
  if ((__atomic_fetch_or(mark, PML__SPOOL_NAMED, __ATOMIC_RELAXED) & PML__SPOOL_NAMED) != 0) return;
  size_t file = strnlen(info.file, PML__SPOOL_FILE_MAX), name = strnlen(info.name, PML__SPOOL_NAME_MAX);
  uint32_t bytes = (uint32_t)(sizeof(struct pml__spool_name) + file + name + 2 + 7) & ~7u;
  struct pml__spool_name *n = place(s, bytes);
  if (n == NULL) return;
  n->bytes = bytes;
  memcpy(n->text, info.file, file);
  memcpy(n->text + file + 1, info.name, name);
  __atomic_store_n(&n->region, region, __ATOMIC_RELEASE);
}

/* ---- what is told of the process ---- */

void pml_spool_tell(struct pml_spool *s, const char *text) {
  uint32_t to = s->head->told == 1 ? 2 : 1;
  char *at = s->head->text[to - 1];
  size_t n = strnlen(text, PML__SPOOL_TEXT_BYTES - 1);
  memcpy(at, text, n);
  memset(at + n, 0, PML__SPOOL_TEXT_BYTES - n);
  __atomic_store_n(&s->head->told, to, __ATOMIC_RELEASE);
}

void pml_spool_counted(struct pml_spool *s, enum pml_count_at at) {
  __atomic_store_n(&s->head->counted, (uint32_t)at, __ATOMIC_RELAXED);
}

void pml_spool_end(struct pml_spool *s, enum pml_spool_end how) {
  __atomic_store_n(&s->head->ended, how, __ATOMIC_RELEASE);
}

void pml_spool_seal(struct pml_spool *s) {
  __atomic_store_n(&s->sealed, true, __ATOMIC_RELAXED);
}

void pml_spool_lose_counts(struct pml_spool *s, int err) {
  __atomic_store_n(&s->head->uncounted, -err, __ATOMIC_RELAXED);
}

void pml_spool_lose_child(struct pml_spool *s) {
  __atomic_fetch_add(&s->head->lost_children, 1, __ATOMIC_RELAXED);
}

/* ---- life ---- */

static void write_head(struct pml_spool *s) {
  struct pml__spool_head *h = s->head;
  h->version = PML__SPOOL_VERSION;
  h->node_bytes = sizeof(struct pml__profile_node);
  h->clock_kind = pml__clock.kind;
  h->pid = getpid();
  h->parent = getppid();
  h->ticks = pml_clock_ticks();
  h->realtime_ns = pml_clock_realtime_ns();
  h->ticks_per_second = pml__clock.ticks_per_second;
  __atomic_store_n(&h->magic, PML__SPOOL_MAGIC, __ATOMIC_RELEASE);
}

static int make(struct pml_spool *s, const char *path) {
  void *head;
  int err = pml__grown_make(&s->file, AT_FDCWD, path, path);
  if (err < 0) return err;
  err = pml__grown_map(&s->file, 0, PML__SPOOL_HEAD_BYTES, NULL, &head);
  if (err == 0)
    s->head = head;
  else
    unlink(path);
  return err;
}

static void unmap_all(struct pml_spool *s) {
  for (const struct pml__spool_map *m = s->maps; m != NULL; m = m->next) pml__spool_unmap(m->extent);
  if (s->head != NULL) munmap(s->head, PML__SPOOL_HEAD_BYTES);
  if (s->mark != NULL) munmap(s->mark, PML__SPOOL_MARKS * sizeof *s->mark);
  pml__spool_values_end(s);
  pml__grown_close(&s->file);
}

static void release(struct pml_spool *s) {
  if (!pml__spool_is_sealed(s)) unmap_all(s);
  for (struct pml__spool_map *m = s->maps, *next; m != NULL; m = next) {
    next = m->next;
    free(m);
  }
  pthread_mutex_destroy(&s->lock);
  free(s->file.path);
  free(s);
}

int pml_spool_open(struct pml_spool **out, const char *path) {
  *out = NULL;
  int err = pml_clock_init();
  if (err < 0) return err;
  struct pml_spool *s = calloc(1, sizeof *s);
  if (s == NULL) return pml_fail(-ENOMEM, "no memory for a spool");
  pthread_mutex_init(&s->lock, NULL);
  s->file.fd = -1;
  s->next_unit = 1;
  s->mark = mmap(NULL, PML__SPOOL_MARKS * sizeof *s->mark, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (s->mark == MAP_FAILED) s->mark = NULL;
  err = s->mark == NULL ? -ENOMEM : make(s, path);
  if (err < 0) {
    (void)pml_fail(err, "%.400s: %s", path, pml_error_text(err));
    release(s);
    return err;
  }
  write_head(s);
  *out = s;
  return 0;
}

void pml_spool_abandon(struct pml_spool *s) {
  if (s == NULL) return;
  if (!pml__spool_is_sealed(s)) {
    pml__spool_trace_abandon(s);
    unmap_all(s);
  }
}

void pml_spool_close(struct pml_spool *s) {
  if (s == NULL) return;
  pml__spool_trace_end(s);
  pml__spool_sum_end(s);
  release(s);
}
