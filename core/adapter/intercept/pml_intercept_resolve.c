/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_resolve.c - targets of slots that the loader has not resolved yet.
 *
 * The loader's own search takes a call for each name, and more for names with a version. A name exported by a single
 * library can only lead there, so for objects with many slots an index of all names is searched first.
 */
#include "adapter/intercept/pml_intercept_exports.h"
#include "adapter/intercept/pml_intercept_private.h"
#include "adapter/intercept/pml_intercept_slots.h"

#include <dlfcn.h>

#define ASKED_OF_EACH 16u /* slots per library: from this number on, building the index is faster */

/* The function with this name, if exactly one object loaded with the program exports it; 0: none, or several. */
static uintptr_t only(struct pml__slots *x, const char *name, size_t n) {
  if (x->exports == NULL) x->exports = pml__exports_make(&x->all);
  if (x->exports == NULL) return 0;
  return pml__exports_only(x->exports, name, n, x->hash != 0 ? x->hash : pml__object_hash(name, n));
}

/* ---- prefetch ---- */

void pml__slots_first(struct pml__slots *x, struct pml__ahead *a, const char *name, size_t n) {
  a->hash = pml__object_hash(name, n);
  pml__exports_ahead(x->exports, a->hash);
}

void pml__slots_second(const struct pml__slots *x, struct pml__ahead *a) {
  if (a->hash != 0) a->likely = pml__exports_likely(x->exports, a->hash);
}

void pml__slots_third(const struct pml__ahead *a) {
  if (a->likely.symbol == NULL) return;
  pml__export_ahead(&a->likely);
  pml__intercept_thunk_ahead(a->likely.o->base + a->likely.symbol->st_value);
}

/* ---- the loader's search ---- */

static uintptr_t look_up(void *handle, const char *name, const char *version) {
  return (uintptr_t)(version != NULL ? pml__real_dlvsym(handle, name, version) : pml__real_dlsym(handle, name));
}

/* A slot with a version may be bound to a function without one, such as a function of a preloaded library that replaces
 * libc's, but dlvsym() does not find it. Returns false if another object may have such a function. */
static bool search(const struct pml__slots *x, void *handle, const char *name, const char *version, uintptr_t *found) {
  uintptr_t any = version != NULL ? look_up(handle, name, NULL) : 0;
  *found = look_up(handle, name, version);
  return any == 0 || any == *found ||
         (*found != 0 && pml__objects_find(&x->all, any) == pml__objects_find(&x->all, *found));
}

/* The function in the first library that has it, in the loader's order; 0: none has it. The loader's search runs the
 * resolver of an IFUNC, and chooses among versions. */
static uintptr_t in_libraries(const struct pml__slots *x, const char *name, const char *version) {
  uintptr_t at = 0;
  for (size_t i = 1; i < x->all.n && at == 0; i++) {
    const struct pml__object *o = &x->all.at[i];
    if (!o->startup || o->path[0] == '\0' || !pml__object_defines(o, name)) continue;
    void *handle = pml__real_dlopen(o->path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL) continue;
    at = look_up(handle, name, version);
    if (at != 0 && pml__objects_find(&x->all, at) != o) at = 0; /* found in a dependency */
    dlclose(handle);
  }
  return at;
}

/* The function behind the program's PLT entry, which is the function's address for the whole process. */
static uintptr_t behind(struct pml__slots *x, uintptr_t global, const char *name, size_t n, const char *version) {
  const struct pml__loader_hook *loader_hook = pml__loader_hook_named(name);
  const struct pml__object *of = global != 0 ? pml__objects_find(&x->all, global) : NULL;
  if (loader_hook != NULL && global == loader_hook->linked) return loader_hook->real;
  if (of == NULL || !pml__object_stands_in(of, name, global)) return global;
  uintptr_t one = only(x, name, n);
  if (one == 0) one = in_libraries(x, name, version);
  return one != 0 ? one : global;
}

/*
 * An object loaded later is searched in the global scope and in its own scope, in an order that is not visible: if both
 * contain the name, in different objects, the loader decides. Also, the loader keeps the target of a slot loaded when
 * it fills the slot, which pmlua cannot do, so a slot is filled only with functions of objects that stay loaded: those
 * loaded with the program, or with the object.
 */
uintptr_t pml__slots_resolve(struct pml__slots *x, const struct pml__object *o, size_t symbol, const char *name,
                             size_t n) {
  const char *version = pml__object_needs(o, symbol);
  if (o->startup && ++x->asked > ASKED_OF_EACH * x->all.n) {
    uintptr_t one = only(x, name, n);
    if (one != 0) return one;
  }
  uintptr_t global, local;
  if (!search(x, pml__loader_hooks_global, name, version, &global)) return 0;
  global = behind(x, global, name, n, version);
  const struct pml__object *of = global != 0 ? pml__objects_find(&x->all, global) : NULL;
  bool stays = of != NULL && of->startup;
  if (o->startup) return stays ? global : 0;
  if (!search(x, o->handle, name, version, &local)) return 0;
  if (local != 0) return global == 0 || global == local ? local : 0;
  return stays ? global : 0;
}
