/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/event_elf.c - symbols and file offsets from ELF files, sound and damaged. */
#include "check.h"
#include "source/kernel/event/pml_event_parsers.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#define BASE 0x400000u

/* A program in a few hundred bytes: one segment, loaded far from its place in the file, and three symbols. */
struct tiny {
  ElfW(Ehdr) head;
  ElfW(Phdr) segment;
  ElfW(Shdr) section[3];
  ElfW(Sym) symbol[4];
  char strings[32];
};

static struct tiny make_tiny(void) {
  struct tiny t;
  memset(&t, 0, sizeof t);
  memcpy(t.head.e_ident, ELFMAG, SELFMAG);
  t.head.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
  t.head.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
  t.head.e_phoff = offsetof(struct tiny, segment);
  t.head.e_shoff = offsetof(struct tiny, section);
  t.head.e_phentsize = sizeof t.segment;
  t.head.e_shentsize = sizeof t.section[0];
  t.head.e_phnum = 1;
  t.head.e_shnum = 3;
  t.segment = (ElfW(Phdr)){.p_type = PT_LOAD, .p_offset = 16, .p_vaddr = BASE, .p_filesz = 256, .p_memsz = 512};
  t.section[1] = (ElfW(Shdr)){.sh_type = SHT_SYMTAB, .sh_link = 2, .sh_offset = offsetof(struct tiny, symbol)};
  t.section[1].sh_size = sizeof t.symbol;
  t.section[2] = (ElfW(Shdr)){.sh_type = SHT_STRTAB, .sh_offset = offsetof(struct tiny, strings)};
  t.section[2].sh_size = sizeof t.strings;
  memcpy(t.strings, "\0work\0bss\0undefined\0tls", 24);
  t.symbol[0] = (ElfW(Sym)){.st_name = 1, .st_info = STT_FUNC, .st_shndx = 1, .st_value = BASE + 100, .st_size = 7};
  t.symbol[1] = (ElfW(Sym)){.st_name = 6, .st_info = STT_OBJECT, .st_shndx = 1, .st_value = BASE + 300};
  t.symbol[2] = (ElfW(Sym)){.st_name = 10, .st_info = STT_FUNC, .st_shndx = SHN_UNDEF};
  t.symbol[3] = (ElfW(Sym)){.st_name = 20, .st_info = STT_TLS, .st_shndx = 1, .st_value = 8};
  return t;
}

/* The answer for @name in a file of the @n bytes of @data. */
static int look_up(const void *data, size_t n, const char *name, struct pml__symbol *sym) {
  char path[64];
  int fd = memfd_create("elf", MFD_CLOEXEC);
  if (fd < 0 || write(fd, data, n) != (ssize_t)n) abort();
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  int err = pml__elf_symbol(path, name, sym);
  (void)close(fd);
  return err;
}

static void sound(void) {
  struct tiny t = make_tiny();
  struct pml__symbol sym;
  CHECK(look_up(&t, sizeof t, "work", &sym) == 0 && sym.value == BASE + 100 && sym.size == 7, "a function is found");
  CHECK(sym.offset == 116, "its offset is counted from where its segment starts in the file");
  CHECK(look_up(&t, sizeof t, "bss", &sym) == 0 && sym.offset == UINT64_MAX, "what is all zero is not in the file");
  CHECK(look_up(&t, sizeof t, "undefined", &sym) == PML_ENOSYMBOL, "what another file defines is not found");
  CHECK(look_up(&t, sizeof t, "tls", &sym) == PML_ENOSYMBOL, "what each thread has its own of has no address");
  CHECK(look_up(&t, sizeof t, "wor", &sym) == PML_ENOSYMBOL, "a prefix is no match");
  CHECK(look_up(&t, sizeof t, "ork", &sym) == PML_ENOSYMBOL, "nor is a suffix");
}

static void damaged(void) {
  struct tiny t = make_tiny();
  struct pml__symbol sym;
  CHECK(look_up(&t, 10, "work", &sym) == PML_EFORMAT, "a file shorter than a header");
  t.head.e_ident[0] = 'x';
  CHECK(look_up(&t, sizeof t, "work", &sym) == PML_EFORMAT, "a file that is not ELF");
  t = make_tiny();
  t.head.e_ident[EI_CLASS] = ELFCLASSNONE;
  CHECK(look_up(&t, sizeof t, "work", &sym) == PML_EFORMAT, "an ELF file of another kind of machine");
  t = make_tiny();
  t.head.e_shoff = UINT64_MAX - 8;
  CHECK(look_up(&t, sizeof t, "work", &sym) == PML_ENOSYMBOL, "section headers beyond the end");
  t = make_tiny();
  t.section[2].sh_offset = UINT64_MAX - 2;
  CHECK(look_up(&t, sizeof t, "work", &sym) == PML_ENOSYMBOL, "strings beyond the end");
  t = make_tiny();
  t.section[1].sh_size = UINT64_MAX;
  CHECK(look_up(&t, sizeof t, "nobody", &sym) == PML_ENOSYMBOL, "a table without end");
  t = make_tiny();
  t.head.e_phnum = 0;
  CHECK(look_up(&t, sizeof t, "work", &sym) == 0 && sym.offset == UINT64_MAX, "no segment, no offset");
}

int main(void) {
  sound();
  damaged();
  return check_done();
}
