/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_instrumented.c - functions compiled with -finstrument-functions. */
#include "adapter/intercept/pml_intercept_instrumented.h"

#include "adapter/arch/pml_call.h"
#include "adapter/intercept/pml_intercept_choice.h"
#include "adapter/intercept/pml_intercept_names.h"
#include "adapter/intercept/pml_intercept_private.h"
#include "base/pml_array.h"
#include "base/pml_map.h"
#include "base/pml_process.h"
#include "program/pml_source_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 4096u
#define SP_ABOVE 8u /* so that calls which the function makes at its stack pointer are further in, on every machine */

/* ---- regions by address ---- */

#define UNKNOWN UINT32_MAX
#define DROPPED 0x80000000u /* in a region: only open calls have a leave */

/* Which region a function has; 0: it is not recorded. @function is set last; then the region can only be dropped. */
struct known {
  uintptr_t function;  /* atomic; 0: free */
  pml_region_t region; /* atomic, relaxed */
};

/* At most half full, else a larger table replaces it. Tables are never freed, because a thread may be reading one. */
struct table {
  struct table *earlier; /* in the list of all tables */
  uint32_t shift, n;     /* it has 2^(64 - shift) entries */
  struct known at[];
};
static struct table *table; /* atomic; NULL: empty */
static struct table *tables;

struct object {
  struct object *next;
  uintptr_t lo, hi, base;
  struct pml__names names;
  char *file, *path; /* owned */
  struct pml__source_lines *lines;
  const char *kind;
  bool chosen;
};
static struct object *objects;
static struct pml__lock lock; /* guards writing to the table, and the objects */

static inline size_t index_of(const struct table *t, uintptr_t function) {
  return (size_t)((uint64_t)function * PML__HASH_FACTOR >> t->shift);
}

static inline pml_region_t find(uintptr_t function) {
  const struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
  if (PML_UNLIKELY(t == NULL)) return UNKNOWN;
  size_t mask = ((size_t)1 << (64 - t->shift)) - 1;
  for (size_t i = index_of(t, function);; i = (i + 1) & mask) {
    uintptr_t there = __atomic_load_n(&t->at[i].function, __ATOMIC_ACQUIRE);
    if (PML_LIKELY(there == function)) return __atomic_load_n(&t->at[i].region, __ATOMIC_RELAXED);
    if (there == 0) return UNKNOWN;
  }
}

static void put(struct table *t, uintptr_t function, pml_region_t region) {
  size_t mask = ((size_t)1 << (64 - t->shift)) - 1, i = index_of(t, function);
  while (t->at[i].function != 0) i = (i + 1) & mask;
  t->at[i].region = region;
  __atomic_store_n(&t->at[i].function, function, __ATOMIC_RELEASE);
  t->n++;
}

static struct table *new_table(uint32_t shift) {
  struct table *t = calloc(1, sizeof *t + ((size_t)1 << (64 - shift)) * sizeof t->at[0]);
  if (t == NULL) return NULL;
  t->shift = shift;
  t->earlier = tables;
  tables = t;
  return t;
}

static bool grow(void) {
  const struct table *before = table;
  struct table *t = new_table(before != NULL ? before->shift - 1 : 64 - 10);
  if (t == NULL) return false;
  for (size_t i = 0; before != NULL && i < (size_t)1 << (64 - before->shift); i++)
    if (before->at[i].function != 0) put(t, before->at[i].function, before->at[i].region);
  __atomic_store_n(&table, t, __ATOMIC_RELEASE);
  return true;
}

/* ---- names ---- */

static struct object *object_at(uintptr_t address) {
  struct object *o = objects;
  while (o != NULL && address - o->lo >= o->hi - o->lo) o = o->next;
  return o;
}

static void discard(struct object *o) {
  pml__names_free(&o->names);
  pml__source_lines_free(o->lines);
  free(o->file);
  free(o->path);
  free(o);
}

