/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/tune/pml_tune_table.c - lookup of regions that are new to a thread. */
#include "control/tune/pml_tune_table.h"

#include "base/pml_array.h"

#include <fnmatch.h>
#include <string.h>

uint16_t pml__table_look_up(struct pml__table *t, pml_region_t region,
                            uint16_t (*match)(const void *arg, const char *name), const void *arg) {
  struct pml_region_info info = {.name = ""};
  (void)pml_region_describe(region, &info);
  uint16_t what = match(arg, info.name);
  if (region > pml_region_count() || !PML__ARRAY_ZEROS(t->of, t->n, region + 1)) return what;
  t->of[region] = what;
  return what;
}

bool pml__table_matches(const char *pattern, const char *name) {
  return strcmp(pattern, name) == 0 || (strpbrk(pattern, "*?[") != NULL && fnmatch(pattern, name, 0) == 0);
}
