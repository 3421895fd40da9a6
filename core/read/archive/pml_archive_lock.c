/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/archive/pml_archive_lock.c - lock of an archive while it is written. */
#include "base/pml_error.h"
#include "read/archive/pml_archive_private.h"
#include "read/otf2/write/pml_otf2_write.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK ".making-traces"
#define TRIES 100 /* attempts to lock a file that other writers remove meanwhile */

/* Whether the path still refers to the open file: the previous holder of the lock may have removed it. */
static bool names_still(const char *path, int fd) {
  struct stat named, opened;
  return lstat(path, &named) == 0 && fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
         named.st_ino == opened.st_ino;
}

/* Returns 0, -EBUSY if another writer has the lock, -EAGAIN if the file was removed meanwhile, or -errno. */
static int lock_once(struct pml__archive_lock *l, const char *path) {
  int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0) return -errno;
  int err = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno == EWOULDBLOCK ? -EBUSY : -errno;
  if (err == 0 && !names_still(path, fd)) err = -EAGAIN;
  if (err == 0)
    l->fd = fd;
  else
    close(fd);
  return err;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
  (void)st, (void)type, (void)at;
  (void)remove(path);
  return 0;
}

/* An archive with a non-empty anchor is complete, because libotf2 writes the anchor last, in a single step. */
static bool is_whole(const struct pml__archive_lock *l) {
  char path[PATH_MAX];
  struct stat st;
  (void)snprintf(path, sizeof path, "%s/" PML__OTF2_NAME ".otf2", l->dir);
  return lstat(path, &st) == 0 && st.st_size > 0;
}

static void remove_archive(const struct pml__archive_lock *l) {
  static const char *const ending[] = {".otf2", ".def", ""};
  char path[PATH_MAX];
  for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
    (void)snprintf(path, sizeof path, "%s/" PML__OTF2_NAME "%s", l->dir, ending[i]);
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  }
}

static void path_of(const struct pml__archive_lock *l, char path[PATH_MAX]) {
  (void)snprintf(path, PATH_MAX, "%s/" LOCK, l->dir);
}

int pml__archive_lock(struct pml__archive_lock *l, const char *dir) {
  char path[PATH_MAX];
  struct stat st;
  int err = -EAGAIN;
  if ((size_t)snprintf(l->dir, sizeof l->dir, "%s", dir) >= sizeof l->dir)
    return pml_fail(-ENAMETOOLONG, "the path of the trace's folder is too long: '%.200s...'", dir);
  path_of(l, path);
  for (int i = 0; i < TRIES && err == -EAGAIN; i++) err = lock_once(l, path);
  if (err == -EBUSY || err == -EAGAIN) return pml_fail(-EBUSY, "another process is writing this trace: '%s'", path);
  if (err < 0) return pml_fail(err, "cannot lock '%s': %s", path, pml_error_text(err));
  if (fstat(l->fd, &st) == 0 && st.st_size > 0 && !is_whole(l)) remove_archive(l);
  return 0;
}

int pml__archive_creates(const struct pml__archive_lock *l) {
  if (write(l->fd, "\n", 1) == 1) return 0;
  int err = -errno;
  return pml_fail(err, "cannot write to '%s/" LOCK "': %s", l->dir, pml_error_text(err));
}

void pml__archive_unlock(struct pml__archive_lock *l, bool failed) {
  char path[PATH_MAX];
  if (l->fd < 0) return;
  if (failed) remove_archive(l);
  path_of(l, path);
  (void)unlink(path);
  close(l->fd);
  l->fd = -1;
}
