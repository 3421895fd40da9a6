/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_slots.h - slots of calls between loaded objects: resolving and writing them. */
#ifndef PML_INTERCEPT_SLOTS_H
#define PML_INTERCEPT_SLOTS_H

#include "adapter/intercept/pml_intercept_choice.h"
#include "adapter/intercept/pml_intercept_code.h"
#include "adapter/intercept/pml_intercept_exports.h"
#include "adapter/intercept/pml_intercept_object.h"

#define PML__AHEAD 4u /* slots from one step to the next; a power of two */

struct pml__scan_slot;

/*
 * Names and tables of many libraries do not fit into caches, and each slot needs other parts of them, one after the
 * other. So a slot takes three steps before it is filled, in each of which it fetches what the next one looks at.
 * These are hints: nothing depends on them.
 */
struct pml__ahead {
  uintptr_t *at; /* the slot; NULL: it is not one */
  uint32_t hash; /* of its name, if it is to be found; 0: it is not */
  struct pml__export likely;
};

/* One scan. */
struct pml__slots {
  struct pml__objects all;
  const struct pml__choice *choice;
  struct pml_intercept_stats *stats;
  struct pml__exports *exports; /* NULL: not needed yet; owned */
  bool any_wanted, any_hooked;
  size_t asked;                            /* slots of the program's first objects that were not filled yet */
  struct pml__ahead ahead[4 * PML__AHEAD]; /* of the slots that come next, by their numbers */
  uint32_t hash;                           /* of the name of the slot that is filled; 0: not known */
  struct pml__code code;                   /* calls of the object whose code changes */
  bool again, unbound; /* the object was looked at before; the loader binds some of its slots later */
};

/* The steps: the first has @name, of @n bytes, of a slot that is not filled yet, and there is an index. */
void pml__slots_first(struct pml__slots *x, struct pml__ahead *a, const char *name, size_t n);
void pml__slots_second(const struct pml__slots *x, struct pml__ahead *a);
void pml__slots_third(const struct pml__ahead *a);

/* Where @o's reference to @name, its symbol @symbol, leads; 0: the loader decides that later. */
uintptr_t pml__slots_resolve(struct pml__slots *x, const struct pml__object *o, size_t symbol, const char *name,
                             size_t n);

/* pml__slots_role - the role of @o by its name or, if that says nothing, by what it exports. It is pinned meanwhile. */
enum pml__hooks_role pml__slots_role(struct pml__object *o);

#endif
