/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/pml_loader_hooks.h - hooks of the loader's lookup functions: dlopen, dlsym, dlvsym and dlmopen.
 * Internal.
 *
 * They look at their return address to know their caller. So a loader hook (loader_hooks.S) asks @takes, which has the
 * same arguments and the return address behind them, and goes on to @instead or, as it came, to @real. Interception
 * sets the first two before it leads calls to loader hooks.
 */
#ifndef PML_LOADER_HOOKS_H
#define PML_LOADER_HOOKS_H

#include <stdint.h>

#define PML__LOADER_HOOKS 4u

/* loader_hooks.S knows the order of them, and of the first three fields. */
struct pml__loader_hook {
  uintptr_t takes, instead, real;
  uintptr_t linked, ours; /* linked: what this code was told to be the function, which may stand in for it */
  const char *name;
};
extern __attribute__((visibility("hidden"))) struct pml__loader_hook pml__loader_hook[PML__LOADER_HOOKS];

/* The true functions, also where this code is part of a program whose slots are filled. */
void *pml__real_dlopen(const char *file, int mode);
void *pml__real_dlsym(void *handle, const char *name);
void *pml__real_dlvsym(void *handle, const char *name, const char *version);

/* A handle of all that the program sees. Unlike RTLD_DEFAULT it binds nothing to the asking object: what is found may
 * be closed. NULL before pml__loader_hooks_prepare(). */
extern void *pml__loader_hooks_global;
void pml__loader_hooks_prepare(void);

const struct pml__loader_hook *pml__loader_hook_named(const char *name); /* NULL: not a loader hook */
uintptr_t pml__loader_hook_target(uintptr_t address); /* the true function; 0: it is no loader hook */

#endif
