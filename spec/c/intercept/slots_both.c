/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept/slots_both.c - calls of two versions of one function. */
#include "library.h"

extern int versions_old(void);
extern int versions_new(void);
__asm__(".symver versions_old, versioned@OLD");
__asm__(".symver versions_new, versioned@NEW");
CALLED int both_versions(void);

int both_versions(void) {
  return 10 * versions_old() + versions_new();
}
