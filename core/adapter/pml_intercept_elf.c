/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/pml_intercept_elf.c - the slots through which loaded objects call each other, and filling them. */
#include "adapter/arch/pml_arch.h"
#include "adapter/pml_intercept_private.h"
#include "adapter/pml_wrap_private.h"
#include "base/pml_error.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define VARIANT_CONVENTION 0x80 /* of st_other on arm64: vector registers are passed otherwise */

#ifdef __aarch64__
#define HAS_VARIANTS true
#else
#define HAS_VARIANTS false
#endif

struct object {
  uintptr_t base, lo, hi; /* of its image */
  char *path;
  const Elf64_Phdr *phdr;
  uint32_t nphdr;
  bool program, wanted, late;
  /* of its dynamic section */
  const Elf64_Sym *sym;
  const char *str;
  const Elf64_Rela *jmprel, *rela;
  size_t njmprel, nrela;
  const uint16_t *versym;
  const Elf64_Verneed *verneed;
  void *handle;
  struct pml__wrap_list wrapped;
};

struct objects {
  struct object *at;
  size_t n, room;
  const struct pml_intercept_options *options;
  struct pml_intercept_stats *stats;
};

/* Those that were scanned, so that a scan after a dlopen() looks at what is new; under the caller's lock. */
static struct known {
  uintptr_t base;
  char *path;
} * known;
static size_t nknown;
static bool scanned_before;

/* ---- collecting ---- */

static const void *pointer(const struct object *o, Elf64_Addr a) {
  return (const void *)(a < o->base ? o->base + a
                                    : a); /* NOLINT(performance-no-int-to-ptr): loaders relocate it or not */
}

static void read_dynamic(struct object *o, const Elf64_Dyn *d) {
  for (; d->d_tag != DT_NULL; d++) {
    Elf64_Addr a = d->d_un.d_ptr;
    switch (d->d_tag) {
    case DT_SYMTAB:
      o->sym = pointer(o, a);
      break;
    case DT_STRTAB:
      o->str = pointer(o, a);
      break;
    case DT_JMPREL:
      o->jmprel = pointer(o, a);
      break;
    case DT_PLTRELSZ:
      o->njmprel = d->d_un.d_val / sizeof(Elf64_Rela);
      break;
    case DT_RELA:
      o->rela = pointer(o, a);
      break;
    case DT_RELASZ:
      o->nrela = d->d_un.d_val / sizeof(Elf64_Rela);
      break;
    case DT_VERSYM:
      o->versym = pointer(o, a);
      break;
    case DT_VERNEED:
      o->verneed = pointer(o, a);
      break;
    default:
      break;
    }
  }
}

static char *path_of(const struct dl_phdr_info *info, bool program) {
  char path[PATH_MAX];
  if (!program) return strdup(info->dlpi_name);
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  path[n > 0 ? n : 0] = '\0';
  return strdup(path);
}

/* The first object told is the program; others without a name are the kernel's. */
static int collect(struct dl_phdr_info *info, size_t size, void *arg) {
  struct objects *all = arg;
  (void)size;
  if (all->n == all->room) {
    size_t room = all->room == 0 ? 64 : all->room * 2;
    struct object *at = realloc(all->at, room * sizeof *at);
    if (at == NULL) return -ENOMEM;
    all->at = at;
    all->room = room;
  }
  struct object *o = &all->at[all->n];
  *o = (struct object){.base = info->dlpi_addr, .phdr = info->dlpi_phdr, .nphdr = info->dlpi_phnum, .lo = UINTPTR_MAX};
  o->program = all->n == 0;
  o->path = path_of(info, o->program);
  if (o->path == NULL) return -ENOMEM;
  const Elf64_Dyn *dynamic = NULL;
  for (uint32_t i = 0; i < o->nphdr; i++) {
    const Elf64_Phdr *p = &o->phdr[i];
    uintptr_t at = o->base + p->p_vaddr;
    if (p->p_type == PT_DYNAMIC) dynamic = (const void *)at; /* NOLINT(performance-no-int-to-ptr) */
    if (p->p_type != PT_LOAD) continue;
    if (at < o->lo) o->lo = at;
    if (at + p->p_memsz > o->hi) o->hi = at + p->p_memsz;
  }
  all->n++;
  if (dynamic != NULL && pml__intercept_wants_caller(o->path)) read_dynamic(o, dynamic);
  o->wanted = pml__intercept_wants_library(all->options, o->path, o->program);
  o->wrapped = pml__wrap_listed(o->phdr, o->nphdr, o->base);
  return 0;
}

static const struct object *object_at(const struct objects *all, uintptr_t address) {
  for (size_t i = 0; i < all->n; i++)
    if (address - all->at[i].lo < all->at[i].hi - all->at[i].lo) return &all->at[i];
  return NULL;
}

