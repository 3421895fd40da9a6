/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/pml_libc.h - functions that glibc before 2.30 and 2.32 lacks, and system calls that kernel headers before
 * Linux 5.3 and 5.9 lack; they have the same numbers on all architectures. Internal.
 */
#ifndef PML_LIBC_H
#define PML_LIBC_H

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#if defined __GLIBC__ && !__GLIBC_PREREQ(2, 30)
static inline pid_t gettid(void) {
  return (pid_t)syscall(SYS_gettid);
}
#endif

#if defined __GLIBC__ && !__GLIBC_PREREQ(2, 32)
static inline const char *strerrorname_np(int err) {
#define ROW(name)                                                                                                      \
  { name, #name }
  static const struct {
    int code;
    const char *name;
  } rows[] = {ROW(EPERM),           ROW(ENOENT),          ROW(ESRCH),        ROW(EINTR),        ROW(EIO),
              ROW(ENXIO),           ROW(E2BIG),           ROW(ENOEXEC),      ROW(EBADF),        ROW(ECHILD),
              ROW(EAGAIN),          ROW(ENOMEM),          ROW(EACCES),       ROW(EFAULT),       ROW(ENOTBLK),
              ROW(EBUSY),           ROW(EEXIST),          ROW(EXDEV),        ROW(ENODEV),       ROW(ENOTDIR),
              ROW(EISDIR),          ROW(EINVAL),          ROW(ENFILE),       ROW(EMFILE),       ROW(ENOTTY),
              ROW(ETXTBSY),         ROW(EFBIG),           ROW(ENOSPC),       ROW(ESPIPE),       ROW(EROFS),
              ROW(EMLINK),          ROW(EPIPE),           ROW(EDOM),         ROW(ERANGE),       ROW(EDEADLK),
              ROW(ENAMETOOLONG),    ROW(ENOLCK),          ROW(ENOSYS),       ROW(ENOTEMPTY),    ROW(ELOOP),
              ROW(ENODATA),         ROW(ETIME),           ROW(EPROTO),       ROW(EOVERFLOW),    ROW(EILSEQ),
              ROW(ENOTSOCK),        ROW(EDESTADDRREQ),    ROW(EMSGSIZE),     ROW(EPROTOTYPE),   ROW(ENOPROTOOPT),
              ROW(EPROTONOSUPPORT), ROW(ESOCKTNOSUPPORT), ROW(EOPNOTSUPP),   ROW(EPFNOSUPPORT), ROW(EAFNOSUPPORT),
              ROW(EADDRINUSE),      ROW(EADDRNOTAVAIL),   ROW(ENETDOWN),     ROW(ENETUNREACH),  ROW(ECONNABORTED),
              ROW(ECONNRESET),      ROW(ENOBUFS),         ROW(EISCONN),      ROW(ENOTCONN),     ROW(ETIMEDOUT),
              ROW(ECONNREFUSED),    ROW(EHOSTDOWN),       ROW(EHOSTUNREACH), ROW(EALREADY),     ROW(EINPROGRESS),
              ROW(EDQUOT),          ROW(ECANCELED)};
#undef ROW
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].code == err) return rows[i].name;
  return NULL;
}

static inline const char *strerrordesc_np(int err) {
  return strerror(err);
}
#endif

#endif
