/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_names.c - names of a loaded object's functions, from its file. */
#include "adapter/intercept/pml_intercept_names.h"

#include "base/pml_array.h"
#include "base/pml_error.h"
#include "source/kernel/event/pml_event_elf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* By address; of several names, a global one comes first. */
static int compare(const void *one, const void *two) {
  const struct pml__name *a = one, *b = two;
  if (a->address != b->address) return a->address < b->address ? -1 : 1;
  if (a->local != b->local) return a->local ? 1 : -1;
  return a->name < b->name ? -1 : a->name > b->name;
}

static bool is_function(const ElfW(Sym) * s) {
  return s->st_shndx != SHN_UNDEF && s->st_shndx < SHN_LORESERVE &&
         (ELF64_ST_TYPE(s->st_info) == STT_FUNC || ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC);
}

static int read_texts(struct pml__names *names, const struct pml__elf *f, const ElfW(Shdr) * strings) {
  if (strings->sh_size >= UINT32_MAX || strings->sh_size > f->size) return PML_EFORMAT;
  names->ntext = (size_t)strings->sh_size + 1;
  names->text = calloc(1, names->ntext);
  if (names->text == NULL) return -ENOMEM;
  return pml__elf_get(f, strings->sh_offset, names->text, names->ntext - 1) ? 0 : PML_EFORMAT;
}

static int read_table(struct pml__names *names, const struct pml__elf *f, const ElfW(Shdr) * table) {
  ElfW(Shdr) strings;
  size_t room = 0;
  if (!pml__elf_section(f, table->sh_link, &strings) || table->sh_offset > f->size) return PML_EFORMAT;
  uint64_t left = f->size - table->sh_offset;
  uint64_t count = (table->sh_size < left ? table->sh_size : left) / sizeof(ElfW(Sym));
  int err = read_texts(names, f, &strings);
  for (uint64_t i = 0; i < count && err == 0; i++) {
    ElfW(Sym) s;
    if (!pml__elf_get(f, table->sh_offset + i * sizeof s, &s, sizeof s)) break;
    if (!is_function(&s) || s.st_name == 0 || s.st_name >= names->ntext) continue;
    if (!PML__ARRAY_ROOM(names->at, room, names->n + 1)) return -ENOMEM;
    names->at[names->n++] =
        (struct pml__name){.address = s.st_value,
                           .bytes = (s.st_size < INT32_MAX ? (uint32_t)s.st_size : INT32_MAX) & INT32_MAX,
                           .local = ELF64_ST_BIND(s.st_info) == STB_LOCAL,
                           .name = s.st_name};
  }
  return err;
}

int pml__names_read(struct pml__names *names, const char *path) {
  static const uint32_t kinds[] = {SHT_SYMTAB, SHT_DYNSYM};
  struct pml__elf f = {0};
  ElfW(Shdr) table;
  *names = (struct pml__names){0};
  int err = pml__elf_open(&f, path);
  if (err < 0) return err;
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0] && names->text == NULL && err == 0; k++)
    for (uint64_t i = 0; i < f.head.e_shnum && names->text == NULL && err == 0; i++)
      if (pml__elf_section(&f, i, &table) && table.sh_type == kinds[k]) err = read_table(names, &f, &table);
  pml__elf_close(&f);
  if (err < 0) pml__names_free(names);
  if (names->n > 0) qsort(names->at, names->n, sizeof *names->at, compare);
  return err;
}

void pml__names_free(struct pml__names *names) {
  free(names->at);
  free(names->text);
  *names = (struct pml__names){0};
}

const struct pml__name *pml__names_find(const struct pml__names *names, uint64_t address) {
  size_t i;
  PML__ARRAY_SEARCH(i, names->n, names->at[i].address <= address);
  if (i == 0) return NULL;
  const struct pml__name *found = &names->at[i - 1];
  while (found > names->at && found[-1].address == found->address) found--;
  return address - found->address < (found->bytes > 0 ? found->bytes : 1) ? found : NULL;
}

const char *pml__names_text(const struct pml__names *names, const struct pml__name *name) {
  return names->text + name->name;
}