/* A file without a symbol table has functions without names. */
static struct object *add_object(struct pml__object *of, const struct pml__choice *c) {
  struct object *o = calloc(1, sizeof *o);
  if (o == NULL) return NULL;
  *o = (struct object){.next = objects, .lo = of->lo, .hi = of->hi, .base = of->base};
  o->file = strdup(pml__object_file(of));
  o->path = strdup(of->path);
  if (o->file == NULL || o->path == NULL) {
    discard(o);
    return NULL;
  }
  o->kind = pml__object_kind(of);
  (void)pml__names_read(&o->names, of->path);
  o->chosen = pml__choice_instrumented(c, of->path);
  return objects = o;
}

static pml_region_t region_in(struct object *o, const struct pml__choice *c, uintptr_t function) {
  char text[NAME_BYTES];
  pml_region_t region = 0;
  const struct pml__name *found = pml__names_find(&o->names, function - o->base);
  const char *name = found != NULL ? pml__names_text(&o->names, found) : text;
  if (found == NULL) (void)snprintf(text, sizeof text, "%.255s+0x%zx", o->file, (size_t)(function - o->base));
  const struct pml__choice_place of = {o->path, function - o->lo, found != NULL ? found->bytes : 0, &o->lines};
  if (!o->chosen || !pml__choice_name(c, name, &of)) return 0;
  return pml__region_of(o->kind, name, o->file, 0, &region) == 0 ? region : 0;
}

static bool has_room(void) {
  return table != NULL && 2 * (table->n + 1) <= (size_t)1 << (64 - table->shift);
}

/* The loader's lock is taken before this file's. */
static pml_region_t look_up(const struct pml__choice *c, uintptr_t function) {
  struct pml__object of = {0};
  pml_region_t region = 0;
  bool found = pml__object_at(&of, function);
  pml__lock_take(&lock);
  struct object *o = object_at(function);
  if (o == NULL && found) o = add_object(&of, c);
  if (o != NULL) region = region_in(o, c, function);
  if (find(function) == UNKNOWN && (has_room() || grow())) put(table, function, region);
  pml__lock_leave(&lock);
  free(of.path);
  free(of.file);
  return region;
}

/* Whether it is still what it was: a file that is opened again may have its earlier addresses. */
static bool is_loaded(const struct object *o, const struct pml__objects *all) {
  const struct pml__object *there = all != NULL ? pml__objects_find(all, o->lo) : NULL;
  return there != NULL && there->lo == o->lo && there->hi == o->hi;
}

/* Without the functions from @lo to @hi. */
static struct table *copy_without(const struct table *before, uintptr_t lo, uintptr_t hi) {
  struct table *t = new_table(before->shift);
  for (size_t i = 0; t != NULL && i < (size_t)1 << (64 - before->shift); i++)
    if (before->at[i].function != 0 && before->at[i].function - lo >= hi - lo)
      put(t, before->at[i].function, before->at[i].region);
  return t;
}

/* Functions of other objects may be open, and need their regions when they end. */
void pml__instrumented_forget(const struct pml__objects *all) {
  pml__lock_take(&lock);
  for (struct object **at = &objects, *o; (o = *at) != NULL;) {
    if (is_loaded(o, all)) {
      at = &o->next;
      continue;
    }
    *at = o->next;
    if (table != NULL) __atomic_store_n(&table, copy_without(table, o->lo, o->hi), __ATOMIC_RELEASE);
    discard(o);
  }
  if (all == NULL) __atomic_store_n(&table, NULL, __ATOMIC_RELEASE); /* a thread may be reading it */
  pml__lock_leave(&lock);
}

int pml__instrumented_drop(pml_region_t region) {
  int err = -ENOTSUP;
  if (!pml__lock_try(&lock)) return -EBUSY;
  for (size_t i = 0; table != NULL && i < (size_t)1 << (64 - table->shift); i++) {
    if (table->at[i].function == 0 || table->at[i].region != region) continue;
    __atomic_store_n(&table->at[i].region, region | DROPPED, __ATOMIC_RELAXED);
    err = 0;
  }
  pml__lock_leave(&lock);
  return err;
}

/* ---- calls ---- */

static inline bool is_recorded(pml_region_t region) {
  return (int32_t)region > 0;
}

