/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_private.h - declarations shared by the files of interception. */
#ifndef PML_INTERCEPT_PRIVATE_H
#define PML_INTERCEPT_PRIVATE_H

#include "adapter/arch/pml_call.h"
#include "adapter/arch/pml_loader_hooks.h"
#include "adapter/intercept/pml_intercept.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- thunks ---- */

/* The thunk of @target, known as @name in @library; 0: no memory. */
uintptr_t pml__intercept_thunk(uintptr_t target, const char *kind, const char *name, const char *library);
/* Prefetch for a coming call. */
void pml__intercept_thunk_ahead(uintptr_t target);
/* The function behind a thunk; 0: @address is not one. */
uintptr_t pml__intercept_target(uintptr_t address);
bool pml__intercept_knows(uintptr_t target); /* it has a thunk, by any name */
uint32_t pml__intercept_functions(void);
bool pml__intercept_thunks_drop(pml_region_t region); /* stop recording; false: it has no thunk. No lock */
int pml__intercept_thunks_error(void); /* error of the last thunk that could not be created, since the last call */
void pml__intercept_thunks_watch_forks(void);

/* ---- slots; under the lock of pml_intercept.c ---- */

struct pml__choice;

/* @unloaded: objects were unloaded since the last scan. */
int pml__intercept_scan(const struct pml__choice *c, struct pml_intercept_stats *s, bool unloaded);
void pml__intercept_restore(const struct pml__choice *last);                /* @last: may be NULL */
extern __attribute__((visibility("hidden"))) uint64_t pml__intercept_looks; /* inspected objects, in all scans */
void pml__intercept_give_up(void);                                          /* drops a scan that will never end */

/* How many objects were ever loaded and unloaded. Takes the loader's lock briefly. */
struct pml__traffic {
  unsigned long long adds, subs;
};
struct pml__traffic pml__intercept_traffic(void);

/* ---- loader hooks: functions of the loader with which a program looks up others ---- */

void pml__intercept_loader_prepare(void);
void pml__intercept_loader_forked(void);
uint64_t pml__intercept_unseen(void); /* look-ups of chosen functions whose calls are not recorded */

uint64_t pml__intercept_elsewhere(void); /* objects opened in other namespaces */

/* Stop recording the functions of a region for good; 0, -ENOTSUP: they are not such functions, -EBUSY: not now. */
int pml__intercept_drop(pml_region_t region);

/* The current selection; NULL: calls are not intercepted. Lock-free. */
const struct pml__choice *pml__intercept_chosen(void);
const struct pml__choice *pml__intercept_last_choice(void); /* also after removal; NULL: none so far */
/* Scan objects loaded since the last scan, unless a scan is running. */
void pml__intercept_scan_new(void);

#endif
