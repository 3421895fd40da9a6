/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/trace/pml_serialize.h - serialization of records between processes that write an archive together.
 * Internal.
 *
 * One function describes a record in both directions: it carries each field, which a writing carrier appends and a
 * reading one sets. Nothing in a file is trusted: a missing or impossible field sets @failed, and is 0 or "" then. The
 * caller frees lists that were read with free().
 */
#ifndef PML_SERIALIZE_H
#define PML_SERIALIZE_H

#include "base/pml_pack.h"

struct pml__serializer {
  bool reads, failed;
  struct pml__pack out;
  struct pml__unpack in;
  void *bytes; /* of the file that is read */
};

static inline bool pml__serialize_failed(const struct pml__serializer *c) {
  return c->failed || c->in.failed || c->out.failed;
}

void pml__serialize_64(struct pml__serializer *c, uint64_t *v);
void pml__serialize_32(struct pml__serializer *c, uint32_t *v);
void pml__serialize_int(struct pml__serializer *c, int32_t *v);
void pml__serialize_bool(struct pml__serializer *c, bool *v);
void pml__serialize_real(struct pml__serializer *c, double *v);
/* A text that is read is allocated. */
void pml__serialize_text(struct pml__serializer *c, char **text);
/* The number of elements; a reading carrier also allocates @list, zeroed, with one element more. */
void pml__serialize_list(struct pml__serializer *c, void **list, size_t *n, size_t bytes_each);

/*
 * pml__serialize_begin - begin to write; or, with a path, to read that file. pml__serialize_end - free the carrier;
 * what was written goes to the file @path, whole or not at all. Both return 0, -errno, or PML_EFORMAT if a field
 * failed.
 */
int pml__serialize_begin(struct pml__serializer *c, const char *path);
int pml__serialize_end(struct pml__serializer *c, const char *path);

#endif