static bool is_code(const struct object *o, uintptr_t address) {
  for (uint32_t i = 0; i < o->nphdr; i++) {
    const Elf64_Phdr *p = &o->phdr[i];
    if (p->p_type == PT_LOAD && (p->p_flags & PF_X) != 0 && address - o->base - p->p_vaddr < p->p_memsz) return true;
  }
  return false;
}

static void free_objects(struct objects *all) {
  for (size_t i = 0; i < all->n; i++) free(all->at[i].path);
  free(all->at);
}

/* ---- what a slot calls ---- */

/* The version of symbol @i that @o needs, or NULL. */
static const char *version_of(const struct object *o, size_t i) {
  if (o->versym == NULL || o->verneed == NULL) return NULL;
  uint16_t version = o->versym[i] & 0x7fff;
  const Elf64_Verneed *need = o->verneed;
  while (version > 1) {
    const Elf64_Vernaux *aux = (const void *)((const char *)need + need->vn_aux);
    for (uint16_t n = 0; n < need->vn_cnt; n++) {
      if ((aux->vna_other & 0x7fff) == version) return o->str + aux->vna_name;
      aux = (const void *)((const char *)aux + aux->vna_next);
    }
    if (need->vn_next == 0) break;
    need = (const void *)((const char *)need + need->vn_next);
  }
  return NULL;
}

static uintptr_t look_up(void *handle, const char *name, const char *version) {
  return (uintptr_t)(version != NULL ? dlvsym(handle, name, version) : dlsym(handle, name));
}

/*
 * Where a slot that the loader has not filled yet would lead: first what all objects see, then what this one was loaded
 * with. An object that was loaded later may have been told to look the other way round, which nothing shows: then a
 * name that both ways find elsewhere is left to the loader.
 */
static uintptr_t resolve(const struct object *o, size_t symbol, const char *name) {
  const char *version = version_of(o, symbol);
  uintptr_t global = look_up(RTLD_DEFAULT, name, version);
  if (global != 0 && !o->late) return global;
  uintptr_t local = o->handle != NULL ? look_up(o->handle, name, version) : 0;
  if (global != 0 && local != 0 && global != local) return 0;
  return global != 0 ? global : local;
}

/* A slot of the PLT that is not filled yet points into its own object, and not to where that has the function. */
static bool is_unfilled(const struct object *o, const Elf64_Sym *s, uintptr_t value) {
  if (value - o->lo >= o->hi - o->lo) return false;
  return s->st_shndx == SHN_UNDEF || (value != o->base + s->st_value && ELF64_ST_TYPE(s->st_info) != STT_GNU_IFUNC);
}

static uintptr_t *slot_at(const struct object *o, const Elf64_Rela *r) {
  return (uintptr_t *)(o->base + r->r_offset); /* NOLINT(performance-no-int-to-ptr) */
}

/* What slot @r shall have instead of @value; 0: it stays as it is. */
static uintptr_t thunk_for(const struct objects *all, const struct object *o, const Elf64_Rela *r, uintptr_t value) {
  size_t symbol = ELF64_R_SYM(r->r_info);
  const Elf64_Sym *s = &o->sym[symbol];
  const char *name = o->str + s->st_name;
  if (symbol == 0 || (HAS_VARIANTS && (s->st_other & VARIANT_CONVENTION) != 0)) return 0;
  bool door = strcmp(name, "dlopen") == 0 || strcmp(name, "dlsym") == 0;
  if (!door && !pml__intercept_wants_function(all->options, name)) return 0;
  if (pml__intercept_target(value) != 0) return 0;
  if (is_unfilled(o, s, value)) value = resolve(o, symbol, name);
  if (door && value == (uintptr_t)dlopen) return (uintptr_t)pml__arch_dlopen;
  if (door && value == (uintptr_t)dlsym) return (uintptr_t)pml__arch_dlsym;
  const struct object *target = value != 0 ? object_at(all, value) : NULL;
  if (door || target == NULL || !target->wanted || !is_code(target, value)) return 0;
  if (pml__wrap_lists(&o->wrapped, name) || pml__wrap_lists(&target->wrapped, name)) return 0;
  const char *slash = strrchr(target->path, '/');
  return pml__intercept_thunk(value, name, slash != NULL ? slash + 1 : target->path);
}

/* ---- filling ---- */

/* What the loader made read-only is writable from begin to end of these; nobody writes there meanwhile but us. */
static bool relro(const struct object *o, uintptr_t *at, size_t *bytes) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
  for (uint32_t i = 0; i < o->nphdr; i++) {
    if (o->phdr[i].p_type != PT_GNU_RELRO) continue;
    uintptr_t lo = (o->base + o->phdr[i].p_vaddr) & ~page;
    uintptr_t hi = (o->base + o->phdr[i].p_vaddr + o->phdr[i].p_memsz) & ~page;
    *at = lo;
    *bytes = hi - lo;
    return hi > lo;
  }
  return false;
}

