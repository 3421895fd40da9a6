/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_exports.h - index of the names exported by all libraries that were loaded with
 * the program. */
#ifndef PML_INTERCEPT_EXPORTS_H
#define PML_INTERCEPT_EXPORTS_H

#include "adapter/intercept/pml_intercept_object.h"

struct pml__exports;

/* The index is valid as long as @all; pair with pml__exports_free(). NULL: no memory. Cost: some ten instructions for
 * each name; memory: 12 to 24 bytes. */
struct pml__exports *pml__exports_make(const struct pml__objects *all);
void pml__exports_free(struct pml__exports *e);

/*
 * The function with this name, of @n bytes and hash @hash (pml__object_hash()), if exactly one library exports the
 * name, once, as a global function in its default version; otherwise 0. Cost: one look-up for any number of libraries;
 * libraries with more than a million symbols, and from the 4096th on, are searched one by one.
 */
uintptr_t pml__exports_only(const struct pml__exports *e, const char *name, size_t n, uint32_t hash);

/*
 * Hints for the caches, in this order and some time apart.
 * Hints for the caches, in this order and some time apart. pml__exports_ahead - pml__exports_only() will be called for
 * a name with this hash. pml__exports_likely - its symbol, or the symbol of another name with the same hash; NULL:
 * none.
 */
struct pml__export {
  const struct pml__object *o;
  const Elf64_Sym *symbol;
};
void pml__exports_ahead(const struct pml__exports *e, uint32_t hash);
struct pml__export pml__exports_likely(const struct pml__exports *e, uint32_t hash);
void pml__export_ahead(const struct pml__export *x);

#endif
