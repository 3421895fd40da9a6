/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/read/otf2/pml_otf2_files.c - check of an archive's files before libotf2 opens them: regular,
 * complete, and their number of events.
 */
#include "read/otf2/pml_otf2_read_private.h"

#include "base/pml_error.h"
#include "base/pml_file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 3, LITTLE = 0x42, BIG = 0x23, HEADER = 18, ENDING = 2 };

/* libotf2 waits for a FIFO; this function refuses it. */
int pml__otf2_open_file(const struct pml_otf2_read *t, const char *name, uint64_t *size) {
  char path[PATH_MAX];
  const char *anchor = t->repaired != NULL ? t->repaired : t->path;
  int stem = (int)(strlen(anchor) - strlen(".otf2")); /* the anchor's name determines the location of the files */
  int length = snprintf(path, sizeof path, "%.*s%s", stem, anchor, name);
  if (length < 0 || (size_t)length >= sizeof path)
    return pml_fail(-ENAMETOOLONG, "%.300s: its path is too long", t->path);
  return pml_file_open(path, UINT64_MAX, size);
}

void pml__otf2_file_name(char name[PML__OTF2_NAME], uint64_t location, const char *kind) {
  (void)snprintf(name, PML__OTF2_NAME, "/%" PRIu64 ".%s", location, kind);
}

/* libotf2 ends each file with the records "end of chunk" and "end of file". If they are missing it reads on in
 * uninitialised memory: it returns events that never happened, or never ends. */
static bool has_end(int fd, uint64_t size) {
  static const char ending[ENDING] = {2, 1};
  char last[ENDING];
  return size >= ENDING && pread(fd, last, ENDING, (off_t)(size - ENDING)) == ENDING &&
         memcmp(last, ending, ENDING) == 0;
}

int pml__otf2_check_end(const struct pml_otf2_read *t, const char *name) {
  uint64_t size;
  int fd = pml__otf2_open_file(t, name, &size);
  if (fd < 0) return fd == -ENOENT ? 0 : fd;
  bool is = has_end(fd, size);
  close(fd);
  return is ? 0 : pml_fail(PML_EFORMAT, "%.300s: cut: the end of its file '%s' is missing", t->path, name);
}

/* With an unknown byte order libotf2 reads invalid numbers. */
static int check_order(const struct pml_otf2_read *t, const char *name) {
  char first[2];
  int fd = pml__otf2_open_file(t, name, NULL);
  if (fd < 0) return fd == -ENOENT ? 0 : fd;
  bool is = pread(fd, first, sizeof first, 0) == sizeof first && (first[1] == BIG || first[1] == LITTLE);
  close(fd);
  return is ? 0 : pml_fail(PML_EFORMAT, "%.300s: damaged: its file '%s' has no byte order", t->path, name);
}

int pml__otf2_check_file(const struct pml_otf2_read *t, uint64_t location, const char *kind) {
  char name[PML__OTF2_NAME];
  pml__otf2_file_name(name, location, kind);
  int err = pml__otf2_check_end(t, name);
  return err < 0 ? err : check_order(t, name);
}

int pml__otf2_check_definitions(const struct pml_otf2_read *t, size_t i) {
  uint64_t id = pml__otf2_id(&t->locations, i);
  if (!t->undefined[i]) return pml__otf2_check_file(t, id, "def");
  return pml_fail(PML_EFORMAT, "%.300s: its file '/%" PRIu64 ".def' with the definitions is missing", t->path, id);
}

/* ---- events ---- */

static uint64_t number(const uint8_t *at, bool little) {
  uint64_t n = 0;
  for (size_t i = 0; i < sizeof n; i++) n |= (uint64_t)at[little ? i : sizeof n - 1 - i] << 8 * i;
  return n;
}

/* The header of a chunk contains the numbers of its first and last event, counted from 1. The last chunk is the
 * remainder after complete ones. Returns false if the file is truncated, or in another format (compressed). */
static bool count(int fd, uint64_t size, uint64_t chunk, uint64_t *events) {
  uint8_t header[HEADER];
  if (chunk == 0 || size < HEADER + ENDING || !has_end(fd, size)) return false;
  uint64_t at = (size - ENDING) / chunk * chunk;
  if (pread(fd, header, HEADER, (off_t)at) != HEADER || header[0] != CHUNK) return false;
  if (header[1] != LITTLE && header[1] != BIG) return false;
  *events = number(header + HEADER - 8, header[1] == LITTLE);
  return *events <= size / 2; /* an event has at least two bytes */
}

/* Uses the events in a location's file, regardless of their number in the definition. */
static void count_events(const struct pml_otf2_read *t, struct pml_otf2_read_location *l) {
  char name[PML__OTF2_NAME];
  uint64_t size, events;
  pml__otf2_file_name(name, l->id, "evt");
  int fd = pml__otf2_open_file(t, name, &size);
  if (fd == -ENOENT) return;
  if (fd >= 0 && count(fd, size, t->chunk, &events))
    l->events = events;
  else if (l->events == 0)
    l->events = fd < 0 || size > 0; /* reading it will report the reason */
  if (fd >= 0) close(fd);
}

static bool has_definitions(const struct pml_otf2_read *t, uint64_t location) {
  char name[PML__OTF2_NAME];
  pml__otf2_file_name(name, location, "def");
  int fd = pml__otf2_open_file(t, name, NULL);
  if (fd >= 0) close(fd);
  return fd != -ENOENT;
}

/* Whether the archive's folder contains event files. */
static bool has_events(const struct pml_otf2_read *t) {
  char path[PATH_MAX];
  int length = snprintf(path, sizeof path, "%.*s", (int)(strlen(t->path) - strlen(".otf2")), t->path);
  DIR *dir = length > 0 && (size_t)length < sizeof path ? opendir(path) : NULL;
  bool has = false;
  for (const struct dirent *e; !has && dir != NULL && (e = readdir(dir)) != NULL;) {
    size_t n = strlen(e->d_name);
    has = n > 4 && strcmp(e->d_name + n - 4, ".evt") == 0;
  }
  if (dir != NULL) closedir(dir);
  return has;
}

/* If any location has a definition file, the writer wrote one for each location with events. */
int pml__otf2_look_at_files(struct pml_otf2_read *t) {
  struct pml_otf2_read_location *location = (void *)t->locations.at;
  bool any = false;
  t->undefined = calloc(t->locations.n + 1, sizeof *t->undefined);
  if (t->undefined == NULL) return pml_fail(-ENOMEM, "%.300s: no memory to read it", t->path);
  if (t->locations.n == 0 && has_events(t))
    return pml_fail(PML_EFORMAT, "%.300s: damaged: it has files of events, and its definitions have no location",
                    t->path);
  for (size_t i = 0; i < t->locations.n; i++) {
    bool has = has_definitions(t, location[i].id);
    location[i].said = location[i].events;
    count_events(t, &location[i]);
    t->undefined[i] = !has;
    any |= has;
  }
  if (!any) memset(t->undefined, 0, t->locations.n * sizeof *t->undefined);
  return 0;
}
