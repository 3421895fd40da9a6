/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_text.c - code of a loaded object.
 *
 * Reading code where it is mapped costs a fault for every few pages, page table entries, and their removal: together
 * more than the scan. So the code is read from the file into a buffer, if the file is the mapped one, which is checked
 * by its build id. Otherwise it is read in memory.
 */
#include "adapter/intercept/pml_intercept_object.h"

#include "base/pml_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUFFER ((size_t)65536)
#define NOTES_MAX ((size_t)1024)

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

/* ---- the same file ---- */

static bool has_build_id(const unsigned char *notes, size_t bytes) {
  Elf64_Nhdr note;
  for (size_t at = 0; bytes - at >= sizeof note;) {
    memcpy(&note, notes + at, sizeof note);
    size_t name = at + sizeof note, left = bytes - name;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz >= 8 && left >= 4 &&
        note.n_descsz <= left - 4 && memcmp(notes + name, "GNU", 4) == 0)
      return true;
    uint64_t next = (((uint64_t)note.n_namesz + 3) & ~UINT64_C(3)) + (((uint64_t)note.n_descsz + 3) & ~UINT64_C(3));
    if (next >= left) return false;
    at = name + (size_t)next;
  }
  return false;
}

/* The program header and its description of notes are in memory that the loader has read; notes are in a mapped
 * segment. */
static bool has_same_build_id(int fd, const struct pml__object *o) {
  unsigned char there[NOTES_MAX];
  for (size_t i = 0; i < o->nphdr; i++) {
    const Elf64_Phdr *p = &o->phdr[i];
    size_t n = p->p_filesz;
    if (p->p_type != PT_NOTE || n > sizeof there || pml__file_read(fd, there, n, (off_t)p->p_offset) != (ssize_t)n)
      continue;
    if (has_build_id(there, n) && pml__object_has_bytes(o, o->base + p->p_vaddr, there, n)) return true;
  }
  return false;
}

static int open_same(const struct pml__object *o) {
  int fd = o->path[0] != '\0' ? open(o->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
  if (fd < 0 || has_same_build_id(fd, o)) return fd;
  (void)close(fd);
  return -1;
}

/* ---- reading ---- */

/* Each piece begins with the last @shared bytes of its predecessor. */
static bool read_segment(int fd, const struct pml__segment *s, size_t shared, void *buffer, pml__seen_text *seen,
                         void *arg) {
  uint64_t at = 0, end = s->filled < s->hi - s->lo ? s->filled : s->hi - s->lo;
  while (end - at > shared) {
    size_t n = end - at < BUFFER ? (size_t)(end - at) : BUFFER;
    ssize_t got = pml__file_read(fd, buffer, n, (off_t)(s->offset + at));
    if (got < 0) return false;
    seen(arg, buffer, (size_t)got, s->lo + at);
    if ((size_t)got < n) break;
    at += n - shared;
  }
  return true;
}

static bool read_file(const struct pml__object *o, size_t shared, pml__seen_text *seen, void *arg) {
  int fd = open_same(o);
  void *buffer = fd >= 0 ? malloc(BUFFER) : NULL;
  bool whole = buffer != NULL;
  for (uint32_t i = 0; i < o->nsegments && whole; i++)
    if ((o->segment[i].flags & PF_X) != 0) whole = read_segment(fd, &o->segment[i], shared, buffer, seen, arg);
  free(buffer);
  if (fd >= 0) (void)close(fd);
  return whole;
}

/* Populate all pages at once, if the kernel supports it (Linux 5.14). False: some cannot be read, as headers that were
 * changed after loading may claim. */
static bool bring(uintptr_t lo, size_t n) {
  uintptr_t from = lo & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
  void *at = (void *)from; /* NOLINT(performance-no-int-to-ptr) */
  return madvise(at, lo + n - from, MADV_POPULATE_READ) == 0 || madvise(at, 0, MADV_POPULATE_READ) != 0;
}

void pml__object_read_text(const struct pml__object *o, size_t shared, pml__seen_text *seen, void *arg) {
  int saved = errno;
  if (!read_file(o, shared, seen, arg))
    for (uint32_t i = 0; i < o->nsegments; i++) {
      const struct pml__segment *s = &o->segment[i];
      size_t n = (s->flags & PF_X) != 0 ? pml__object_readable(o, s) : 0;
      if (n == 0 || !bring(s->lo, n)) continue;
      seen(arg, (const uint8_t *)s->lo, n, s->lo); /* NOLINT(performance-no-int-to-ptr) */
    }
  errno = saved;
}
