/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_symbol.c - symbols of a loaded object: names, versions, hash tables. */
#include "adapter/intercept/pml_intercept_object.h"

#include <string.h>

const Elf64_Sym *pml__object_symbol(const struct pml__object *o, size_t i) {
  return i < o->nsym ? &o->sym[i] : NULL;
}

static const char *string_at(const struct pml__object *o, size_t at, size_t *n) {
  if (at >= o->nstr) return NULL;
  const char *end = memchr(o->str + at, '\0', o->nstr - at);
  if (end == NULL) return NULL;
  *n = (size_t)(end - o->str) - at;
  return o->str + at;
}

const char *pml__object_name(const struct pml__object *o, const Elf64_Sym *s, size_t *n) {
  return string_at(o, s->st_name, n);
}

bool pml__object_is_named(const struct pml__object *o, const Elf64_Sym *s, const char *name, size_t n) {
  return s->st_name < o->nstr && o->nstr - s->st_name > n && memcmp(o->str + s->st_name, name, n + 1) == 0;
}

/* ---- versions ---- */

/* Memory of @bytes at @at + @offset, if it is in the segment of the needed versions. */
static const void *need_at(const struct pml__object *o, const void *at, size_t offset, size_t bytes) {
  uintptr_t a = (uintptr_t)at + offset;
  for (uint32_t i = 0; i < o->nsegments; i++) {
    const struct pml__segment *s = &o->segment[i];
    if ((uintptr_t)o->verneed - s->lo >= s->hi - s->lo) continue;
    bool in = a - s->lo < s->hi - s->lo && s->hi - a >= bytes && a % sizeof(uint32_t) == 0;
    return in ? (const void *)a : NULL; /* NOLINT(performance-no-int-to-ptr) */
  }
  return NULL;
}

static const char *version_named(const struct pml__object *o, uint16_t version) {
  size_t n;
  const Elf64_Verneed *need = need_at(o, o->verneed, 0, sizeof *need);
  while (need != NULL) {
    const Elf64_Vernaux *aux = need_at(o, need, need->vn_aux, sizeof *aux);
    for (uint16_t i = 0; i < need->vn_cnt && aux != NULL; i++) {
      if ((aux->vna_other & 0x7fff) == version) return string_at(o, aux->vna_name, &n);
      if (aux->vna_next == 0) break;
      aux = need_at(o, aux, aux->vna_next, sizeof *aux);
    }
    need = need->vn_next != 0 ? need_at(o, need, need->vn_next, sizeof *need) : NULL;
  }
  return NULL;
}

const char *pml__object_needs(const struct pml__object *o, size_t i) {
  if (o->versym == NULL || o->verneed == NULL || i >= o->nsym) return NULL;
  uint16_t version = o->versym[i] & 0x7fff;
  return version > 1 ? version_named(o, version) : NULL;
}

/* ---- hash tables ---- */

uint32_t pml__object_hash(const char *name, size_t n) {
  uint32_t h = 5381;
  for (size_t i = 0; i < n; i++) h = h * 33 + (unsigned char)name[i];
  return h;
}

/* The number of words from @at to the end of its segment. */
static size_t words_from(const struct pml__object *o, const uint32_t *at) {
  for (uint32_t i = 0; i < o->nsegments; i++) {
    const struct pml__segment *s = &o->segment[i];
    if ((uintptr_t)at - s->lo < s->hi - s->lo) return (s->hi - (uintptr_t)at) / sizeof *at;
  }
  return 0;
}

/* The table: four words; the filter, of double words; the buckets; a word for each symbol. */
bool pml__hash_table_read(const struct pml__object *o, struct pml__hash_table *h) {
  size_t words = o->gnu_hash != NULL ? words_from(o, o->gnu_hash) : 0;
  if (words < 4) return false;
  size_t filter = o->gnu_hash[2], before = 4 + 2 * filter;
  if (before + o->gnu_hash[0] > words) return false;
  *h = (struct pml__hash_table){.nbuckets = o->gnu_hash[0], .first = o->gnu_hash[1]};
  h->bucket = o->gnu_hash + before;
  h->chain = h->bucket + h->nbuckets;
  h->nchain = words - before - h->nbuckets;
  return true;
}

/* The hash of the older table, DT_HASH. */
static uint32_t older_hash(const char *name, size_t n) {
  uint32_t h = 0;
  for (size_t i = 0; i < n; i++) {
    h = (h << 4) + (unsigned char)name[i];
    h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
  }
  return h;
}

/* The table: numbers of buckets and symbols; the buckets; the next symbol of each. The numbers limit the length of a
 * damaged chain. */
