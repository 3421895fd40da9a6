/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/embed/guard.h - conversion of C++ exceptions in application functions to error codes. */
#ifndef GUARD_H
#define GUARD_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
#define GUARD_WEAK
extern "C" {
#else
#define GUARD_WEAK __attribute__((weak))
#endif

/*
 * guard_call - call @f with @arg. False: it threw an exception, which @what describes, and its work is incomplete.
 * Defined in libpmlua-embed only (weak), if it was built with a C++ compiler: see guarded().
 */
bool guard_call(void (*f)(void *), void *arg, char *what, size_t size) GUARD_WEAK;

#ifndef __cplusplus
static inline bool guarded(void (*f)(void *), void *arg, char *what, size_t size) {
  if (guard_call != NULL) return guard_call(f, arg, what, size);
  f(arg);
  return true;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
