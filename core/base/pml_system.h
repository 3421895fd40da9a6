/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_system.h - a system call that goes through no function of the C library. Internal. */
#ifndef PML_SYSTEM_H
#define PML_SYSTEM_H

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <errno.h>
#include <unistd.h>
#endif

/*
 * pml__system - the kernel's answer to @number, which is -errno where it fails: errno stays as it is, and nothing is a
 * cancellation point. Async-signal-safe. Machines that we have no instruction for go through the C library.
 */
static inline long pml__system(long number, const long argument[6]) {
#if defined(__x86_64__)
  register long fourth __asm__("r10") = argument[3]; /* cppcheck-suppress constStatement ; the kernel looks at it */
  register long fifth __asm__("r8") = argument[4];   /* cppcheck-suppress constStatement ; as above */
  register long sixth __asm__("r9") = argument[5];   /* cppcheck-suppress constStatement ; as above */
  __asm__ volatile("syscall"
                   : "+a"(number)
                   : "D"(argument[0]), "S"(argument[1]), "d"(argument[2]), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  return number;
#elif defined(__aarch64__)
  register long which __asm__("x8") = number;
  register long first __asm__("x0") = argument[0];
  register long second __asm__("x1") = argument[1];
  register long third __asm__("x2") = argument[2];
  register long fourth __asm__("x3") = argument[3];
  register long fifth __asm__("x4") = argument[4];
  register long sixth __asm__("x5") = argument[5];
  __asm__ volatile("svc #0"
                   : "+r"(first)
                   : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "memory");
  return first;
#else
  int saved = errno;
  long result = syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
  if (result < 0) result = -errno;
  errno = saved;
  return result;
#endif
}

#endif
