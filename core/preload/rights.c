/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/preload/rights.c - calls that revoke what a recording needs to create its file: changes of user, group, root,
 * namespace, descriptor limit or file size limit.
 *
 * A forked child without a log creates it before such a call, which is then forwarded to libc unchanged. Raw system
 * calls are not detected; if the log cannot be created later, the report contains the reason.
 */
#include "base/pml_api.h"
#include "preload/confine.h"

#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#define CALLS(X)                                                                                                       \
  X(int, setuid, (uid_t a), (a))                                                                                       \
  X(int, setgid, (gid_t a), (a))                                                                                       \
  X(int, seteuid, (uid_t a), (a))                                                                                      \
  X(int, setegid, (gid_t a), (a))                                                                                      \
  X(int, setreuid, (uid_t a, uid_t b), (a, b))                                                                         \
  X(int, setregid, (gid_t a, gid_t b), (a, b))                                                                         \
  X(int, setresuid, (uid_t a, uid_t b, uid_t c), (a, b, c))                                                            \
  X(int, setresgid, (gid_t a, gid_t b, gid_t c), (a, b, c))                                                            \
  X(int, setgroups, (size_t a, const gid_t *b), (a, b))                                                                \
  X(int, initgroups, (const char *a, gid_t b), (a, b))                                                                 \
  X(int, chroot, (const char *a), (a))                                                                                 \
  X(int, unshare, (int a), (a))                                                                                        \
  X(int, setns, (int a, int b), (a, b))

#define LIMITS(X)                                                                                                      \
  X(setrlimit, (__rlimit_resource_t a, const struct rlimit *b), (a, b), true)                                          \
  X(setrlimit64, (__rlimit_resource_t a, const struct rlimit64 *b), (a, b), true)                                      \
  X(prlimit, (pid_t p, __rlimit_resource_t a, const struct rlimit *b, struct rlimit *c), (p, a, b, c), b != NULL)      \
  X(prlimit64, (pid_t p, __rlimit_resource_t a, const struct rlimit64 *b, struct rlimit64 *c), (p, a, b, c), b != NULL)

#define DECLARE(result, name, parameters, arguments) static result(*real_##name) parameters;
CALLS(DECLARE)
#define DECLARE_LIMIT(name, parameters, arguments, sets) static int(*real_##name) parameters;
LIMITS(DECLARE_LIMIT)

/* Runs before main; an earlier constructor that calls one of the functions looks them up itself. */
__attribute__((constructor)) static void find_real(void) {
  int saved = errno;
#define FIND(result, name, parameters, arguments) *(void **)&real_##name = dlsym(RTLD_NEXT, #name);
#define FIND_LIMIT(name, parameters, arguments, sets) *(void **)&real_##name = dlsym(RTLD_NEXT, #name);
  if (real_setuid == NULL) {
    LIMITS(FIND_LIMIT)
    CALLS(FIND)
  }
  errno = saved;
}

static void before(bool matters) {
  int saved = errno;
  find_real();
  if (matters) pml__preload_begin();
  errno = saved;
}

#define DEFINE(result, name, parameters, arguments)                                                                    \
  PML_API result name parameters {                                                                                     \
    before(true);                                                                                                      \
    return real_##name arguments;                                                                                      \
  }
CALLS(DEFINE)

#define DEFINE_LIMIT(name, parameters, arguments, sets)                                                                \
  PML_API int name parameters {                                                                                        \
    before((sets) && (a == RLIMIT_NOFILE || a == RLIMIT_FSIZE));                                                       \
    return real_##name arguments;                                                                                      \
  }
LIMITS(DEFINE_LIMIT)
