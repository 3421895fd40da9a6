/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_code.c - second slots, patched calls that use them, and functions whose calls
 * could not be patched.
 */
#include "adapter/intercept/pml_intercept_code.h"

#include "adapter/arch/pml_arch.h"
#include "base/pml_array.h"
#include "base/pml_region.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* ---- second slots ---- */

#define SLOTS 512u /* per area */
#define LOWEST UINT64_C(0x10000)

static struct area {
  struct area *next;
  uintptr_t *second;      /* near the code */
  uintptr_t first[SLOTS]; /* the corresponding original slots */
  uint32_t n;
} * areas;

static bool reaches_by(const struct pml__object *o, uintptr_t at, uintptr_t reach) {
  return (at < o->hi ? o->hi - at : at - o->lo) < reach;
}

static bool reaches(const struct pml__object *o, uintptr_t at) {
  return reaches_by(o, at, PML_ARCH_REACH);
}

static void *map_at(uintptr_t at, size_t bytes) {
  void *hint = (void *)at; /* NOLINT(performance-no-int-to-ptr) */
  void *got = mmap(hint, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) return NULL;
  if (got == hint) return got;
  (void)munmap(got, bytes); /* an older kernel uses the address as a hint only */
  return NULL;
}

/* Maps the first free addresses below the object, in growing distances, because the program's heap grows above it. Each
 * step is as long as all previous ones. */
void *pml__code_map_near(const struct pml__object *o, size_t bytes, uintptr_t reach) {
  uintptr_t page = ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1), step = UINT64_C(1) << 16, lo = o->lo & page;
  for (unsigned i = 0; i < 320; i++, step += i % 32 == 0 ? step : 0) {
    if (lo < LOWEST + step || !reaches_by(o, lo -= step, reach)) return NULL;
    void *at = map_at(lo, bytes);
    if (at != NULL) return at;
  }
  return NULL;
}

static struct area *more(const struct pml__object *o) {
  struct area *a = calloc(1, sizeof *a);
  if (a == NULL) return NULL;
  a->second = pml__code_map_near(o, SLOTS * sizeof(uintptr_t), PML_ARCH_REACH);
  if (a->second == NULL) {
    free(a);
    return NULL;
  }
  a->next = areas;
  areas = a;
  return a;
}

static uintptr_t *known_second(uintptr_t first) {
  for (const struct area *a = areas; a != NULL; a = a->next)
    for (uint32_t i = 0; i < a->n; i++)
      if (a->first[i] == first) return &a->second[i];
  return NULL;
}

/* NULL: no free addresses near enough. */
static uintptr_t *second_of(const struct pml__object *o, const uintptr_t *first) {
  struct area *a = areas;
  uintptr_t *second = known_second((uintptr_t)first);
  if (second != NULL) return reaches(o, (uintptr_t)second) ? second : NULL;
  while (a != NULL && (a->n == SLOTS || !reaches(o, (uintptr_t)a->second))) a = a->next;
  if (a == NULL) a = more(o);
  if (a == NULL) return NULL;
  a->first[a->n] = (uintptr_t)first;
  return &a->second[a->n++];
}

void pml__code_restore(uintptr_t (*original)(uintptr_t value)) {
  for (struct area *a = areas; a != NULL; a = a->next)
    for (uint32_t i = 0; i < a->n; i++) {
      uintptr_t to = original(__atomic_load_n(&a->second[i], __ATOMIC_RELAXED));
      if (to != 0) __atomic_store_n(&a->second[i], to, __ATOMIC_RELEASE);
    }
}

static bool is_used(const struct area *a, const struct pml__objects *all) {
  for (uint32_t i = 0; i < a->n; i++)
    if (pml__objects_find(all, a->first[i]) != NULL) return true;
  return false;
}

void pml__code_forget(const struct pml__objects *all) {
  for (struct area **at = &areas, *a; (a = *at) != NULL;) {
    if (is_used(a, all)) {
      at = &a->next;
      continue;
    }
    *at = a->next;
    (void)munmap(a->second, SLOTS * sizeof *a->second);
    free(a);
  }
}

/* ---- functions with calls that are not recorded ---- */

static struct unrecorded {
  struct pml_intercept_unrecorded function;
  uint64_t hash;
} * unrecorded;
static uint32_t nunrecorded, room;

uint32_t pml__unrecorded_note(const char *name, const char *library) {
  uint64_t hash = pml__region_hash(name, library, 0);
  for (uint32_t i = 0; i < nunrecorded; i++) {
    const struct pml_intercept_unrecorded *f = &unrecorded[i].function;
    if (unrecorded[i].hash == hash && strcmp(f->function, name) == 0 && strcmp(f->library, library) == 0) return i;
  }
  if (!PML__ARRAY_ROOM(unrecorded, room, nunrecorded + 1)) return UINT32_MAX;
  struct unrecorded u = {{strdup(name), strdup(library), false}, hash};
  if (u.function.function == NULL || u.function.library == NULL) {
    free((char *)u.function.function);
    free((char *)u.function.library);
    return UINT32_MAX;
  }
  unrecorded[nunrecorded] = u;
  return nunrecorded++;
}

