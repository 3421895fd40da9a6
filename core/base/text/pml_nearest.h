/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/text/pml_nearest.h - suggestions for misspelt names: Damerau-Levenshtein distance, case ignored. */
#ifndef PML_NEAREST_H
#define PML_NEAREST_H

#include "base/pml_api.h"

#include <stddef.h>

#define PML__NEAREST_MAX 3
#define PML__NEAREST_NAME 256 /* longer names are truncated */

/* Set want, the rest to 0; offer it every name that there is. */
struct pml__nearest {
  const char *want;
  unsigned n;
  struct {
    unsigned distance;
    char name[PML__NEAREST_NAME];
  } best[PML__NEAREST_MAX];
};
PML__SHARED void pml__nearest_offer(struct pml__nearest *near, const char *name);

/* pml__nearest_text - "; nearest: a, b, c", or "" if nothing is near. */
PML__SHARED const char *pml__nearest_text(const struct pml__nearest *near, char *buf, size_t size);

#endif
