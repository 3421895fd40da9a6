/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/compiler/pml_count_stage.h - counting stage of modules: before or after optimisation. Internal. */
#ifndef PML_COUNT_STAGE_H
#define PML_COUNT_STAGE_H

#include "source/compiler/pml_count.h"
#include "source/compiler/pml_count_file.h"

/* Converts a bit mask of the stages of modules. */
static inline enum pml_count_at pml__count_stage(uint64_t stages) {
  bool source = (stages >> PML_COUNT_SOURCE & 1) != 0, final = (stages >> PML_COUNT_FINAL & 1) != 0;
  if (source && final) return PML_COUNT_AT_BOTH;
  if (source) return PML_COUNT_AT_SOURCE;
  return final ? PML_COUNT_AT_FINAL : PML_COUNT_AT_NONE;
}

#endif
