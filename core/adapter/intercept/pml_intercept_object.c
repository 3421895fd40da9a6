/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_object.c - loaded objects: segments and dynamic sections. */
#include "adapter/intercept/pml_intercept_object.h"

#include "adapter/arch/pml_arch.h"
#include "adapter/intercept/pml_intercept_private.h"
#include "base/pml_array.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* Minimum number of objects loaded with the program. */
static size_t nstartup;

/* ---- bounds ---- */

static const struct pml__segment *segment_of(const struct pml__object *o, uintptr_t address) {
  for (uint32_t i = 0; i < o->nsegments; i++)
    if (address - o->segment[i].lo < o->segment[i].hi - o->segment[i].lo) return &o->segment[i];
  return NULL;
}

/* Depending on the loader, pointers in a dynamic section are relocated addresses, or offsets from the base. */
static const void *table(const struct pml__object *o, Elf64_Addr a, size_t align, size_t *bytes) {
  uintptr_t at = a < o->base ? o->base + a : a;
  const struct pml__segment *s = segment_of(o, at);
  *bytes = 0;
  if (s == NULL || (s->flags & PF_R) == 0 || at % align != 0) return NULL;
  *bytes = s->hi - at;
  return (const void *)at; /* NOLINT(performance-no-int-to-ptr) */
}

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* ---- the dynamic section ---- */

enum {
  SYMTAB,
  STRTAB,
  STRSZ,
  JMPREL,
  PLTRELSZ,
  RELA,
  RELASZ,
  RELACOUNT,
  GNU_HASH,
  HASH,
  VERSYM,
  VERNEED,
  SONAME,
  TAGS
};

static int tag_of(Elf64_Sxword tag) {
  static const Elf64_Sxword tags[TAGS] = {DT_SYMTAB, DT_STRTAB,  DT_STRSZ,     DT_JMPREL,   DT_PLTRELSZ,
                                          DT_RELA,   DT_RELASZ,  DT_RELACOUNT, DT_GNU_HASH, DT_HASH,
                                          DT_VERSYM, DT_VERNEED, DT_SONAME};
  int i = 0;
  while (i < TAGS && tags[i] != tag) i++;
  return i;
}

/* Skip the relative relocations, which have no symbol and come first if the dynamic section counts them; there may be a
 * million. */
static void skip_relative(struct pml__object *o, size_t n) {
  if (n == 0 || ELF64_R_TYPE(o->rela[n - 1].r_info) != pml__arch_relative) return;
  o->rela += n;
  o->nrela -= n;
  o->nrelative = n;
}

static void read_tables(struct pml__object *o, const Elf64_Addr *v) {
  size_t bytes;
  o->sym = v[SYMTAB] != 0 ? table(o, v[SYMTAB], sizeof(Elf64_Addr), &bytes) : NULL;
  o->nsym = o->sym != NULL ? bytes / sizeof *o->sym : 0;
  o->str = v[STRTAB] != 0 ? table(o, v[STRTAB], 1, &bytes) : NULL;
  o->nstr = o->str != NULL ? least(bytes, v[STRSZ]) : 0;
  o->jmprel = v[JMPREL] != 0 ? table(o, v[JMPREL], sizeof(Elf64_Addr), &bytes) : NULL;
  o->njmprel = o->jmprel != NULL ? least(bytes, v[PLTRELSZ]) / sizeof *o->jmprel : 0;
  o->rela = v[RELA] != 0 ? table(o, v[RELA], sizeof(Elf64_Addr), &bytes) : NULL;
  o->nrela = o->rela != NULL ? least(bytes, v[RELASZ]) / sizeof *o->rela : 0;
  skip_relative(o, least(v[RELACOUNT], o->nrela));
  o->gnu_hash = v[GNU_HASH] != 0 ? table(o, v[GNU_HASH], sizeof(Elf64_Addr), &bytes) : NULL;
  o->hash = v[HASH] != 0 ? table(o, v[HASH], sizeof(uint32_t), &bytes) : NULL;
  o->versym = v[VERSYM] != 0 ? table(o, v[VERSYM], sizeof(uint16_t), &bytes) : NULL;
  if (o->versym != NULL && bytes / sizeof *o->versym < o->nsym) o->nsym = bytes / sizeof *o->versym;
  const char *soname = o->str != NULL && v[SONAME] < o->nstr ? o->str + v[SONAME] : NULL;
  if (soname != NULL && v[SONAME] != 0 && memchr(soname, '\0', o->nstr - v[SONAME]) != NULL) o->soname = soname;
  o->verneed = v[VERNEED] != 0 ? table(o, v[VERNEED], sizeof(uint32_t), &bytes) : NULL;
}

static void read_dynamic(struct pml__object *o, uintptr_t dynamic) {
  Elf64_Addr value[TAGS + 1] = {0};
  size_t bytes;
  const Elf64_Dyn *d = dynamic != 0 ? table(o, dynamic, sizeof(Elf64_Addr), &bytes) : NULL;
  if (d == NULL) return;
  for (size_t i = 0; i < bytes / sizeof *d && d[i].d_tag != DT_NULL; i++) value[tag_of(d[i].d_tag)] = d[i].d_un.d_ptr;
  read_tables(o, value);
}

