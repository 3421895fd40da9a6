/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/log/pml_growable.c - a growable memory-mapped file. */
#include "record/log/pml_growable.h"

#include "base/pml_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int out_of_the_way(int fd) {
  int high = pml__file_high(fd);
  if (high < 0) return fd;
  close(fd);
  return high;
}

static bool is_ours(const struct pml__growable *g, int fd) {
  struct stat st;
  return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == g->dev && st.st_ino == g->ino;
}

/* A descriptor that is not ours any more is the program's. */
static int descriptor(struct pml__growable *g) {
  int fd = __atomic_load_n(&g->fd, __ATOMIC_RELAXED);
  if (is_ours(g, fd)) return fd;
  fd = open(g->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return -errno;
  if (!is_ours(g, fd)) {
    close(fd);
    return -ESTALE;
  }
  fd = out_of_the_way(fd);
  __atomic_store_n(&g->fd, fd, __ATOMIC_RELAXED);
  return fd;
}

/* Not every file system can allocate; zeros do the same. */
static int fill(int fd, uint64_t at, uint64_t bytes) {
  static const char zeros[4096];
  while (bytes > 0) {
    ssize_t n = pwrite(fd, zeros, bytes < sizeof zeros ? bytes : sizeof zeros, (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? -errno : -ENOSPC;
    at += (uint64_t)n;
    bytes -= (uint64_t)n;
  }
  return 0;
}

/*
 * Not by libc's function, because it is a cancellation point, and during these glibc makes the thread's cancellation
 * type asynchronous, overriding pml__cancel_hold().
 */
static int allocate(int fd, uint64_t at, uint64_t bytes) {
  struct rlimit most;
  int rc;
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && at + bytes > most.rlim_cur) return -EFBIG;
  do rc = (int)syscall(SYS_fallocate, fd, 0, (off_t)at, (off_t)bytes);
  while (rc < 0 && errno == EINTR);
  if (rc == 0) return 0;
  return errno == EOPNOTSUPP || errno == ENOSYS ? fill(fd, at, bytes) : -errno;
}

int pml__growable_map(struct pml__growable *g, uint64_t at, uint64_t bytes, void *there, void **memory) {
  int saved = errno, fd = descriptor(g);
  int err = fd < 0 ? fd : allocate(fd, at, bytes);
  if (err == 0) {
    *memory = mmap(there, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (there != NULL ? MAP_FIXED : 0), fd, (off_t)at);
    if (*memory == MAP_FAILED) err = -errno;
  }
  errno = saved;
  return err;
}

/* By no point of cancellation, either, and by no write that would end the process with a signal. */
int pml__growable_write(struct pml__growable *g, uint64_t at, const void *memory, uint64_t bytes) {
  struct rlimit most;
  int saved = errno, fd = descriptor(g), err = fd < 0 ? fd : 0;
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && at + bytes > most.rlim_cur) err = -EFBIG;
  for (const char *from = memory; err == 0 && bytes > 0;) {
    long n = syscall(SYS_pwrite64, fd, from, bytes, at);
    if (n < 0 && errno != EINTR) err = -errno;
    if (n == 0) err = -ENOSPC;
    if (n <= 0) continue;
    from += n;
    at += (uint64_t)n;
    bytes -= (uint64_t)n;
  }
  errno = saved;
  return err;
}

static int take_descriptor(struct pml__growable *g, int fd) {
  struct stat st;
  if (fd < 0) return -errno;
  g->fd = out_of_the_way(fd);
  if (fstat(g->fd, &st) < 0) return -errno;
  g->dev = st.st_dev;
  g->ino = st.st_ino;
  return 0;
}

int pml__growable_memory(struct pml__growable *g) {
  *g = (struct pml__growable){.fd = -1, .path = strdup("")}; /* by which nothing can be opened */
  return g->path != NULL ? take_descriptor(g, memfd_create("pmlua", MFD_CLOEXEC)) : -ENOMEM;
}

int pml__growable_make(struct pml__growable *g, int folder, const char *name, const char *path) {
  *g = (struct pml__growable){.fd = -1, .path = strdup(path)};
  if (g->path == NULL) return -ENOMEM;
  return take_descriptor(g, openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
}

void pml__growable_close(struct pml__growable *g) {
  if (is_ours(g, g->fd)) close(g->fd);
  g->fd = -1;
}

void pml__growable_end(struct pml__growable *g) {
  pml__growable_close(g);
  free(g->path);
  g->path = NULL;
}
