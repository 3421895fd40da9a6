/* SPDX-License-Identifier: BSD-3-Clause */
/* core/control/tune/pml_tune_table.h - per-thread cache of a substrate's data by region. Internal. */
#ifndef PML_TUNE_TABLE_H
#define PML_TUNE_TABLE_H

#include "base/pml_region.h"

#include <stdbool.h>
#include <stdint.h>

/* A thread's table; all zero at first, free(of) at the end. */
struct pml__table {
  uint16_t *of; /* [n] */
  uint32_t n;
};

#define PML__TABLE_UNKNOWN 0u /* not looked up yet; a match never means it */

/* pml__table_look_up - the result of @match for the name of @region; stored in @t if there is memory. */
uint16_t pml__table_look_up(struct pml__table *t, pml_region_t region,
                            uint16_t (*match)(const void *arg, const char *name), const void *arg);

/* pml__table_get - the entry of @region. General registers only. */
static inline uint16_t pml__table_get(const struct pml__table *t, pml_region_t region) {
  return PML_LIKELY(region < t->n) ? t->of[region] : PML__TABLE_UNKNOWN;
}

/* pml__table_matches - whether @name is @pattern, or, where that is a pattern of the shell, like it. */
bool pml__table_matches(const char *pattern, const char *name);

#endif
