/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/foreign/pml_foreign_open.c - regions of domains, regions that overlap, values, other tools. */
#include "adapter/foreign/pml_foreign_open.h"

#include "adapter/section/pml_section_interval.h"
#include "adapter/section/pml_section_private.h"
#include "base/pml_clock.h"
#include "base/pml_map.h"
#include "base/pml_setting.h"
#include "source/sde/pml_sde.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- regions of domains ---- */

/* Sections by the addresses of domain and label. A section counts only if its label is the text of both, so an entry of
 * any other pair does no harm. Stored with release, after the section is complete; loaded with acquire. */
#define KNOWN_BITS 10
static struct pml_section *known[PML_FOREIGN_INTERFACES][1u << KNOWN_BITS];

static inline bool is_joined(const struct pml_section *s, const char *domain, const char *label) {
  size_t n = strlen(domain);
  return strncmp(s->label, domain, n) == 0 && s->label[n] == '/' && strcmp(s->label + n + 1, label) == 0;
}

static __attribute__((noinline, cold)) struct pml_section *join(enum pml_foreign_interface i, const char *domain,
                                                                const char *label) {
  char text[2 * (PML_FOREIGN_LABEL + 1)];
  int saved = errno;
  (void)snprintf(text, sizeof text, "%.*s/%.*s", (int)PML_FOREIGN_LABEL, domain, (int)PML_FOREIGN_LABEL, label);
  struct pml_section *s = pml_foreign_section(i, text);
  errno = saved;
  return s;
}

struct pml_section *pml__foreign_within(enum pml_foreign_interface i, const char *domain, const char *label) {
  if (PML_UNLIKELY(domain == NULL || domain[0] == '\0')) return pml_foreign_section(i, label);
  if (PML_UNLIKELY(label == NULL)) label = "(null)";
  uint64_t at = pml__hash((uintptr_t)domain, (uintptr_t)label) >> (64 - KNOWN_BITS);
  struct pml_section *s = __atomic_load_n(&known[i][at], __ATOMIC_ACQUIRE);
  if (PML_LIKELY(s != NULL) && PML_LIKELY(is_joined(s, domain, label))) return s;
  s = join(i, domain, label);
  if (s != NULL) __atomic_store_n(&known[i][at], s, __ATOMIC_RELEASE);
  return s;
}

/* ---- regions that overlap ---- */

/*
 * An entry is free (0), busy, or open under its key. The thread that exchanged a free or open key for busy, with
 * acquire, owns the entry until it stores a key or 0, with release: it sees what the entry's last owner stored.
 */
#define BUCKET_BITS 13
#define ENTRIES 8u
#define BUSY UINT64_C(1)
struct open {
  uint64_t key; /* atomic */
  struct pml_section *section;
  uint64_t ticks, other;
};
static void *buckets; /* struct open[1 << BUCKET_BITS][ENTRIES], of pml__foreign_table() */

static uint64_t key_of(enum pml_foreign_interface i, uint64_t key) {
  return pml__hash(PML__HASH + i, key) | 2;
}

static struct open *bucket_of(void *all, uint64_t key) {
  return (struct open *)all + (key >> (64 - BUCKET_BITS)) * ENTRIES;
}

