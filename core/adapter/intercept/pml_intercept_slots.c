/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_slots.c - slots of calls between loaded objects. */
#include "adapter/intercept/pml_intercept_slots.h"

#include "adapter/arch/pml_arch.h"
#include "adapter/intercept/pml_intercept_entries.h"
#include "adapter/intercept/pml_intercept_exports.h"
#include "adapter/intercept/pml_intercept_instrumented.h"
#include "adapter/intercept/pml_intercept_private.h"
#include "adapter/intercept/pml_intercept_scans.h"
#include "base/pml_error.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* An object with slots that the loader binds later is scanned again, in growing intervals. */
struct patience {
  bool unbound;
  uint32_t wait, step; /* scans until the next one; and the following interval */
};

/* Objects already scanned, so that a scan after a dlopen() inspects only new ones; under the caller's lock. */
static struct known {
  uintptr_t base;
  char *path;
  enum pml__hooks_role role;
  struct patience patience;
} * known;
static size_t nknown;

/* ---- filling ---- */

/* Makes the loader's read-only pages writable from begin to end; only pmlua writes there in between. */
struct opened {
  const struct pml__object *o;
  bool open;
};

static bool set_relro(const struct pml__object *o, int protection) {
  void *at = (void *)o->relro_lo; /* NOLINT(performance-no-int-to-ptr) */
  return mprotect(at, o->relro_hi - o->relro_lo, protection) == 0;
}

static bool writable(struct opened *w, uintptr_t slot) {
  if (slot - w->o->relro_lo >= w->o->relro_hi - w->o->relro_lo) return true;
  if (!w->open) w->open = set_relro(w->o, PROT_READ | PROT_WRITE);
  return w->open;
}

static void close_again(const struct opened *w) {
  if (w->open) (void)set_relro(w->o, PROT_READ);
}

