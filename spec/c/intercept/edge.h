/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/intercept/edge.h - a loaded library whose tables can be moved to the end of mapped memory.
 *
 * Three pages, followed by inaccessible ones, are mapped before the library, so that they are above it. A child may
 * change the library's program headers and dynamic section, because the loader no longer needs them: the pages become a
 * segment of the library, its tables are moved to the end of the pages, and sizes are set to the existing size and to
 * larger ones.
 */
#ifndef EDGE_H
#define EDGE_H

#include "../check.h"
#include "../sanitized.h"
#include "counted.h"
#include "library.h"

#include "adapter/intercept/pml_intercept.h"
#include "adapter/intercept/pml_intercept_exports.h"
#include "adapter/intercept/pml_intercept_object.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define EDGE_ROOM ((size_t)64 << 20) /* so much that it fits into no gap between libraries */

static struct {
  uintptr_t base;
  Elf64_Phdr *header;
  size_t nheaders;
  Elf64_Dyn *dynamic;
  int (*calls)(int);
  struct pml__objects all;
} edge;
static unsigned char *edge_pages, *edge_end;
static size_t edge_page;
static char edge_path[4200];

static int edge_found(struct dl_phdr_info *info, size_t size, void *arg) {
  (void)size, (void)arg;
  if (info->dlpi_addr != edge.base) return 0;
  edge.header = (void *)(uintptr_t)info->dlpi_phdr;
  edge.nheaders = info->dlpi_phnum;
  return 1;
}

static inline unsigned char *edge_reserve(size_t bytes) {
  void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at != MAP_FAILED ? at : NULL;
}

/* Later mappings will be below the pages, because the gaps above are filled permanently. */
static inline void edge_fill_gaps(void) {
  for (size_t bytes = EDGE_ROOM; bytes >= edge_page; bytes /= 2)
    for (int times = 0; times < 1000; times++) {
      unsigned char *at = edge_reserve(bytes);
      if (at > edge_pages) continue;
      if (at != NULL) munmap(at, bytes);
      break;
    }
}

/* The library of intercept/slots_leaf.c, beside @program. Its calls are bound at this time: the loader does not look
 * them up again. */
static inline bool edge_load(const char *program) {
  const char *slash = strrchr(program, '/');
  snprintf(edge_path, sizeof edge_path, "%.*s/slots_leaf.so", slash != NULL ? (int)(slash - program) : 1,
           slash != NULL ? program : ".");
  edge_page = (size_t)sysconf(_SC_PAGESIZE);
  edge_pages = edge_reserve(EDGE_ROOM);
  if (edge_pages == NULL || mprotect(edge_pages, 3 * edge_page, PROT_READ | PROT_WRITE) != 0) return false;
  edge_fill_gaps();
  edge_end = edge_pages + 3 * edge_page;
  void *handle = dlopen(edge_path, RTLD_LAZY);
  const struct link_map *map = handle;
  if (handle == NULL) return false;
  *(void **)&edge.calls = dlsym(handle, "leaf_calls");
  edge.base = map->l_addr;
  edge.dynamic = map->l_ld;
  return dl_iterate_phdr(edge_found, NULL) == 1 && edge.calls != NULL && edge.calls(3) == lib_tail(3) + 1;
}

/* A condition in a child; if it is false, a line names its place. */
#define WANT(cond)                                                                                                     \
  do {                                                                                                                 \
    if (!(cond)) return printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond), false;                                     \
  } while (0)

/* Code may be beside the program headers. */
static inline bool edge_writable(const void *at, size_t bytes) {
  uintptr_t from = (uintptr_t)at & ~(edge_page - 1), to = (uintptr_t)at + bytes;
  return mprotect((void *)from, to - from, PROT_READ | PROT_WRITE | PROT_EXEC) ==
         0; /* NOLINT(performance-no-int-to-ptr) */
}

