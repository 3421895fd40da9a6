/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept/slots_global.c - functions that are global if the library is opened globally; slots_user.c calls
 * them, and also defines one. */
#include "library.h"

CALLED int global_only(void);
CALLED int global_or_own(void);

int global_only(void) {
  return 7;
}
int global_or_own(void) {
  return 1;
}
