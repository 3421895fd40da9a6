/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_read.c - lifecycle of an archive reader, and access to its definitions. */
#include "read/otf2/pml_otf2_read_private.h"

#include "base/pml_error.h"
#include "base/pml_file.h"
#include "read/otf2/pml_otf2_cut.h"
#include "read/otf2/write/pml_otf2_error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- open and close ---- */

int pml__otf2_failed_read(const struct pml_otf2_read *t, const char *what, OTF2_ErrorCode code) {
  return pml__otf2_failed(code, what, t->path);
}

/*
 * An anchor is a magic number, fixed fields, three strings, and a number of properties, each of them two strings.
 * libotf2 multiplies this number without a look at the file, and writes behind the memory that it got; so the file must
 * have room for them. It also leaks 10 KB at each failed open.
 */
#define STRINGS_AT 46u
#define ANCHOR_BYTES (1u << 20) /* that the strings are in */
static int read_anchor(int fd, uint64_t size, uint8_t *bytes) {
  static const char magic[] = "\3BOTF2";
  ssize_t n = pread(fd, bytes, ANCHOR_BYTES, 0);
  if (n < (ssize_t)STRINGS_AT || memcmp(bytes, magic, sizeof magic - 1) != 0) return -ENOEXEC;
  size_t at = STRINGS_AT;
  for (unsigned strings = 0; strings < 3; strings++) {
    const uint8_t *end = memchr(bytes + at, 0, (size_t)n - at);
    if (end == NULL) return -EBADMSG;
    at = (size_t)(end + 1 - bytes);
  }
  uint32_t properties;
  if ((size_t)n - at < sizeof properties) return -EBADMSG;
  memcpy(&properties, bytes + at, sizeof properties);
  return properties <= (size - at) / 2 && properties < INT32_MAX ? 0 : -EBADMSG;
}

static int check_anchor(const struct pml_otf2_read *t) {
  static const char ending[] = ".otf2";
  uint64_t size;
  size_t n = strlen(t->path), m = sizeof ending - 1;
  int fd = pml_file_open(t->path, UINT64_MAX, &size);
  if (fd < 0) return fd;
  uint8_t *bytes = malloc(ANCHOR_BYTES);
  int err = bytes != NULL ? read_anchor(fd, size, bytes) : -ENOMEM;
  free(bytes);
  close(fd);
  if (err == -ENOMEM) return pml_fail(-ENOMEM, "%.300s: no memory to read it", t->path);
  if (err == -EBADMSG) return pml_fail(PML_EFORMAT, "%.300s: a damaged anchor file of an OTF2 archive", t->path);
  if (err == 0 && n > m && strcmp(t->path + n - m, ending) == 0) return 0;
  return pml_fail(PML_EFORMAT, "%.300s: not an OTF2 archive; name its anchor file, which ends in .otf2", t->path);
}

static int open_archive(struct pml_otf2_read *t) {
  uint64_t definitions;
  t->reader = OTF2_Reader_Open(t->path);
  if (t->reader == NULL) return pml__otf2_failed_read(t, "open", OTF2_ERROR_INVALID);
  OTF2_ErrorCode code = OTF2_Reader_SetSerialCollectiveCallbacks(t->reader);
  if (code == OTF2_SUCCESS) code = OTF2_Reader_GetCreator(t->reader, &t->creator);
  if (code == OTF2_SUCCESS) code = OTF2_Reader_GetMachineName(t->reader, &t->machine);
  if (code == OTF2_SUCCESS) code = OTF2_Reader_GetChunkSize(t->reader, &t->chunk, &definitions);
  return pml__otf2_is_fine(code) ? 0 : pml__otf2_failed_read(t, "open", code);
}

