/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_library.c - checks of shared libraries before dlopen(). */
#include "base/pml_library.h"

#include "base/pml_error.h"
#include "base/pml_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden"))); /* by the linker: of this very code */

static const char *machine_name(unsigned machine, bool wide, char number[32]) {
  switch (machine) {
  case EM_X86_64:
    return wide ? "x86-64" : "x32";
  case EM_386:
    return "32-bit x86";
  case EM_AARCH64:
    return "arm64";
  case EM_ARM:
    return "32-bit ARM";
  case EM_PPC64:
    return "64-bit POWER";
  case EM_S390:
    return "s390";
  case EM_RISCV:
    return "RISC-V";
  default:
    (void)snprintf(number, 32, "machine %u", machine);
    return number;
  }
}

static bool is_foreign(const char *path, char *text, size_t size) {
  unsigned char head[sizeof(Elf32_Ehdr)];
  char number[32];
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  bool whole = read(fd, head, sizeof head) == (ssize_t)sizeof head;
  (void)close(fd);
  if (!whole || memcmp(head, ELFMAG, SELFMAG) != 0) return false;
  bool little = head[EI_DATA] == ELFDATA2LSB; /* the machine stands at the same place in both classes */
  const unsigned char *at = head + offsetof(Elf32_Ehdr, e_machine);
  unsigned machine = little ? at[0] | (unsigned)at[1] << 8 : at[1] | (unsigned)at[0] << 8;
  if (machine == __ehdr_start.e_machine && head[EI_CLASS] == __ehdr_start.e_ident[EI_CLASS] &&
      head[EI_DATA] == __ehdr_start.e_ident[EI_DATA])
    return false;
  (void)snprintf(text, size, "%s was built for another kind of machine (%s); build it for this one", path,
                 machine_name(machine, head[EI_CLASS] == ELFCLASS64, number));
  return true;
}

bool pml__library_foreign(const char *file, char *text, size_t size) {
  if (strchr(file, '/') != NULL) return is_foreign(file, text, size);
  const char *places = secure_getenv("LD_LIBRARY_PATH");
  bool found = false;
  while (places != NULL && *places != '\0' && !found) {
    char path[PATH_BYTES];
    int n = (int)strcspn(places, ":;");
    if (snprintf(path, sizeof path, "%.*s/%s", n, places, file) < (int)sizeof path)
      found = is_foreign(path, text, size);
    places += n + (places[n] != '\0');
  }
  return found;
}

/* Do all segments that are loaded end within the file? The loader refuses other files. */
static bool is_whole(int fd, uint64_t size) {
  ElfW(Ehdr) head;
  ElfW(Phdr) segment;
  if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != __ehdr_start.e_ident[EI_CLASS] || head.e_phentsize != sizeof segment)
    return true;
  for (unsigned i = 0; i < head.e_phnum; i++) {
    uint64_t at = (uint64_t)head.e_phoff + (uint64_t)i * sizeof segment;
    if (at > INT64_MAX || pread(fd, &segment, sizeof segment, (off_t)at) != (ssize_t)sizeof segment) return false;
    if (segment.p_type == PT_LOAD && (segment.p_offset > size || segment.p_filesz > size - segment.p_offset))
      return false;
  }
  return true;
}

int pml__library_check(const char *path) {
  uint64_t size;
  int fd = pml_file_open(path, UINT64_MAX, &size);
  if (fd < 0) return fd;
  bool whole = is_whole(fd, size);
  (void)close(fd);
  return whole ? 0 : pml_fail(-ENOEXEC, "%.300s: the file is cut short", path);
}

static int find_self(struct dl_phdr_info *info, size_t size, void *name) {
  (void)size;
  if (info->dlpi_addr != (uintptr_t)&__ehdr_start) return 0;
  *(const char **)name = info->dlpi_name;
  return 1;
}

/* The file of this code, or false. A program has no name there. dladdr(3) would compare this address with all symbols.
 */
static bool own_file(char path[PATH_MAX]) {
  const char *name = "";
  (void)dl_iterate_phdr(find_self, &name);
  return realpath(*name != '\0' ? name : "/proc/self/exe", path) != NULL;
}

int pml__library_own(const char *file, char path[PATH_MAX]) {
  static const char *const folder[] = {"preload", "../preload", "pmlua/preload", "../lib/pmlua/preload"};
  char self[PATH_MAX];
  if (!own_file(self)) return pml_fail(-ENOENT, "the folder of pmlua's libraries is unknown");
  *strrchr(self, '/') = '\0';
  for (size_t i = 0; i < sizeof folder / sizeof folder[0]; i++) {
    int n = snprintf(path, PATH_MAX, "%s/%s/%s", self, folder[i], file);
    if (n < PATH_MAX && access(path, F_OK) == 0) return 0;
  }
  return pml_fail(-ENOENT, "%s is missing in the folder of %.200s; build it with make all", file, self);
}
