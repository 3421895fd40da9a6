/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_elf.c - symbols of ELF files and of the calling process. */
#include "source/kernel/event/pml_event_elf.h"
#include "source/kernel/event/pml_event_parsers.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool pml__elf_get(const struct pml__elf *f, uint64_t offset, void *to, size_t n) {
  if (!f->data || offset > f->size || f->size - offset < n) return false;
  memcpy(to, f->data + offset, n);
  return true;
}

static bool native(const ElfW(Ehdr) * h) {
  unsigned char class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
  unsigned char order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
  return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == class && h->e_ident[EI_DATA] == order &&
         h->e_shentsize >= sizeof(ElfW(Shdr)) && h->e_phentsize >= sizeof(ElfW(Phdr));
}

void pml__elf_close(struct pml__elf *f) {
  if (f->data) (void)munmap((void *)f->data, f->size);
  f->data = NULL;
}

int pml__elf_open(struct pml__elf *f, const char *path) {
  struct stat st;
  int err = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return -errno;
  if (fstat(fd, &st) != 0)
    err = -errno;
  else if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof f->head)
    err = PML_EFORMAT;
  if (err == 0) {
    f->size = (size_t)st.st_size;
    void *p = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
      err = -errno;
    else
      f->data = p;
  }
  (void)close(fd);
  if (err < 0) return err;
  if (pml__elf_get(f, 0, &f->head, sizeof f->head) && native(&f->head)) return 0;
  pml__elf_close(f);
  return PML_EFORMAT;
}

bool pml__elf_section(const struct pml__elf *f, uint64_t i, ElfW(Shdr) * s) {
  return i < f->head.e_shnum && pml__elf_get(f, f->head.e_shoff + i * f->head.e_shentsize, s, sizeof *s);
}

/* Is the string at @offset of table @strings exactly @name? */
static bool named(const struct pml__elf *f, const ElfW(Shdr) * strings, uint64_t offset, const char *name, size_t n) {
  if (offset >= strings->sh_size || strings->sh_size - offset < n) return false;
  uint64_t at = strings->sh_offset + offset;
  return at >= strings->sh_offset && at <= f->size && f->size - at >= n && memcmp(f->data + at, name, n) == 0;
}

/* Thread-local symbols are offsets, undefined ones nothing: neither has an address. */
static bool has_address(const ElfW(Sym) * s) {
  unsigned type = s->st_info & 0xf;
  return s->st_shndx != SHN_UNDEF && s->st_shndx != SHN_ABS &&
         (type == STT_NOTYPE || type == STT_OBJECT || type == STT_FUNC || type == STT_GNU_IFUNC);
}

static int search_table(const struct pml__elf *f, const ElfW(Shdr) * table, const char *name, struct pml__symbol *sym) {
  ElfW(Shdr) strings;
  ElfW(Sym) s;
  size_t n = strlen(name) + 1; /* with its end, so that a prefix is no match */
  if (!pml__elf_section(f, table->sh_link, &strings) || table->sh_offset > f->size) return PML_ENOSYMBOL;
  uint64_t room = f->size - table->sh_offset;
  uint64_t count = (table->sh_size < room ? table->sh_size : room) / sizeof s;
  for (uint64_t i = 0; i < count; i++) {
    if (!pml__elf_get(f, table->sh_offset + i * sizeof s, &s, sizeof s)) break;
    if (!has_address(&s) || !named(f, &strings, s.st_name, name, n)) continue;
    sym->value = s.st_value;
    sym->size = s.st_size;
    sym->indirect = (s.st_info & 0xf) == STT_GNU_IFUNC;
    return 0;
  }
  return PML_ENOSYMBOL;
}

uint64_t pml__elf_offset(const struct pml__elf *f, uint64_t address) {
  ElfW(Phdr) p;
  for (uint64_t i = 0; i < f->head.e_phnum; i++) {
    if (!pml__elf_get(f, f->head.e_phoff + i * f->head.e_phentsize, &p, sizeof p)) break;
    if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
      return p.p_offset + (address - p.p_vaddr);
  }
  return UINT64_MAX;
}

