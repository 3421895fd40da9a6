/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_loader.c - interception of libraries loaded by the program's dlopen, dlsym and
 * dlvsym.
 *
 * A program may compare a pointer from dlsym() with the function's address and look it up by dladdr(), so it is left
 * unchanged, unless the options request thunks; look-ups of selected functions are counted instead.
 */
#include "adapter/intercept/pml_intercept_choice.h"
#include "adapter/intercept/pml_intercept_object.h"
#include "adapter/intercept/pml_intercept_private.h"
#include "adapter/intercept/pml_intercept_slots.h"
#include "base/pml_process.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

static uintptr_t program_lo, program_hi;
static uint64_t elsewhere; /* atomic: objects opened in other namespaces */
static uint64_t unseen;    /* atomic: look-ups of chosen functions whose calls are not recorded */

/* ---- the functions behind the hooks ---- */

/* RTLD_NEXT skips libraries that were loaded before this one. */
static void *behind_program(const char *name) {
  static const char *const libraries[] = {"libc.so.6", "libdl.so.2"};
  void *at = dlsym(RTLD_NEXT, name);
  for (size_t i = 0; i < sizeof libraries / sizeof libraries[0] && at == NULL; i++) {
    void *handle = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL) continue;
    at = dlsym(handle, name);
    dlclose(handle);
  }
  return at;
}

/* A PLT entry of the program that serves as the function's address (pml__object_stands_in()) would lead to the loader
 * hook itself, once its slot is filled. */
static void look_behind(const struct pml__object *program) {
  for (size_t i = 0; i < PML__LOADER_HOOKS; i++) {
    if (!pml__object_stands_in(program, pml__loader_hook[i].name, pml__loader_hook[i].linked)) continue;
    void *behind = behind_program(pml__loader_hook[i].name);
    if (behind != NULL) pml__loader_hook[i].real = (uintptr_t)behind;
  }
}

/* ---- dlopen ---- */

/* The search path of a bare name, and the meaning of $ORIGIN, depend on the caller. */
static bool takes_dlopen(const char *file, int mode, const void *caller) {
  (void)mode, (void)caller;
  return file != NULL && strchr(file, '/') != NULL && strchr(file, '$') == NULL;
}

static void *our_dlopen(const char *file, int mode) {
  void *handle = pml__real_dlopen(file, mode);
  int saved = errno;
  if (handle != NULL) {
    pml__intercept_scan_new();
    (void)dlerror(); /* clears an error of pmlua's look-up, which is not the program's */
  }
  errno = saved;
  return handle;
}

/* ---- dlmopen ---- */

/* Another namespace has a separate C library: objects loaded there are only counted. */
static bool takes_dlmopen(Lmid_t space, const char *file, int mode, const void *caller) {
  (void)file, (void)mode, (void)caller;
  if (space != LM_ID_BASE) __atomic_fetch_add(&elsewhere, 1, __ATOMIC_RELAXED);
  return false;
}

/* ---- dlsym ---- */

static bool is_program(uintptr_t address) {
  return address - program_lo < program_hi - program_lo;
}

/* Whether the caller is a wrapper of @name that looks up the wrapped function. */
static bool is_wrapper(uintptr_t caller, const char *name) {
  struct pml__object o = {0};
  struct pml__wrap_list wrapped = {NULL, 0};
  if (pml__object_at(&o, caller)) wrapped = pml__wrap_listed(&o);
  free(o.path);
  return pml__wrap_lists(&wrapped, name);
}

/* Objects loaded with the program are never closed. */
static bool stays(uintptr_t address) {
  struct pml__object o = {0};
  bool is = pml__object_at(&o, address) && o.startup;
  free(o.path);
  return is;
}

/* An object in which a function was found, and its list of wrapped functions. */
struct place {
  struct pml__object o;
  struct pml__wrap_list wrapped;
  struct pml__traffic when; /* numbers of objects loaded and unloaded by then */
};

static bool find_place(struct place *p, uintptr_t at) {
  p->o = (struct pml__object){0};
  p->when = pml__intercept_traffic();
  if (!pml__object_at(&p->o, at)) return false;
  p->wrapped = pml__wrap_listed(&p->o);
  return true;
}

/*
 * The result of a tool's RTLD_NEXT before a library with hooks: the library's function, if that is the next one, so
 * that the tool's calls of it are seen. No program compares this pointer, because only the tool has it. NULL: another
 * case.
 */