/* ---- collecting ---- */

static char *path_of(const struct dl_phdr_info *info, bool program) {
  char path[PATH_MAX];
  if (!program) return strdup(info->dlpi_name);
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  path[n > 0 ? n : 0] = '\0';
  return strdup(path);
}

static void read_segments(struct pml__object *o, const struct dl_phdr_info *info) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1, dynamic = 0;
  o->lo = UINTPTR_MAX;
  o->phdr = info->dlpi_phdr;
  o->nphdr = info->dlpi_phnum;
  for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
    const Elf64_Phdr *p = &info->dlpi_phdr[i];
    uintptr_t at = o->base + p->p_vaddr, end = at + p->p_memsz;
    if (p->p_type == PT_DYNAMIC) dynamic = at;
    if (p->p_type == PT_GNU_RELRO && end > at) o->relro_lo = at & ~page, o->relro_hi = end & ~page;
    if (p->p_type != PT_LOAD || end <= at || o->nsegments == PML__SEGMENTS) continue;
    o->segment[o->nsegments++] = (struct pml__segment){at, end, p->p_offset, p->p_filesz, p->p_flags};
    if (at < o->lo) o->lo = at;
    if (end > o->hi) o->hi = end;
  }
  if (o->nsegments == 0) o->lo = 0;
  if (o->relro_lo < (o->lo & ~page) || o->relro_hi > o->hi) o->relro_lo = o->relro_hi = 0;
  read_dynamic(o, dynamic);
}

static bool is_same_file(const char *a, const char *b) {
  struct stat x, y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The soname, if a file with this name is in the folder; otherwise the name of the file that links lead to. */
static char *own_name(const struct pml__object *o) {
  char real[PATH_MAX], beside[2 * PATH_MAX];
  const char *base = basename(o->path);
  bool named = o->soname != NULL && strchr(o->soname, '/') == NULL;
  if (o->program || (named && strcmp(base, o->soname) == 0) || realpath(o->path, real) == NULL) return strdup(base);
  int folder = (int)(basename(real) - real);
  int n = named ? snprintf(beside, sizeof beside, "%.*s%s", folder, real, o->soname) : -1;
  return strdup(n > 0 && (size_t)n < sizeof beside && is_same_file(beside, real) ? o->soname : basename(real));
}

const char *pml__object_file(struct pml__object *o) {
  int saved = errno;
  if (o->file == NULL) o->file = own_name(o);
  errno = saved;
  return o->file != NULL ? o->file : basename(o->path);
}

/* The first object is the program; other objects without a name belong to the kernel. */
static int add(struct dl_phdr_info *info, size_t size, void *arg) {
  struct pml__objects *all = arg;
  (void)size;
  if (!PML__ARRAY_ROOM(all->at, all->room, all->n + 1)) return -ENOMEM;
  struct pml__object *o = &all->at[all->n];
  *o = (struct pml__object){.base = info->dlpi_addr, .program = all->n == 0};
  o->startup = o->program || all->n < nstartup;
  o->path = path_of(info, o->program);
  if (o->path == NULL) return -ENOMEM;
  read_segments(o, info);
  all->n++;
  return 0;
}

static int by_lo(const void *a, const void *b) {
  const struct pml__image *x = a, *y = b;
  return (x->lo > y->lo) - (x->lo < y->lo);
}

int pml__objects_collect(struct pml__objects *all) {
  *all = (struct pml__objects){0};
  int err = dl_iterate_phdr(add, all);
  if (err < 0) return err;
  all->by_address = malloc((all->n + 1) * sizeof *all->by_address);
  if (all->by_address == NULL) return -ENOMEM;
  for (size_t i = 0; i < all->n; i++)
    all->by_address[i] = (struct pml__image){all->at[i].lo, all->at[i].hi, (uint32_t)i};
  qsort(all->by_address, all->n, sizeof *all->by_address, by_lo);
  return 0;
}

void pml__objects_free(struct pml__objects *all) {
  for (size_t i = 0; i < all->n; i++) {
    free(all->at[i].path);
    free(all->at[i].file);
  }
  free(all->at);
  free(all->by_address);
}

const struct pml__object *pml__objects_find(const struct pml__objects *all, uintptr_t address) {
  size_t lo = 0, hi = all->n;
  while (lo < hi) {
    size_t middle = (lo + hi) / 2;
    const struct pml__image *image = &all->by_address[middle];
    if (address - image->lo < image->hi - image->lo) return &all->at[image->object];
    if (address < image->lo)
      hi = middle;
    else
      lo = middle + 1;
  }
  return NULL;
}

struct wanted {
  uintptr_t address;
  struct pml__object *o;
  size_t n;
};

static bool holds(const struct dl_phdr_info *info, uintptr_t address) {
  for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
    const Elf64_Phdr *p = &info->dlpi_phdr[i];
    if (p->p_type == PT_LOAD && address - info->dlpi_addr - p->p_vaddr < p->p_memsz) return true;
  }
  return false;
}

