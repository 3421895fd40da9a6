/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/embed/own_lua.c - symbols for the static Lua library inside libpmlua-embed. Linked into that library only.
 *
 * Debian compiles Lua for programs: its code reads the C library's variables at a fixed distance, which a shared
 * library cannot have from another library's. The linker's --wrap redirects the three streams here.
 *
 * A module in C (lfs, zlib) calls Lua by names that the loader looks up in the application first, whose Lua may be
 * another release. So --wrap also redirects dlopen() here, and the slots by which a module calls Lua get the addresses
 * of our Lua before any of its code runs. In a module that binds at once (BIND_NOW) the slots are protected: it is
 * refused if its Lua would be another release.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* --- streams --- */

extern FILE *__real_stdin, *__real_stdout, *__real_stderr;
extern FILE *__wrap_stdin, *__wrap_stdout, *__wrap_stderr;
FILE *__wrap_stdin, *__wrap_stdout, *__wrap_stderr;

__attribute__((constructor(101))) static void take_streams(void) {
  __wrap_stdin = __real_stdin;
  __wrap_stdout = __real_stdout;
  __wrap_stderr = __real_stderr;
}

/* --- modules in C --- */

/* The names of Lua's interface, from its library: lua.h would declare them as what they are. */
typedef struct lua_State lua_State;
void own_lua_check(lua_State *L); /* state.h */
#define X(name) extern const char name[];
#include "own_lua_names.h"
#undef X
static const struct {
  const char *name, *address;
} interface[] = {
#define X(name) {#name, name},
#include "own_lua_names.h"
#undef X
};

static const char *address_of(const char *name) {
  if (strncmp(name, "lua", 3) != 0) return NULL;
  for (size_t i = 0; i < sizeof interface / sizeof interface[0]; i++)
    if (strcmp(interface[i].name, name) == 0) return interface[i].address;
  return NULL;
}

#if defined(__x86_64__)
#define IS_SLOT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#else
#define IS_SLOT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#endif

struct module {
  const ElfW(Sym) * symbols;
  const char *names;
  const ElfW(Rela) * slots;
  size_t nslots;
  bool now;
};

/* glibc has added the module's base to the addresses already. */
static void look(struct module *m, const ElfW(Dyn) * d) {
  *m = (struct module){.now = false};
  for (; d->d_tag != DT_NULL; d++) {
    if (d->d_tag == DT_SYMTAB) m->symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
    if (d->d_tag == DT_STRTAB) m->names = (const char *)d->d_un.d_ptr;
    if (d->d_tag == DT_JMPREL) m->slots = (const ElfW(Rela) *)d->d_un.d_ptr;
    if (d->d_tag == DT_PLTRELSZ) m->nslots = d->d_un.d_val / sizeof *m->slots;
    if (d->d_tag == DT_BIND_NOW) m->now = true;
    if (d->d_tag == DT_FLAGS) m->now = m->now || (d->d_un.d_val & DF_BIND_NOW) != 0;
    if (d->d_tag == DT_FLAGS_1) m->now = m->now || (d->d_un.d_val & DF_1_NOW) != 0;
  }
}

/* Is the Lua that the process shows of the same release, whose states are alike? That for C++ raises in another way. */
static bool is_like_ours(void) {
  Dl_info info;
  const char *release = dlsym(RTLD_DEFAULT, "lua_ident");
  if (release == NULL || strcmp(release, address_of("lua_ident")) != 0) return false;
  return dladdr(release, &info) == 0 || info.dli_fname == NULL || strstr(info.dli_fname, "-c++") == NULL;
}

void own_lua_check(lua_State *L) {
  char ours[sizeof "Lua 5.4.10"];
  int (*raise)(lua_State *, const char *, ...);
  *(void **)&raise = dlsym(RTLD_DEFAULT, "luaL_error");
  if (raise == NULL || is_like_ours()) return;
  snprintf(ours, sizeof ours, "%s", address_of("lua_ident") + sizeof "$LuaVersion: " - 1);
  ours[strlen("Lua ") + strcspn(ours + strlen("Lua "), " ")] = '\0';
  raise(L, "pmlua.core works on %s only, and this is another Lua: use a state of pmlua_open()", (const char *)ours);
}

static const char refusal[] = "it would call another Lua of this process";
static _Thread_local bool refused;

/* False: it calls another Lua. */
static bool bind(const struct link_map *map) {
  struct module m;
  look(&m, map->l_ld);
  for (size_t i = 0; i < m.nslots; i++) {
    const char *name = m.names + m.symbols[ELF64_R_SYM(m.slots[i].r_info)].st_name;
    const char *address = IS_SLOT(ELF64_R_TYPE(m.slots[i].r_info)) ? address_of(name) : NULL;
    if (address == NULL) continue;
    if (!m.now)
      *(const char **)(map->l_addr + m.slots[i].r_offset) = address;
    else if (!is_like_ours())
      return false;
  }
  return true;
}

extern void *__real_dlopen(const char *path, int mode);
extern void *__wrap_dlopen(const char *path, int mode);
void *__wrap_dlopen(const char *path, int mode) {
  struct link_map *map;
  refused = false;
  /* lazily, so that symbols that the process's Lua lacks can still be bound here */
  void *library = __real_dlopen(path, (mode & ~RTLD_NOW) | RTLD_LAZY);
  if (library == NULL || path == NULL || (mode & RTLD_NOLOAD) != 0) return library;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && !bind(map)) {
    dlclose(library);
    refused = true;
    return NULL;
  }
  return library;
}

extern char *__real_dlerror(void);
extern char *__wrap_dlerror(void);
char *__wrap_dlerror(void) {
  if (!refused) return __real_dlerror();
  refused = false;
  return (char *)(uintptr_t)refusal;
}
