/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/intercept/slots_versions.c - two functions of one name, in an old version and a new one.
 * Link: -Wl,--version-script=spec/c/intercept/slots_versions.map
 */
#include "library.h"

CALLED int versions_old(void);
CALLED int versions_new(void);
__asm__(".symver versions_old, versioned@OLD");
__asm__(".symver versions_new, versioned@@NEW");

int versions_old(void) {
  return 1;
}
int versions_new(void) {
  return 2;
}
