/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/cost_count.h - the reads of compiled-in counts whose instructions cost.c counts, and what they work on. */
#ifndef SPEC_COST_COUNT_H
#define SPEC_COST_COUNT_H

#include "source/count/cells.h"
#include "source/count/pml_count.h"
#include "source/pml_eventset.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct pml_eventset *counted1, *counted9;
static uint64_t counted_values[9];

/* What a loop of multiplications and additions uses: seven cells, of which flops are the sum of two. */
static struct pml_count_module counted_module = {.abi = PML_COUNT_ABI, .name = "cost"};
static const unsigned counted_cells[] = {PML_CELL_LOAD + PML_MEMORY_fp_8,
                                         PML_CELL_STORE + PML_MEMORY_fp_8,
                                         PML_CELL_FP + PML_FP_add *PML_FP_FORM_COUNT + PML_FP_FORM_double,
                                         PML_CELL_FP + PML_FP_mul *PML_FP_FORM_COUNT + PML_FP_FORM_double,
                                         PML_CELL_INT + PML_INT_add,
                                         PML_CELL_branch,
                                         PML_CELL_address};

/* Loaded after the section was defined, which else would count, too. False: it is not beside this program. */
static bool counted_load(void) {
  void (*tell)(const struct pml_count_module *);
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
  char *slash = n > 0 ? (path[n] = '\0', strrchr(path, '/')) : NULL;
  if (slash == NULL) return false;
  strcpy(slash, "/../libpmlua_count.so");
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  void *found = library != NULL ? dlsym(library, "pml_count_module_begin") : NULL;
  if (found == NULL) return false;
  for (size_t i = 0; i < sizeof counted_cells / sizeof *counted_cells; i++)
    counted_module.used[counted_cells[i] / 64] |= UINT64_C(1) << counted_cells[i] % 64;
  memcpy(&tell, &found, sizeof tell);
  tell(&counted_module);
  return true;
}

static int counted_open(void) {
  static char name[PML_BYFL_EVENTS][48];
  const char *names[PML_BYFL_EVENTS], *flops = "sde:::BYFL::flop_count_I";
  if (!counted_load()) return 0;
  for (unsigned i = 0; i < PML_BYFL_EVENTS; i++) {
    snprintf(name[i], sizeof name[i], "sde:::BYFL::%s", pml_byfl_events[i].name);
    names[i] = name[i];
  }
  int rc = pml_eventset_open(&counted1, &flops, 1, NULL);
  if (rc == 0) rc = pml_eventset_open(&counted9, names, PML_BYFL_EVENTS, NULL);
  if (rc == 0) rc = pml_eventset_start(counted1);
  return rc < 0 ? rc : pml_eventset_start(counted9);
}

static void counted_close(void) {
  pml_eventset_close(counted1);
  pml_eventset_close(counted9);
}

PATH(eventset_read_counted_1, pml_eventset_read(counted1, counted_values))
PATH(eventset_read_counted_9, pml_eventset_read(counted9, counted_values))

#define COUNT_PATHS(X) X(eventset_read_counted_1) X(eventset_read_counted_9)

#endif
