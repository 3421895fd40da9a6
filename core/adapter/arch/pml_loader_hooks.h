/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/pml_loader_hooks.h - hooks of the loader's lookup functions: dlopen, dlsym, dlvsym and dlmopen.
 * Internal.
 *
 * These functions identify their caller by the return address. A hook (loader_hooks.S) therefore calls @takes with the
 * same arguments and the return address, then jumps to @instead, or, with the original arguments, to @real.
 * Interception sets @takes and @instead before it redirects calls to hooks.
 */
#ifndef PML_LOADER_HOOKS_H
#define PML_LOADER_HOOKS_H

#include <stdint.h>

#define PML__LOADER_HOOKS 4u

/* loader_hooks.S depends on the order of the hooks, and of the first three fields. */
struct pml__loader_hook {
  uintptr_t takes, instead, real;
  uintptr_t linked, ours; /* linked: the function that this code is linked to, which may be a replacement */
  const char *name;
};
extern __attribute__((visibility("hidden"))) struct pml__loader_hook pml__loader_hook[PML__LOADER_HOOKS];

/* The real functions, even if this code is part of a program whose slots are redirected. */
void *pml__real_dlopen(const char *file, int mode);
void *pml__real_dlsym(void *handle, const char *name);
void *pml__real_dlvsym(void *handle, const char *name, const char *version);

/*
 * A handle of the program's global scope. Unlike RTLD_DEFAULT, a lookup adds no dependency to the calling object, so
 * the library that defines the symbol can still be closed. NULL before pml__loader_hooks_prepare().
 */
extern void *pml__loader_hooks_global;
void pml__loader_hooks_prepare(void);

const struct pml__loader_hook *pml__loader_hook_named(const char *name); /* NULL: not a loader hook */
uintptr_t pml__loader_hook_target(uintptr_t address); /* the real function, or 0 if @address is no hook */

#endif
