/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_variable_private.h - declarations shared by the files of pml_variable. */
#ifndef PML_VARIABLE_PRIVATE_H
#define PML_VARIABLE_PRIVATE_H

#include "program/pml_libdw.h"
#include "program/pml_variable.h"

#if defined(PML_HAS_LIBDW)

/*
 * pml__variable_resolve - follow @rest (.MEMBER, [INDEX]) from the variable at @die; adds to v->address, sets the rest.
 * Returns 0, -EINVAL or -ENODATA, with a detail that begins with @name.
 */
int pml__variable_resolve(const struct pml__libdw *dw, Dwarf_Die *die, const char *name, const char *rest,
                          struct pml_variable *v);

#endif
#endif
