/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept/slots_walk.c - functions that inspect their caller, with names that show it, and one without such a
 * name. */
#include "library.h"

#include <dlfcn.h>
#include <stddef.h>

#define WALKS(name)                                                                                                    \
  CALLED void *name(void);                                                                                             \
  void *name(void) {                                                                                                   \
    return __builtin_return_address(0);                                                                                \
  }

WALKS(walk_plain)
WALKS(unw_walk)
WALKS(_ULx86_64_walk)
WALKS(_Unwind_Walk)
WALKS(walk_backtrace)
WALKS(print_stack_trace)
WALKS(_ZN4walk13GetStackTraceEv)
WALKS(jump_fcontext)

CALLED int walk_sees(int i);

int walk_sees(int i) {
  void *at = NULL;
  Dl_info here, there;
  switch (i) {
  case 0:
    at = walk_plain();
    break;
  case 1:
    at = unw_walk();
    break;
  case 2:
    at = _ULx86_64_walk();
    break;
  case 3:
    at = _Unwind_Walk();
    break;
  case 4:
    at = walk_backtrace();
    break;
  case 5:
    at = print_stack_trace();
    break;
  case 6:
    at = _ZN4walk13GetStackTraceEv();
    break;
  default:
    at = jump_fcontext();
    break;
  }
  if (dladdr((void *)walk_sees, &here) == 0 || dladdr(at, &there) == 0) return -1;
  return here.dli_fbase == there.dli_fbase;
}
