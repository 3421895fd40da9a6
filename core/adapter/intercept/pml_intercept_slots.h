/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_slots.h - slots of calls between loaded objects: resolving and writing them. */
#ifndef PML_INTERCEPT_SLOTS_H
#define PML_INTERCEPT_SLOTS_H

#include "adapter/intercept/pml_intercept_choice.h"
#include "adapter/intercept/pml_intercept_code.h"
#include "adapter/intercept/pml_intercept_exports.h"
#include "adapter/intercept/pml_intercept_object.h"

#define PML__AHEAD 4u /* distance between two steps, in slots; a power of two */

struct pml__scan_slot;

/*
 * Names and tables of many libraries exceed the caches, and each slot needs other parts of them, one after the other.
 * So a slot passes through three steps before it is filled; each prefetches the data of the next one. These are only
 * hints: correctness does not depend on them.
 */
struct pml__ahead {
  uintptr_t *at; /* the slot; NULL: not a slot */
  uint32_t hash; /* hash of its name, if it must be looked up; 0: it need not */
  struct pml__export likely;
};

/* One scan. */
struct pml__slots {
  struct pml__objects all;
  const struct pml__choice *choice;
  struct pml_intercept_stats *stats;
  struct pml__exports *exports; /* NULL: not needed yet; owned */
  bool any_wanted, any_hooked;
  size_t asked;                            /* unbound slots of objects loaded with the program */
  struct pml__ahead ahead[4 * PML__AHEAD]; /* for the next slots, by number */
  uint32_t hash;                           /* hash of the current slot's name; 0: unknown */
  struct pml__code code;                   /* calls of the object whose code is patched */
  bool again, unbound; /* the object was inspected before; the loader binds some of its slots later */
};

/* The steps: the first gets @name, of @n bytes, of an unbound slot, if there is an index. */
void pml__slots_first(struct pml__slots *x, struct pml__ahead *a, const char *name, size_t n);
void pml__slots_second(const struct pml__slots *x, struct pml__ahead *a);
void pml__slots_third(const struct pml__ahead *a);

/* The target of @o's reference to @name, its symbol @symbol; 0: the loader decides later. */
uintptr_t pml__slots_resolve(struct pml__slots *x, const struct pml__object *o, size_t symbol, const char *name,
                             size_t n);

/* pml__slots_role - the role of @o by its name or, if the name is unknown, by its exports. It must be pinned. */
enum pml__hooks_role pml__slots_role(struct pml__object *o);

#endif
