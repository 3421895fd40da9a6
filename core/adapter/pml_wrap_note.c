/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/pml_wrap_note.c - which functions a loaded object has wrappers for.
 *
 * A wrapper that was linked with --wrap calls the function through a slot of its own object. Interception would count
 * that call again, so it leaves the slot alone; the note tells it, whether it looks before the object's constructors
 * ran or after.
 */
#include "adapter/pml_wrap_private.h"

#include <stdlib.h>
#include <string.h>

#define WRAP "__wrap_"

struct image {
  const Elf64_Phdr *phdr;
  size_t nphdr;
  uintptr_t base;
};

/* Whether all of it is in one loaded segment. */
static bool holds(const struct image *m, uintptr_t at, size_t bytes) {
  for (size_t i = 0; i < m->nphdr; i++) {
    const Elf64_Phdr *p = &m->phdr[i];
    uintptr_t offset = at - m->base - p->p_vaddr;
    if (p->p_type == PT_LOAD && offset < p->p_memsz && bytes <= p->p_memsz - offset) return true;
  }
  return false;
}

static bool is_whole(const struct image *m, const struct pml_wrap_function *f) {
  return holds(m, (uintptr_t)f, sizeof *f) && holds(m, (uintptr_t)f->name, 1);
}

static int by_name(const void *a, const void *b) {
  const struct pml_wrap_function *const *x = a, *const *y = b;
  return strcmp((*x)->name, (*y)->name);
}

static struct pml__wrap_list list_at(const struct image *m, uintptr_t begin, uintptr_t end) {
  struct pml__wrap_list none = {NULL, 0}, l = {(struct pml_wrap_function **)begin, (end - begin) / sizeof *l.at};
  bool sorted = true;
  if (end <= begin || begin % sizeof *l.at != 0 || !holds(m, begin, end - begin)) return none;
  for (size_t i = 0; i < l.n; i++) {
    if (!is_whole(m, l.at[i])) return none;
    sorted &= i == 0 || strcmp(l.at[i - 1]->name, l.at[i]->name) <= 0;
  }
  if (!sorted) qsort(l.at, l.n, sizeof *l.at, by_name);
  return l;
}

/* Both are relative to where they are. */
static struct pml__wrap_list read_note(const struct image *m, const char *at, size_t bytes) {
  struct pml__wrap_list none = {NULL, 0};
  Elf64_Nhdr head;
  int32_t to[2];
  while (bytes >= sizeof head) {
    memcpy(&head, at, sizeof head);
    size_t name = (head.n_namesz + (size_t)3) & ~(size_t)3, rest = (head.n_descsz + (size_t)3) & ~(size_t)3;
    if (name > bytes - sizeof head || rest > bytes - sizeof head - name) return none;
    if (head.n_type == PML_WRAP_NOTE_TYPE && head.n_namesz == sizeof PML_WRAP_NOTE_NAME && rest == sizeof to &&
        strcmp(at + sizeof head, PML_WRAP_NOTE_NAME) == 0) {
      const char *desc = at + sizeof head + name;
      memcpy(to, desc, sizeof to);
      return list_at(m, (uintptr_t)(desc + to[0]), (uintptr_t)(desc + sizeof to[0] + to[1]));
    }
    at += sizeof head + name + rest;
    bytes -= sizeof head + name + rest;
  }
  return none;
}

struct pml__wrap_list pml__wrap_listed(const Elf64_Phdr *phdr, size_t nphdr, uintptr_t base) {
  struct pml__wrap_list list = {NULL, 0};
  const struct image m = {phdr, nphdr, base};
  for (size_t i = 0; i < nphdr && list.n == 0; i++) {
    const Elf64_Phdr *p = &phdr[i];
    uintptr_t at = base + p->p_vaddr;
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

struct sought {
  uintptr_t address;
  const char *name;
};

static int find_object(struct dl_phdr_info *info, size_t size, void *arg) {
  const struct sought *s = arg;
  const struct image m = {info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr};
  (void)size;
  if (!holds(&m, s->address, 1)) return 0;
  const struct pml__wrap_list list = pml__wrap_listed(m.phdr, m.nphdr, m.base);
  return pml__wrap_lists(&list, s->name) ? 1 : -1;
}

bool pml__wrap_listed_at(uintptr_t address, const char *name) {
  struct sought s = {address, name};
  return dl_iterate_phdr(find_object, &s) == 1;
}
