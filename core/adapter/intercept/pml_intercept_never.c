/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_never.c - functions that are never intercepted, in any library.
 *
 * A recorded call returns to a return slot instead of its caller. This is wrong for three kinds of functions: functions
 * that do not return like C functions; functions that unwind the stack from their own frame, and so begin with the
 * wrong return address; functions that use their return address to identify their caller. Functions of the second kind
 * still work inside an outer recorded call, because the slots have unwinding rules. Functions that return twice, or on
 * another stack, would also work through slots, even if not listed here; but only their first return would be a leave.
 *
 * Add a function here by its name in the symbol table, in the group of its kind. Patterns are as in pml_intercept.h;
 * whole names and "word*" are cheapest.
 */
#include "adapter/intercept/pml_intercept_choice.h"

#include <string.h>
#include <strings.h>

/* Return twice, or on another stack, so their duration is meaningless. */
#define CONTEXTS                                                                                                       \
  "setjmp:_setjmp:__setjmp:sigsetjmp:__sigsetjmp:__sigsetjmp_cancel:savectx:longjmp:_longjmp:siglongjmp:__longjmp_"    \
  "chk:"                                                                                                               \
  "__libc_longjmp:__libc_siglongjmp:____longjmp_chk:getcontext:setcontext:swapcontext:makecontext:libucontext_*:"      \
  "breakpad_getcontext:jump_fcontext:make_fcontext:ontop_fcontext:co_swap:coro_transfer:_ITM_*:"

/* Another process or thread continues after them, perhaps on this stack; or the kernel returns from a signal. */
#define TASKS "vfork:__vfork:clone:__clone:clone3:__clone3:syscall:sigreturn:__sigreturn:rt_sigreturn:__restore_rt:"

/* Do not return: the leave would be lost. */
#define ENDS                                                                                                           \
  "pthread_exit:thrd_exit:__pthread_unwind*:_exit:_Exit:exit:quick_exit:abort:__libc_start_main:"                      \
  "__libc_start_call_main:__stack_chk_fail:__cxa_call_unexpected:__cxa_call_terminate:"                                \
  "__cxa_pure_virtual:__cxa_deleted_virtual:"

/* C++ exceptions and forced unwinding: libgcc's and LLVM's unwinder, and the functions that start it. */
#define EXCEPTIONS                                                                                                     \
  "_Unwind_*:__libunwind_*:__cxa_throw:__cxa_rethrow:__cxa_end_cleanup:__gxx_personality_*:__gcc_personality_*:"       \
  "__objc_personality_*:objc_exception_*:__register_frame*:__deregister_frame*:__frame_state_for:"

/*
 * Walk the stack from their caller: libunwind (its functions contain the architecture's name), gperftools, the Java VM;
 * and every function with "backtrace" or "stacktrace" in its name, such as those in glibc, glog, abseil, Boost and
 * Folly.
 */
#define BACKTRACES                                                                                                     \
  "unw_*:__unw_*:_Ux86_64_*:_ULx86_64_*:_Uaarch64_*:_ULaarch64_*:_U_dyn_*:GetStackFrames*:_Z14GetStackFrames*:"        \
  "AsyncGetCallTrace:"

/* Inspect their return address: the loader (for scope and $ORIGIN), profilers, Objective-C's hand-over functions. */
#define CALLERS                                                                                                        \
  "dlopen:dlmopen:dlsym:dlvsym:dlclose:dladdr:dladdr1:dlinfo:dlfunc:_dl_*:__libc_dl*:android_dlopen_ext:"              \
  "mcount:_mcount:__mcount:__fentry__:__gnu_mcount_nc:__cyg_profile_func_*:__xray_*:__sanitizer_*:"                    \
  "objc_autoreleaseReturnValue:objc_retainAutoreleaseReturnValue:objc_retainAutoreleasedReturnValue:"                  \
  "objc_unsafeClaimAutoreleasedReturnValue:objc_claimAutoreleasedReturnValue:"

/* Checks of sanitizers report their callers; the functions that they replace are called by special rules. */
#define SANITIZERS                                                                                                     \
  "__asan_*:__tsan_*:__ubsan_*:__msan_*:__lsan_*:__hwasan_*:__memprof_*:__interceptor_*:"                              \
  "___interceptor_*:"

/* Called by compiled code with special conventions: other registers survive, the stack moves. */
#define CONVENTIONS                                                                                                    \
  "__tls_get_addr*:__morestack*:__probestack:__rust_probestack:__chkstk*:___chkstk*:__x86_indirect_thunk*:"            \
  "__x86_return_thunk*:__llvm_retpoline_*:_ZGV*:"

/* Kokkos' and TBB's own calls of their tools, and functions of interfaces in libraries: they start or end a region that
 * is not within the call (adapter/foreign). */
#define ANNOTATIONS "_ZN6Kokkos5Tools*:_ZN6Kokkos9Profiling*:_ZN3tbb6detail2r1*itt_*:__itt_*:nvtx*:cali_*"

const char pml__intercept_never[] =
    CONTEXTS TASKS ENDS EXCEPTIONS BACKTRACES CALLERS SANITIZERS CONVENTIONS ANNOTATIONS;

/* Whether @word, of @n bytes, ends before @at in @name, ignoring case. */
static bool ends_with(const char *name, const char *at, const char *word, size_t n) {
  return (size_t)(at - name) >= n && strncasecmp(at - n, word, n) == 0;
}

bool pml__intercept_walks_stack(const char *name) {
  for (const char *at = strstr(name, "race"); at != NULL; at = strstr(at + 1, "race")) {
    if (!ends_with(name, at, "t", 1)) continue;
    const char *before = at - 1;
    if (before > name && before[-1] == '_') before--;
    if (ends_with(name, before, "back", 4) || ends_with(name, before, "stack", 5)) return true;
  }
  return false;
}
