/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_mailbox.c - error mailbox for processes that cannot write a log. */
#include "record/pml_mailbox.h"

#include "base/pml_error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINES (PML_MAILBOX_BYTES / PML_MAILBOX_LINE)

static int fill(int fd) {
  static const char zeros[4096];
  bool reserved = fallocate(fd, 0, 0, PML_MAILBOX_BYTES) == 0; /* not every kind of file system can */
  for (uint64_t at = 0; !reserved && at < PML_MAILBOX_BYTES; at += sizeof zeros)
    if (pwrite(fd, zeros, sizeof zeros, (off_t)at) != (ssize_t)sizeof zeros) return errno != 0 ? -errno : -ENOSPC;
  return fchmod(fd, 0666) == 0 ? 0 : -errno;
}

/* Without snprintf(), which a signal handler must not call. */
static bool path_of(char path[PATH_MAX], const char *dir) {
  size_t n = strlen(dir);
  if (n + sizeof "/" PML_MAILBOX_FILE > PATH_MAX) return false;
  memcpy(path, dir, n);
  memcpy(path + n, "/" PML_MAILBOX_FILE, sizeof "/" PML_MAILBOX_FILE);
  return true;
}

/* The file belongs to this user and is no link. */
static bool is_ours(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

int pml_mailbox_make(const char *dir) {
  char path[PATH_MAX];
  if (!path_of(path, dir)) return pml_fail(-ENAMETOOLONG, "the folder's name is too long");
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0 && errno == EEXIST && is_ours(path)) return 0;
  if (fd < 0) return pml_fail(-errno, "%.400s: %s", path, pml_error_text(-errno));
  int err = fill(fd);
  (void)close(fd);
  if (err < 0) (void)unlink(path);
  return err < 0 ? pml_fail(err, "%.400s: %s", path, pml_error_text(err)) : 0;
}

/*
 * The process that finds the first byte of a line zero and makes it another has the line. A line that is there is not
 * written again; two processes that write the same at the same time may leave it twice.
 */
static int leave(char *all, const char *text) {
  size_t n = strnlen(text, PML_MAILBOX_LINE - 2);
  for (uint32_t i = 0; i < LINES; i++) {
    char *line = all + (size_t)i * PML_MAILBOX_LINE, none = '\0';
    if (!__atomic_compare_exchange_n(line, &none, ' ', false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      if (memcmp(line + 1, text, n) == 0 && line[1 + n] == '\0') return 0;
      continue;
    }
    memcpy(line + 1, text, n);
    return 0;
  }
  return -ENOSPC;
}

int pml_mailbox_leave(const char *dir, const char *text) {
  char path[PATH_MAX];
  struct stat st;
  if (!path_of(path, dir)) return -ENAMETOOLONG;
  int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), err = 0;
  if (fd < 0) return -errno;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size != PML_MAILBOX_BYTES) err = PML_EFORMAT;
  char *all = err == 0 ? mmap(NULL, PML_MAILBOX_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  if (err == 0 && all == MAP_FAILED) err = -errno;
  (void)close(fd);
  if (err < 0 || all == MAP_FAILED || all == NULL) return err < 0 ? err : -ENOMEM;
  err = leave(all, text);
  (void)munmap(all, PML_MAILBOX_BYTES);
  return err;
}
