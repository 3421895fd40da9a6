/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_region.c - the table of regions: locked writers, lock-free readers. */
#include "base/pml_region.h"

#include "base/pml_error.h"
#include "base/pml_map.h"
#include "base/pml_process.h"

#include <ctype.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * Entries live in chunks that double in size and never move, so that a reader may hold a pointer while others intern.
 * Memory order: an entry is filled and its chunk published before @count is stored with release; a reader loads @count
 * with acquire and then sees every entry up to it. Neither entries nor strings are freed before the process ends.
 */
#define FIRST_CHUNK 64u
#define CHUNKS 14u
#define TEXT_BYTES 16384u
#define CAPACITY (FIRST_CHUNK * ((1u << CHUNKS) - 1))
_Static_assert(CAPACITY < PML_REGIONS_MAX, "ids count from 1");

struct entry {
  struct pml_region_info info;
  const char *_Atomic kind; /* "": unknown */
  uint64_t hash;
  _Atomic bool overlaps;
};

static struct entry *_Atomic chunk[CHUNKS];
static _Atomic uint32_t count;

/* Guarded by @lock: open addressing over ids, 0 is a free slot, at most half full. */
static struct pml__lock lock;
static pml_region_t *slot;
static size_t nslots;
static char *text; /* where the next strings go */
static size_t text_left;
static const char *last_file; /* copied last: regions of one file mostly come in turn */
static const char *kinds[32];

/*
 * In a child, of a parent with a thread that was interning: the table of slots and the room for strings may be half
 * changed. Both are rebuilt; entries are published whole.
 */
static void in_child(void) {
  if (!pml__lock_torn(&lock)) return;
  slot = NULL;
  nslots = 0;
  text_left = 0;
  last_file = NULL;
}

uint64_t pml__region_hash(const char *name, const char *file, uint32_t line) {
  return pml__hash(pml__hash_text(pml__hash_text(PML__HASH, name), file), line);
}

/* Chunk k starts at index FIRST_CHUNK * (2^k - 1). */
static unsigned chunk_of(uint32_t index) {
  return 31u - (unsigned)__builtin_clz(index / FIRST_CHUNK + 1u);
}

static uint32_t chunk_start(unsigned k) {
  return FIRST_CHUNK * ((1u << k) - 1u);
}

static struct entry *entry_of(pml_region_t id) {
  unsigned k = chunk_of(id - 1);
  return atomic_load_explicit(&chunk[k], memory_order_acquire) + (id - 1 - chunk_start(k));
}

static bool same(const struct entry *e, uint64_t hash, const struct pml_region_info *r) {
  return e->hash == hash && e->info.line == r->line && strcmp(e->info.name, r->name) == 0 &&
         strcmp(e->info.file, r->file) == 0;
}

/* The slot that holds the region, or the free one where it belongs. */
static pml_region_t *find_slot(uint64_t hash, const struct pml_region_info *r) {
  for (size_t i = hash & (nslots - 1);; i = (i + 1) & (nslots - 1))
    if (slot[i] == 0 || same(entry_of(slot[i]), hash, r)) return &slot[i];
}

static int grow_slots(void) {
  uint32_t used = atomic_load_explicit(&count, memory_order_relaxed);
  size_t n = nslots ? nslots * 4 : 256;
  while (n < 2 * ((size_t)used + 1)) n *= 4;
  pml_region_t *bigger = calloc(n, sizeof *bigger);
  if (!bigger) return -ENOMEM;
  for (pml_region_t id = 1; id <= used; id++) {
    size_t i = entry_of(id)->hash & (n - 1);
    while (bigger[i] != 0) i = (i + 1) & (n - 1);
    bigger[i] = id;
  }
  free(slot);
  slot = bigger;
  nslots = n;
  return 0;
}

/* Strings are permanent, so they share blocks. */
static char *room_for(size_t bytes) {
  if (bytes > TEXT_BYTES / 8) return malloc(bytes);
  if (text_left < bytes) {
    char *more = malloc(TEXT_BYTES);
    if (!more) return NULL;
    text = more;
    text_left = TEXT_BYTES;
  }
  text += bytes;
  text_left -= bytes;
  return text - bytes;
}

static int copy_strings(struct pml_region_info *r) {
  bool known = last_file != NULL && strcmp(last_file, r->file) == 0;
  size_t name = strlen(r->name) + 1, file = known ? 0 : strlen(r->file) + 1;
  char *copy = room_for(name + file);
  if (!copy) return -ENOMEM;
  memcpy(copy, r->name, name);
  if (!known) last_file = memcpy(copy + name, r->file, file);
  r->name = copy;
  r->file = last_file;
  return 0;
}

