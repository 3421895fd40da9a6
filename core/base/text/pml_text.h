/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/text/pml_text.h - text in growing memory. Internal. */
#ifndef PML_TEXT_H
#define PML_TEXT_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stddef.h>

struct pml__text {
  char *at;
  size_t n, capacity;
  bool failed; /* no memory: later additions are dropped */
};

/* Append formatted text. The caller frees @at. */
PML__SHARED void pml__text_add(struct pml__text *t, const char *format, ...) PML_PRINTF(2, 3);

/* pml__text_plain - append @length bytes unchanged. pml__text_room - memory for @bytes more at the end, or NULL. */
PML__SHARED void pml__text_plain(struct pml__text *t, const char *text, size_t length);
PML__SHARED char *pml__text_room(struct pml__text *t, size_t bytes);

/* pml__free - free memory that a function of libpmlua.so allocated, or malloc(). In a recorded program libpmlua.so has
 * a private heap, whose blocks free() of other libraries refuses. */
PML__SHARED void pml__free(void *memory);

#endif
