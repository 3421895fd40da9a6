/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_code.h - patching of calls through slots whose address the code also takes: the
 * calls use a second slot.
 *
 * The second slot lies in memory near the code and has the thunk; the first keeps the function's address for whoever
 * compares or stores it. One instruction changes in 4 bytes, the distance to its slot; both slots lead to the function.
 * A text page becomes private to the process and writable for that moment (4 KiB each); where the system refuses that,
 * nothing is changed. All of it under the lock of pml_intercept.c.
 */
#ifndef PML_INTERCEPT_CODE_H
#define PML_INTERCEPT_CODE_H

#include "adapter/intercept/pml_intercept.h"
#include "adapter/intercept/pml_intercept_object.h"
#include "adapter/intercept/pml_intercept_scans.h"

struct pml__code_change {
  uintptr_t operand, from, to;
  uint32_t function; /* of pml__unrecorded_note() */
};

/* Of one object. {0} is empty; ended by pml__code_apply(). */
struct pml__code {
  struct pml__code_change *change;
  size_t n, room;
};

/*
 * pml__code_add - from pml__code_apply() on calls at @site, through the slot @at of @o, lead to @thunk; those of a slot
 * that was added before at once. @function: the one to mark where that is impossible. Returns 0 or -ENOMEM.
 */
int pml__code_add(struct pml__code *c, const struct pml__object *o, uintptr_t *at, const struct pml__scan_site *site,
                  size_t n, uintptr_t thunk, uint32_t function);
void pml__code_apply(struct pml__code *c, const struct pml__object *o);

/* pml__code_restore - second slots have what @original says of their thunks. pml__code_forget - those of objects that
 * are not loaded any more are unmapped. pml__code_give_up - another thread of the parent was using all of this. */
void pml__code_restore(uintptr_t (*original)(uintptr_t value));
void pml__code_forget(const struct pml__objects *all);
void pml__code_give_up(void);

/*
 * Chosen functions of which calls may be missing (pml_intercept_unrecorded()). pml__unrecorded_note - one more, or
 * again; returns its number. pml__unrecorded_calls - calls through its slot are missing, not only those by pointer.
 */
uint32_t pml__unrecorded_note(const char *name, const char *library);
void pml__unrecorded_calls(uint32_t number);
int pml__unrecorded_visit(pml_intercept_unrecorded_visit *visit, void *arg);
void pml__unrecorded_forget(void);

#endif
