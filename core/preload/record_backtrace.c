/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/record_backtrace.c - backtrace(3) for the program, without pmlua's frames.
 *
 * A recorded call returns to a return slot, which unwinders report as an additional frame between a function and its
 * caller. backtrace() requests more frames than the program does, and removes the slots. Programs that call
 * _Unwind_Backtrace() themselves see the slots.
 */
#include "adapter/intercept/pml_intercept.h"
#include "base/pml_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <stddef.h>
#include <string.h>

#define FRAMES_MAX 1024 /* twice as many are on the stack; longer lists lose their last frames, one for each slot */

typedef int backtrace_function(void **at, int n);
static backtrace_function *real; /* atomic */

/* Looked up at the first call, because libc loads the unwinder. */
static backtrace_function *find_real(void) {
  backtrace_function *f = __atomic_load_n(&real, __ATOMIC_RELAXED);
  int saved = errno;
  if (f == NULL) *(void **)&f = dlsym(RTLD_NEXT, "backtrace");
  __atomic_store_n(&real, f, __ATOMIC_RELAXED);
  errno = saved;
  return f;
}

PML_API int backtrace(void **buffer, int size) {
  backtrace_function *f = find_real();
  if (f == NULL || size <= 0) return 0;
  int most = size <= FRAMES_MAX ? 2 * size + 1 : size;
  void *own[size <= FRAMES_MAX ? most : 1], **at = size <= FRAMES_MAX ? own : buffer;
  int n = f(at, most);
  n = n > 1 ? pml_intercept_callers(at + 1, n - 1) : 0; /* the first is this function */
  if (n > size) n = size;
  memmove(buffer, at + 1, (size_t)n * sizeof *at);
  return n;
}
