/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/count_loaded.h - a hand-made counting module, in a program that loads the runtime on request. */
#ifndef SPEC_COUNT_LOADED_H
#define SPEC_COUNT_LOADED_H

#include "source/compiler/pml_count.h"
#include "source/compiler/pml_count_cells.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* The cells of a loop of multiplications and additions: seven cells; flops are the sum of two. */
static struct pml_count_module counted_module = {.abi = PML_COUNT_ABI, .name = "cost"};
static const unsigned counted_cells[] = {PML_CELL_LOAD + PML_MEMORY_fp_8,
                                         PML_CELL_STORE + PML_MEMORY_fp_8,
                                         PML_CELL_FP + PML_FP_add *PML_FP_FORM_COUNT + PML_FP_FORM_double,
                                         PML_CELL_FP + PML_FP_mul *PML_FP_FORM_COUNT + PML_FP_FORM_double,
                                         PML_CELL_INT + PML_INT_add,
                                         PML_CELL_branch,
                                         PML_CELL_address};

/* Sections defined from now on also count. @library: in the program's folder. Returns false if it does not exist. */
static bool counted_load(const char *library_path) {
  void (*tell)(const struct pml_count_module *);
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
  char *slash = n > 0 ? (path[n] = '\0', strrchr(path, '/')) : NULL;
  if (slash == NULL) return false;
  strcpy(slash + 1, library_path);
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  void *found = library != NULL ? dlsym(library, "pml_count_module_begin") : NULL;
  if (found == NULL) return false;
  for (size_t i = 0; i < sizeof counted_cells / sizeof *counted_cells; i++)
    counted_module.used[counted_cells[i] / 64] |= UINT64_C(1) << counted_cells[i] % 64;
  memcpy(&tell, &found, sizeof tell);
  tell(&counted_module);
  return true;
}

#endif
