/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/plugin/pml_plugin_child.c - exit of forked children without the destructors of their parent's plugins.
 *
 * A child has the static objects of a plugin, but not its threads. When it exits, their destructors would wait for
 * threads that are not there, or end the process as that of a std::thread does. What is registered to be run at exit
 * cannot be taken back, so that there are returns where the library's code was: each function of it comes back at once.
 */
#include "source/plugin/pml_plugin_private.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
static void fill(char *at, size_t n) {
  memset(at, 0xc3, n); /* ret */
}
#elif defined(__aarch64__)
static void fill(char *at, size_t n) {
  static const uint32_t ret = 0xd65f03c0;
  for (size_t i = 0; i + sizeof ret <= n; i += sizeof ret) memcpy(at + i, &ret, sizeof ret);
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)

struct code {
  const struct link_map *map;
  uintptr_t from, to; /* none where they are equal */
};

/* Where the loader has not moved what an entry points to, it is an offset. */
static uintptr_t address(const struct link_map *map, uintptr_t at) {
  return at < map->l_addr ? map->l_addr + at : at;
}

static uintptr_t entry(const struct link_map *map, int64_t tag) {
  for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
    if (d->d_tag == tag) return tag == DT_STRSZ ? d->d_un.d_val : address(map, d->d_un.d_ptr);
  return 0;
}

/* One with a handler of forks has its own ideas of what a child does, which may have threads of it. */
static bool knows_of_forks(const struct link_map *map) {
  static const char name[] = "\0__register_atfork";
  uintptr_t strings = entry(map, DT_STRTAB);
  return strings == 0 || memmem((const void *)strings, entry(map, DT_STRSZ), name, sizeof name) != NULL;
}

/* A segment that begins with the file's head has tables too: there the code is from .init to .fini. */
static void take_segment(struct code *c, const ElfW(Phdr) * s) {
  c->from = c->map->l_addr + s->p_vaddr;
  c->to = c->from + s->p_memsz;
  if (s->p_offset > 0) return;
  uintptr_t init = entry(c->map, DT_INIT), fini = entry(c->map, DT_FINI);
  bool both = c->from < init && init < fini && fini < c->to;
  c->from = both ? init : c->from;
  c->to = both ? fini : c->from;
}

static int find_code(struct dl_phdr_info *info, size_t size, void *arg) {
  struct code *c = arg;
  (void)size;
  if (info->dlpi_addr != c->map->l_addr || strcmp(info->dlpi_name, c->map->l_name) != 0) return 0;
  for (unsigned i = 0; i < info->dlpi_phnum && c->from == c->to; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X) != 0)
      take_segment(c, &info->dlpi_phdr[i]);
  return 1;
}

/* At once or not at all: what the system refuses leaves the code as it was. */
static void replace(const struct code *c) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = c->from & ~(page - 1);
  size_t bytes = ((c->to + page - 1) & ~(page - 1)) - first;
  char *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return;
  memcpy(made, (const void *)first, bytes);
  fill(made + (c->from - first), c->to - c->from);
  __builtin___clear_cache(made, made + bytes);
  if (mprotect(made, bytes, PROT_READ | PROT_EXEC) != 0 ||
      mremap(made, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)first) == MAP_FAILED)
    (void)munmap(made, bytes);
}

void pml__plugin_silence(const struct pml_plugin *p) {
  struct code c = {0};
  if (p->object == NULL || dlinfo(p->object, RTLD_DI_LINKMAP, &c.map) != 0 || knows_of_forks(c.map)) return;
  (void)dl_iterate_phdr(find_code, &c);
  if (c.from < c.to) replace(&c);
}

#else

void pml__plugin_silence(const struct pml_plugin *p) {
  (void)p;
}

#endif
