/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_source_line.h - the source line of an address, by the debug information of a file. */
#ifndef PML_SOURCE_LINE_H
#define PML_SOURCE_LINE_H

#include "base/pml_api.h"

#include <stddef.h>
#include <stdint.h>

struct pml__source_lines; /* the file that was asked for last */

/*
 * pml__source_line - where the call is that returns to @offset bytes behind the first byte that the loader maps of the
 * program or library @object. @*lines: NULL at first; it keeps the file open for the next question, and is freed with
 * pml__source_lines_free(), NULL or not. @file: of @size bytes, what the compiler was given, with its folder.
 * Returns 0, PML_ENOTHERE (no libdw), PML_EFORMAT (not a file that libdw reads), -ENODATA (no such line), -ENOMEM; the
 * sentence is pml_fail()'s. Nothing in the file is trusted. Cost: a file is read at its first question, some ms.
 */
int pml__source_line(struct pml__source_lines **lines, const char *object, uint64_t offset, char *file, size_t size,
                     uint32_t *line);
void pml__source_lines_free(struct pml__source_lines *lines);

#endif
