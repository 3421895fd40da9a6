/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/compiler/runtime/pml_count_others.c - loaded objects without counts. */
#include "source/compiler/runtime/pml_count_private.h"

#include <errno.h>
#include <link.h>
#include <string.h>

struct search {
  const struct pml_count_module *const *module;
  size_t nmodules;
  char *to;
  size_t room, n;
};

static bool within(const struct dl_phdr_info *info, const void *p) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && (uintptr_t)p - start < info->dlpi_phdr[i].p_memsz) return true;
  }
  return false;
}

/* Those that are there with every program, and with pmlua. */
static bool expected(const char *name) {
  static const char *const begin[] = {"libc.so",       "ld-linux", "linux-vdso", "libpmlua",
                                      "libpthread.so", "libdl.so", "libpfm.so",  "libopen-trace-format2.so"};
  for (size_t i = 0; i < sizeof begin / sizeof begin[0]; i++)
    if (strncmp(name, begin[i], strlen(begin[i])) == 0) return true;
  return false;
}

static int look(struct dl_phdr_info *info, size_t size, void *user) {
  (void)size;
  struct search *s = user;
  const char *name = basename(info->dlpi_name);
  if (*name == '\0') name = program_invocation_short_name; /* only the program itself has no name */
  size_t n = strlen(name), comma = s->n > 0 ? 2 : 0;
  if (n == 0 || expected(name)) return 0;
  for (size_t i = 0; i < s->nmodules; i++)
    if (within(info, s->module[i])) return 0;
  if (s->room - s->n < n + comma + sizeof ", ...") {
    memcpy(s->to + s->n, ", ...", sizeof ", ...");
    return 1;
  }
  memcpy(s->to + s->n, ", ", comma);
  memcpy(s->to + s->n + comma, name, n + 1);
  s->n += comma + n;
  return 0;
}

void pml__count_others(const struct pml_count_module *const *module, size_t n, char *to, size_t room) {
  struct search s = {.module = module, .nmodules = n, .to = to, .room = room};
  to[0] = '\0';
  (void)dl_iterate_phdr(look, &s);
}
