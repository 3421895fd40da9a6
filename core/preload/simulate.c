/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/simulate.c - reset of callgrind's counts in forked children: LD_PRELOAD=libpmlua-simulate.so.
 *
 * Callgrind gives a child its parent's counts; a sum over processes would count them twice. A child that has reset its
 * counts creates a file PMLUA_SIM/forked.PID. Outside of valgrind the library does nothing.
 */
#if __has_include(<valgrind/callgrind.h>)

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

/* The function behind glibc's pthread_atfork(). Another C library lacks it, and must load this library nevertheless. */
extern void *__dso_handle __attribute__((visibility("hidden")));
extern int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *library)
    __attribute__((weak));

static void begin_child(void) {
  char path[PATH_MAX];
  const char *folder = secure_getenv("PMLUA_SIM");
  if (folder == NULL) return;
  (void)snprintf(path, sizeof path, "%s/forked.%d", folder, (int)getpid());
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd >= 0) (void)close(fd);
  (void)VALGRIND_MONITOR_COMMAND(
      "zero"); /* for all threads: CALLGRIND_ZERO_STATS skips threads that only the parent had */
}

__attribute__((constructor)) static void begin(void) {
  if (RUNNING_ON_VALGRIND && __register_atfork != NULL) (void)__register_atfork(NULL, NULL, begin_child, &__dso_handle);
}

#else
typedef int pml__no_simulation; /* an empty translation unit is invalid C */
#endif