static void find_by_older(const struct pml__object *o, const char *name, size_t n, pml__seen_symbol *seen, void *arg) {
  size_t words = o->hash != NULL ? words_from(o, o->hash) : 0;
  if (words < 2 || o->hash[0] == 0 || (size_t)o->hash[0] + 2 > words) return;
  size_t nbuckets = o->hash[0], nchain = words - 2 - nbuckets;
  const uint32_t *bucket = o->hash + 2, *chain = bucket + nbuckets;
  size_t i = bucket[older_hash(name, n) % nbuckets];
  for (size_t steps = 0; i != 0 && i < nchain && i < o->nsym && steps < o->nsym; steps++, i = chain[i])
    if (pml__object_is_named(o, &o->sym[i], name, n) && !seen(arg, i)) return;
}

/* Visit the symbols of a bucket whose hash is @hash, with its lowest bit set; 0: all symbols. */
static bool walk_chain(const struct pml__object *o, const struct pml__hash_table *h, uint32_t bucket, uint32_t hash,
                       pml__seen_symbol *seen, void *arg) {
  uint32_t first = h->bucket[bucket];
  if (first < h->first) return true;
  for (size_t i = first - h->first; i < h->nchain && i + h->first < o->nsym; i++) {
    if ((hash == 0 || (h->chain[i] | 1) == hash) && !seen(arg, i + h->first)) return false;
    if ((h->chain[i] & 1) != 0) break;
  }
  return true;
}

struct named {
  const struct pml__object *o;
  const char *name;
  size_t n;
  pml__seen_symbol *seen;
  void *arg;
};

static bool seen_named(void *arg, size_t symbol) {
  const struct named *x = arg;
  return !pml__object_is_named(x->o, &x->o->sym[symbol], x->name, x->n) || x->seen(x->arg, symbol);
}

void pml__hash_table_find(const struct pml__object *o, const struct pml__hash_table *h, const char *name, size_t n,
                          uint32_t hash, pml__seen_symbol *seen, void *arg) {
  struct named x = {o, name, n, seen, arg};
  if (h == NULL)
    find_by_older(o, name, n, seen, arg);
  else if (h->nbuckets > 0)
    (void)walk_chain(o, h, hash % h->nbuckets, hash | 1, seen_named, &x);
}

/* Chains of a damaged table may overlap, so the number of steps is limited to the number of symbols. */
struct bounded {
  pml__seen_symbol *seen;
  void *arg;
  size_t left;
};

static bool seen_bounded(void *arg, size_t symbol) {
  struct bounded *b = arg;
  return b->left-- > 0 && b->seen(b->arg, symbol);
}

/* The older table contains the number of symbols. */
void pml__object_walk(const struct pml__object *o, pml__seen_symbol *seen, void *arg) {
  struct pml__hash_table h;
  struct bounded b = {seen, arg, o->nsym};
  if (pml__hash_table_read(o, &h)) {
    for (uint32_t i = 0; i < h.nbuckets; i++)
      if (!walk_chain(o, &h, i, 0, seen_bounded, &b)) return;
  } else if (o->hash != NULL && words_from(o, o->hash) >= 2) {
    for (size_t i = 1; i < o->hash[1] && i < o->nsym; i++)
      if (!seen(arg, i)) return;
  }
}

/* ---- functions by name ---- */

struct sought {
  const struct pml__object *o;
  uintptr_t address; /* 0: any */
  bool found;
};

static bool is_sought(void *arg, size_t symbol) {
  struct sought *x = arg;
  const Elf64_Sym *s = &x->o->sym[symbol];
  unsigned type = ELF64_ST_TYPE(s->st_info);
  if (s->st_shndx == SHN_UNDEF) return true;
  x->found =
      !pml__symbol_is_variant(s) &&
      (type == STT_GNU_IFUNC || (type == STT_FUNC && (x->address == 0 || x->o->base + s->st_value == x->address)));
  return !x->found;
}

static bool has_function(const struct pml__object *o, const char *name, uintptr_t address) {
  size_t n = strlen(name);
  struct sought x = {o, address, false};
  struct pml__hash_table h;
  bool newer = pml__hash_table_read(o, &h);
  pml__hash_table_find(o, newer ? &h : NULL, name, n, pml__object_hash(name, n), is_sought, &x);
  return x.found;
}

bool pml__object_exports(const struct pml__object *o, const char *name, uintptr_t address) {
  return pml__object_is_code(o, address) && has_function(o, name, address);
}

bool pml__object_defines(const struct pml__object *o, const char *name) {
  return o->sym != NULL && o->str != NULL && has_function(o, name, 0);
}

bool pml__object_stands_in(const struct pml__object *o, const char *name, uintptr_t address) {
  return o->program && pml__object_is_code(o, address) && !pml__object_exports(o, name, address);
}
