/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_wrapped.h - functions with wrappers, so that no call is counted twice. */
#ifndef PML_INTERCEPT_WRAPPED_H
#define PML_INTERCEPT_WRAPPED_H

#include "adapter/wrap/pml_wrap.h"

/* The functions for which an object has wrappers, sorted by name; in the object's own memory. */
struct pml__wrap_list {
  struct pml_wrap_function **at;
  size_t n;
};

/*
 * pml__wrap_listed - the wrapped functions of a loaded object, from its note. The list is empty if the object is not
 * relocated yet, or its note is damaged. The list is sorted in place, once. Thread-safe. pml__wrap_lists - whether
 * @name is in the list, or is the linker's name of a wrapper of a function in it.
 */
struct pml__object;
struct pml__wrap_list pml__wrap_listed(const struct pml__object *o);
bool pml__wrap_lists(const struct pml__wrap_list *list, const char *name);

/*
 * pml__wrap_library - the file that contains @f: the file that its wrapper was made for, unless another one is loaded
 * instead, such as another version of the library. @to has room for the name. Not async-signal-safe.
 */
const char *pml__wrap_library(const struct pml_wrap_function *f, char *to, size_t bytes);

/*
 * pml_wrap_function.records: one of the first three; whether the choice of interception excludes the function; and
 * whether its calls are counted. Either of the last two makes it negative, so one comparison shows that a call needs
 * neither.
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

/* pml__wrap_choose - leave out functions of @list, wrapped by @o, that @c does not select, and count calls of selected
 * ones if calls are counted; NULL: neither. */
struct pml__choice;
void pml__wrap_choose(const struct pml__object *o, const struct pml__wrap_list *list, const struct pml__choice *c);

#endif
