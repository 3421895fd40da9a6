/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_resolve.c - where a slot leads that the loader has not filled yet.
 *
 * The loader's own search is a call for each name, and more where the name has a version. Names that one library alone
 * has cannot lead anywhere else: where there are many slots, the libraries' hash tables are asked here.
 */
#include "adapter/intercept/pml_intercept_private.h"
#include "adapter/intercept/pml_intercept_scans.h"
#include "adapter/intercept/pml_intercept_slots.h"

#include <dlfcn.h>
#include <stdlib.h>

#define ASKED_ONE_BY_ONE 256u

/* The tables of the objects that were loaded with the program. */
struct pml__startup {
  size_t n;
  struct {
    const struct pml__object *o;
    struct pml__hash_table table;
    bool has_table;
  } at[];
};

/* ---- a name that one library has ---- */

static struct pml__startup *make(const struct pml__objects *all) {
  struct pml__startup *s = malloc(sizeof *s + all->n * sizeof s->at[0]);
  if (s == NULL) return NULL;
  s->n = 0;
  for (size_t i = 0; i < all->n; i++) {
    const struct pml__object *o = &all->at[i];
    if (!o->startup || o->sym == NULL || o->str == NULL) continue;
    s->at[s->n].o = o;
    s->at[s->n].has_table = pml__hash_table_read(o, &s->at[s->n].table);
    s->n++;
  }
  return s;
}

/* A global function in the default version: what depends on more is for the loader. */
static uintptr_t plain(const struct pml__object *o, size_t symbol) {
  const Elf64_Sym *s = &o->sym[symbol];
  unsigned bind = ELF64_ST_BIND(s->st_info);
  bool is = ELF64_ST_TYPE(s->st_info) == STT_FUNC && (bind == STB_GLOBAL || bind == STB_WEAK) &&
            (o->versym == NULL || (o->versym[symbol] & 0x8000) == 0);
  return is ? o->base + s->st_value : 0;
}

struct found {
  const struct pml__object *o;
  size_t symbol, n;
};

static bool note(void *arg, size_t symbol) {
  struct found *f = arg;
  if (f->o->sym[symbol].st_shndx == SHN_UNDEF) return true;
  f->symbol = symbol;
  return ++f->n < 2;
}

/* The one function that has the name among all that were loaded with the program; 0: none, or several have it. */
static uintptr_t only(struct pml__slots *x, const char *name, size_t n) {
  uint32_t hash = pml__object_hash(name, n);
  struct found f = {NULL, 0, 0};
  const struct pml__object *in = NULL;
  if (x->startup == NULL) x->startup = make(&x->all);
  for (size_t i = 0; x->startup != NULL && i < x->startup->n && f.n < 2; i++) {
    const struct pml__hash_table *h = x->startup->at[i].has_table ? &x->startup->at[i].table : NULL;
    if (h != NULL && !pml__hash_table_may_have(h, hash)) continue;
    f.o = x->startup->at[i].o;
    size_t before = f.n;
    pml__hash_table_find(f.o, h, name, n, hash, note, &f);
    if (f.n > before) in = f.o;
  }
  return f.n == 1 ? plain(in, f.symbol) : 0;
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
  uintptr_t one = only(x, name, n);
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
    uintptr_t one = only(x, name, n);
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
