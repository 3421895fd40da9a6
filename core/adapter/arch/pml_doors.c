/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/pml_doors.c - hooks of dlopen, dlsym, dlvsym and dlmopen. */
#include "adapter/arch/pml_doors.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

_Static_assert(sizeof(struct pml__door) == 48 && offsetof(struct pml__door, takes) == 0 &&
                   offsetof(struct pml__door, instead) == 8 && offsetof(struct pml__door, real) == 16,
               "doors.S knows doors");

void pml__arch_dlopen(void);
void pml__arch_dlsym(void);
void pml__arch_dlvsym(void);
void pml__arch_dlmopen(void);

#define DOOR(function)                                                                                                 \
  { 0, 0, (uintptr_t)(function), (uintptr_t)(function), (uintptr_t)pml__arch_##function, #function }

struct pml__door pml__door[PML__DOORS] = {DOOR(dlopen), DOOR(dlsym), DOOR(dlvsym), DOOR(dlmopen)};
void *pml__doors_global;

/* NOLINTBEGIN(performance-no-int-to-ptr): they were functions' addresses */
void *pml__real_dlopen(const char *file, int mode) {
  return ((void *(*)(const char *, int))pml__door[0].real)(file, mode);
}

void *pml__real_dlsym(void *handle, const char *name) {
  return ((void *(*)(void *, const char *))pml__door[1].real)(handle, name);
}

void *pml__real_dlvsym(void *handle, const char *name, const char *version) {
  return ((void *(*)(void *, const char *, const char *))pml__door[2].real)(handle, name, version);
}
/* NOLINTEND(performance-no-int-to-ptr) */

void pml__doors_prepare(void) {
  pml__doors_global = pml__real_dlopen(NULL, RTLD_LAZY);
}

const struct pml__door *pml__door_named(const char *name) {
  if (name[0] != 'd' || name[1] != 'l') return NULL;
  for (size_t i = 0; i < PML__DOORS; i++)
    if (strcmp(pml__door[i].name, name) == 0) return &pml__door[i];
  return NULL;
}

uintptr_t pml__door_behind(uintptr_t address) {
  for (size_t i = 0; i < PML__DOORS; i++)
    if (address == pml__door[i].ours) return pml__door[i].real;
  return 0;
}