static inline bool in_child(bool (*claim)(void)) {
  const struct rlimit none = {0, 0};
  int status = -1;
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    setrlimit(RLIMIT_CORE, &none);
    alarm(20);
    bool good =
        edge_writable(edge.header, edge.nheaders * sizeof *edge.header) && edge_writable(edge.dynamic, 1024) && claim();
    fflush(stdout);
    _exit(good ? 0 : 1);
  }
  if (pid > 0) waitpid(pid, &status, 0);
  if (status != 0) printf("# ended with status %x\n", (unsigned)status);
  return status == 0;
}

static inline Elf64_Phdr *header(uint32_t type) {
  for (size_t i = 0; i < edge.nheaders; i++)
    if (edge.header[i].p_type == type) return &edge.header[i];
  return NULL;
}

/*
 * Make the pages up to @end a segment with @flags. The header of the stack's flags is no longer needed, and replaced.
 */
static inline Elf64_Phdr *add_segment(const unsigned char *end, uint32_t flags) {
  static Elf64_Phdr *p;
  if (p == NULL) p = header(PT_GNU_STACK);
  *p = (Elf64_Phdr){.p_type = PT_LOAD,
                    .p_flags = flags,
                    .p_vaddr = (uintptr_t)edge_pages - edge.base,
                    .p_memsz = (uint64_t)(end - edge_pages)};
  return p;
}

static inline Elf64_Dyn *entry(int64_t tag) {
  Elf64_Dyn *d = edge.dynamic;
  while (d->d_tag != tag && d->d_tag != DT_NULL) d++;
  return d;
}
static inline void *table_of(int64_t tag) {
  uintptr_t a = entry(tag)->d_un.d_ptr;
  return (void *)(a < edge.base ? edge.base + a : a); /* NOLINT(performance-no-int-to-ptr) */
}
static inline void set(int64_t tag, const void *at) {
  entry(tag)->d_un.d_ptr = (uintptr_t)at;
}

static inline void *to_the_end(const void *from, size_t bytes) {
  return memmove(edge_end - bytes, from, bytes);
}
static inline struct pml__object *looked_at(void) {
  pml__objects_free(&edge.all);
  if (pml__objects_collect(&edge.all) < 0) return NULL;
  for (size_t i = 0; i < edge.all.n; i++)
    if (edge.all.at[i].base == edge.base) return &edge.all.at[i];
  return NULL;
}

/* Some systems map upwards: there the pages cannot be the library's, nor where another one is in between. */
static inline bool edge_is_below(void) {
  bool below = looked_at() != NULL && edge.base < (uintptr_t)edge_pages;
  for (size_t i = 0; i < edge.all.n; i++) {
    const struct pml__object *o = &edge.all.at[i];
    below &= o->lo <= edge.base || o->lo >= (uintptr_t)edge_end;
  }
  if (!below) SKIP("this system does not map what comes later right below");
  return below;
}

static inline size_t symbol_named(const char *name) {
  const struct pml__object *o = looked_at();
  size_t i = 1, n = strlen(name);
  while (i < o->nsym && !pml__object_is_named(o, &o->sym[i], name, n)) i++;
  return i;
}

static inline uintptr_t exported(const char *name) {
  struct pml__object o = *looked_at();
  o.startup = true;
  struct pml__exports *e = pml__exports_make(&(struct pml__objects){.at = &o, .n = 1});
  uintptr_t at = e != NULL ? pml__exports_only(e, name, strlen(name), pml__object_hash(name, strlen(name))) : 1;
  pml__exports_free(e);
  return at;
}

static inline int nobody(const struct pml_intercept_unmatched *u, void *arg) {
  (void)u, (void)arg;
  return 0;
}

static inline bool goes_on(int seen) {
  const struct pml_intercept_options o = {.sym = "lib_*:leaf_*:lib_no_such_function"};
  static bool counting;
  WANT(counting || count_calls() == 0);
  counting = true;
  WANT(pml_intercept_install(&o) == 0);
  WANT(edge.calls(3) == 9);
  WANT(calls("lib_tail") == seen);
  WANT(pml_intercept_unmatched(nobody, NULL) == 0);
  pml_intercept_remove();
  WANT(edge.calls(3) == 9 && calls("lib_tail") == 0);
  return true;
}

#endif
