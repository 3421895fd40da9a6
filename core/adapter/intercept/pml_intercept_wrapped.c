/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_wrapped.c - functions for which a loaded object has wrappers.
 *
 * A wrapper linked with --wrap calls the function through a slot of the object that contains the wrapper. Interception
 * would count this call again, so it does not change the slot. A note in the object lists its wrappers, and is valid
 * before and after the object's constructors run.
 */
#include "adapter/intercept/pml_intercept_wrapped.h"
#include "adapter/intercept/pml_intercept_choice.h"
#include "adapter/intercept/pml_intercept_object.h"
#include "adapter/intercept/pml_intercept_private.h"
#include "base/pml_process.h"

#include <stdlib.h>
#include <string.h>

#define WRAP "__wrap_"

/* An object, and the number of readable bytes of each segment plus one, determined on demand; 0: not yet. */
struct image {
  const struct pml__object *o;
  size_t readable[PML__SEGMENTS];
};

/* Whether the whole range is readable, in one segment. */
static bool holds(struct image *m, uintptr_t at, size_t bytes) {
  for (uint32_t i = 0; i < m->o->nsegments; i++) {
    const struct pml__segment *s = &m->o->segment[i];
    if (at - s->lo >= s->hi - s->lo) continue;
    if (m->readable[i] == 0) m->readable[i] = pml__object_readable(m->o, s) + 1;
    size_t offset = at - s->lo;
    return offset < m->readable[i] && bytes < m->readable[i] - offset;
  }
  return false;
}

static bool is_whole(struct image *m, const struct pml_wrap_function *f) {
  return holds(m, (uintptr_t)f, sizeof *f) && holds(m, (uintptr_t)f->name, 1);
}

static int by_name(const void *a, const void *b) {
  const struct pml_wrap_function *const *x = a, *const *y = b;
  return strcmp((*x)->name, (*y)->name);
}

static struct pml__lock lock; /* held while a list is sorted; the loader is not called */

/* A published list is sorted, and never changes again. */
static void sort(const struct pml__wrap_list *l) {
  bool sorted = true;
  pml__lock_take(&lock);
  for (size_t i = 1; i < l->n && sorted; i++) sorted = strcmp(l->at[i - 1]->name, l->at[i]->name) <= 0;
  if (!sorted) qsort(l->at, l->n, sizeof *l->at, by_name);
  pml__lock_leave(&lock);
}

static struct pml__wrap_list list_at(struct image *m, uintptr_t begin, uintptr_t end) {
  struct pml__wrap_list none = {NULL, 0}, l = {(struct pml_wrap_function **)begin, (end - begin) / sizeof *l.at};
  if (end <= begin || begin % sizeof *l.at != 0 || !holds(m, begin, end - begin)) return none;
  for (size_t i = 0; i < l.n; i++)
    if (!is_whole(m, l.at[i])) return none;
  sort(&l);
  return l;
}

/* Both offsets are relative to their own addresses. */
static struct pml__wrap_list read_note(struct image *m, const char *at, size_t bytes) {
  struct pml__wrap_list none = {NULL, 0};
  Elf64_Nhdr head;
  int32_t to[2];
  while (bytes >= sizeof head) {
    memcpy(&head, at, sizeof head);
    size_t name = (head.n_namesz + (size_t)3) & ~(size_t)3, rest = (head.n_descsz + (size_t)3) & ~(size_t)3;
    if (name > bytes - sizeof head || rest > bytes - sizeof head - name) return none;
    if (head.n_type == PML_WRAP_NOTE_TYPE && head.n_namesz == sizeof PML_WRAP_NOTE_NAME && rest == sizeof to &&
        memcmp(at + sizeof head, PML_WRAP_NOTE_NAME, sizeof PML_WRAP_NOTE_NAME) == 0) {
      const char *desc = at + sizeof head + name;
      memcpy(to, desc, sizeof to);
      return list_at(m, (uintptr_t)(desc + to[0]), (uintptr_t)(desc + sizeof to[0] + to[1]));
    }
    at += sizeof head + name + rest;
    bytes -= sizeof head + name + rest;
  }
  return none;
}

struct pml__wrap_list pml__wrap_listed(const struct pml__object *o) {
  struct pml__wrap_list list = {NULL, 0};
  struct image m = {.o = o};
  for (size_t i = 0; i < o->nphdr && list.n == 0; i++) {
    const Elf64_Phdr *p = &o->phdr[i];
    uintptr_t at = o->base + p->p_vaddr;
    if (p->p_type == PT_NOTE && p->p_align <= 4 && holds(&m, at, p->p_memsz))
      list = read_note(&m, (const char *)at, p->p_memsz); /* NOLINT(performance-no-int-to-ptr) */
  }
  return list;
}

bool pml__wrap_lists(const struct pml__wrap_list *list, const char *name) {
  if (list->n == 0) return false;
  if (strncmp(name, WRAP, sizeof WRAP - 1) == 0) name += sizeof WRAP - 1;
  struct pml_wrap_function key = {.name = name};
  const struct pml_wrap_function *at = &key;
  return bsearch(&at, list->at, list->n, sizeof *list->at, by_name) != NULL;
}

/* ---- the library ---- */

/* Whether the library has the function itself, not a wrapper of it. */
static bool has(const struct pml__object *o, void *name) {
  if (o->program || strncmp(basename(o->path), "libpmlua", 8) == 0 || !pml__object_defines(o, name)) return false;
  struct pml__wrap_list wrapped = pml__wrap_listed(o);
  return !pml__wrap_lists(&wrapped, name);
}

const char *pml__wrap_library(const struct pml_wrap_function *f, char *to, size_t bytes) {
  struct pml__object o = {0};
  char name[512];
  size_t n = strlen(f->name);
  if (n >= sizeof name) return f->library;
  memcpy(name, f->name, n + 1);
  bool found = pml__object_first(&o, has, name) && (n = strlen(basename(o.path))) < bytes;
  if (found) memcpy(to, basename(o.path), n + 1);
  free(o.path);
  return found ? to : f->library;
}

/* ---- choice ---- */

static void mark(struct pml_wrap_function *f, uint32_t bit, bool set) {
  uint32_t was = __atomic_load_n(&f->records, __ATOMIC_RELAXED), now;
  do {
    now = (set ? was | bit : was & ~bit) & ~PML__WRAP_NEGATIVE;
    if ((now & (PML__WRAP_LEFT_OUT | PML__WRAP_COUNTED)) != 0) now |= PML__WRAP_NEGATIVE;
  } while (!__atomic_compare_exchange_n(&f->records, &was, now, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

/* All functions of one library in a wrapper are in the same file. */
void pml__wrap_choose(const struct pml__object *o, const struct pml__wrap_list *list, const struct pml__choice *c) {
  char file[256];
  const char *library = NULL, *last = NULL;
  for (size_t i = 0; i < list->n; i++) {
    struct pml_wrap_function *f = list->at[i];
    if (!pml__object_has_slot(o, (uintptr_t)f) || !pml__object_has_slot(o, (uintptr_t)(f + 1) - sizeof(uintptr_t)))
      continue; /* a damaged note must not cause a write outside of writable memory */
    if (c != NULL && (last == NULL || f->library == NULL || strcmp(f->library, last) != 0)) {
      library = pml__wrap_library(f, file, sizeof file);
      last = f->library;
    }
    mark(f, PML__WRAP_LEFT_OUT, c != NULL && !pml__choice_wrapped(c, library, NULL, f->name));
    mark(f, PML__WRAP_COUNTED, c != NULL && __atomic_load_n(&pml__call_counting, __ATOMIC_ACQUIRE) != NULL);
  }
}