/* The permanent copy of @kind in lower case; "" if it is too long, or if there are too many kinds. */
static const char *kind_of(const char *kind) {
  char lower[PML__REGION_KIND_BYTES];
  size_t n = strlen(kind) + 1;
  if (n == 1 || n > sizeof lower) return "";
  for (size_t i = 0; i < n; i++) lower[i] = (char)tolower((unsigned char)kind[i]);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    char *copy = kinds[i] == NULL ? room_for(n) : NULL;
    if (copy != NULL) kinds[i] = memcpy(copy, lower, n);
    if (kinds[i] == NULL) return "";
    if (strcmp(kinds[i], lower) == 0) return kinds[i];
  }
  return "";
}

static int append(struct pml_region_info r, uint64_t hash, pml_region_t *id) {
  uint32_t index = atomic_load_explicit(&count, memory_order_relaxed);
  if (index == CAPACITY) return -ENOMEM;
  unsigned k = chunk_of(index);
  struct entry *c = atomic_load_explicit(&chunk[k], memory_order_relaxed);
  if (!c) {
    c = calloc((size_t)FIRST_CHUNK << k, sizeof *c);
    if (!c) return -ENOMEM;
    atomic_store_explicit(&chunk[k], c, memory_order_release);
  }
  if (copy_strings(&r) < 0) return -ENOMEM;
  c[index - chunk_start(k)] = (struct entry){r, "", hash, false};
  atomic_store_explicit(&count, index + 1, memory_order_release);
  *id = index + 1;
  return 0;
}

static int intern_locked(const char *kind, const struct pml_region_info *r, uint64_t hash, pml_region_t *id) {
  size_t used = atomic_load_explicit(&count, memory_order_relaxed);
  if (slot == NULL) (void)pml__process_watch_use(in_child);
  if (2 * (used + 1) > nslots && grow_slots() < 0) return -ENOMEM;
  pml_region_t *s = find_slot(hash, r);
  int err = *s == 0 ? append(*r, hash, s) : 0;
  *id = *s;
  struct entry *e = err == 0 ? entry_of(*s) : NULL;
  if (e != NULL && *kind != '\0' && *atomic_load_explicit(&e->kind, memory_order_relaxed) == '\0')
    atomic_store_explicit(&e->kind, kind_of(kind), memory_order_release);
  return err;
}

int pml__region_of(const char *kind, const char *name, const char *file, uint32_t line, pml_region_t *id) {
  if (!name) name = "";
  if (!file) file = "";
  return pml__region_intern(kind, name, file, line, pml__region_hash(name, file, line), id);
}

int pml_region_intern(const char *name, const char *file, uint32_t line, pml_region_t *id) {
  return pml__region_of("", name, file, line, id);
}

int pml__region_intern(const char *kind, const char *name, const char *file, uint32_t line, uint64_t hash,
                       pml_region_t *id) {
  const struct pml_region_info r = {name, file, line};
  *id = 0;
  if (!*name) return pml_fail(-EINVAL, "a region needs a name that is not empty");
  pml__process_look();
  pml__lock_take(&lock);
  int err = intern_locked(kind, &r, hash, id);
  pml__lock_leave(&lock);
  if (err < 0 && pml_region_count() == CAPACITY)
    return pml_fail(err, "no number for the region %.200s: there are %u regions already", name, CAPACITY);
  if (err < 0) return pml_fail(err, "no memory to intern the region %.200s", name);
  return 0;
}

int pml_region_describe(pml_region_t id, struct pml_region_info *info) {
  if (id == 0 || id > pml_region_count()) return -ENOENT;
  *info = entry_of(id)->info;
  return 0;
}

uint32_t pml_region_count(void) {
  return atomic_load_explicit(&count, memory_order_acquire);
}

/* A program that is linked with the archive may have exported its own table of regions: then it interned @id. */
static bool is_known(pml_region_t id) {
  return id != 0 && id <= atomic_load_explicit(&count, memory_order_acquire);
}

const char *pml__region_kind(pml_region_t id) {
  return is_known(id) ? atomic_load_explicit(&entry_of(id)->kind, memory_order_acquire) : "";
}

void pml__region_overlaps(pml_region_t id) {
  if (is_known(id)) atomic_store_explicit(&entry_of(id)->overlaps, true, memory_order_relaxed);
}

bool pml__region_may_overlap(pml_region_t id) {
  return is_known(id) && atomic_load_explicit(&entry_of(id)->overlaps, memory_order_relaxed);
}
