/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/pml_doors.h - hooks of the loader's lookup functions: dlopen, dlsym, dlvsym and dlmopen. Internal.
 *
 * They look at their return address to know their caller. So a door (doors.S) asks @takes, which has the same arguments
 * and the return address behind them, and goes on to @instead or, as it came, to @real. Interception sets the first two
 * before it leads calls to doors.
 */
#ifndef PML_DOORS_H
#define PML_DOORS_H

#include <stdint.h>

#define PML__DOORS 4u

/* doors.S knows the order of them, and of the first three fields. */
struct pml__door {
  uintptr_t takes, instead, real;
  uintptr_t linked, ours; /* linked: what this code was told to be the function, which may stand in for it */
  const char *name;
};
extern __attribute__((visibility("hidden"))) struct pml__door pml__door[PML__DOORS];

/* The true functions, also where this code is part of a program whose slots are filled. */
void *pml__real_dlopen(const char *file, int mode);
void *pml__real_dlsym(void *handle, const char *name);
void *pml__real_dlvsym(void *handle, const char *name, const char *version);

/* A handle of all that the program sees. Unlike RTLD_DEFAULT it binds nothing to the asking object: what is found may
 * be closed. NULL before pml__doors_prepare(). */
extern void *pml__doors_global;
void pml__doors_prepare(void);

const struct pml__door *pml__door_named(const char *name); /* NULL: not a door */
uintptr_t pml__door_behind(uintptr_t address);             /* the true function; 0: it is no door */

#endif
