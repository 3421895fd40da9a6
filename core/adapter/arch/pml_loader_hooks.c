/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/pml_loader_hooks.c - hooks of dlopen, dlsym, dlvsym and dlmopen. */
#include "adapter/arch/pml_loader_hooks.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

_Static_assert(sizeof(struct pml__loader_hook) == 48 && offsetof(struct pml__loader_hook, takes) == 0 &&
                   offsetof(struct pml__loader_hook, instead) == 8 && offsetof(struct pml__loader_hook, real) == 16,
               "loader_hooks.S uses these offsets");

void pml__arch_dlopen(void);
void pml__arch_dlsym(void);
void pml__arch_dlvsym(void);
void pml__arch_dlmopen(void);

#define LOADER_HOOK(function)                                                                                          \
  { 0, 0, (uintptr_t)(function), (uintptr_t)(function), (uintptr_t)pml__arch_##function, #function }

struct pml__loader_hook pml__loader_hook[PML__LOADER_HOOKS] = {LOADER_HOOK(dlopen), LOADER_HOOK(dlsym),
                                                               LOADER_HOOK(dlvsym), LOADER_HOOK(dlmopen)};
void *pml__loader_hooks_global;

/* NOLINTBEGIN(performance-no-int-to-ptr): they were functions' addresses */
void *pml__real_dlopen(const char *file, int mode) {
  return ((void *(*)(const char *, int))pml__loader_hook[0].real)(file, mode);
}

void *pml__real_dlsym(void *handle, const char *name) {
  return ((void *(*)(void *, const char *))pml__loader_hook[1].real)(handle, name);
}

void *pml__real_dlvsym(void *handle, const char *name, const char *version) {
  return ((void *(*)(void *, const char *, const char *))pml__loader_hook[2].real)(handle, name, version);
}
/* NOLINTEND(performance-no-int-to-ptr) */

void pml__loader_hooks_prepare(void) {
  pml__loader_hooks_global = pml__real_dlopen(NULL, RTLD_LAZY);
}

const struct pml__loader_hook *pml__loader_hook_named(const char *name) {
  if (name[0] != 'd' || name[1] != 'l') return NULL;
  for (size_t i = 0; i < PML__LOADER_HOOKS; i++)
    if (strcmp(pml__loader_hook[i].name, name) == 0) return &pml__loader_hook[i];
  return NULL;
}

uintptr_t pml__loader_hook_target(uintptr_t address) {
  for (size_t i = 0; i < PML__LOADER_HOOKS; i++)
    if (address == pml__loader_hook[i].ours) return pml__loader_hook[i].real;
  return 0;
}
