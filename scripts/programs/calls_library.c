/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/programs/calls_library.c - what calls.c calls: libcalls.so. */
#include "calls.h"

uint64_t calls_work(uint64_t x) {
  return x + 1;
}
