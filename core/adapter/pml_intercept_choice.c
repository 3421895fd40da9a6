/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/pml_intercept_choice.c - which libraries and functions are intercepted, by their names. */
#include "adapter/pml_intercept_private.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 256u

/* What stands below everything, and pmlua; patterns. */
#define BASE                                                                                                           \
  "libc.so*:libc-[0-9]*:ld-linux*:ld-[0-9]*:ld.so*:libpthread.so*:libpthread-[0-9]*:libdl.so*:libdl-[0-9]*:librt.so*:" \
  "librt-[0-9]*:linux-vdso*:libasan.so*:libtsan.so*:libubsan.so*:liblsan.so*:libclang_rt.*:vgpreload_*"
#define OURS "libpmlua*"

/* Functions that return twice, or not as they were called, or that look at who called them. */
#define NEVER                                                                                                          \
  "setjmp:_setjmp:__setjmp:sigsetjmp:__sigsetjmp:savectx:getcontext:swapcontext:setcontext:makecontext:longjmp:"       \
  "_longjmp:siglongjmp:__longjmp_chk:vfork:__vfork:clone:__clone:clone3:syscall:mcount:_mcount:__mcount:__fentry__:"   \
  "__gnu_mcount_nc:__tls_get_addr:_Unwind_*:__cxa_throw:__cxa_rethrow:__cxa_end_cleanup:__gxx_personality_*:"          \
  "__gcc_personality_*:dlopen:dlsym:dlvsym:dlmopen:dlclose:dladdr:dladdr1:dlinfo:_dl_*:__asan_*:__tsan_*:__ubsan_*:"   \
  "__sanitizer_*:__cyg_profile_func_*:pthread_exit:_exit:_Exit:exit:quick_exit:abort:__libc_start_main:"               \
  "__libc_start_call_main:__morestack*:__stack_chk_fail:_ZGV*"

bool pml__intercept_matches(const char *patterns, const char *name) {
  char one[NAME_MAX_BYTES];
  while (*patterns != '\0') {
    size_t n = strcspn(patterns, ":");
    if (n > 0 && n < sizeof one) {
      memcpy(one, patterns, n);
      one[n] = '\0';
      if (fnmatch(one, name, 0) == 0) return true;
    }
    patterns += n + (patterns[n] == ':');
  }
  return false;
}

static const char *file_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

static bool names_library(const char *patterns, const char *path) {
  const char *file = file_of(path), *so = strstr(file, ".so");
  char stem[NAME_MAX_BYTES];
  if (pml__intercept_matches(patterns, file) || pml__intercept_matches(patterns, path)) return true;
  if (so == NULL || (size_t)(so - file) >= sizeof stem) return false;
  snprintf(stem, sizeof stem, "%.*s", (int)(so - file), file);
  return pml__intercept_matches(patterns, stem);
}

/* Patterns such as "*" do not name what nobody wants by default: that takes a letter of it. */
static bool names_itself(const char *patterns, const char *path) {
  return patterns != NULL && strspn(patterns, "*?:") != strlen(patterns) && names_library(patterns, path);
}

bool pml__intercept_wants_library(const struct pml_intercept_options *o, const char *path, bool program) {
  const char *file = file_of(path);
  if (pml__intercept_matches(OURS, file)) return false;
  if (o->but != NULL && names_library(o->but, path)) return false;
  if (program || pml__intercept_matches(BASE, file)) return names_itself(o->lib, path);
  return o->lib == NULL || names_library(o->lib, path);
}

bool pml__intercept_wants_function(const struct pml_intercept_options *o, const char *name) {
  if (o->sym != NULL && !pml__intercept_matches(o->sym, name)) return false;
  if (o->but != NULL && pml__intercept_matches(o->but, name)) return false;
  return !pml__intercept_matches(NEVER, name);
}

bool pml__intercept_wants_caller(const char *path) {
  const char *file = file_of(path);
  return !pml__intercept_matches(OURS, file) && !pml__intercept_matches(BASE, file);
}