void pml__unrecorded_calls(uint32_t number) {
  if (number < nunrecorded) unrecorded[number].function.calls = true;
}

int pml__unrecorded_visit(pml_intercept_unrecorded_visit *visit, void *arg) {
  int err = 0;
  for (uint32_t i = 0; i < nunrecorded && err == 0; i++) err = visit(&unrecorded[i].function, arg);
  return err;
}

void pml__unrecorded_forget(void) {
  for (uint32_t i = 0; i < nunrecorded; i++) {
    free((char *)unrecorded[i].function.function);
    free((char *)unrecorded[i].function.library);
  }
  free(unrecorded);
  unrecorded = NULL;
  nunrecorded = room = 0;
}

void pml__code_give_up(void) {
  areas = NULL;
  unrecorded = NULL;
  nunrecorded = room = 0;
}

/* ---- code ---- */

static const struct pml__segment *code_at(const struct pml__object *o, uintptr_t operand) {
  for (uint32_t i = 0; i < o->nsegments; i++) {
    const struct pml__segment *s = &o->segment[i];
    if ((s->flags & PF_X) == 0 || operand <= s->lo || operand >= s->hi) continue;
    size_t there = pml__object_readable(o, s);
    return operand - s->lo < there && there - (operand - s->lo) > sizeof(int32_t) ? s : NULL;
  }
  return NULL;
}

static bool add(struct pml__code *c, const struct pml__code_change *change) {
  if (!PML__ARRAY_ROOM(c->change, c->room, c->n + 1)) return false;
  c->change[c->n++] = *change;
  return true;
}

int pml__code_add(struct pml__code *c, const struct pml__object *o, uintptr_t *at, const struct pml__scan_site *site,
                  size_t n, uintptr_t thunk, uint32_t function) {
  uintptr_t *second = n > 0 || known_second((uintptr_t)at) != NULL ? second_of(o, at) : NULL;
  if (second == NULL) {
    if (n > 0) pml__unrecorded_calls(function);
    return 0;
  }
  __atomic_store_n(second, thunk, __ATOMIC_RELEASE); /* before code uses it */
  for (size_t i = 0; i < n; i++) {
    struct pml__code_change change = {o->lo + site[i].operand, (uintptr_t)at, (uintptr_t)second, function};
    if (!add(c, &change)) return -ENOMEM;
  }
  return 0;
}

bool pml__code_is_alone(void) {
  struct stat st;
  int saved = errno;
  bool is = stat("/proc/self/task", &st) == 0 && st.st_nlink == 3;
  errno = saved;
  return is;
}

/* Other threads, and this function, may execute this code, so it stays executable: a system that forbids writable code
 * refuses the first step, and never the second. */
static bool set_code(const struct pml__segment *s, int protection) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1, lo = s->lo & ~page;
  void *at = (void *)lo; /* NOLINT(performance-no-int-to-ptr) */
  return mprotect(at, ((s->hi + page) & ~page) - lo, protection) == 0;
}

static int protection_of(const struct pml__segment *s) {
  return PROT_EXEC | ((s->flags & PF_R) != 0 ? PROT_READ : 0) | ((s->flags & PF_W) != 0 ? PROT_WRITE : 0);
}

bool pml__code_open(const struct pml__segment *s) {
  return set_code(s, protection_of(s) | PROT_READ | PROT_WRITE);
}

void pml__code_close(const struct pml__segment *s) {
  (void)set_code(s, protection_of(s));
}

static void apply_in(struct pml__code *c, const struct pml__object *o, const struct pml__segment *s, bool alone) {
  bool open = false, refused = false;
  for (size_t i = 0; i < c->n; i++) {
    const struct pml__code_change *x = &c->change[i];
    if (x->to == 0 || code_at(o, x->operand) != s) continue;
    if (!open && !refused && !pml_arch_leads(x->operand, x->to)) {
      open = pml__code_open(s);
      refused = !open;
    }
    bool done = open ? pml_arch_lead(x->operand, x->from, x->to, alone) : pml_arch_leads(x->operand, x->to);
    if (!done) pml__unrecorded_calls(x->function);
    c->change[i].to = 0;
  }
  if (open) pml__code_close(s);
}

void pml__code_apply(struct pml__code *c, const struct pml__object *o) {
  int saved = errno;
  bool alone = c->n > 0 && pml__code_is_alone();
  for (uint32_t i = 0; c->n > 0 && i < o->nsegments; i++)
    if ((o->segment[i].flags & PF_X) != 0) apply_in(c, o, &o->segment[i], alone);
  for (size_t i = 0; i < c->n; i++)
    if (c->change[i].to != 0) pml__unrecorded_calls(c->change[i].function); /* outside of all code */
  free(c->change);
  *c = (struct pml__code){0};
  errno = saved;
}
