/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_slots.h - what filling slots and finding out where they lead share. */
#ifndef PML_INTERCEPT_SLOTS_H
#define PML_INTERCEPT_SLOTS_H

#include "adapter/intercept/pml_intercept_choice.h"
#include "adapter/intercept/pml_intercept_object.h"

struct pml__exports;
struct pml__scan_slot;

/* One scan. */
struct pml__slots {
  struct pml__objects all;
  const struct pml__choice *choice;
  struct pml_intercept_stats *stats;
  struct pml__exports *exports; /* NULL: not needed yet; owned */
  bool any_wanted, any_hooked;
  size_t asked;     /* slots of the program's first objects that were not filled yet */
  bool again, left; /* the object was looked at before; slots of it are left to the loader */
};

/* Where @o's reference to @name, its symbol @symbol, leads; 0: that is left to the loader. */
uintptr_t pml__slots_resolve(struct pml__slots *x, const struct pml__object *o, size_t symbol, const char *name,
                             size_t n);

#endif
