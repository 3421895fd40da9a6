/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_stored.h - exported functions whose address their own object has in its code or
 * data: pml__scan_stored(). */
#ifndef PML_INTERCEPT_STORED_H
#define PML_INTERCEPT_STORED_H

#include "adapter/intercept/pml_intercept_scans.h"

struct pml__stored {
  const struct pml__object *o;
  uint32_t *at; /* 1 + the symbol, by its address; PML__SCAN_NOTED: found; NULL: the object exports no function */
  size_t mask, n, marked;
  uintptr_t lo, hi; /* all code */
};

/* Begin; then pass all pieces of the code; the end returns the symbols, *@n of them, to be freed. Begin returns false
 * without memory. */
bool pml__stored_begin(struct pml__stored *t, const struct pml__object *o);
void pml__stored_text(struct pml__stored *t, const uint8_t *text, size_t n, uintptr_t at);
uint32_t *pml__stored_end(struct pml__stored *t, size_t *n);

#endif
