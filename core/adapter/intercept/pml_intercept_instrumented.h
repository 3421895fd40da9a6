/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_instrumented.h - functions compiled with -finstrument-functions.
 *
 * Code that gcc or clang compiled so calls __cyg_profile_func_enter() and _exit() in each function, also where it was
 * inlined. These calls are recorded like calls of libraries: a region is a function of the symbol table, with its
 * object as the file. Functions left by a longjmp or an exception get their leave as calls of libraries do.
 */
#ifndef PML_INTERCEPT_INSTRUMENTED_H
#define PML_INTERCEPT_INSTRUMENTED_H

#include "base/pml_region.h"

#include <stdbool.h>

PML_BEGIN_DECLS

/*
 * pml__instrumented_enter, pml__instrumented_leave - @function begins or ends; @site: its return address. Preserve
 * errno. Cost, with a profile: as a wrapped call, and a look-up by address. The first call of a function reads the
 * symbol table of its object. An inlined function costs some 200 instructions more. Without interception nothing is
 * recorded.
 */
PML__SHARED void pml__instrumented_enter(const void *function, const void *site);
PML__SHARED void pml__instrumented_leave(const void *function, const void *site);

/*
 * For interpreters. @code is an address that identifies a function as long as the process lives.
 * pml__script_enter - the function begins; false: it has no name yet.
 * pml__script_name - set its name, unless --func or --not excludes it; @language is reported as its library.
 * pml__script_leave - the function ends.
 * Functions that an interpreter runs in one frame of its code are nested by these calls, not by stack pointers.
 */
PML__SHARED bool pml__script_enter(const void *code);
PML__SHARED void pml__script_name(const void *code, const char *name, const char *language);
PML__SHARED void pml__script_leave(const void *code);

/* pml__instrumented_drop - record no later calls of the functions of @region. Returns 0, -ENOTSUP: no such function,
 * -EBUSY: another thread has the lock. */
int pml__instrumented_drop(pml_region_t region);

/* pml__instrumented_forget - forget functions of objects that are not among @all, the loaded ones; NULL: of all
 * objects, because another selection follows. */
struct pml__objects;
void pml__instrumented_forget(const struct pml__objects *all);

PML_END_DECLS

#endif
