/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/simulate.c - a forked child under callgrind counts from zero: LD_PRELOAD=libpmlua-simulate.so.
 *
 * Callgrind gives a child its parent's counts; who adds up processes would count those twice. The child says in
 * valgrind's log that it has set them to zero. Outside of valgrind nothing happens.
 */
#if __has_include(<valgrind/callgrind.h>)

#include <pthread.h>
#include <valgrind/callgrind.h>

static void begin_child(void) {
  CALLGRIND_ZERO_STATS;
  VALGRIND_PRINTF("pmlua: forked\n");
}

__attribute__((constructor)) static void begin(void) {
  if (RUNNING_ON_VALGRIND) (void)pthread_atfork(NULL, NULL, begin_child);
}

#else
typedef int pml__no_simulation; /* a file without a declaration is no C */
#endif
