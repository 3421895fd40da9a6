/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_exports.c - index of the names exported by all libraries that were loaded with
 * the program.
 *
 * Each library has a separate hash table. Searching a hundred of them for each slot of a program takes longer than
 * collecting all their hashes in one table.
 */
#include "adapter/intercept/pml_intercept_exports.h"

#include "base/pml_map.h"

#include <stdlib.h>
#include <string.h>

#define SYMBOL_BITS 20u
#define LIBRARIES_MAX ((UINT32_C(1) << (32 - SYMBOL_BITS)) - 1)

/* One per symbol. */
struct entry {
  uint32_t hash;  /* the lowest bit is set, which is not part of a library's hashes */
  uint32_t where; /* 1 + the library, and the symbol's position in the chain; 0: free */
};

struct library {
  const struct pml__object *o;
  struct pml__hash_table table;
  size_t n;                /* symbols in the index */
  bool has_table, indexed; /* libraries with an older table, or a table that is too large, are searched separately */
};

struct pml__exports {
  struct entry *entry;
  size_t mask, n, asked;    /* asked: libraries that are not in the index */
  unsigned shift;           /* shift of a product to its highest bits, as many as the mask has */
  struct library library[]; /* n */
};

/* ---- creation ---- */

/* The last symbol is in the chain with the highest start. */
static size_t symbols_of(const struct pml__object *o, const struct pml__hash_table *h) {
  uint32_t last = 0;
  for (uint32_t i = 0; i < h->nbuckets; i++)
    if (h->bucket[i] > last) last = h->bucket[i];
  if (last < h->first) return 0;
  size_t i = last - h->first, most = o->nsym > h->first ? o->nsym - h->first : 0;
  if (most > h->nchain) most = h->nchain;
  while (i < most && (h->chain[i] & 1) == 0) i++;
  return i < most ? i + 1 : most;
}

static struct entry *first_place(const struct pml__exports *e, uint32_t hash) {
  return &e->entry[(uint64_t)hash * PML__HASH_FACTOR >> e->shift];
}

static struct entry *next_place(const struct pml__exports *e, const struct entry *at) {
  return &e->entry[(size_t)(at + 1 - e->entry) & e->mask];
}

static void add(struct pml__exports *e, const struct library *l) {
  uint32_t library = (uint32_t)(l - e->library + 1) << SYMBOL_BITS;
  for (size_t i = 0; i < l->n; i++) {
    uint32_t hash = l->table.chain[i] | 1;
    struct entry *at = first_place(e, hash);
    while (at->where != 0) at = next_place(e, at);
    *at = (struct entry){hash, library | (uint32_t)i};
  }
}

/* The loader does not search the kernel's object (vDSO), whose path has no folder. */
static bool is_searched(const struct pml__object *o) {
  return o->startup && o->sym != NULL && o->str != NULL && (o->program || strchr(o->path, '/') != NULL);
}

struct pml__exports *pml__exports_make(const struct pml__objects *all) {
  struct pml__exports *e = malloc(sizeof *e + all->n * sizeof e->library[0]);
  if (e == NULL) return NULL;
  size_t symbols = 0, room = 1024;
  e->shift = 54;
  e->n = e->asked = 0;
  for (size_t i = 0; i < all->n; i++) {
    const struct pml__object *o = &all->at[i];
    if (!is_searched(o)) continue;
    struct library *l = &e->library[e->n++];
    *l = (struct library){.o = o};
    l->has_table = pml__hash_table_read(o, &l->table);
    size_t n = l->has_table ? symbols_of(o, &l->table) : 0;
    l->indexed = l->has_table && n >> SYMBOL_BITS == 0 && e->n <= LIBRARIES_MAX;
    e->asked += !l->indexed;
    symbols += l->n = l->indexed ? n : 0;
  }
  for (; room < symbols + symbols / 2; room *= 2) e->shift--;
  e->mask = room - 1;
  e->entry = calloc(room, sizeof *e->entry);
  if (e->entry == NULL) return free(e), NULL;
  for (size_t i = 0; i < e->n; i++) add(e, &e->library[i]);
  return e;
}

void pml__exports_free(struct pml__exports *e) {
  if (e != NULL) free(e->entry);
  free(e);
}

/* ---- look-up ---- */

/* The address of a global function in the default version; other cases are left to the loader. */
static uintptr_t plain(const struct pml__object *o, size_t symbol) {
  const Elf64_Sym *s = &o->sym[symbol];
  unsigned bind = ELF64_ST_BIND(s->st_info);
  bool is = ELF64_ST_TYPE(s->st_info) == STT_FUNC && (bind == STB_GLOBAL || bind == STB_WEAK) &&
            (o->versym == NULL || (o->versym[symbol] & 0x8000) == 0);
  return is ? o->base + s->st_value : 0;
}

/* Libraries with the name, counted up to two. */
struct found {
  const struct pml__object *o;
  uintptr_t at;
  size_t n;
};

static bool note(void *arg, size_t symbol) {
  struct found *f = arg;
  if (f->o->sym[symbol].st_shndx == SHN_UNDEF) return true;
  f->at = plain(f->o, symbol);
  return ++f->n < 2;
}

static struct pml__export export_at(const struct pml__exports *e, const struct entry *at) {
  const struct library *l = &e->library[(at->where >> SYMBOL_BITS) - 1];
  size_t symbol = (at->where & ((UINT32_C(1) << SYMBOL_BITS) - 1)) + l->table.first;
  return (struct pml__export){l->o, &l->o->sym[symbol]};
}

static bool note_entry(const struct pml__exports *e, const struct entry *at, const char *name, size_t n,
                       struct found *f) {
  struct pml__export x = export_at(e, at);
  f->o = x.o;
  return !pml__object_is_named(x.o, x.symbol, name, n) || note(f, (size_t)(x.symbol - x.o->sym));
}

uintptr_t pml__exports_only(const struct pml__exports *e, const char *name, size_t n, uint32_t hash) {
  struct found f = {NULL, 0, 0};
  for (const struct entry *at = first_place(e, hash | 1); at->where != 0 && f.n < 2; at = next_place(e, at))
    if (at->hash == (hash | 1) && !note_entry(e, at, name, n, &f)) break;
  for (size_t i = 0; e->asked > 0 && i < e->n && f.n < 2; i++) {
    const struct library *l = &e->library[i];
    if (l->indexed) continue;
    f.o = l->o;
    pml__hash_table_find(f.o, l->has_table ? &l->table : NULL, name, n, hash, note, &f);
  }
  return f.n == 1 ? f.at : 0;
}

/* ---- prefetch ---- */

void pml__exports_ahead(const struct pml__exports *e, uint32_t hash) {
  __builtin_prefetch(first_place(e, hash | 1));
}

struct pml__export pml__exports_likely(const struct pml__exports *e, uint32_t hash) {
  const struct entry *at = first_place(e, hash | 1);
  while (at->where != 0 && at->hash != (hash | 1)) at = next_place(e, at);
  if (at->where == 0) return (struct pml__export){NULL, NULL};
  struct pml__export x = export_at(e, at);
  __builtin_prefetch(x.symbol);
  return x;
}

void pml__export_ahead(const struct pml__export *x) {
  if (x->symbol->st_name < x->o->nstr) __builtin_prefetch(x->o->str + x->symbol->st_name);
}