static void *behind_layer(const void *handle, const char *name, uintptr_t caller) {
  struct pml__objects all;
  const struct pml__object *from = NULL;
  void *at = NULL;
  size_t i = 0;
  char second[PML__HOOKS_NAME];
  if (handle != RTLD_NEXT || pml__intercept_hooks == NULL || !pml__intercept_hooks->second_name(name, second))
    return NULL;
  if (is_program(caller)) return NULL;
  if (pml__objects_collect(&all) == 0) from = pml__objects_find(&all, caller);
  for (i = from != NULL ? (size_t)(from - all.at) + 1 : all.n; i < all.n; i++)
    if (all.at[i].startup && pml__object_defines(&all.at[i], name)) break;
  if (i < all.n && pml__slots_role(&all.at[i]) == PML__HOOKS_LIBRARY)
    at = pml__real_dlsym(pml__loader_hooks_global, second);
  pml__objects_free(&all);
  return at;
}

/* Whether @at, found as @name in @p, is a chosen function. */
static bool is_chosen(const struct pml__choice *c, void *at, const char *name, const struct place *p) {
  size_t n = strlen(name);
  if (pml__hooks_role(basename(p->o.path)) == PML__HOOKS_LIBRARY) return true;
  if (!pml__choice_function(c, name, n)) return false;
  if (!pml__choice_library(c, p->o.path, p->o.program) || !pml__object_exports(&p->o, name, (uintptr_t)at) ||
      pml__wrap_lists(&p->wrapped, name))
    return false;
  pml__choice_note(c, name, n);
  return true;
}

/* 0: no memory, or not intercepted. */
static uintptr_t thunk_of(void *at, const char *name, struct pml__object *o) {
  uintptr_t to = (uintptr_t)at;
  if (pml__hooks_role(basename(o->path)) != PML__HOOKS_LIBRARY)
    return pml__intercept_thunk(to, pml__object_kind(o), name, pml__object_file(o));
  const char *region = pml__intercept_hooks->hook(name, to, false, &to);
  return region != NULL ? pml__intercept_thunk(to, PML__REGION_MPI, region, "") : 0;
}

static uintptr_t thunk_in(const struct pml__choice *c, void *at, const char *name, struct place *p) {
  if (!is_chosen(c, at, name, p)) return 0;
  uintptr_t thunk = c->dlsym ? thunk_of(at, name, &p->o) : 0;
  if (thunk == 0) __atomic_fetch_add(&unseen, 1, __ATOMIC_RELAXED);
  return thunk;
}

/* The object of the last function, because programs look up many functions of one library in turn, some thousands at
 * startup. The lock is only tried, because its holder may wait for a thread that holds the loader's lock. */
static struct pml__lock lock;
static struct place last; /* guarded by the lock; path NULL: none */

static bool is_last(uintptr_t at) {
  struct pml__traffic now = pml__intercept_traffic();
  return last.o.path != NULL && at - last.o.lo < last.o.hi - last.o.lo && now.adds == last.when.adds &&
         now.subs == last.when.subs;
}

static bool make_last(uintptr_t at) {
  free(last.o.path);
  free(last.o.file);
  return find_place(&last, at);
}

/* The pointer that the program gets for a found function: the function or its thunk. */
static void *given(void *at, const char *name) {
  const struct pml__choice *c = pml__intercept_chosen();
  uintptr_t thunk = 0;
  if (c == NULL || at == NULL) return at;
  int saved = errno;
  pml__process_look(); /* in a child, detects whether another thread was using the last place */
  if (pml__lock_try(&lock)) {
    if (is_last((uintptr_t)at) || make_last((uintptr_t)at)) thunk = thunk_in(c, at, name, &last);
    pml__lock_leave(&lock);
  } else {
    struct place p;
    if (find_place(&p, (uintptr_t)at)) thunk = thunk_in(c, at, name, &p);
    free(p.o.path);
    free(p.o.file);
  }
  (void)dlerror(); /* clears an error of pmlua's look-up */
  errno = saved;
  return thunk != 0 ? (void *)thunk : at; /* NOLINT(performance-no-int-to-ptr) */
}

/* Valid between takes_dlsym() and our_dlsym() of one call. */
static PML_THREAD_LOCAL void *layered;

