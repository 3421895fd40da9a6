/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept/sparing.h - consumer functions that preserve r8 to r11 with any compiler options. */
#ifndef SPARING_H
#define SPARING_H

#include "base/pml_stream.h"

/*
 * @name, of function type @type, is @function in such a way; what else they may change is changed. Calls are handed to
 * it without r8 to r11 being saved. On other machines it is @function.
 */
#ifdef __x86_64__
#define SPARES 1
#define SPARING(type, name, function, result, parameters, ...)                                                         \
  type name, function##_in;                                                                                            \
  result function##_in parameters {                                                                                    \
    return function(__VA_ARGS__);                                                                                      \
  }                                                                                                                    \
  __asm__(".text\n" #name ":\n push %r8\n push %r9\n push %r10\n push %r11\n sub $8, %rsp\n call " #function           \
          "_in\n movabs $0x5eed5eed5eed5eed, %rcx\n mov %rcx, %rdx\n mov %rcx, %rsi\n mov %rcx, %rdi\n"                \
          " add $8, %rsp\n pop %r11\n pop %r10\n pop %r9\n pop %r8\n ret\n")
#else
#define SPARES 0
#define SPARING(type, name, function, result, parameters, ...)                                                         \
  type name;                                                                                                           \
  result name parameters {                                                                                             \
    return function(__VA_ARGS__);                                                                                      \
  }                                                                                                                    \
  _Static_assert(1, "")
#endif

#define SPARING_FAST(name, function)                                                                                   \
  SPARING(pml_stream_fast, name, function, uint64_t, (void *data, pml_region_t called, uint64_t ticks), data, called,  \
          ticks)
#define SPARING_VALUES(name, function)                                                                                 \
  SPARING(pml_stream_fast_values, name, function, uint64_t, (void *data, const struct pml_stream_event *e), data, e)

#endif
