/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/text/pml_demangle.h - demangled C++ names. Internal. */
#ifndef PML_DEMANGLE_H
#define PML_DEMANGLE_H

#include "base/pml_api.h"

PML_BEGIN_DECLS

/*
 * pml__demangled - the name of the symbol @name, to be freed with free(). NULL: it is not mangled, libstdc++ is not
 * installed, or there is no memory. Any thread; not async-signal-safe. Cost: the first call may load libstdc++.
 */
PML__SHARED char *pml__demangled(const char *name);

/* pml__demangled_type - the same for a type as typeid().name() returns it. Any text may be one: "f" is float. */
char *pml__demangled_type(const char *name);

PML_END_DECLS

#endif
