/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_names.h - names of a loaded object's functions, from its file. Internal. */
#ifndef PML_INTERCEPT_NAMES_H
#define PML_INTERCEPT_NAMES_H

#include "adapter/intercept/pml_intercept_object.h"

struct pml__name {
  uint64_t address; /* in the file */
  uint32_t bytes : 31, local : 1, name;
};

/* The functions of a file by address, from its symbol table, or its dynamic one if it is stripped. */
struct pml__names {
  struct pml__name *at; /* [n], sorted */
  size_t n;
  char *text; /* [ntext], ends in 0 */
  size_t ntext;
};

/* pml__names_read - read them. Returns 0, PML_EFORMAT, -ENOMEM or -errno; pair with pml__names_free(). */
int pml__names_read(struct pml__names *names, const char *path);
void pml__names_free(struct pml__names *names);

/* pml__names_find - the function that contains @address, or NULL. pml__names_text - its name. */
const struct pml__name *pml__names_find(const struct pml__names *names, uint64_t address);
const char *pml__names_text(const struct pml__names *names, const struct pml__name *name);

#endif