static int add_wanted(struct dl_phdr_info *info, size_t size, void *arg) {
  struct wanted *w = arg;
  size_t i = w->n++;
  (void)size;
  if (!holds(info, w->address)) return 0;
  *w->o = (struct pml__object){.base = info->dlpi_addr, .program = i == 0, .startup = i == 0 || i < nstartup};
  read_segments(w->o, info);
  w->o->path = path_of(info, w->o->program);
  return 1;
}

bool pml__object_at(struct pml__object *o, uintptr_t address) {
  struct wanted w = {address, o, 0};
  return dl_iterate_phdr(add_wanted, &w) == 1 && o->path != NULL;
}

struct first {
  struct pml__object *o;
  bool (*is)(const struct pml__object *o, void *arg);
  void *arg;
  size_t n;
};

static int add_first(struct dl_phdr_info *info, size_t size, void *arg) {
  struct first *f = arg;
  size_t i = f->n++;
  (void)size;
  *f->o = (struct pml__object){.base = info->dlpi_addr, .program = i == 0, .startup = i == 0 || i < nstartup};
  read_segments(f->o, info);
  f->o->path = path_of(info, f->o->program);
  if (f->o->path != NULL && f->is(f->o, f->arg)) return 1;
  free(f->o->path);
  f->o->path = NULL;
  return 0;
}

bool pml__object_first(struct pml__object *o, bool (*is)(const struct pml__object *o, void *arg), void *arg) {
  struct first f = {o, is, arg, 0};
  return dl_iterate_phdr(add_first, &f) == 1;
}

struct counted {
  size_t n, loader, me; /* number of objects; positions of the loader and of this object, from 1; 0: none */
};

static int count(struct dl_phdr_info *info, size_t size, void *arg) {
  struct counted *c = arg;
  (void)size;
  c->n++;
  if (holds(info, (uintptr_t)getauxval(AT_BASE))) c->loader = c->n;
  if (holds(info, (uintptr_t)pml__arch_slots)) c->me = c->n;
  return 0;
}

/* The objects up to the loader in its list were loaded with the program; so were all existing objects, if this object
 * is one of those. */
__attribute__((constructor)) static void count_startup(void) {
  struct counted c = {0};
  (void)dl_iterate_phdr(count, &c);
  if (c.loader != 0) nstartup = c.me != 0 && c.me < c.loader ? c.n : c.loader;
}

/* ---- staying loaded ---- */

/* Objects loaded with the program are never unloaded, and dlopen() rarely finds them by their path. */
bool pml__object_pin(struct pml__object *o) {
  if (o->startup) return true;
  void *handle = pml__real_dlopen(o->path, RTLD_LAZY | RTLD_NOLOAD);
  const struct link_map *map = handle;
  if (handle == NULL) return false;
  if (map->l_addr != o->base) { /* another object by now */
    dlclose(handle);
    return false;
  }
  o->handle = handle;
  return true;
}

void pml__object_unpin(struct pml__object *o) {
  if (o->handle != NULL) dlclose(o->handle);
  o->handle = NULL;
}

/* ---- addresses ---- */

bool pml__object_is_code(const struct pml__object *o, uintptr_t address) {
  const struct pml__segment *s = segment_of(o, address);
  return s != NULL && (s->flags & PF_X) != 0;
}

bool pml__object_has_slot(const struct pml__object *o, uintptr_t address) {
  const struct pml__segment *s = segment_of(o, address);
  return s != NULL && (s->flags & PF_W) != 0 && address % sizeof(uintptr_t) == 0 &&
         s->hi - address >= sizeof(uintptr_t);
}

/* A segment may be longer than the file according to its header: pages behind the end fault. */
size_t pml__segment_readable(const struct pml__segment *s, uint64_t file_bytes) {
  size_t n = s->hi - s->lo;
  if ((s->flags & PF_R) == 0) return 0;
  uint64_t there = s->offset < file_bytes ? file_bytes - s->offset : 0;
  return s->filled > there ? (size_t)there : n;
}

size_t pml__object_readable(const struct pml__object *o, const struct pml__segment *s) {
  struct stat st;
  if (o->path[0] == '\0') return pml__segment_readable(s, UINT64_MAX);
  return stat(o->path, &st) == 0 && S_ISREG(st.st_mode) ? pml__segment_readable(s, (uint64_t)st.st_size) : 0;
}

bool pml__object_has_bytes(const struct pml__object *o, uintptr_t address, const void *bytes, size_t n) {
  const struct pml__segment *s = segment_of(o, address);
  if (s == NULL) return false;
  size_t readable = pml__object_readable(o, s), at = address - s->lo;
  return at <= readable && n <= readable - at &&
         memcmp((const void *)address, bytes, n) == 0; /* NOLINT(performance-no-int-to-ptr) */
}
