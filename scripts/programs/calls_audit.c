/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/calls_audit.c - an auditor for LD_AUDIT, rtld-audit(7): the loader reports enter and exit of calls
 * between objects, here of calls_work() alone. It keeps the same data as the wrapper written by hand.
 */
#include "calls_seen.h"

#include <link.h>
#include <string.h>

#if defined __x86_64__
#define ENTER la_x86_64_gnu_pltenter
#define EXIT la_x86_64_gnu_pltexit
typedef La_x86_64_regs registers;
typedef La_x86_64_retval results;
#elif defined __aarch64__
#define ENTER la_aarch64_gnu_pltenter
#define EXIT la_aarch64_gnu_pltexit
typedef La_aarch64_regs registers;
typedef La_aarch64_retval results;
#endif

CALLS_API unsigned la_version(unsigned version) {
  (void)version;
  return LAV_CURRENT;
}

CALLS_API unsigned la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie) {
  const char *name = strrchr(map->l_name, '/');
  (void)lmid, (void)cookie;
  if (map->l_name[0] == '\0') return LA_FLG_BINDFROM; /* the program */
  return name != NULL && strcmp(name, "/libcalls.so") == 0 ? LA_FLG_BINDTO : 0;
}

CALLS_API uintptr_t la_symbind64(Elf64_Sym *sym, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags,
                                 const char *name) {
  (void)index, (void)from, (void)to;
  if (strcmp(name, "calls_work") != 0) *flags |= LA_SYMB_NOPLTENTER | LA_SYMB_NOPLTEXIT;
  return sym->st_value;
}

CALLS_API Elf64_Addr ENTER(Elf64_Sym *sym, unsigned index, uintptr_t *from, uintptr_t *to, registers *regs,
                           unsigned *flags, const char *name, long *frame_bytes) {
  (void)index, (void)from, (void)to, (void)regs, (void)flags, (void)name;
  *frame_bytes = 0; /* no arguments on the stack; the default, less than 0, means: tell no exit */
  calls_mine()->start = calls_clock();
  return sym->st_value;
}

CALLS_API unsigned EXIT(Elf64_Sym *sym, unsigned index, uintptr_t *from, uintptr_t *to, const registers *in,
                        results *out, const char *name) {
  struct calls_own *own = calls_mine();
  (void)sym, (void)index, (void)from, (void)to, (void)in, (void)out, (void)name;
  calls_keep(own, calls_clock() - own->start);
  return 0;
}
