/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/calls_by_hand.c - a wrapper of calls_work() written by hand, to be preloaded: two clock reads, and
 * the duration stored in memory of the thread.
 */
#include "calls_seen.h"

#include <dlfcn.h>

static uint64_t (*next)(uint64_t);

__attribute__((constructor)) static void find(void) {
  *(void **)&next = dlsym(RTLD_NEXT, "calls_work");
}

CALLS_API uint64_t calls_work(uint64_t x) {
  struct calls_own *own = calls_mine();
  uint64_t start = calls_clock();
  uint64_t y = next(x);
  calls_keep(own, calls_clock() - start);
  return y;
}