/* Whether the innermost call is this one, recorded when it came through a slot: it returns to @site. */
static inline bool is_intercepted(const struct pml__call_thread *t, pml_region_t region, const void *site) {
  const struct pml__call_frame *p = t->open;
  return PML_UNLIKELY(p->region == region) && (uintptr_t)site == p->known->code + PML_ARCH_SLOT_RETURN;
}

/* Whether the innermost call contains the code of @region, inlined: they have one frame and return to one place. A
 * function that a longjmp left at the same place and that is called again is not inlined into itself. */
static bool is_inlined(const struct pml__call_thread *t, pml_region_t region, uint32_t site, uintptr_t sp) {
  const struct pml__call_frame *p = t->open;
  if (p == PML__CALL_NONE || p->known != PML__CALL_NO_SLOT || p->site != site) return false;
  for (; p != PML__CALL_NONE && p->sp == sp; p = p->outer)
    if (p->region == region) return false;
  return p != t->open;
}

/* A name is looked up in the claim: functions of the program that this calls, such as its allocator, are not recorded.
 */
__attribute__((noinline)) static void enter_slow(uintptr_t function, const void *site, uintptr_t sp,
                                                 pml_region_t region) {
  const struct pml__choice *c = pml__intercept_chosen();
  struct pml_stream_event e = {0};
  struct pml__call_frame *p = NULL;
  int saved = errno;
  if (c == NULL || !pml__call_is_on() || !pml__call_claim(sp)) return;
  e.region = region != UNKNOWN ? region : look_up(c, function);
  if (e.region != 0 && !is_intercepted(&pml__call_self, e.region, site) && pml_stream_wanted(PML_STREAM_ENTER))
    p = is_inlined(&pml__call_self, e.region, (uint32_t)(uintptr_t)site, sp) ? pml__call_begin_inlined(&e)
                                                                             : pml__call_begin(&e, sp);
  if (p != NULL) p->site = (uint32_t)(uintptr_t)site;
  pml__call_release();
  errno = saved;
}

void pml__instrumented_enter(const void *function, const void *site) {
  pml_region_t region = find((uintptr_t)function);
  struct pml__call_thread *t = &pml__call_self;
  struct pml__stream_thread *s = t->stream;
  uintptr_t sp = PML__CALL_HERE + SP_ABOVE;
  if ((!is_recorded(region) && region != UNKNOWN) || is_intercepted(t, region, site)) return;
  if (PML_UNLIKELY(region == UNKNOWN) || !__atomic_load_n(&pml__call_plain, __ATOMIC_RELAXED) ||
      __atomic_load_n(&pml__call_counting, __ATOMIC_RELAXED) != NULL || !pml__call_begin_fast(t, s, sp)) {
    enter_slow((uintptr_t)function, site, sp, region);
    return;
  }
  struct pml__call_frame *p = t->open->inner;
  p->site = (uint32_t)(uintptr_t)site;
  pml__call_open(t, p, region, PML__CALL_NO_SLOT, sp);
  pml__call_emit(t, s, PML_STREAM_ENTER, region);
}

/* A function may leave by a jump, when its frame is gone already: then @sp is above it. */
__attribute__((noinline)) static void leave_slow(pml_region_t region, uintptr_t sp, const void *site) {
  struct pml_stream_event e = {.region = region};
  if (is_intercepted(&pml__call_self, region, site)) return;
  int saved = errno;
  if (!pml__call_claim(sp)) return;
  struct pml__call_frame *p = pml__call_find(region, sp - 2 * SP_ABOVE);
  if (p != NULL) pml__call_end(p, &e);
  pml__call_release();
  errno = saved;
}

/* On a thread that has used one stack, the innermost call is on it. */
static inline bool is_here(const struct pml__call_thread *t, const struct pml__call_frame *p, uintptr_t sp) {
  return PML_LIKELY(t->others == NULL) || (sp >= t->from && sp <= p->sp);
}

