/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/otf2/pml_otf2_cut.c - truncated event files: a copy of the complete records, with an end marker.
 *
 * A file is a sequence of chunks of one size. A chunk begins with the byte 3, the byte order and two numbers of eight
 * bytes; records follow, and the byte 2 ends it. A record is a type, a length, and as many bytes; the length 255 is
 * followed by a length of eight bytes. A time, type 5, is eight bytes without a length. Types from 10 on are events;
 * times and attributes precede their event. An enter or leave, types 12 and 13, has the bytes of its region instead of
 * a length; 255 means no bytes. The byte 1 after the last chunk ends the file (OTF2 3.0).
 */
#include "read/otf2/pml_otf2_cut.h"

#include "base/pml_error.h"
#include "base/pml_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  END_OF_FILE = 1,
  END_OF_CHUNK,
  CHUNK,
  ATTRIBUTES,
  TIME,
  FIRST_EVENT = 10,
  ENTER = 12,
  LEAVE,
  HEADER = 18,
  LONG = 255,
  LITTLE = 0x42
};

/* The position behind the record at @at; 0: it is incomplete. */
static size_t record_end(const uint8_t *bytes, size_t at, size_t end, bool little) {
  const uint8_t type = bytes[at++];
  uint64_t n = 8;
  if (type != TIME) {
    if (at == end) return 0;
    n = bytes[at++];
    if (n == LONG && (type == ENTER || type == LEAVE)) return at;
    if (n == LONG) {
      if (end - at < sizeof n || !little) return 0;
      memcpy(&n, bytes + at, sizeof n);
      at += sizeof n;
    }
  }
  return n <= end - at ? at + (size_t)n : 0;
}

/* The number of bytes of an event file, in chunks of @chunk bytes, up to its last complete event; 0: no complete event,
 * or not an event file. *@events: the number of these events. Cost: a pass over the records. */
static size_t whole_bytes(const uint8_t *bytes, size_t size, size_t chunk, uint64_t *events) {
  size_t whole = 0;
  *events = 0;
  for (size_t from = 0; from < size && size - from > HEADER && bytes[from] == CHUNK; from += chunk) {
    size_t end = size - from > chunk ? from + chunk : size, at = from + HEADER;
    bool little = bytes[from + 1] == LITTLE;
    while (at != 0 && at < end && bytes[at] != END_OF_CHUNK) {
      uint8_t type = bytes[at];
      at = type >= ATTRIBUTES ? record_end(bytes, at, end, little) : 0;
      if (at == 0 || type < FIRST_EVENT || from + chunk - at < 2) continue;
      whole = at;
      ++*events;
    }
    if (at == 0 || at >= end || chunk == 0) break;
  }
  return whole;
}

/* ---- an archive of links and repaired files ---- */

static bool put(int fd, const uint8_t *bytes, size_t n) {
  while (n > 0) {
    ssize_t got = write(fd, bytes, n);
    if (got <= 0) return false;
    bytes += got;
    n -= (size_t)got;
  }
  return true;
}

/* Returns the number of complete events; 0: none, or they could not be copied. */
static uint64_t repair(const char *from, const char *to, size_t chunk) {
  static const uint8_t ending[] = {END_OF_CHUNK, END_OF_FILE};
  uint64_t size;
  int in = pml_file_open(from, SIZE_MAX, &size);
  uint8_t *bytes = in >= 0 && size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, in, 0) : MAP_FAILED;
  if (in >= 0) close(in);
  if (bytes == MAP_FAILED) return 0;
  uint64_t events;
  size_t n = whole_bytes(bytes, (size_t)size, chunk, &events);
  int out = n > 0 ? open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
  bool done = out >= 0 && put(out, bytes, n) && put(out, ending, sizeof ending);
  if (out >= 0 && close(out) != 0) done = false;
  (void)munmap(bytes, (size_t)size);
  return done ? events : 0;
}

/* The archive's file @name, such as "/0.evt", or the same in the folder of links; returns false if the name is too
 * long. */
static bool path_of(char *path, const char *anchor, const char *name) {
  int n = snprintf(path, PATH_MAX, "%.*s%s", (int)(strlen(anchor) - strlen(".otf2")), anchor, name);
  return n > 0 && n < PATH_MAX;
}

