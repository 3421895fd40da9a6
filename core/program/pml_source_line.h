/* SPDX-License-Identifier: BSD-3-Clause */
/* core/program/pml_source_line.h - the source line of an address, from debug information. */
#ifndef PML_SOURCE_LINE_H
#define PML_SOURCE_LINE_H

#include "base/pml_api.h"

#include <stddef.h>
#include <stdint.h>

struct pml__source_lines; /* the file last queried */

/*
 * pml__source_line - the source line of the call that returns to @offset bytes after the first byte that the loader
 * maps of the program or library @object. @*lines: NULL at first; it keeps the file open for the next query, and is
 * freed with pml__source_lines_free(), NULL or not. @file: @size bytes for the file name that the compiler was given,
 * with its folder. Returns 0, PML_ENOTHERE (no libdw), PML_EFORMAT (not a file that libdw reads), -ENODATA (no such
 * line), -ENOMEM; the sentence is pml_fail()'s. No file is trusted. Cost: a file is read at its first query, some ms.
 */
PML__SHARED int pml__source_line(struct pml__source_lines **lines, const char *object, uint64_t offset, char *file,
                                 size_t size, uint32_t *line);
PML__SHARED void pml__source_lines_free(struct pml__source_lines *lines);

struct pml__source_place {
  char function[256]; /* its symbol; "": the file has none there */
  char file[512];     /* what the compiler was given, with its folder; "": no debug information */
  uint32_t line;
};

/*
 * pml__source_place - the function and the line of the code at @offset of the file @object. Further as
 * pml__source_line(); -ENODATA: nothing is known of it.
 */
PML__SHARED int pml__source_place(struct pml__source_lines **lines, const char *object, uint64_t offset,
                                  struct pml__source_place *out);

/*
 * pml__source_variable - the variable at @offset of the file @object, as pml__elf_data_address() means it: its name
 * into
 * @name of @size bytes, and how far it is @into it. Further as pml__source_line(); -ENODATA: no variable is there.
 */
PML__SHARED int pml__source_variable(struct pml__source_lines **lines, const char *object, uint64_t offset, char *name,
                                     size_t size, uint64_t *into);

#endif
