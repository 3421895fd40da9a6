/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept/slots_chosen.c - a function that is chosen by another when it is bound. */
#include "library.h"

typedef int function(int i);
CALLED int chosen_call(int i);
CALLED int chosen_inside(int i);

static int chosen_one(int i) {
  return i + 100;
}
__attribute__((used)) static function *choose(void) {
  return chosen_one;
}
__attribute__((ifunc("choose"))) int chosen_call(int i);

int chosen_inside(int i) {
  return chosen_call(i) + 1;
}
