/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_cache.c - files of the scan cache: a header, the calls, the functions with a
 * stored address, and a byte per slot. */
#include "adapter/intercept/pml_intercept_cache.h"

#include "base/pml_file.h"
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
#define MISSED 4u
#define SLOTS_MAX ((size_t)1 << 20)
#define SITES_MAX ((size_t)1 << 20)
#define NAME_BYTES 64

struct head {
  char magic[8];
  uint64_t check; /* hash of the file's identity and of the rest of this file */
  uint64_t n, nsites, nstored;
};
static const char magic[8] = "pmluses3";

static char folder[PATH_MAX - NAME_BYTES]; /* "": no folder */

void pml__scan_cache_in(const char *path) {
  size_t n = path != NULL ? strlen(path) : 0;
  if (n >= sizeof folder) n = 0;
  if (n > 0) memcpy(folder, path, n);
  folder[n] = '\0';
}

/* ---- identity ---- */

/* The path of a file may change from one boot to the next; its modification time does not. */
static uint64_t hash_of(const struct pml__file *f) {
  const uint64_t part[] = {f->bytes, f->headers, (uint64_t)f->written.tv_sec, (uint64_t)f->written.tv_nsec};
  uint64_t hash = PML__SCAN_HASH;
  for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) hash = pml__scan_mix_one(hash, part[i]);
  return hash;
}

static size_t sites_bytes(const struct head *h) {
  return h->nsites * sizeof(struct pml__scan_site);
}

static size_t stored_bytes(const struct head *h) {
  return h->nstored * sizeof(uint32_t);
}

static uint64_t check_of(const struct pml__file *f, const struct head *h, const unsigned char *rest) {
  uint64_t hash = pml__scan_mix_one(hash_of(f), h->n);
  hash = pml__scan_mix_one(pml__scan_mix_one(hash, h->nsites), h->nstored);
  return pml__scan_mix(hash, rest, sites_bytes(h) + stored_bytes(h) + h->n);
}

/* ---- reading ---- */

/* A copy of @bytes at @at for *@to; false: no memory. */
static bool take(void *to, const unsigned char *at, size_t bytes) {
  void *had, *copy = bytes > 0 ? malloc(bytes) : NULL;
  if (bytes > 0 && copy == NULL) return false;
  if (bytes > 0) memcpy(copy, at, bytes);
  memcpy(&had, to, sizeof had);
  free(had);
  memcpy(to, &copy, sizeof copy);
  return true;
}

/* Slots and symbols that do not exist are ignored, and operands are checked before code is changed. */
static bool take_lists(struct pml__scan *s, const struct head *h, const unsigned char *at) {
  if (!take(&s->site, at, sites_bytes(h))) return false;
  s->nsites = h->nsites;
  if (!take(&s->stored, at + sites_bytes(h), stored_bytes(h))) return false;
  s->nstored = h->nstored;
  return true;
}

bool pml__scan_cache_parse(const unsigned char *at, size_t bytes, struct pml__scan *s) {
  struct head h;
  const size_t n = s->n - s->ncalls;
  if (bytes < sizeof h) return false;
  memcpy(&h, at, sizeof h);
  if (memcmp(h.magic, magic, sizeof magic) != 0 || h.n != n || h.nsites > SITES_MAX || h.nstored > SITES_MAX ||
      sizeof h + sites_bytes(&h) + stored_bytes(&h) + n != bytes || h.check != check_of(&s->file, &h, at + sizeof h) ||
      !take_lists(s, &h, at + sizeof h))
    return false;
  const unsigned char *uses = at + bytes - n;
  for (size_t i = 0; i < n; i++) {
    struct pml__scan_slot *slot = &s->slot[s->ncalls + i];
    slot->called = (uses[i] & CALLED) != 0;
    slot->used = (uses[i] & USED) != 0;
    slot->missed = (uses[i] & MISSED) != 0;
  }
  return true;
}

static bool is_own(int fd, size_t least, size_t most, size_t *bytes) {
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022) != 0) return false;
  if (st.st_size < (off_t)least || st.st_size > (off_t)most) return false;
  *bytes = (size_t)st.st_size;
  return true;
}

/* Read the file into allocated memory, which the caller frees. NULL: no such file, or it is not trusted. */
static unsigned char *read_own(const char *path, size_t least, size_t most, size_t *bytes) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return NULL;
  unsigned char *at = is_own(fd, least, most, bytes) ? malloc(*bytes) : NULL;
  ssize_t had = at != NULL ? pml__file_read(fd, at, *bytes, -1) : -1;
  (void)close(fd);
  if (had >= 0 && (size_t)had == *bytes) return at;
  free(at);
  return NULL;
}

static void path_of(char to[PATH_MAX], const struct pml__file *f) {
  (void)snprintf(to, PATH_MAX, "%s/%016llx", folder, (unsigned long long)hash_of(f));
}

bool pml__scan_cache_find(struct pml__scan *s) {
  char path[PATH_MAX];
  int saved = errno;
  size_t n = s->n - s->ncalls, bytes, least = sizeof(struct head) + n;
  if (folder[0] == '\0' || n > SLOTS_MAX) return false;
  path_of(path, &s->file);
  unsigned char *at =
      read_own(path, least, least + SITES_MAX * (sizeof(struct pml__scan_site) + sizeof(uint32_t)), &bytes);
  bool found = at != NULL && pml__scan_cache_parse(at, bytes, s);
  free(at);
  errno = saved;
  return found;
}

/* ---- writing ---- */

/* Exceeding a file size limit would end the program by a signal. */
static bool may_write(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

/* Writes completely or not at all: first under another name. */
static void put(const char *path, const unsigned char *at, size_t bytes) {
  char fresh[PATH_MAX + NAME_BYTES];
  (void)snprintf(fresh, sizeof fresh, "%s.%lld", path, (long long)pml__process_pid());
  int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  bool whole = pml__file_write(fd, at, bytes) == 0;
  if (close(fd) != 0 || !whole || rename(fresh, path) != 0) (void)unlink(fresh);
}

static void fill(unsigned char *at, const struct pml__scan *s) {
  struct head h = {.n = s->n - s->ncalls, .nsites = s->nsites, .nstored = s->nstored};
  unsigned char *site = at + sizeof h, *stored = site + sites_bytes(&h), *uses = stored + stored_bytes(&h);
  if (h.nsites > 0) memcpy(site, s->site, sites_bytes(&h));
  if (h.nstored > 0) memcpy(stored, s->stored, stored_bytes(&h));
  for (size_t i = 0; i < h.n; i++) {
    const struct pml__scan_slot *slot = &s->slot[s->ncalls + i];
    uses[i] = (slot->called ? CALLED : 0u) | (slot->used ? USED : 0u) | (slot->missed ? MISSED : 0u);
  }
  memcpy(h.magic, magic, sizeof magic);
  h.check = check_of(&s->file, &h, site);
  memcpy(at, &h, sizeof h);
}

void pml__scan_cache_put(const struct pml__scan *s) {
  char path[PATH_MAX];
  int saved = errno;
  size_t n = s->n - s->ncalls;
  size_t bytes = sizeof(struct head) + s->nsites * sizeof *s->site + s->nstored * sizeof *s->stored + n;
  if (folder[0] == '\0' || n > SLOTS_MAX || s->nsites > SITES_MAX || s->nstored > SITES_MAX || !may_write()) return;
  unsigned char *at = malloc(bytes);
  if (at != NULL) {
    fill(at, s);
    path_of(path, &s->file);
    put(path, at, bytes);
  }
  free(at);
  errno = saved;
}