static bool take(struct open *o, uint64_t key) {
  uint64_t expected = key;
  return __atomic_load_n(&o->key, __ATOMIC_RELAXED) == key &&
         __atomic_compare_exchange_n(&o->key, &expected, BUSY, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

bool pml__foreign_open(enum pml_foreign_interface i, struct pml_section *s, uint64_t key, uint64_t other) {
  void *all = pml__foreign_table(&buckets, sizeof(struct open) * (ENTRIES << BUCKET_BITS));
  if (all == NULL || s == NULL) return false;
  key = key_of(i, key);
  struct open *o = bucket_of(all, key);
  for (unsigned k = 0; k < ENTRIES; k++) {
    if (!take(&o[k], 0)) continue;
    o[k].section = s;
    o[k].other = other;
    o[k].ticks = pml_clock_ticks();
    __atomic_store_n(&o[k].key, key, __ATOMIC_RELEASE);
    return true;
  }
  return false;
}

bool pml__foreign_close(enum pml_foreign_interface i, uint64_t key, uint64_t *other) {
  uint64_t ticks = pml_clock_ticks();
  void *all = __atomic_load_n(&buckets, __ATOMIC_ACQUIRE);
  key = key_of(i, key);
  struct open *o = all != NULL ? bucket_of(all, key) : NULL;
  for (unsigned k = 0; k < ENTRIES && o != NULL; k++) {
    if (!take(&o[k], key)) continue;
    const struct open was = o[k];
    __atomic_store_n(&o[k].key, 0, __ATOMIC_RELEASE);
    (void)pml_section_interval(was.section, was.ticks, ticks);
    if (other != NULL) *other = was.other;
    return true;
  }
  pml_foreign_unmatched(i);
  return false;
}

/* ---- values ---- */

/* Recorders by their sections, in a table that is at most half full. The lock guards additions; the section is stored
 * last, with release, and loaded first, with acquire. */
static struct {
  const struct pml_section *section; /* atomic */
  struct pml_recorder *recorder;     /* NULL: none could be created */
} valued[2 * PML__FOREIGN_RECORDERS];
static uint32_t nvalued;
static struct pml__lock lock;

static struct pml_recorder *recorder_of(enum pml_foreign_interface i, const struct pml_section *s) {
  const struct pml_recorder_options o = {.type = PML_TYPE_DOUBLE, .cap = PML__FOREIGN_VALUES};
  struct pml_sde_library *library;
  struct pml_recorder *r = NULL;
  if (pml_sde_library(&library, pml_foreign_about(i)->name) == 0)
    (void)pml_sde_create_recorder(library, s->label, &o, &r);
  return r;
}

static size_t place_of(const struct pml_section *s) {
  size_t k = pml__hash(PML__HASH, s->index) % (2 * PML__FOREIGN_RECORDERS);
  for (const struct pml_section *is; (is = __atomic_load_n(&valued[k].section, __ATOMIC_ACQUIRE)) != NULL && is != s;)
    k = (k + 1) % (2 * PML__FOREIGN_RECORDERS);
  return k;
}

static __attribute__((noinline, cold)) struct pml_recorder *add_recorder(enum pml_foreign_interface i,
                                                                         const struct pml_section *s) {
  int saved = errno;
  struct pml_recorder *r = recorder_of(i, s); /* the same for two threads */
  pml__lock_take(&lock);
  size_t k = place_of(s);
  if (valued[k].section == NULL && nvalued < PML__FOREIGN_RECORDERS) {
    nvalued++;
    valued[k].recorder = r;
    __atomic_store_n(&valued[k].section, s, __ATOMIC_RELEASE);
  }
  pml__lock_leave(&lock);
  errno = saved;
  return r;
}

void pml__foreign_value(enum pml_foreign_interface i, const struct pml_section *s, double value) {
  if (s == NULL || !pml__section_on()) return;
  size_t k = place_of(s);
  struct pml_recorder *r = valued[k].recorder;
  if (PML_UNLIKELY(valued[k].section == NULL))
    r = __atomic_load_n(&nvalued, __ATOMIC_RELAXED) < PML__FOREIGN_RECORDERS ? add_recorder(i, s) : NULL;
  if (r != NULL) (void)pml_recorder_push_double(r, value);
}

/* ---- texts and tools ---- */

static size_t put_character(char *to, uint32_t c) {
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = '?';
  unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
  to[0] = (char)(first[more] | c >> 6 * more);
  for (unsigned k = 1; k <= more; k++) to[k] = (char)(0x80 | (c >> 6 * (more - k) & 0x3f));
  return more + 1;
}

const char *pml__foreign_narrow(const wchar_t *wide, char *text, size_t bytes) {
  size_t n = 0;
  if (wide == NULL) return NULL;
  for (; *wide != 0 && n + 5 <= bytes; wide++) n += put_character(text + n, (uint32_t)*wide);
  text[n] = '\0';
  return text;
}

void *pml__foreign_tool(enum pml_foreign_interface i, const char *symbol, void **library) {
  const char *path = pml__setting(pml_foreign_about(i)->before);
  if (path == NULL || path[0] == '\0') return NULL;
  *library = dlopen(path, RTLD_LAZY);
  if (*library != NULL) return dlsym(*library, symbol);
  char label[PML_FOREIGN_LABEL];
  const char *why = dlerror();
  (void)snprintf(label, sizeof label, "(another tool is not used: %.4000s)", why != NULL ? why : path);
  pml_foreign_mark(pml_foreign_section(i, label), 0);
  return NULL;
}
