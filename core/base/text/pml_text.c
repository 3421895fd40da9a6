/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/text/pml_text.c - text in growing memory. */
#include "base/text/pml_text.h"

#include "base/pml_array.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool reserve(struct pml__text *t, size_t more) {
  t->failed = t->failed || !PML__ARRAY_ROOM(t->at, t->capacity, t->n + more + 1);
  return !t->failed;
}

void pml__text_add(struct pml__text *t, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  int n = vsnprintf(NULL, 0, format, ap);
  va_end(ap);
  if (n < 0 || !reserve(t, (size_t)n + 1)) return;
  va_start(ap, format);
  (void)vsnprintf(t->at + t->n, (size_t)n + 1, format, ap);
  va_end(ap);
  t->n += (size_t)n;
}

char *pml__text_room(struct pml__text *t, size_t bytes) {
  return reserve(t, bytes) ? t->at + t->n : NULL;
}

void pml__text_plain(struct pml__text *t, const char *text, size_t length) {
  if (!reserve(t, length)) return;
  memcpy(t->at + t->n, text, length);
  t->n += length;
}

void pml__free(void *memory) {
  free(memory);
}