static bool link_file(const struct pml_otf2_read *t, const char *to, const char *name) {
  char from[PATH_MAX], whole[PATH_MAX], link[PATH_MAX];
  if (!path_of(from, t->path, name) || !path_of(link, to, name)) return false;
  return realpath(from, whole) == NULL || symlink(whole, link) == 0; /* the file may be missing */
}

static bool add_location(struct pml_otf2_read *t, const char *to, size_t i, size_t chunk) {
  char name[32], from[PATH_MAX], repaired[PATH_MAX];
  uint64_t id = pml__otf2_id(&t->locations, i);
  (void)snprintf(name, sizeof name, "/%" PRIu64 ".def", id);
  if (!link_file(t, to, name)) return false;
  (void)snprintf(name, sizeof name, "/%" PRIu64 ".evt", id);
  if (t->whole[i] == 0) return link_file(t, to, name);
  t->whole[i] = path_of(from, t->path, name) && path_of(repaired, to, name) ? repair(from, repaired, chunk) : 0;
  return t->whole[i] > 0 || link_file(t, to, name);
}

static bool add_files(struct pml_otf2_read *t, const char *to, size_t chunk) {
  char folder[PATH_MAX];
  bool done =
      path_of(folder, to, "") && mkdir(folder, 0700) == 0 && link_file(t, to, ".otf2") && link_file(t, to, ".def");
  for (size_t i = 0; i < t->locations.n && done; i++)
    if (pml_otf2_read_location(t, i)->events > 0) done = add_location(t, to, i, chunk);
  return done;
}

static void remove_files(const struct pml_otf2_read *t, char *to) {
  char path[PATH_MAX], name[32];
  for (size_t i = 0; i < t->locations.n; i++) {
    uint64_t id = pml__otf2_id(&t->locations, i);
    (void)snprintf(name, sizeof name, "/%" PRIu64 ".def", id);
    if (path_of(path, to, name)) (void)unlink(path);
    (void)snprintf(name, sizeof name, "/%" PRIu64 ".evt", id);
    if (path_of(path, to, name)) (void)unlink(path);
  }
  if (path_of(path, to, "")) (void)rmdir(path);
  if (path_of(path, to, ".def")) (void)unlink(path);
  (void)unlink(to);
  *strrchr(to, '/') = '\0';
  (void)rmdir(to);
}

static bool find_cut(struct pml_otf2_read *t) {
  bool any = false;
  for (size_t i = 0; i < t->locations.n; i++) {
    char name[32];
    (void)snprintf(name, sizeof name, "/%" PRIu64 ".evt", pml__otf2_id(&t->locations, i));
    t->whole[i] = pml_otf2_read_location(t, i)->events > 0 && pml__otf2_check_end(t, name) == PML_EFORMAT;
    any |= t->whole[i] > 0;
  }
  return any;
}

void pml__otf2_repair(struct pml_otf2_read *t) {
  char to[PATH_MAX];
  const char *where = secure_getenv("TMPDIR");
  t->whole = calloc(t->locations.n + 1, sizeof *t->whole);
  if (t->whole == NULL || !find_cut(t)) return;
  int n = snprintf(to, sizeof to, "%s/pmlua-cut-XXXXXX", where != NULL && *where != '\0' ? where : "/tmp");
  bool made = n > 0 && (size_t)n < sizeof to - sizeof "/traces.otf2" && mkdtemp(to) != NULL;
  if (made) (void)snprintf(to + n, sizeof to - (size_t)n, "/traces.otf2");
  if (made && add_files(t, to, (size_t)t->chunk)) t->repaired = strdup(to);
  if (made && t->repaired == NULL) remove_files(t, to);
  if (t->repaired == NULL) memset(t->whole, 0, t->locations.n * sizeof *t->whole);
}

void pml__otf2_forget_mended(struct pml_otf2_read *t) {
  if (t->repaired != NULL) remove_files(t, t->repaired);
  free(t->repaired);
  free(t->whole);
  t->repaired = NULL;
  t->whole = NULL;
}

int pml__otf2_was_cut(const struct pml_otf2_read *t, size_t i) {
  if (t->whole == NULL || t->whole[i] == 0) return 0;
  return pml_fail(PML_EFORMAT, "%.300s: cut: the end of its file '/%" PRIu64 ".evt' is missing", t->path,
                  pml__otf2_id(&t->locations, i));
}