static void *given_layer(const char *name) {
  void *at = layered;
  uintptr_t to = (uintptr_t)at, thunk = 0;
  const char *region = pml__intercept_hooks->hook(name, to, true, &to);
  layered = NULL;
  if (region != NULL) thunk = pml__intercept_thunk(to, PML__REGION_MPI, region, "");
  return thunk != 0 ? (void *)thunk : at; /* NOLINT(performance-no-int-to-ptr) */
}

static void *look_up(const char *name, const char *version) {
  return version != NULL ? pml__real_dlvsym(pml__loader_hooks_global, name, version)
                         : pml__real_dlsym(pml__loader_hooks_global, name);
}

/*
 * The meaning of the special handles depends on the caller. For the program RTLD_DEFAULT is the global scope, and
 * RTLD_NEXT the same without the program itself. Cases in which the loader would keep an object loaded for the caller
 * are left to it. The loader's call, which follows, clears errors of pmlua's look-up.
 */
static bool takes_special(const void *handle, const char *name, const char *version, uintptr_t caller) {
  const struct pml__choice *c = pml__intercept_chosen();
  if (c == NULL || name == NULL || (handle == RTLD_NEXT && is_wrapper(caller, name))) return false;
  if (c->dlsym && !is_program(caller)) return false;
  void *at = look_up(name, version);
  if (!c->dlsym) (void)given(at, name); /* counted */
  return c->dlsym && at != NULL && (handle == RTLD_DEFAULT || !is_program((uintptr_t)at)) && stays((uintptr_t)at);
}

static bool takes(const void *handle, const char *name, const char *version, const void *caller) {
  if (handle != RTLD_DEFAULT && handle != RTLD_NEXT) return true;
  int saved = errno;
  bool does = takes_special(handle, name, version, (uintptr_t)caller);
  errno = saved;
  return does;
}

static void *of_all(void *handle) {
  return handle == RTLD_DEFAULT || handle == RTLD_NEXT ? pml__loader_hooks_global : handle;
}

static void scan_new(void) {
  int saved = errno;
  pml__intercept_scan_new();
  errno = saved;
}

static bool takes_dlsym(void *handle, const char *name, const void *caller) {
  int saved = errno;
  layered = name != NULL && pml__intercept_chosen() != NULL ? behind_layer(handle, name, (uintptr_t)caller) : NULL;
  errno = saved;
  return layered != NULL || takes(handle, name, NULL, caller);
}

static void *our_dlsym(void *handle, const char *name) {
  if (layered != NULL) return given_layer(name);
  scan_new();
  return given(pml__real_dlsym(of_all(handle), name), name);
}

static bool takes_dlvsym(void *handle, const char *name, const char *version, const void *caller) {
  return version != NULL && takes(handle, name, version, caller);
}

static void *our_dlvsym(void *handle, const char *name, const char *version) {
  scan_new();
  return given(pml__real_dlvsym(of_all(handle), name, version), name);
}

/* ---- preparation and forks ---- */

void pml__intercept_loader_prepare(void) {
  static const struct {
    uintptr_t takes, instead;
  } ours[PML__LOADER_HOOKS] = {{(uintptr_t)takes_dlopen, (uintptr_t)our_dlopen},
                               {(uintptr_t)takes_dlsym, (uintptr_t)our_dlsym},
                               {(uintptr_t)takes_dlvsym, (uintptr_t)our_dlvsym},
                               {(uintptr_t)takes_dlmopen, 0}};
  struct pml__object o = {0};
  for (size_t i = 0; i < PML__LOADER_HOOKS; i++) {
    pml__loader_hook[i].takes = ours[i].takes;
    pml__loader_hook[i].instead = ours[i].instead;
  }
  pml__loader_hooks_prepare();
  if (pml__loader_hooks_global == NULL || !pml__object_at(&o, (uintptr_t)getauxval(AT_PHDR))) return;
  program_lo = o.lo;
  program_hi = o.hi;
  look_behind(&o);
  free(o.path);
}

uint64_t pml__intercept_unseen(void) {
  return __atomic_load_n(&unseen, __ATOMIC_RELAXED);
}

uint64_t pml__intercept_elsewhere(void) {
  return __atomic_load_n(&elsewhere, __ATOMIC_RELAXED);
}

void pml__intercept_loader_forked(void) {
  if (pml__lock_torn(&lock)) last = (struct place){0}; /* another thread was using it */
  __atomic_store_n(&elsewhere, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&unseen, 0, __ATOMIC_RELAXED); /* the parent reports its counts */
}
