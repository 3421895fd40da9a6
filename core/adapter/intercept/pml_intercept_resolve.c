/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_resolve.c - where a slot leads that the loader has not filled yet.
 *
 * The loader's own search takes a look at every library for every name. Names that one library alone has cannot lead
 * anywhere else: where there are many slots these come from an index of all, made of the hash tables that are there.
 */
#include "adapter/intercept/pml_intercept_private.h"
#include "adapter/intercept/pml_intercept_scans.h"
#include "adapter/intercept/pml_intercept_slots.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ASKED_ONE_BY_ONE 256u

struct entry {
  uint32_t hash; /* odd; 0: free */
  uint32_t object, symbol;
};

struct pml__index {
  struct entry *at;
  size_t room, n;
  uint32_t object;
};

/* ---- the index ---- */

static bool count(void *arg, uint32_t hash, size_t symbol) {
  (void)hash, (void)symbol;
  ++*(size_t *)arg;
  return true;
}

/* Hashes of names that differ in their last letter are neighbours. */
static size_t place(const struct pml__index *x, uint32_t hash) {
  return (size_t)((hash * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (x->room - 1);
}

static bool enter(void *arg, uint32_t hash, size_t symbol) {
  struct pml__index *x = arg;
  if ((x->n + 1) * 2 > x->room) return false;
  size_t i = place(x, hash);
  while (x->at[i].hash != 0) i = (i + 1) & (x->room - 1);
  x->at[i] = (struct entry){hash, x->object, (uint32_t)symbol};
  x->n++;
  return true;
}

static struct pml__index *make(const struct pml__objects *all) {
  size_t n = 0, room = 64;
  struct pml__index *x = calloc(1, sizeof *x);
  if (x == NULL) return NULL;
  for (size_t i = 0; i < all->n; i++)
    if (all->at[i].startup) pml__object_walk(&all->at[i], count, &n);
  while (room < n * 2 + 2) room *= 2;
  /* All of it will be touched: its pages come at once. */
  x->at = mmap(NULL, room * sizeof *x->at, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  x->room = x->at != MAP_FAILED ? room : 0;
  for (size_t i = 0; i < all->n && x->room > 0; i++) {
    x->object = (uint32_t)i;
    if (all->at[i].startup) pml__object_walk(&all->at[i], enter, x);
  }
  return x;
}

void pml__index_free(struct pml__index *x) {
  if (x == NULL) return;
  if (x->room > 0) munmap(x->at, x->room * sizeof *x->at);
  free(x);
}

/* A global function in the default version: what depends on more is for the loader. */
static uintptr_t plain(const struct pml__object *o, uint32_t symbol) {
  const Elf64_Sym *s = &o->sym[symbol];
  unsigned bind = ELF64_ST_BIND(s->st_info);
  bool is = ELF64_ST_TYPE(s->st_info) == STT_FUNC && (bind == STB_GLOBAL || bind == STB_WEAK) &&
            (o->versym == NULL || (o->versym[symbol] & 0x8000) == 0);
  return is ? o->base + s->st_value : 0;
}

/* The one function that has the name among all that were loaded with the program; 0: none, or several have it. */
static uintptr_t only(const struct pml__index *x, const struct pml__objects *all, const char *name, size_t n) {
  uint32_t hash = pml__object_hash(name, n) | 1;
  const struct entry *found = NULL;
  if (x->room == 0) return 0;
  for (size_t i = place(x, hash); x->at[i].hash != 0; i = (i + 1) & (x->room - 1)) {
    const struct entry *e = &x->at[i];
    if (e->hash != hash) continue;
    const struct pml__object *o = &all->at[e->object];
    const Elf64_Sym *s = &o->sym[e->symbol];
    if (s->st_shndx == SHN_UNDEF || !pml__object_is_named(o, s, name, n)) continue;
    if (found != NULL) return 0;
    found = e;
  }
  return found != NULL ? plain(&all->at[found->object], found->symbol) : 0;
}

/*
 * What is looked up next is far apart in memory: the entry, the symbol, its name. A bunch of slots waits for each of
 * them together instead of one after the other.
 */
void pml__slots_fetch(const struct pml__slots *x, const struct pml__object *o, const struct pml__scan_slot *slot,
                      size_t count) {
  const struct entry *e[PML__SLOTS_BUNCH];
  if (x->index == NULL || x->index->room == 0) return;
  for (size_t i = 0; i < count; i++) {
    size_t n;
    const Elf64_Rela *r = pml__scan_relocation(o, &slot[i]);
    const Elf64_Sym *symbol = pml__object_symbol(o, ELF64_R_SYM(r->r_info));
    const char *name = symbol != NULL ? pml__object_name(o, symbol, &n) : NULL;
    e[i] = &x->index->at[name != NULL ? place(x->index, pml__object_hash(name, n) | 1) : 0];
    __builtin_prefetch(e[i]);
  }
  for (size_t i = 0; i < count; i++) {
    const struct pml__object *of = &x->all.at[e[i]->object];
    __builtin_prefetch(of->sym + e[i]->symbol);
    if (of->versym != NULL) __builtin_prefetch(of->versym + e[i]->symbol);
  }
  for (size_t i = 0; i < count; i++) {
    if (e[i]->hash == 0) continue;
    const struct pml__object *of = &x->all.at[e[i]->object];
    __builtin_prefetch(of->str + of->sym[e[i]->symbol].st_name);
  }
}

/* ---- the loader's search ---- */

static uintptr_t look_up(void *handle, const char *name, const char *version) {
  return (uintptr_t)(version != NULL ? pml__real_dlvsym(handle, name, version) : pml__real_dlsym(handle, name));
}

/*
 * A slot that asks for a version is content with a function without one, such as that of a library that is preloaded
 * to stand in for libc's; dlvsym() is not. False: such a one may be there, elsewhere.
 */
static bool search(const struct pml__slots *x, void *handle, const char *name, const char *version, uintptr_t *found) {
  uintptr_t any = version != NULL ? look_up(handle, name, NULL) : 0;
  *found = look_up(handle, name, version);
  return any == 0 || any == *found ||
         (*found != 0 && pml__objects_find(&x->all, any) == pml__objects_find(&x->all, *found));
}

/* What the program has a stand-in for, if one library alone has it or it is known. */
static uintptr_t behind(struct pml__slots *x, uintptr_t global, const char *name, size_t n) {
  const struct pml__door *door = pml__door_named(name);
  const struct pml__object *of = global != 0 ? pml__objects_find(&x->all, global) : NULL;
  if (door != NULL && global == door->linked) return door->real;
  if (of == NULL || !pml__object_stands_in(of, name, global)) return global;
  if (x->index == NULL) x->index = make(&x->all);
  uintptr_t one = x->index != NULL ? only(x->index, &x->all, name, n) : 0;
  return one != 0 ? one : global;
}

/*
 * An object that came later looks among what all see, and among what it was loaded with, in one order or the other,
 * which nothing shows: what both have, elsewhere, is left to the loader. And it keeps what it was bound to loaded: the
 * loader sees to that when it fills a slot. We cannot, so a slot is filled with what stays anyway: what was loaded with
 * the program, or with the object.
 */
uintptr_t pml__slots_resolve(struct pml__slots *x, const struct pml__object *o, size_t symbol, const char *name,
                             size_t n) {
  const char *version = pml__object_needs(o, symbol);
  if (o->startup && ++x->asked > ASKED_ONE_BY_ONE) {
    if (x->index == NULL) x->index = make(&x->all);
    uintptr_t one = x->index != NULL ? only(x->index, &x->all, name, n) : 0;
    if (one != 0) return one;
  }
  uintptr_t global, local;
  if (!search(x, pml__doors_global, name, version, &global)) return 0;
  global = behind(x, global, name, n);
  const struct pml__object *of = global != 0 ? pml__objects_find(&x->all, global) : NULL;
  bool stays = of != NULL && of->startup;
  if (o->startup) return stays ? global : 0;
  if (!search(x, o->handle, name, version, &local)) return 0;
  if (local != 0) return global == 0 || global == local ? local : 0;
  return stays ? global : 0;
}
