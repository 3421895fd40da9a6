/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept/slots_targets.c - functions that are called in one way each (slots_pointed.c). */
#include "library.h"

#define TARGET(name, n)                                                                                                \
  CALLED int target_##name(int i);                                                                                     \
  CALLED int target_##name(int i) {                                                                                    \
    return i + (n);                                                                                                    \
  }

TARGET(called, 1)
TARGET(jumped, 2)
TARGET(hoisted, 3)
TARGET(tested, 4)
TARGET(spilled, 5)
TARGET(returned, 6)
TARGET(switched, 7)
TARGET(compared, 8)
TARGET(passed, 9)
TARGET(only, 10)
TARGET(tail, 11)
