/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/foreign/pml_foreign_next.h - functions of the library that a function here comes before. Internal. */
#ifndef PML_FOREIGN_NEXT_H
#define PML_FOREIGN_NEXT_H

#include "base/pml_api.h"

#include <dlfcn.h>
#include <stddef.h>

/*
 * PML_FOREIGN_NEXT - declares `next`, the function @name of the next library in search order; NULL: no library has
 * it, as in a program that looks up the function by dlsym(). Stored with release after it was looked up; at worst, two
 * threads look up the same.
 */
#define PML_FOREIGN_NEXT(name)                                                                                         \
  static void *found_; /* atomic; NULL: not looked up; &found_: no library has it */                                   \
  void *at_ = __atomic_load_n(&found_, __ATOMIC_ACQUIRE);                                                              \
  if (PML_UNLIKELY(at_ == NULL)) {                                                                                     \
    at_ = dlsym(RTLD_NEXT, #name);                                                                                     \
    if (at_ == NULL) at_ = &found_;                                                                                    \
    __atomic_store_n(&found_, at_, __ATOMIC_RELEASE);                                                                  \
  }                                                                                                                    \
  __typeof__(&name) next = at_ != &found_ ? (__typeof__(&name))(uintptr_t)at_ : NULL

#endif