static inline void leave(pml_region_t region, uintptr_t sp, const void *site) {
  struct pml__call_thread *t = &pml__call_self;
  struct pml__stream_thread *s = t->stream;
  struct pml__call_frame *p = t->open;
  if (PML_LIKELY(pml__call_is_reported(p, region)) && PML_LIKELY(p->outer != PML__CALL_NONE) && is_here(t, p, sp) &&
      __atomic_load_n(&pml__call_plain, __ATOMIC_RELAXED) &&
      __atomic_load_n(&pml__call_counting, __ATOMIC_RELAXED) == NULL && pml__call_end_fast(t, s, p, p->sp)) {
    pml__call_close(t, p);
    pml__call_emit(t, s, PML_STREAM_LEAVE, region);
    return;
  }
  leave_slow(region, sp, site);
}

void pml__instrumented_leave(const void *function, const void *site) {
  pml_region_t region = find((uintptr_t)function);
  if (region != 0 && region != UNKNOWN) leave(region & ~DROPPED, PML__CALL_HERE + SP_ABOVE, site);
}

/* ---- functions of an interpreter ---- */

#define SCRIPT UINT32_MAX  /* site of their frames: no function has it as its return address */
#define SCRIPT_ABOVE 8192u /* between a call's stack pointer here and the interpreter's calls of libraries */

static bool is_script(const struct pml__call_frame *p) {
  return p->known == PML__CALL_NO_SLOT && p->site == SCRIPT && p->outer != PML__CALL_NONE && p != PML__CALL_NONE;
}

/* Just inside the call that contains it; functions inside each other have one stack pointer. */
static uintptr_t script_sp(const struct pml__call_frame *outer, uintptr_t here) {
  if (outer == PML__CALL_NONE) return here;
  if (is_script(outer)) return outer->sp;
  return outer->sp - 1 < here + SCRIPT_ABOVE ? outer->sp - 1 : here + SCRIPT_ABOVE;
}

__attribute__((noinline)) static void script_enter_slow(pml_region_t region, uintptr_t sp) {
  struct pml_stream_event e = {.region = region};
  struct pml__call_frame *p = NULL;
  int saved = errno;
  if (!pml__call_is_on() || !pml__call_claim(sp)) return;
  if (pml_stream_wanted(PML_STREAM_ENTER)) {
    const struct pml__call_frame *outer = pml__call_innermost(sp);
    if (outer != NULL) p = is_script(outer) ? pml__call_begin_inlined(&e) : pml__call_begin(&e, script_sp(outer, sp));
  }
  if (p != NULL) p->site = SCRIPT;
  pml__call_release();
  errno = saved;
}

bool pml__script_enter(const void *code) {
  pml_region_t region = find((uintptr_t)code);
  struct pml__call_thread *t = &pml__call_self;
  struct pml__stream_thread *s = t->stream;
  uintptr_t here = PML__CALL_HERE, sp = script_sp(t->open, here);
  if (!is_recorded(region)) return region != UNKNOWN;
  if (t->others != NULL || !__atomic_load_n(&pml__call_plain, __ATOMIC_RELAXED) ||
      __atomic_load_n(&pml__call_counting, __ATOMIC_RELAXED) != NULL || t->open == PML__CALL_NONE ||
      !pml__call_begin_fast(t, s, is_script(t->open) ? sp - 1 : sp)) {
    script_enter_slow(region, here);
    return true;
  }
  struct pml__call_frame *p = t->open->inner;
  p->site = SCRIPT;
  pml__call_open(t, p, region, PML__CALL_NO_SLOT, sp);
  pml__call_emit(t, s, PML_STREAM_ENTER, region);
  return true;
}

void pml__script_name(const void *code, const char *name, const char *language) {
  const struct pml__choice *c = pml__intercept_chosen();
  pml_region_t region = 0;
  if (c == NULL || !pml__choice_script(c, name) || pml__region_of(language, name, language, 0, &region) < 0) region = 0;
  pml__lock_take(&lock);
  if (find((uintptr_t)code) == UNKNOWN && (has_room() || grow())) put(table, (uintptr_t)code, region);
  pml__lock_leave(&lock);
}

void pml__script_leave(const void *code) {
  pml_region_t region = find((uintptr_t)code);
  if (region != 0 && region != UNKNOWN) leave(region & ~DROPPED, PML__CALL_HERE, NULL);
}
