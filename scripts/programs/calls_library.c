/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/programs/calls_library.c - libcalls.so, the library that calls.c calls. */
#include "calls.h"

uint64_t calls_work(uint64_t x) {
  return x + 1;
}
