/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_variable.h - addresses and types of a program's variables and functions, from ELF and DWARF. */
#ifndef PML_VARIABLE_H
#define PML_VARIABLE_H

#include "base/pml_api.h"
#include "program/pml_watchpoint.h"

#include <stdbool.h>

PML_BEGIN_DECLS

struct pml_variable {
  uint64_t address; /* in the file's layout: add the load address */
  uint64_t bytes;   /* 0: unknown */
  bool function;
  enum pml_content content; /* NONE: a function, or not requested */
  char type[64];            /* as in the source; "": unknown */
};

/*
 * pml_variable_find - find a function, a variable, or a member or element of a variable, in a program or shared object.
 * @path: the ELF file; debug information that it lacks is searched where debuggers look (build id, debug link).
 * @name: NAME, or NAMESPACE::NAME, FUNCTION::NAME, FILE.c::NAME, then any number of .MEMBER and [INDEX], and .real
 * or .imag of a complex number; also static variables. NAME+OFFSET is the address OFFSET bytes after NAME.
 * @typed: its type must be known, so that its content can be read; without it a symbol is enough.
 *
 * Returns 0, PML_ENOSYMBOL (with the nearest names), -EINVAL (no such member or element, ambiguous, or content that is
 * not a number), -ENODATA (no debug information), -ENXIO (no fixed address: thread-local, or optimised away),
 * PML_EFORMAT, PML_ENOTHERE (libdw is not installed, or was not at build time), or -errno; each with a detail. Cost:
 * milliseconds to seconds, depending on the size of the debug information. Thread-safe.
 */
PML__SHARED int pml_variable_find(const char *path, const char *name, bool typed, struct pml_variable *v);

PML_END_DECLS

#endif
