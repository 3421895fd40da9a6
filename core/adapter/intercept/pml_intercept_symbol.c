/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_symbol.c - the symbols of a loaded object: names, versions, hash tables. */
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

/* @bytes from @at + @offset on, if they are in the segment of the needed versions. */
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

/* How many words there are from @at to the end of its segment. */
static size_t words_from(const struct pml__object *o, const uint32_t *at) {
  for (uint32_t i = 0; i < o->nsegments; i++) {
    const struct pml__segment *s = &o->segment[i];
    if ((uintptr_t)at - s->lo < s->hi - s->lo) return (s->hi - (uintptr_t)at) / sizeof *at;
  }
  return 0;
}

struct gnu_hash {
  const uint32_t *bucket, *chain;
  uint32_t nbuckets, first; /* first: the symbol that the chain begins with */
  size_t nchain;            /* at most */
};

/* Four words; the filter, of double words; the buckets; a word for each symbol. */
static bool read_gnu_hash(const struct pml__object *o, struct gnu_hash *h) {
  size_t words = o->gnu_hash != NULL ? words_from(o, o->gnu_hash) : 0;
  if (words < 4) return false;
  h->nbuckets = o->gnu_hash[0];
  h->first = o->gnu_hash[1];
  size_t before = 4 + 2 * (size_t)o->gnu_hash[2];
  if (before + h->nbuckets > words) return false;
  h->bucket = o->gnu_hash + before;
  h->chain = h->bucket + h->nbuckets;
  h->nchain = words - before - h->nbuckets;
  return true;
}

typedef bool seen_symbol(void *arg, uint32_t hash, size_t symbol);

static bool walk_chain(const struct pml__object *o, const struct gnu_hash *h, uint32_t bucket, seen_symbol *seen,
                       void *arg) {
  uint32_t first = h->bucket[bucket];
  if (first < h->first) return true;
  for (size_t i = first - h->first; i < h->nchain && i + h->first < o->nsym; i++) {
    if (!seen(arg, h->chain[i] | 1, i + h->first)) return false;
    if ((h->chain[i] & 1) != 0) break;
  }
  return true;
}

/* Without the newer table: its older kin has the number of symbols. */
static void walk_all(const struct pml__object *o, seen_symbol *seen, void *arg) {
  if (o->hash == NULL || words_from(o, o->hash) < 2) return;
  for (size_t i = 1; i < o->hash[1] && i < o->nsym; i++) {
    size_t n;
    const char *name = pml__object_name(o, &o->sym[i], &n);
    if (name != NULL && !seen(arg, pml__object_hash(name, n) | 1, i)) return;
  }
}

/* Chains of a damaged table may overlap: no more steps are taken than there are symbols. */
struct bounded {
  seen_symbol *seen;
  void *arg;
  size_t left;
};

static bool seen_bounded(void *arg, uint32_t hash, size_t symbol) {
  struct bounded *b = arg;
  return b->left-- > 0 && b->seen(b->arg, hash, symbol);
}

void pml__object_walk(const struct pml__object *o, seen_symbol *seen, void *arg) {
  struct gnu_hash h;
  if (!read_gnu_hash(o, &h)) {
    walk_all(o, seen, arg);
    return;
  }
  struct bounded b = {seen, arg, o->nsym};
  for (uint32_t i = 0; i < h.nbuckets; i++)
    if (!walk_chain(o, &h, i, seen_bounded, &b)) return;
}

/* ---- what a name stands for ---- */

struct sought {
  const struct pml__object *o;
  const char *name;
  size_t n;
  uint32_t hash;
  uintptr_t address;
  bool found;
};

static bool is_sought(void *arg, uint32_t hash, size_t symbol) {
  struct sought *x = arg;
  const Elf64_Sym *s = &x->o->sym[symbol];
  if (hash != x->hash || s->st_shndx == SHN_UNDEF || !pml__object_is_named(x->o, s, x->name, x->n)) return true;
  unsigned type = ELF64_ST_TYPE(s->st_info);
  x->found =
      !pml__symbol_is_variant(s) &&
      (type == STT_GNU_IFUNC || (type == STT_FUNC && (x->address == 0 || x->o->base + s->st_value == x->address)));
  return !x->found;
}

static bool has_function(const struct pml__object *o, const char *name, uintptr_t address) {
  size_t n = strlen(name);
  uint32_t hash = pml__object_hash(name, n);
  struct sought x = {o, name, n, hash | 1, address, false};
  struct gnu_hash h;
  if (!read_gnu_hash(o, &h))
    walk_all(o, is_sought, &x);
  else if (h.nbuckets > 0)
    (void)walk_chain(o, &h, hash % h.nbuckets, is_sought, &x);
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