int pml_otf2_read_open(struct pml_otf2_read **out, const char *path) {
  *out = NULL;
  struct pml_otf2_read *t = calloc(1, sizeof *t);
  if (t == NULL) return pml_fail(-ENOMEM, "%.300s: no memory to read it", path);
  pml__otf2_definitions_open(t);
  t->path = strdup(path);
  pml__otf2_forget();
  int err = t->path != NULL ? pml__otf2_begin() : pml_fail(-ENOMEM, "%.300s: no memory to read it", path);
  if (err == 0) err = check_anchor(t);
  if (err == 0) err = open_archive(t);
  if (err == 0) err = pml__otf2_check_end(t, ".def");
  if (err == 0) err = pml__otf2_read_definitions(t);
  if (err == 0) err = pml__otf2_look_at_files(t);
  if (err == 0) pml__otf2_repair(t);
  if (t->reader != NULL) (void)OTF2_Reader_Close(t->reader);
  t->reader = NULL;
  pml__otf2_forget();
  if (err == 0) {
    *out = t;
    return 0;
  }
  pml_otf2_read_close(t);
  return err;
}

void pml_otf2_read_close(struct pml_otf2_read *t) {
  if (t == NULL) return;
  pml__otf2_forget_mended(t);
  pml__otf2_definitions_close(t);
  free(t->undefined);
  free(t->path);
  free(t->creator);
  free(t->machine);
  free(t);
}

/* ---- definitions ---- */

void pml_otf2_read_about(const struct pml_otf2_read *t, struct pml_otf2_read_about *about) {
  *about = (struct pml_otf2_read_about){.creator = t->creator != NULL ? t->creator : "",
                                        .machine = t->machine != NULL ? t->machine : "",
                                        .ticks_per_second = t->resolution,
                                        .length_s = (double)t->length / (double)t->resolution,
                                        .began_ns = t->realtime,
                                        .nregions = t->regions.n,
                                        .nprocesses = t->processes.n,
                                        .nlocations = t->locations.n,
                                        .nmetrics = t->metrics.n,
                                        .nhosts = t->hosts,
                                        .nranks = t->world != NULL ? t->world->is.n : 0,
                                        .first = t->start,
                                        .length = t->length};
  for (size_t i = 0; i < t->locations.n; i++) about->events += pml_otf2_read_location(t, i)->events;
}

const struct pml_otf2_read_region *pml_otf2_read_region(const struct pml_otf2_read *t, size_t i) {
  return i < t->regions.n ? (const struct pml_otf2_read_region *)(const void *)t->regions.at + i : NULL;
}

const struct pml_otf2_read_process *pml_otf2_read_process(const struct pml_otf2_read *t, size_t i) {
  return i < t->processes.n ? (const struct pml_otf2_read_process *)(const void *)t->processes.at + i : NULL;
}

const struct pml_otf2_read_location *pml_otf2_read_location(const struct pml_otf2_read *t, size_t i) {
  return i < t->locations.n ? (const struct pml_otf2_read_location *)(const void *)t->locations.at + i : NULL;
}

const struct pml_otf2_read_metric *pml_otf2_read_metric(const struct pml_otf2_read *t, size_t i) {
  return i < t->metrics.n ? (const struct pml_otf2_read_metric *)(const void *)t->metrics.at + i : NULL;
}

const struct pml_otf2_read_node *pml_otf2_read_node(const struct pml_otf2_read *t, size_t i) {
  return i < t->nodes.n ? (const struct pml_otf2_read_node *)(const void *)t->nodes.at + i : NULL;
}

const struct pml_otf2_read_group *pml_otf2_read_group(const struct pml_otf2_read *t, size_t i) {
  return i < t->groups.n ? &((const struct pml__otf2_group *)(const void *)t->groups.at)[i].is : NULL;
}

const struct pml_otf2_read_comm *pml_otf2_read_comm(const struct pml_otf2_read *t, size_t i) {
  return i < t->comms.n ? (const struct pml_otf2_read_comm *)(const void *)t->comms.at + i : NULL;
}

const struct pml_otf2_read_property *pml_otf2_read_property(const struct pml_otf2_read *t, size_t i) {
  return i < t->properties.n ? (const struct pml_otf2_read_property *)(const void *)t->properties.at + i : NULL;
}
