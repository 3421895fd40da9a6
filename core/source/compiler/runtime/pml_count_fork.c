/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/compiler/runtime/pml_count_fork.c - _Fork(), clone() and syscall(), which run no fork handlers: separate
 * counts for their children.
 *
 * In the shared library alone, which is before the C library in a program that was linked with it. An archive's program
 * may have the C library in it, whose fork() would call this _Fork().
 */
#include "source/compiler/runtime/pml_count_private.h"

#include "base/pml_libc.h"
#include "base/pml_system.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef int clone_function(int (*)(void *), void *, int, void *, ...);

static pid_t (*real_fork)(void);
static clone_function *real_clone;

/* The C library's own; at load, since looking for it takes locks. */
__attribute__((constructor)) static void find(void) {
  void *fork = dlsym(RTLD_NEXT, "_Fork"), *clone = dlsym(RTLD_NEXT, "clone");
  memcpy(&real_fork, &fork, sizeof fork);
  memcpy(&real_clone, &clone, sizeof clone);
}

static int refused(void) {
  errno = ENOSYS;
  return -1;
}

pid_t _Fork(void); /* older C libraries do not declare it */
EXPORT pid_t _Fork(void) {
  if (real_fork == NULL) find();
  if (real_fork == NULL) return refused();
  pml__count_before_fork();
  pid_t child = real_fork();
  if (child == 0) pml__count_look();
  pml__count_after_fork();
  return child;
}

struct begin {
  int (*f)(void *);
  void *arg;
};

/* In the child, whose copy of its parent's stack has what it is to do. */
static int begin(void *arg) {
  struct begin b = *(struct begin *)arg;
  pml__count_look();
  pml__count_after_fork();
  return b.f(b.arg);
}

/* A child that shares the memory counts for its parent. One with other thread-local variables is left alone. */
EXPORT int clone(int (*f)(void *), void *stack, int flags, void *arg, ...) {
  va_list ap;
  va_start(ap, arg);
  void *parent_tid = va_arg(ap, void *), *tls = va_arg(ap, void *), *child_tid = va_arg(ap, void *);
  va_end(ap);
  if (real_clone == NULL) find();
  if (real_clone == NULL) return refused();
  if ((flags & (CLONE_VM | CLONE_SETTLS)) != 0 || f == NULL || stack == NULL)
    return real_clone(f, stack, flags, arg, parent_tid, tls, child_tid);
  struct begin b = {f, arg};
  pml__count_before_fork();
  int child = real_clone(begin, stack, flags, &b, parent_tid, tls, child_tid);
  pml__count_after_fork();
  return child;
}

/* ---- syscall() ---- */

#if defined(__x86_64__) || defined(__aarch64__)

/* A process with memory and stack as its parent's: no thread, no child that counts for its parent. */
static bool makes_child(long number, const long a[6]) {
  uint64_t flags;
#ifdef SYS_fork
  if (number == SYS_fork) return true;
#endif
  if (number == SYS_clone) return (a[0] & (CLONE_VM | CLONE_SETTLS)) == 0 && a[1] == 0;
  if (number == SYS_clone3 && a[0] != 0 && a[1] >= (long)sizeof flags) {
    memcpy(&flags, (const void *)(uintptr_t)a[0], sizeof flags); /* the first of its arguments */
    return (flags & (CLONE_VM | CLONE_SETTLS)) == 0;
  }
  return false;
}

/* The C library's own is not asked for: a program's allocator calls this before the loader is ready. */
EXPORT long syscall(long number, ...) {
  long a[6];
  va_list ap;
  va_start(ap, number);
  for (unsigned i = 0; i < 6; i++) a[i] = va_arg(ap, long);
  va_end(ap);
  bool forks = makes_child(number, a);
  if (forks) pml__count_before_fork();
  long result = pml__system(number, a);
  if (forks && result == 0) pml__count_look();
  if (forks) pml__count_after_fork();
  if (result >= 0 || result < -4095) return result;
  errno = (int)-result;
  return -1;
}

#endif
