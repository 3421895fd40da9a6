/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept/slots_user.c - calls what another library must have made global before. */
#include "library.h"

extern int global_only(void);
CALLED int global_or_own(void);
CALLED int user_only(void);
CALLED int user_either(void);

int global_or_own(void) {
  return 2;
}
int user_only(void) {
  return global_only() + 1;
}
int user_either(void) {
  return global_or_own() + 10;
}
