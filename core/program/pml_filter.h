/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/program/pml_filter.h - function filters in Score-P's file syntax.
 *
 *     SCOREP_FILE_NAMES_BEGIN            # of files or libraries
 *       EXCLUDE *
 *       INCLUDE libfftw3* libz.so.1
 *     SCOREP_FILE_NAMES_END
 *     SCOREP_REGION_NAMES_BEGIN          # of functions
 *       EXCLUDE fftw_plan_*
 *               fftw_print_*
 *       INCLUDE MANGLED _ZN5solve*
 *     SCOREP_REGION_NAMES_END
 *
 * At first everything is wanted. The rules of a kind of block are taken in their order, and the last that matches
 * decides; a function is wanted if both its file and its name are. Patterns are globs of the shell (*, ?, [...]), as
 * many to a rule as one likes, separated by blanks and line ends. A pattern without '/' also matches the file's name
 * without its folders. A function's name is as people write it, with its arguments in C++; after MANGLED, as in the
 * symbol table. '#' begins a comment. A backslash takes the meaning from what follows: blanks, '#', wildcards,
 * keywords. Blocks may repeat and follow in any order.
 */
#ifndef PML_FILTER_H
#define PML_FILTER_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stddef.h>

PML_BEGIN_DECLS

struct pml_filter;

/*
 * pml_filter_open - read the filter file @path. Pair with pml_filter_close().
 * Returns 0; PML_EFORMAT (the detail names file, line and what to do), -errno of the file, -ENOMEM. *@f is NULL then.
 */
PML__SHARED int pml_filter_open(struct pml_filter **f, const char *path);
/* pml_filter_parse - the same for @n bytes of text; messages use @name as the file's name. */
int pml_filter_parse(struct pml_filter **f, const char *text, size_t n, const char *name);
PML__SHARED void pml_filter_close(struct pml_filter *f); /* NULL is allowed */

/*
 * pml_filter_wants - is function @name of @file wanted? @mangled: its name in the symbol table. NULL of any: unknown,
 * and rules about it do not match; but a function without @name is known by its mangled one.
 *
 * Thread-safe. Cost: fnmatch(3) once a rule; decide when calls are bound, not when they are made.
 */
PML__SHARED bool pml_filter_wants(const struct pml_filter *f, const char *file, const char *name, const char *mangled);
/* Its halves: the first is the same for a whole library. */
bool pml_filter_wants_file(const struct pml_filter *f, const char *file);
bool pml_filter_wants_name(const struct pml_filter *f, const char *name, const char *mangled);

PML_END_DECLS

#endif
