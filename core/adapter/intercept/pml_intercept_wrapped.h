/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_wrapped.h - functions with wrappers, so that no call is counted twice. */
#ifndef PML_INTERCEPT_WRAPPED_H
#define PML_INTERCEPT_WRAPPED_H

#include "adapter/wrap/pml_wrap.h"

/* The functions that an object has wrappers for, sorted by their names; in the object's own memory. */
struct pml__wrap_list {
  struct pml_wrap_function **at;
  size_t n;
};

/*
 * pml__wrap_listed - those of a loaded object, by its note. One that is not relocated yet, or whose note is damaged,
 * has none. The list is sorted in place, once. Thread-safe. pml__wrap_lists - whether @name is one of them, or the name
 * that the linker gives to a wrapper of one.
 */
struct pml__object;
struct pml__wrap_list pml__wrap_listed(const struct pml__object *o);
bool pml__wrap_lists(const struct pml__wrap_list *list, const char *name);

/*
 * pml__wrap_library - the file that @f is in: the one that its wrapper was made for, unless another is loaded in its
 * place, as another version of the library. @to has room for the name. Not async-signal-safe.
 */
const char *pml__wrap_library(const struct pml_wrap_function *f, char *to, size_t bytes);

/*
 * pml_wrap_function.records: one of the first three; whether the choice of interception leaves the function out; and
 * whether its calls are counted. Of the last two either makes it negative: one comparison tells that a call is plain.
 */
enum {
  PML__WRAP_UNKNOWN,
  PML__WRAP_NO_RECORDERS,
  PML__WRAP_RECORDERS,
  PML__WRAP_LEFT_OUT = 4,
  PML__WRAP_COUNTED = 8,
  PML__WRAP_KNOWN = PML__WRAP_NO_RECORDERS | PML__WRAP_RECORDERS
};
#define PML__WRAP_NEGATIVE 0x80000000u

/* pml__wrap_choose - leave out those of @list, wrapped by @o, that @c does not choose, and count what is chosen if
 * calls are counted; NULL: neither. */
struct pml__choice;
void pml__wrap_choose(const struct pml__object *o, const struct pml__wrap_list *list, const struct pml__choice *c);

#endif
