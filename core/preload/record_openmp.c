/* SPDX-License-Identifier: BSD-3-Clause */
/* core/preload/record_openmp.c - OpenMP constructs of a recorded process. */
#include "preload/record_openmp.h"

#include "adapter/openmp/pml_openmp.h"

#include <stdio.h>

const char *pml__record_openmp_aside(const char *others) {
  static char all[4096];
  (void)snprintf(all, sizeof all, "%s:%s", pml_openmp_libraries(), others != NULL ? others : "");
  return all;
}