struct opened {
  uintptr_t at;
  size_t bytes;
  bool open;
};

static bool writable(const struct object *o, struct opened *w, uintptr_t slot) {
  if (w->bytes == 0 && !relro(o, &w->at, &w->bytes)) w->at = 0;
  if (slot - w->at >= w->bytes) return true;
  if (!w->open)
    w->open = mprotect((void *)w->at, w->bytes, PROT_READ | PROT_WRITE) == 0; /* NOLINT(performance-no-int-to-ptr) */
  return w->open;
}

static void close_again(const struct opened *w) {
  if (w->open) (void)mprotect((void *)w->at, w->bytes, PROT_READ); /* NOLINT(performance-no-int-to-ptr) */
}

/* Unless the loader has filled it meanwhile. */
static bool fill(const struct object *o, struct opened *w, uintptr_t *slot, uintptr_t from, uintptr_t to) {
  return writable(o, w, (uintptr_t)slot) &&
         __atomic_compare_exchange_n(slot, &from, to, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* ---- slots of addresses ---- */

struct use {
  uintptr_t *slot;
  uintptr_t value, thunk;
  bool called, used;
};
struct uses {
  struct use *at;
  size_t n;
};

static int by_slot(const void *a, const void *b) {
  const struct use *x = a, *y = b;
  return (x->slot > y->slot) - (x->slot < y->slot);
}

static void note_use(void *arg, uintptr_t slot, bool call) {
  const struct uses *u = arg;
  struct use key = {.slot = (uintptr_t *)slot}; /* NOLINT(performance-no-int-to-ptr) */
  struct use *found = bsearch(&key, u->at, u->n, sizeof key, by_slot);
  if (found == NULL) return;
  found->called |= call;
  found->used |= !call;
}

static void find_uses(const struct object *o, struct uses *u) {
  qsort(u->at, u->n, sizeof *u->at, by_slot);
  for (uint32_t i = 0; i < o->nphdr; i++) {
    const Elf64_Phdr *p = &o->phdr[i];
    if (p->p_type != PT_LOAD || (p->p_flags & PF_X) == 0 || (p->p_flags & PF_R) == 0) continue;
    const uint8_t *text = (const uint8_t *)(o->base + p->p_vaddr); /* NOLINT(performance-no-int-to-ptr) */
    (void)pml_arch_scan(text, text + p->p_memsz, (uintptr_t)u->at[0].slot, (uintptr_t)u->at[u->n - 1].slot + 1,
                        note_use, u);
  }
}

/* A function whose address is also compared or kept must have the same address everywhere: those slots stay. */
static int fill_addresses(struct objects *all, const struct object *o, struct opened *w) {
  struct uses u = {NULL, 0};
  for (size_t i = 0; i < o->nrela; i++) {
    const Elf64_Rela *r = &o->rela[i];
    if (ELF64_R_TYPE(r->r_info) != pml__arch_glob_dat) continue;
    unsigned char type = ELF64_ST_TYPE(o->sym[ELF64_R_SYM(r->r_info)].st_info);
    uintptr_t value = __atomic_load_n(slot_at(o, r), __ATOMIC_RELAXED);
    uintptr_t thunk = value != 0 && type != STT_OBJECT && type != STT_TLS ? thunk_for(all, o, r, value) : 0;
    if (thunk == 0) continue;
    if (u.at == NULL) u.at = malloc((o->nrela - i) * sizeof *u.at);
    if (u.at == NULL) return pml_fail(-ENOMEM, "no memory to look at %.200s", o->path);
    u.at[u.n++] = (struct use){slot_at(o, r), value, thunk, false, false};
  }
  if (u.n > 0) find_uses(o, &u);
  for (size_t i = 0; i < u.n; i++) {
    const struct use *x = &u.at[i];
    if (x->called && !x->used)
      all->stats->slots += fill(o, w, x->slot, x->value, x->thunk);
    else
      all->stats->shared++;
  }
  free(u.at);
  return 0;
}

static int scan_object(struct objects *all, struct object *o) {
  struct opened w = {0, 0, false};
  if (o->sym == NULL || o->str == NULL) return 0;
  /* It stays while we are at it. */
  o->handle = dlopen(o->program ? NULL : o->path, RTLD_LAZY | RTLD_NOLOAD);
  if (o->handle == NULL) return 0;
  all->stats->objects++;
  for (size_t i = 0; i < o->njmprel; i++) {
    const Elf64_Rela *r = &o->jmprel[i];
    if (ELF64_R_TYPE(r->r_info) != pml__arch_jump_slot) continue;
    uintptr_t value = __atomic_load_n(slot_at(o, r), __ATOMIC_RELAXED), thunk = thunk_for(all, o, r, value);
    if (thunk != 0) all->stats->slots += fill(o, &w, slot_at(o, r), value, thunk);
  }
  int err = fill_addresses(all, o, &w);
  close_again(&w);
  dlclose(o->handle);
  return err;
}

/* ---- which were scanned ---- */

static bool is_known(const struct object *o) {
  for (size_t i = 0; i < nknown; i++)
    if (known[i].base == o->base && strcmp(known[i].path, o->path) == 0) return true;
  return false;
}

/* The paths move over: what is not loaded any more is forgotten. */
static void remember(struct objects *all) {
  struct known *list = malloc((all->n + 1) * sizeof *list);
  if (list == NULL) return; /* they will be scanned again, which harms nobody */
  for (size_t i = 0; i < nknown; i++) free(known[i].path);
  free(known);
  known = list;
  nknown = all->n;
  for (size_t i = 0; i < all->n; i++) {
    list[i] = (struct known){all->at[i].base, all->at[i].path};
    all->at[i].path = NULL;
  }
}

int pml__intercept_scan(const struct pml_intercept_options *options, struct pml_intercept_stats *stats) {
  struct objects all = {.options = options, .stats = stats};
  int err = dl_iterate_phdr(collect, &all);
  if (err < 0) (void)pml_fail(err, "no memory for the list of loaded libraries");
  for (size_t i = 0; i < all.n && err == 0; i++) {
    all.at[i].late = scanned_before;
    if (!is_known(&all.at[i])) err = scan_object(&all, &all.at[i]);
  }
  if (err == 0) {
    remember(&all);
    scanned_before = true;
  }
  free_objects(&all);
  return err;
}

/* ---- back ---- */

static void restore_object(struct object *o) {
  const struct {
    const Elf64_Rela *at;
    size_t n;
  } lists[2] = {{o->jmprel, o->njmprel}, {o->rela, o->nrela}};
  struct opened w = {0, 0, false};
  for (size_t l = 0; l < 2; l++) {
    for (size_t i = 0; i < lists[l].n; i++) {
      const Elf64_Rela *r = &lists[l].at[i];
      uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
      if (type != pml__arch_jump_slot && type != pml__arch_glob_dat) continue;
      uintptr_t value = __atomic_load_n(slot_at(o, r), __ATOMIC_RELAXED), target = pml__intercept_target(value);
      if (value == (uintptr_t)pml__arch_dlopen) target = (uintptr_t)dlopen;
      if (value == (uintptr_t)pml__arch_dlsym) target = (uintptr_t)dlsym;
      if (target != 0) (void)fill(o, &w, slot_at(o, r), value, target);
    }
  }
  close_again(&w);
}

/* All objects are looked at, so that it matters to nobody which were unloaded meanwhile. */
void pml__intercept_restore(void) {
  static const struct pml_intercept_options none;
  struct objects all = {.options = &none};
  if (dl_iterate_phdr(collect, &all) == 0) {
    for (size_t i = 0; i < all.n; i++) {
      struct object *o = &all.at[i];
      o->handle = o->sym != NULL ? dlopen(o->program ? NULL : o->path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
      if (o->handle == NULL) continue;
      restore_object(o);
      dlclose(o->handle);
    }
  }
  free_objects(&all);
  for (size_t i = 0; i < nknown; i++) free(known[i].path);
  free(known);
  known = NULL;
  nknown = 0;
}

/* ---- dlsym ---- */

uintptr_t pml__intercept_found(const struct pml_intercept_options *o, uintptr_t address, const char *name) {
  Dl_info info;
  struct link_map *map = NULL;
  const Elf64_Sym *s = NULL;
  char program[PATH_MAX];
  const void *at = (const void *)address; /* NOLINT(performance-no-int-to-ptr) */
  if (!pml__intercept_wants_function(o, name)) return address;
  if (dladdr1(at, &info, (void **)&s, RTLD_DL_SYMENT) == 0 || s == NULL || info.dli_saddr != at) return address;
  if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || (HAS_VARIANTS && (s->st_other & VARIANT_CONVENTION) != 0))
    return address;
  if (dladdr1(at, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL) return address;
  const char *path = map->l_name;
  bool is_program = path[0] == '\0';
  if (is_program) {
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = '\0';
    path = program;
  }
  if (!pml__intercept_wants_library(o, path, is_program) || pml__wrap_listed_at(address, name)) return address;
  const char *slash = strrchr(path, '/');
  uintptr_t thunk = pml__intercept_thunk(address, name, slash != NULL ? slash + 1 : path);
  return thunk != 0 ? thunk : address;
}