/* Writes only if the loader has not filled the slot meanwhile. */
static bool fill(struct opened *w, uintptr_t *slot, uintptr_t from, uintptr_t to) {
  return writable(w, (uintptr_t)slot) &&
         __atomic_compare_exchange_n(slot, &from, to, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* ---- targets of slots ---- */

/*
 * A PLT slot that is not bound yet points into its own object, but not to a function of this name in the object. If the
 * object has a resolver (IFUNC) of this name, the address does not show whether it has run: then the slot counts as
 * unbound, with the same result.
 */
static bool is_unfilled(const struct pml__object *o, const Elf64_Sym *s, uintptr_t value) {
  if (value - o->lo >= o->hi - o->lo) return false;
  return s->st_shndx == SHN_UNDEF || value != o->base + s->st_value;
}

/* Call it only for objects that stay loaded meanwhile: the inspected object, and the targets of its slots. */
static bool has_wrapper(struct pml__slots *x, const struct pml__object *of, const char *name) {
  struct pml__object *o = &x->all.at[of - x->all.at];
  if (!o->asked) o->wrapped = pml__wrap_listed(o);
  o->asked = true;
  return pml__wrap_lists(&o->wrapped, name);
}

/* Patterns are matched once for each slot of a file. */
static bool is_chosen(const struct pml__slots *x, struct pml__scan_slot *slot, const char *name, size_t n) {
  if (slot->choice == PML__SLOT_UNKNOWN)
    slot->choice = pml__choice_function(x->choice, name, n) ? PML__SLOT_CHOSEN : PML__SLOT_LEFT;
  return slot->choice == PML__SLOT_CHOSEN;
}

static bool exports(const void *object, const char *name) {
  return pml__object_defines(object, name);
}

/* Whether @o, which calls the function @name of a library with hooks, is a tool between the program and the library. */
static bool is_layer(const struct pml__object *o, const char *name) {
  return pml__intercept_hooks != NULL && pml__intercept_hooks->layer(name, exports, o);
}

/* The hook of @at, or 0 if the function has none. Calls from a tool or a language binding are hooked as well. */
static uintptr_t hook_for(const struct pml__slots *x, const struct pml__object *o, const char *name, size_t n,
                          uintptr_t at) {
  const bool second = o->role == PML__HOOKS_BINDING || is_layer(o, name);
  const char *region = pml__intercept_hooks->hook(name, at, second, &at);
  if (region == NULL) return 0;
  pml__choice_note(x->choice, name, n);
  if (x->choice->hooks) return pml__intercept_hooks->behind(at) != 0 ? at : 0;
  return pml__intercept_thunk(at, PML__REGION_MPI, region, "");
}

/* The new value for the slot of @symbol instead of @value; 0: unchanged. */
static uintptr_t thunk_for(struct pml__slots *x, const struct pml__object *o, struct pml__scan_slot *slot,
                           size_t symbol, uintptr_t value) {
  size_t n;
  const Elf64_Sym *s = pml__object_symbol(o, symbol);
  const char *name = s != NULL ? pml__object_name(o, s, &n) : NULL;
  if (name == NULL || value == 0 || pml__intercept_target(value) != 0) return 0;
  const struct pml__loader_hook *loader_hook = x->choice->hooks ? NULL : pml__loader_hook_named(name);
  const struct pml__object *of = NULL;
  if (loader_hook == NULL && !x->any_wanted) return 0;
  bool unfilled = is_unfilled(o, s, value);
  if (unfilled) {
    if (loader_hook == NULL && !x->any_hooked && !is_chosen(x, slot, name, n)) return 0;
    value = pml__slots_resolve(x, o, symbol, name, n);
    x->unbound |= value == 0;
  }
  if (loader_hook != NULL) return value == loader_hook->real ? loader_hook->ours : 0;
  of = value != 0 ? pml__objects_find(&x->all, value) : NULL;
  if (of != NULL && of->role == PML__HOOKS_LIBRARY) return hook_for(x, o, name, n, value);
  if (of == NULL || !of->wanted || !pml__object_is_code(of, value) || !is_chosen(x, slot, name, n)) return 0;
  if (has_wrapper(x, o, name) || has_wrapper(x, of, name) || pml__entries_has(value)) return 0;
  pml__choice_note(x->choice, name, n);
  struct pml__object *library = &x->all.at[of - x->all.at];
  uint32_t functions = pml__intercept_functions();
  uintptr_t thunk = pml__intercept_thunk(value, pml__object_kind(library), name, pml__object_file(library));
  library->fresh |= pml__intercept_functions() != functions;
  return thunk;
}

/* The name is the slot's symbol, because calls of the function would be recorded under it. */
static uint32_t note_unrecorded(const struct pml__slots *x, const struct pml__object *o, const Elf64_Rela *r,
                                uintptr_t value) {
  size_t n;
  const Elf64_Sym *s = pml__object_symbol(o, ELF64_R_SYM(r->r_info));
  const char *name = s != NULL ? pml__object_name(o, s, &n) : NULL;
  const struct pml__object *of = pml__objects_find(&x->all, value);
  return pml__unrecorded_note(name != NULL ? name : "", of != NULL ? pml__object_file(&x->all.at[of - x->all.at]) : "");
}

/* Patch calls through a slot that keeps its address. */
static int change_calls(struct pml__slots *x, const struct pml__object *o, const struct pml__scan *scan,
                        const struct pml__scan_slot *slot, uintptr_t *at, uintptr_t thunk) {
  size_t n;
  const struct pml__scan_site *site = pml__scan_sites(scan, slot, &n);
  uint32_t function = note_unrecorded(x, o, pml__scan_relocation(o, slot), __atomic_load_n(at, __ATOMIC_RELAXED));
  if (slot->missed || !pml__scan_shows_calls(scan)) pml__unrecorded_calls(function);
  int err = pml__code_add(&x->code, o, at, site, n, thunk, function);
  return err < 0 ? pml_fail(err, "no memory to change calls of %.200s", o->path) : 0;
}

/* A function whose address is also compared or stored must have the same address everywhere, so these slots stay. The
 * code is read the first time an address slot needs it. */
static int fill_slot(struct pml__slots *x, const struct pml__object *o, struct pml__scan *scan,
                     struct pml__scan_slot *slot, uintptr_t *at, struct opened *w) {
  if (at == NULL) return 0;
  uintptr_t value = __atomic_load_n(at, __ATOMIC_RELAXED);
  uintptr_t thunk = thunk_for(x, o, slot, ELF64_R_SYM(pml__scan_relocation(o, slot)->r_info), value);
  if (thunk == 0) return 0;
  int calls_only = slot->address ? pml__scan_calls_only(o, scan, slot) : 1;
  if (calls_only < 0) return pml_fail(calls_only, "no memory to read %.200s", o->path);
  if (calls_only) {
    x->stats->slots += fill(w, at, value, thunk);
    return 0;
  }
  x->stats->shared += !x->again;
  return change_calls(x, o, scan, slot, at, thunk);
}

static struct pml__ahead begin(struct pml__slots *x, const struct pml__object *o, const struct pml__scan_slot *slot) {
  size_t n;
  const Elf64_Rela *r = pml__scan_relocation(o, slot);
  const Elf64_Sym *s = pml__object_symbol(o, ELF64_R_SYM(r->r_info));
  struct pml__ahead a = {.at = pml__slot_at(o, r, slot->address ? pml__arch_glob_dat : pml__arch_jump_slot)};
  if (a.at == NULL || s == NULL) return a;
  uintptr_t value = __atomic_load_n(a.at, __ATOMIC_RELAXED);
  if (!is_unfilled(o, s, value)) {
    pml__intercept_thunk_ahead(value);
    return a;
  }
  const char *name = x->exports != NULL ? pml__object_name(o, s, &n) : NULL; /* otherwise there are few names */
  if (name != NULL) pml__slots_first(x, &a, name, n);
  return a;
}

static struct pml__ahead *ahead_of(struct pml__slots *x, size_t i) {
  return &x->ahead[i % (sizeof x->ahead / sizeof x->ahead[0])];
}

static int fill_slots(struct pml__slots *x, const struct pml__object *o, struct pml__scan *scan) {
  const size_t first = 3 * PML__AHEAD, second = 2 * PML__AHEAD, third = PML__AHEAD;
  struct opened w = {o, false};
  int err = 0;
  memset(x->ahead, 0, sizeof x->ahead);
  for (size_t i = 0; i < scan->n + first && err == 0; i++) {
    *ahead_of(x, i) = i < scan->n ? begin(x, o, &scan->slot[i]) : (struct pml__ahead){.at = NULL};
    pml__slots_second(x, ahead_of(x, i - first + second));
    pml__slots_third(ahead_of(x, i - first + third));
    if (i < first) continue;
    x->hash = ahead_of(x, i - first)->hash;
    err = fill_slot(x, o, scan, &scan->slot[i - first], ahead_of(x, i - first)->at, &w);
  }
  close_again(&w);
  pml__code_apply(&x->code, o);
  return err;
}

/* ---- tables ---- */

/* Data with the address of another object's function, such as a table of functions, stays unchanged because the program
 * may compare it. */
static void note_tables(struct pml__slots *x, const struct pml__object *o) {
  for (size_t i = 0; i < o->nrela; i++) {
    const Elf64_Rela *r = &o->rela[i];
    const uintptr_t *at = pml__slot_at(o, r, pml__arch_abs64);
    if (at == NULL || r->r_addend != 0 || !pml__scan_is_function(o, r, true)) continue;
    uintptr_t value = __atomic_load_n(at, __ATOMIC_RELAXED);
    const struct pml__object *of = pml__objects_find(&x->all, value);
    size_t n;
    const char *name = pml__object_name(o, pml__object_symbol(o, ELF64_R_SYM(r->r_info)), &n);
    if (name == NULL || of == NULL || of == o || !of->wanted || !pml__object_is_code(of, value)) continue;
    if (!pml__choice_function(x->choice, name, n)) continue;
    (void)note_unrecorded(x, o, r, value);
    x->stats->shared++;
  }
}

static bool is_selected(const struct pml__choice *c) {
  return c->lib.n > 0 || c->sym.n > 0;
}

/* A library may also pass on addresses of functions that it defines. Without a selection only functions that others
 * call by name are noted: a C++ library has thousands of virtual functions. */
static void note_stored(struct pml__slots *x, struct pml__object *o) {
  bool named = is_selected(x->choice);
  struct pml__scan *scan = pml__scan_of(o, &x->stats->scans);
  size_t n, length;
  uint32_t *symbol = scan != NULL ? pml__scan_stored(o, scan, &n) : NULL;
  for (size_t i = 0; symbol != NULL && i < n; i++) {
    const Elf64_Sym *s = pml__object_symbol(o, symbol[i]); /* none for a mark */
    const char *name = s != NULL ? pml__object_name(o, s, &length) : NULL;
    if (name == NULL || !(named || pml__intercept_knows(o->base + s->st_value))) continue;
    symbol[i] |= PML__SCAN_NOTED;
    if (!pml__choice_function(x->choice, name, length)) continue;
    (void)pml__unrecorded_note(name, pml__object_file(o));
    x->stats->shared++;
  }
}

static void note_all_stored(struct pml__slots *x) {
  for (size_t i = 0; i < x->all.n; i++) {
    struct pml__object *o = &x->all.at[i];
    if (!o->wanted || !o->fresh || !pml__object_pin(o)) continue;
    note_stored(x, o);
    pml__object_unpin(o);
  }
}

/* ---- scanning ---- */

static bool has_slots(const struct pml__choice *c, const struct pml__object *o) {
  return o->sym != NULL && o->str != NULL && (o->njmprel > 0 || o->nrela > 0) && o->role != PML__HOOKS_LIBRARY &&
         o->role != PML__HOOKS_INSIDE && pml__choice_caller(c, o->path);
}

/* Choose among the object's wrapped functions by the same rules as for interception. */
static void choose_wrapped(struct pml__slots *x, struct pml__object *o) {
  if (!o->asked) o->wrapped = pml__wrap_listed(o);
  o->asked = true;
  if (o->wrapped.n > 0) pml__wrap_choose(o, &o->wrapped, x->choice);
}

uint64_t pml__intercept_looks;
const struct pml__hooks *pml__intercept_hooks;

static int scan_object(struct pml__slots *x, struct pml__object *o) {
  pml__intercept_looks++;
  x->unbound = false;
  if (pml__object_pin(o)) {
    choose_wrapped(x, o);
    pml__object_unpin(o);
  }
  if (!has_slots(x->choice, o) || !pml__object_pin(o)) return 0;
  struct pml__scan *scan = pml__scan_of(o, &x->stats->scans);
  int err = scan != NULL ? fill_slots(x, o, scan) : pml_fail(-ENOMEM, "no memory to read %.200s", o->path);
  if (!x->again && x->any_wanted && !x->choice->hooks) note_tables(x, o);
  x->stats->objects += !x->again;
  pml__object_unpin(o);
  return err;
}

static const struct known *find_known(const struct pml__object *o) {
  for (size_t i = 0; i < nknown; i++)
    if (known[i].base == o->base && strcmp(known[i].path, o->path) == 0) return &known[i];
  return NULL;
}

static void forget(void) {
  for (size_t i = 0; i < nknown; i++) free(known[i].path);
  free(known);
  known = NULL;
  nknown = 0;
}

/* Takes over the paths, and forgets unloaded objects. */
static void remember(struct pml__objects *all, const struct patience *patience) {
  struct known *list = malloc((all->n + 1) * sizeof *list);
  forget();
  if (list == NULL) return; /* then objects are scanned again, which is harmless */
  known = list;
  nknown = all->n;
  for (size_t i = 0; i < all->n; i++) {
    list[i] = (struct known){all->at[i].base, all->at[i].path, all->at[i].role, patience[i]};
    all->at[i].path = NULL;
  }
}

/* If a program opens n libraries one by one, an object with unbound slots is inspected log n times instead of n times:
 * at the next scan, then after one more, three, seven. */
static bool is_due(struct patience *p, const struct patience *before) {
  *p = *before;
  if (!p->unbound) return false;
  if (p->wait > 0) return p->wait--, false;
  p->wait = p->step;
  p->step = 2 * p->step + 1;
  return true;
}

enum pml__hooks_role pml__slots_role(struct pml__object *o) {
  enum pml__hooks_role role = pml__hooks_role(basename(o->path));
  const bool stays = o->startup;
  if (role != PML__HOOKS_NONE || o->program || pml__intercept_hooks == NULL || (!stays && !pml__object_pin(o)))
    return role;
  if (pml__object_defines(o, pml__intercept_hooks->second)) role = PML__HOOKS_LIBRARY;
  if (!stays) pml__object_unpin(o);
  return role;
}

/* If no loaded library has hooks, related libraries have no special role. */
static void cast(struct pml__slots *x) {
  for (size_t i = 0; i < x->all.n; i++) {
    struct pml__object *o = &x->all.at[i];
    const struct known *k = find_known(o);
    o->role = k != NULL && k->role == PML__HOOKS_LIBRARY ? k->role
              : k != NULL                                ? pml__hooks_role(basename(o->path))
                                                         : pml__slots_role(o);
    if (o->role == PML__HOOKS_LIBRARY) pml__intercept_hooks->load(o->path);
    x->any_hooked |= o->role == PML__HOOKS_LIBRARY;
  }
  for (size_t i = 0; i < x->all.n && !x->any_hooked; i++) x->all.at[i].role = PML__HOOKS_NONE;
}

/* Before slots are filled, because a call is recorded once. */
static int patch_entries(struct pml__slots *x, struct pml__object *o) {
  if (x->choice->func.n == 0 || x->choice->hooks || !pml__object_pin(o)) return 0;
  int err = pml__entries_patch(x->choice, o);
  pml__object_unpin(o);
  return err;
}

static int scan_all(struct pml__slots *x, struct patience *patience, bool unloaded) {
  int err = 0;
  cast(x);
  x->any_wanted = x->any_hooked;
  for (size_t i = 0; i < x->all.n; i++) {
    struct pml__object *o = &x->all.at[i];
    o->wanted = pml__choice_library(x->choice, o->path, o->program) && o->role == PML__HOOKS_NONE;
    x->any_wanted |= o->wanted;
  }
  for (size_t i = 0; i < x->all.n && err == 0; i++) err = patch_entries(x, &x->all.at[i]);
  for (size_t i = 0; i < x->all.n && err == 0; i++) {
    struct pml__object *o = &x->all.at[i];
    const struct known *k = find_known(o);
    /* another object may have been loaded at the same address */
    x->again = k != NULL && !(unloaded && !o->startup);
    if (x->again && !is_due(&patience[i], &k->patience)) continue;
    if (!x->again) patience[i] = (struct patience){false, 0, 1};
    o->fresh |= !x->again && is_selected(x->choice);
    err = scan_object(x, o);
    patience[i].unbound = x->unbound;
  }
  if (err == 0 && x->any_wanted && !x->choice->hooks) note_all_stored(x);
  return err;
}

int pml__intercept_scan(const struct pml__choice *choice, struct pml_intercept_stats *stats, bool unloaded) {
  struct pml__slots x = {.choice = choice, .stats = stats};
  struct patience *patience = NULL;
  int err = pml__objects_collect(&x.all);
  if (err == 0) patience = calloc(x.all.n + 1, sizeof *patience);
  if (patience == NULL) err = pml_fail(-ENOMEM, "no memory for the list of loaded libraries");
  if (err == 0 && unloaded) pml__code_forget(&x.all);
  if (err == 0 && unloaded) pml__entries_forget(&x.all);
  if (err == 0 && unloaded) pml__instrumented_forget(&x.all);
  if (err == 0) err = scan_all(&x, patience, unloaded);
  if (err == 0) remember(&x.all, patience);
  pml__exports_free(x.exports);
  pml__objects_free(&x.all);
  free(patience);
  return err;
}

void pml__intercept_give_up(void) {
  known = NULL;
  nknown = 0;
  pml__scans_give_up();
  pml__code_give_up();
  pml__entries_give_up();
}

/* ---- restore ---- */

/* The function behind a thunk, a loader hook or a hook; 0: another address. */
static uintptr_t original_of(uintptr_t value) {
  uintptr_t target = pml__intercept_target(value);
  if (target == 0) target = pml__loader_hook_target(value);
  uintptr_t hooked = pml__intercept_hooks != NULL ? pml__intercept_hooks->behind(target != 0 ? target : value) : 0;
  return hooked != 0 ? hooked : target;
}

static void restore_slots(const struct pml__object *o, struct opened *w, const Elf64_Rela *r, size_t n, uint32_t type) {
  for (size_t i = 0; i < n; i++) {
    uintptr_t *slot = pml__slot_at(o, &r[i], type);
    if (slot == NULL) continue;
    uintptr_t value = __atomic_load_n(slot, __ATOMIC_RELAXED), target = original_of(value);
    if (target != 0) (void)fill(w, slot, value, target);
  }
}

/* Inspects all objects, so that unloaded ones do not matter. */
void pml__intercept_restore(const struct pml__choice *last) {
  struct pml__objects all;
  if (pml__objects_collect(&all) == 0) {
    for (size_t i = 0; i < all.n; i++) {
      struct pml__object *o = &all.at[i];
      struct opened w = {o, false};
      if (!pml__object_pin(o)) continue;
      struct pml__wrap_list wrapped = pml__wrap_listed(o);
      pml__wrap_choose(o, &wrapped, NULL);
      if (!has_slots(last, o)) {
        pml__object_unpin(o);
        continue;
      }
      restore_slots(o, &w, o->jmprel, o->njmprel, pml__arch_jump_slot);
      restore_slots(o, &w, o->rela, o->nrela, pml__arch_glob_dat);
      close_again(&w);
      pml__object_unpin(o);
    }
  }
  pml__objects_free(&all);
  pml__code_restore(original_of);
  pml__entries_restore();
  forget();
  pml__scans_forget();
}
