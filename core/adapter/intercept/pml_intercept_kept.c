/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_kept.c - the files of uses: a head, and a byte for each slot. */
#include "adapter/intercept/pml_intercept_kept.h"

#include "base/pml_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define CALLED 1u
#define USED 2u
#define SLOTS_MAX ((size_t)1 << 20)
#define NAME_BYTES 64

struct head {
  char magic[8];
  uint64_t check; /* of the file and of all that follows */
  uint64_t n;
};
static const char magic[8] = "pmluses1";

static char folder[PATH_MAX - NAME_BYTES]; /* "": none */

void pml__kept_in(const char *path) {
  size_t n = path != NULL ? strlen(path) : 0;
  if (n >= sizeof folder) n = 0;
  if (n > 0) memcpy(folder, path, n);
  folder[n] = '\0';
}

/* ---- identity ---- */

/* Where a file lies may change from one boot to the next; when it was written does not. */
static uint64_t hash_of(const struct pml__file *f) {
  const uint64_t part[] = {f->bytes, f->headers, (uint64_t)f->written.tv_sec, (uint64_t)f->written.tv_nsec};
  uint64_t hash = PML__SCAN_HASH;
  for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) hash = pml__scan_mix_one(hash, part[i]);
  return hash;
}

static uint64_t check_of(const struct pml__file *f, const unsigned char *uses, size_t n) {
  return pml__scan_mix(pml__scan_mix_one(hash_of(f), n), uses, n);
}

/* ---- reading ---- */

bool pml__kept_parse(const unsigned char *at, size_t bytes, const struct pml__file *f, struct pml__scan_slot *slot,
                     size_t n) {
  struct head h;
  if (bytes < sizeof h || bytes - sizeof h != n) return false;
  memcpy(&h, at, sizeof h);
  const unsigned char *uses = at + sizeof h;
  if (memcmp(h.magic, magic, sizeof magic) != 0 || h.n != n || h.check != check_of(f, uses, n)) return false;
  for (size_t i = 0; i < n; i++) {
    slot[i].called = (uses[i] & CALLED) != 0;
    slot[i].used = (uses[i] & USED) != 0;
  }
  return true;
}

static bool is_own(int fd, size_t bytes) {
  struct stat st;
  return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 022) == 0 &&
         st.st_size == (off_t)bytes;
}

/* Into memory of the caller's, NULL: there is no such file, or it is not believed. */
static unsigned char *read_own(const char *path, size_t bytes) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return NULL;
  unsigned char *at = is_own(fd, bytes) ? malloc(bytes) : NULL;
  size_t had = 0;
  while (at != NULL && had < bytes) {
    ssize_t got = read(fd, at + had, bytes - had);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    had += (size_t)got;
  }
  (void)close(fd);
  if (had == bytes) return at;
  free(at);
  return NULL;
}

static void path_of(char to[PATH_MAX], const struct pml__file *f) {
  (void)snprintf(to, PATH_MAX, "%s/%016llx", folder, (unsigned long long)hash_of(f));
}

bool pml__kept_find(const struct pml__file *f, struct pml__scan_slot *slot, size_t n) {
  char path[PATH_MAX];
  int saved = errno;
  if (folder[0] == '\0' || n > SLOTS_MAX) return false;
  path_of(path, f);
  size_t bytes = sizeof(struct head) + n;
  unsigned char *at = read_own(path, bytes);
  bool found = at != NULL && pml__kept_parse(at, bytes, f, slot, n);
  free(at);
  errno = saved;
  return found;
}

/* ---- writing ---- */

/* A limit of a file's size would end the program by a signal. */
static bool may_write(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

static bool write_all(int fd, const unsigned char *at, size_t bytes) {
  while (bytes > 0) {
    ssize_t wrote = write(fd, at, bytes);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    at += wrote;
    bytes -= (size_t)wrote;
  }
  return true;
}

/* Whole or not at all: under another name first. */
static void put(const char *path, const unsigned char *at, size_t bytes) {
  char fresh[PATH_MAX + NAME_BYTES];
  (void)snprintf(fresh, sizeof fresh, "%s.%lld", path, (long long)pml__process_pid());
  int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  bool whole = write_all(fd, at, bytes);
  if (close(fd) != 0 || !whole || rename(fresh, path) != 0) (void)unlink(fresh);
}

void pml__kept_put(const struct pml__file *f, const struct pml__scan_slot *slot, size_t n) {
  char path[PATH_MAX];
  int saved = errno;
  if (folder[0] == '\0' || n > SLOTS_MAX || !may_write()) return;
  size_t bytes = sizeof(struct head) + n;
  unsigned char *at = malloc(bytes);
  if (at != NULL) {
    unsigned char *uses = at + sizeof(struct head);
    for (size_t i = 0; i < n; i++) uses[i] = (slot[i].called ? CALLED : 0u) | (slot[i].used ? USED : 0u);
    struct head h = {.check = check_of(f, uses, n), .n = n};
    memcpy(h.magic, magic, sizeof magic);
    memcpy(at, &h, sizeof h);
    path_of(path, f);
    put(path, at, bytes);
  }
  free(at);
  errno = saved;
}
