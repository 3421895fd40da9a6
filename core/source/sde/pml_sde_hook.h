/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_sde_hook.h - events of a library, listed without running a program. */
#ifndef PML_SDE_HOOK_H
#define PML_SDE_HOOK_H

#include "source/sde/pml_sde.h"

PML_BEGIN_DECLS

/*
 * pml_sde_hook - load the library in the file @path and have it register its events: by its function
 * papi_sde_hook_list_events(), as PAPI's tools do, or when it is loaded. They are then in pml_sde_list(); events
 * without a variable yet are placeholders. pmlua's libsde replaces the libsde that the library was linked against.
 *
 * The library stays loaded. Its code runs in this process, as in any other that loads it: it may print, crash or hang.
 * Returns 0, -ENOENT (no such file), -ELIBACC (it cannot be loaded, or pmlua's libsde.so.1 is not beside libpmlua.so),
 * -ENODATA (it has neither hook nor events). Thread-safe.
 */
PML__SHARED int pml_sde_hook(const char *path);

PML_END_DECLS

#endif