uint64_t pml__elf_address(const struct pml__elf *f, uint64_t offset) {
  ElfW(Phdr) p;
  for (uint64_t i = 0; i < f->head.e_phnum; i++) {
    if (!pml__elf_get(f, f->head.e_phoff + i * f->head.e_phentsize, &p, sizeof p)) break;
    if (p.p_type == PT_LOAD && (p.p_flags & PF_X) && offset >= p.p_offset && offset - p.p_offset < p.p_filesz)
      return p.p_vaddr + (offset - p.p_offset);
  }
  return UINT64_MAX;
}

uint64_t pml__elf_data_address(const struct pml__elf *f, uint64_t offset) {
  ElfW(Phdr) p;
  for (uint64_t i = 0; i < f->head.e_phnum; i++) {
    if (!pml__elf_get(f, f->head.e_phoff + i * f->head.e_phentsize, &p, sizeof p)) break;
    if (p.p_type == PT_LOAD && !(p.p_flags & PF_X) && offset >= p.p_offset && offset - p.p_offset < p.p_memsz)
      return p.p_vaddr + (offset - p.p_offset);
  }
  return UINT64_MAX;
}

/* The address that this process's loader chose for the function, if it has the library. */
static uint64_t chosen(const char *path, const char *name) {
  void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_LOCAL);
  void *address = library != NULL ? dlsym(library, name) : NULL;
  Dl_info in;
  bool found = address != NULL && dladdr(address, &in) != 0;
  if (library != NULL) (void)dlclose(library);
  return found ? (uint64_t)((uintptr_t)address - (uintptr_t)in.dli_fbase) : UINT64_MAX;
}

int pml__elf_symbol(const char *path, const char *name, struct pml__symbol *sym) {
  static const uint32_t kinds[] = {SHT_SYMTAB, SHT_DYNSYM};
  struct pml__elf f = {0};
  ElfW(Shdr) table;
  int err = pml__elf_open(&f, path);
  if (err < 0) {
    pml__event_note_shortage(err);
    return err;
  }
  err = PML_ENOSYMBOL;
  for (size_t k = 0; k < 2 && err < 0; k++)
    for (uint64_t i = 0; i < f.head.e_shnum && err < 0; i++)
      if (pml__elf_section(&f, i, &table) && table.sh_type == kinds[k]) err = search_table(&f, &table, name, sym);
  if (err == 0 && sym->indirect) sym->value = chosen(path, name);
  if (err == 0) sym->offset = pml__elf_offset(&f, sym->value);
  pml__elf_close(&f);
  return err;
}

struct object_walk {
  const char *name;
  struct pml__symbol *sym;
  bool found;
};

/* The file behind a loaded object; the program itself has no name there. */
static int search_object(struct dl_phdr_info *info, size_t size, void *arg) {
  struct object_walk *o = arg;
  (void)size;
  const char *path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
  if (pml__elf_symbol(path, o->name, o->sym) < 0 || o->sym->value == UINT64_MAX) return 0;
  o->sym->value += info->dlpi_addr;
  o->found = true;
  return 1;
}

int pml__process_symbol(const char *name, struct pml__symbol *sym) {
  memset(sym, 0, sizeof *sym);
  void *address = dlsym(RTLD_DEFAULT, name);
  if (address) {
    Dl_info where;
    const ElfW(Sym) *s = NULL;
    sym->value = (uintptr_t)address;
    if (dladdr1(address, &where, (void **)&s, RTLD_DL_SYMENT) && s && where.dli_saddr == address)
      sym->size = s->st_size;
    return 0;
  }
  struct object_walk o = {.name = name, .sym = sym};
  (void)dl_iterate_phdr(search_object, &o);
  return o.found ? 0 : PML_ENOSYMBOL;
}
