/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/compiler/pml_count_file.c - names of compiler counts, and of the stages at which code is counted. */
#include "source/compiler/pml_count_file.h"

#include "source/compiler/pml_count_cells.h"

#include <string.h>

const char *pml_count_at_name(enum pml_count_at at) {
  static const char *const names[] = {"none", "source", "final", "mixed"};
  return names[(unsigned)at <= PML_COUNT_AT_BOTH ? at : PML_COUNT_AT_NONE];
}

bool pml_count_kind(size_t i, const char **name, const char **description) {
  if (i >= PML_BYFL_EVENTS + PML_CELL_COUNT) return false;
  bool sum = i < PML_BYFL_EVENTS;
  *name = sum ? pml_byfl_events[i].name : pml_count_cells[i - PML_BYFL_EVENTS].name;
  *description = sum ? pml_byfl_events[i].help : pml_count_cells[i - PML_BYFL_EVENTS].help;
  return true;
}

const char *pml_count_at_label(enum pml_count_at at) {
  static const char *const labels[] = {"", "counted by the compiler, at source", "counted by the compiler, at final",
                                       "counted by the compiler, some at source, some at final"};
  return labels[(unsigned)at <= PML_COUNT_AT_BOTH ? at : PML_COUNT_AT_NONE];
}

bool pml_count_is_event(const char *name) {
  static const char prefix[] = "sde:::BYFL::";
  return strncmp(name, prefix, sizeof prefix - 1) == 0;
}
