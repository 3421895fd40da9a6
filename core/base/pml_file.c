/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_file.c - safe access to files with untrusted names or folders. */
#include "base/pml_file.h"

#include "base/pml_error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TRIES 16
#define READER_WAIT_MS 5000
#define READER_STEP_MS 5

static int refused(const char *path, int err) {
  return pml_fail(err, "%s: %s", path, strerror(-err));
}

static const char *kind_of(mode_t mode) {
  return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a FIFO" : S_ISSOCK(mode) ? "a socket" : "a device";
}

/* Returns 0 or -errno. */
static int check(const char *path, const struct stat *st, uint64_t max_bytes) {
  if (!S_ISREG(st->st_mode))
    return pml_fail(S_ISDIR(st->st_mode) ? -EISDIR : -EINVAL, "%s: not a file, but %s", path, kind_of(st->st_mode));
  if ((uint64_t)st->st_size > max_bytes)
    return pml_fail(-EFBIG, "%s: larger than %llu bytes", path, (unsigned long long)max_bytes);
  return 0;
}

int pml_file_open(const char *path, uint64_t max_bytes, uint64_t *size) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return refused(path, -errno);
  int err = fstat(fd, &st) == 0 ? check(path, &st, max_bytes) : refused(path, -errno);
  if (err < 0) {
    close(fd);
    return err;
  }
  if (size != NULL) *size = (uint64_t)st.st_size;
  return fd;
}

/* Only regular files can be replaced; descriptors have names below /dev and /proc that look like files. */
static bool taken_as_it_is(const char *path) {
  struct stat st;
  if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0) return true;
  return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static int open_folder(struct pml_file *f, const char *path) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
  size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
  if (length >= sizeof folder || strlen(name) > NAME_MAX) return -ENAMETOOLONG;
  if (*name == '\0') return -EISDIR;
  memcpy(folder, path, length);
  folder[length] = '\0';
  memcpy(f->name, name, strlen(name) + 1);
  f->folder = open(length > 0 ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  return f->folder < 0 ? -errno : 0;
}

static int open_temporary(struct pml_file *f) {
  uint64_t random = 0;
  for (int i = 0; i < TRIES; i++) {
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
      random = (uint64_t)getpid() + (uint64_t)i;
    /* A long name leaves no room for more. */
    (void)snprintf(f->temporary, sizeof f->temporary, ".%.200s.%016llx", f->name, (unsigned long long)random);
    f->fd = openat(f->folder, f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (f->fd >= 0) return 0;
    if (errno != EEXIST) return -errno;
  }
  return -EEXIST;
}

static void shut(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

int pml_file_create(struct pml_file *f, const char *path) {
  f->fd = f->folder = -1;
  int err = open_folder(f, path);
  if (err == 0) err = open_temporary(f);
  if (err == 0) return 0;
  shut(&f->folder);
  return refused(path, err);
}

/*
 * Opening a FIFO blocks until a program reads it, so this waits for a reader. O_NONBLOCK is for this open alone: the
 * descriptor blocks afterwards, as a writer expects. Returns a descriptor or -errno.
 */
static int open_fifo(const char *path) {
  const struct timespec step = {.tv_nsec = READER_STEP_MS * 1000000L};
  for (int waited_ms = 0;; waited_ms += READER_STEP_MS) {
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0) {
      int flags = fcntl(fd, F_GETFL);
      if (flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0) return fd;
      int err = -errno;
      close(fd);
      return refused(path, err);
    }
    if (errno != ENXIO) return refused(path, -errno);
    if (waited_ms >= READER_WAIT_MS)
      return pml_fail(-ENXIO, "%s: no program opened this FIFO to read within %d s; start the reader first", path,
                      READER_WAIT_MS / 1000);
    (void)nanosleep(&step, NULL);
  }
}

int pml_file_output(struct pml_file *f, const char *path) {
  struct stat st;
  if (!taken_as_it_is(path)) return pml_file_create(f, path);
  f->folder = -1;
  if (stat(path, &st) == 0 && S_ISFIFO(st.st_mode)) {
    f->fd = open_fifo(path);
    return f->fd < 0 ? f->fd : 0;
  }
  f->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  return f->fd < 0 ? refused(path, -errno) : 0;
}

int pml_file_commit(struct pml_file *f) {
  if (f->fd < 0) return -EBADF;
  int err = close(f->fd) == 0 ? 0 : -errno; /* a full disk may show only here */
  f->fd = -1;
  if (f->folder < 0) return err;
  if (err == 0 && renameat(f->folder, f->temporary, f->folder, f->name) != 0) err = -errno;
  if (err < 0) (void)unlinkat(f->folder, f->temporary, 0);
  shut(&f->folder);
  return err;
}

void pml_file_discard(struct pml_file *f) {
  if (f->fd >= 0 && f->folder >= 0) (void)unlinkat(f->folder, f->temporary, 0);
  shut(&f->fd);
  shut(&f->folder);
}

int pml_file_new(const char *path) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  return fd < 0 ? refused(path, -errno) : fd;
}

/* ---- reading and writing ---- */

ssize_t pml__file_read(int fd, void *to, size_t n, off_t offset) {
  size_t had = 0;
  while (had < n) {
    char *at = (char *)to + had;
    ssize_t got = offset == -1 ? read(fd, at, n - had) : pread(fd, at, n - had, offset + (off_t)had);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -errno;
    if (got == 0) break;
    had += (size_t)got;
  }
  return (ssize_t)had;
}

int pml__file_write(int fd, const void *bytes, size_t n) {
  for (const char *at = bytes; n > 0;) {
    ssize_t wrote = write(fd, at, n);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return wrote < 0 ? -errno : -ENOSPC;
    at += wrote;
    n -= (size_t)wrote;
  }
  return 0;
}

ssize_t pml__file_peek(const char *path, char *text, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  ssize_t n = fd < 0 ? -errno : pml__file_read(fd, text, size - 1, -1);
  if (fd >= 0) (void)close(fd);
  text[n > 0 ? n : 0] = '\0';
  return n;
}

/* ---- numbers ---- */

#define HIGH_FD 500

int pml__file_high(int fd) {
  struct rlimit most;
  int from = HIGH_FD;
  if (getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_cur < 2 * HIGH_FD) from = (int)(most.rlim_cur / 2);
  int high = fcntl(fd, F_DUPFD_CLOEXEC, from);
  return high < 0 ? -errno : high;
}
