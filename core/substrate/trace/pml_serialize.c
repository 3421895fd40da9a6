/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/pml_serialize.c - serialization of OTF2 records to files. */
#include "substrate/trace/pml_serialize.h"

#include "base/pml_error.h"
#include "base/pml_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX_BYTES (UINT64_C(1) << 40)

/* ---- fields ---- */

static uint64_t carry(struct pml__serializer *c, uint64_t v, uint64_t max) {
  if (c->reads) return pml__unpack_whole(&c->in, max);
  pml__pack_whole(&c->out, v);
  return v;
}

void pml__serialize_64(struct pml__serializer *c, uint64_t *v) {
  *v = carry(c, *v, UINT64_MAX);
}

void pml__serialize_32(struct pml__serializer *c, uint32_t *v) {
  *v = (uint32_t)carry(c, *v, UINT32_MAX);
}

void pml__serialize_int(struct pml__serializer *c, int32_t *v) {
  *v = (int32_t)(uint32_t)carry(c, (uint32_t)*v, UINT32_MAX);
}

void pml__serialize_bool(struct pml__serializer *c, bool *v) {
  *v = carry(c, *v, 1) != 0;
}

void pml__serialize_real(struct pml__serializer *c, double *v) {
  if (c->reads)
    *v = pml__unpack_real(&c->in);
  else
    pml__pack_real(&c->out, *v);
}

void pml__serialize_text(struct pml__serializer *c, char **text) {
  if (!c->reads) {
    pml__pack_text(&c->out, *text);
    return;
  }
  *text = strdup(pml__unpack_text(&c->in));
  c->failed |= *text == NULL;
}

/* An element takes a byte or more, which bounds what a damaged file can ask for. */
void pml__serialize_list(struct pml__serializer *c, void **list, size_t *n, size_t bytes_each) {
  *n = (size_t)carry(c, *n, c->reads ? c->in.left : SIZE_MAX);
  if (!c->reads) return;
  *list = calloc(*n + 1, bytes_each);
  if (*list == NULL) {
    *n = 0;
    c->failed = true;
  }
}

/* ---- files ---- */

static int read_all(struct pml__serializer *c, const char *path) {
  uint64_t size;
  int fd = pml_file_open(path, FILE_MAX_BYTES, &size);
  if (fd < 0) return fd;
  c->bytes = malloc(size + 1);
  ssize_t n = c->bytes != NULL ? pml__file_read(fd, c->bytes, size, -1) : 0;
  close(fd);
  c->in = (struct pml__unpack){.at = c->bytes, .left = n > 0 ? (size_t)n : 0};
  return c->bytes != NULL ? 0 : pml_fail(-ENOMEM, "no memory to read '%s'", path);
}

int pml__serialize_begin(struct pml__serializer *c, const char *path) {
  *c = (struct pml__serializer){.reads = path != NULL};
  return path != NULL ? read_all(c, path) : 0;
}

static int write_all(const struct pml__serializer *c, const char *path) {
  struct pml_file f;
  int err = pml_file_create(&f, path);
  if (err < 0) return err;
  err = pml__file_write(f.fd, c->out.at, c->out.n);
  if (err == 0) return pml_file_commit(&f);
  pml_file_discard(&f);
  return pml_fail(err, "%s: %s", path, pml_error_text(err));
}

int pml__serialize_end(struct pml__serializer *c, const char *path) {
  int err = 0;
  if (pml__serialize_failed(c))
    err = c->reads ? pml_fail(PML_EFORMAT, "%s: damaged; make the trace again", path)
                   : pml_fail(-ENOMEM, "no memory to write '%s'", path);
  else if (!c->reads)
    err = write_all(c, path);
  free(c->bytes);
  free(c->out.at);
  return err;
}
