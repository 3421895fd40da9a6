/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/substrate/trace/pml_carry.h - serialization of records between processes that write an archive together.
 * Internal.
 *
 * One function describes a record in both directions: it carries each field, which a writing carrier appends and a
 * reading one sets. Nothing in a file is trusted: a missing or impossible field sets @failed, and is 0 or "" then. The
 * caller frees lists that were read with free().
 */
#ifndef PML_CARRY_H
#define PML_CARRY_H

#include "base/pml_pack.h"

struct pml__carry {
  bool reads, failed;
  struct pml__pack out;
  struct pml__unpack in;
  void *bytes; /* of the file that is read */
};

static inline bool pml__carry_failed(const struct pml__carry *c) {
  return c->failed || c->in.failed || c->out.failed;
}

void pml__carry_64(struct pml__carry *c, uint64_t *v);
void pml__carry_32(struct pml__carry *c, uint32_t *v);
void pml__carry_int(struct pml__carry *c, int32_t *v);
void pml__carry_bool(struct pml__carry *c, bool *v);
void pml__carry_real(struct pml__carry *c, double *v);
/* A text that is read is allocated. */
void pml__carry_text(struct pml__carry *c, char **text);
/* The number of elements; a reading carrier also allocates @list, zeroed, with one element more. */
void pml__carry_list(struct pml__carry *c, void **list, size_t *n, size_t bytes_each);

/*
 * pml__carry_begin - begin to write; or, with a path, to read that file. pml__carry_end - free the carrier; what was
 * written goes to the file @path, whole or not at all. Both return 0, -errno, or PML_EFORMAT if a field failed.
 */
int pml__carry_begin(struct pml__carry *c, const char *path);
int pml__carry_end(struct pml__carry *c, const char *path);

#endif
