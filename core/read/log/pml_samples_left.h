/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/log/pml_samples_left.h - samples of a run that was killed, from its log. */
#ifndef PML_SAMPLES_LEFT_H
#define PML_SAMPLES_LEFT_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

struct pml_samples_left {
  uint32_t cell, round;
  uint64_t planned;
  bool real;       /* the values are bits of doubles */
  size_t n;        /* 0: the run was not in a visit, or had no sample yet */
  uint64_t *value; /* to be freed */
};

/* pml_samples_left - what the log @path has of the visit in which its run ended. 0, -errno, PML_EFORMAT or -ENOMEM. */
PML__SHARED int pml_samples_left(const char *path, struct pml_samples_left *left);

PML_END_DECLS

#endif
