/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_system.h - system calls without the C library. Internal. */
#ifndef PML_SYSTEM_H
#define PML_SYSTEM_H

/*
 * pml__system - make system call @number; returns its result, or -errno. It leaves errno alone and is not a
 * cancellation point. Async-signal-safe. Implemented in system.S of each instruction set; each library that calls it
 * has a copy. Other architectures use the C library.
 */
#if defined(__x86_64__) || defined(__aarch64__)
__attribute__((visibility("hidden"))) long pml__system(long number, const long argument[6]);
#else
#include <errno.h>
#include <unistd.h>
static inline long pml__system(long number, const long argument[6]) {
  int saved = errno;
  long result = syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
  if (result == -1) result = -errno;
  errno = saved;
  return result;
}
#endif

#endif
