/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/text/pml_locale.h - a decimal point in numbers of files, independent of the process's locale. */
#ifndef PML_LOCALE_H
#define PML_LOCALE_H

#include <locale.h>
#include <stdlib.h>

struct pml__locale {
  locale_t c, was;
};

/*
 * pml__locale_begin - the calling thread formats and reads numbers as C does, until pml__locale_end(); other threads
 * are not touched. glibc and musl keep the C locale ready: no allocation, no lock.
 */
static inline struct pml__locale pml__locale_begin(void) {
  struct pml__locale l = {.c = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
  if (l.c != (locale_t)0) l.was = uselocale(l.c);
  return l;
}

static inline void pml__locale_end(struct pml__locale l) {
  if (l.c == (locale_t)0) return;
  uselocale(l.was);
  freelocale(l.c);
}

/* pml__strtod - strtod() of the C locale. */
static inline double pml__strtod(const char *text, char **end) {
  struct pml__locale l = pml__locale_begin();
  double v = strtod(text, end);
  pml__locale_end(l);
  return v;
}

#endif
