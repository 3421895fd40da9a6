/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_entries.h - interception of chosen functions at their entries.
 *
 * A compiler can leave room at the entry of each function: -fpatchable-function-entry (gcc, clang), -pg -mfentry
 * -mrecord-mcount (gcc), or -fxray-instrument (clang). There a jump to an island near the object, and from there to the
 * function's thunk, replaces instructions that do nothing. Other functions keep their code and cost nothing. Like the
 * other parts of interception it needs the lock of pml_intercept.c.
 */
#ifndef PML_INTERCEPT_ENTRIES_H
#define PML_INTERCEPT_ENTRIES_H

#include "adapter/intercept/pml_intercept_choice.h"
#include "adapter/intercept/pml_intercept_object.h"

/*
 * pml__entries_patch - patch the chosen functions of @o. Functions that cannot be patched are noted as not recorded
 * (pml__unrecorded_note()). Returns 0 or -ENOMEM.
 * pml__entries_restore - write the original code back. pml__entries_forget - forget objects that are no longer loaded.
 * pml__entries_drop - write the original code of the functions of @region back, unless other threads run and their code
 * cannot be written meanwhile: then its thunk must lead past the recording. pml__entries_give_up - in a child, because
 * another thread of the parent was using them. pml__entries_has - the function at @address is patched.
 */
int pml__entries_patch(const struct pml__choice *c, struct pml__object *o);
void pml__entries_restore(void);
void pml__entries_forget(const struct pml__objects *all);
void pml__entries_drop(pml_region_t region);
void pml__entries_give_up(void);
bool pml__entries_has(uintptr_t address);

#endif
