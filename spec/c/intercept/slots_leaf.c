/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept/slots_leaf.c - a library that calls another one and, through its own slots, itself. */
#include "library.h"

CALLED int leaf_once(int i);
CALLED int leaf_twice(int i);
CALLED int leaf_calls(int i);

int leaf_once(int i) {
  return i + 1;
}
int leaf_twice(int i) {
  return 2 * leaf_once(i);
}
int leaf_calls(int i) {
  return lib_tail(i) + 1;
}
