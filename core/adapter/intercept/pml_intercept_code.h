/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_code.h - patching of calls through slots whose address the code also takes: the
 * calls use a second slot.
 *
 * The second slot lies in memory near the code and contains the thunk; the first keeps the function's address for code
 * that compares or stores it. Only 4 bytes of an instruction change, the distance to its slot; both slots lead to the
 * function. A text page becomes private to the process and briefly writable (4 KiB each); if the system refuses that,
 * no code is changed. All functions here need the lock of pml_intercept.c.
 */
#ifndef PML_INTERCEPT_CODE_H
#define PML_INTERCEPT_CODE_H

#include "adapter/intercept/pml_intercept.h"
#include "adapter/intercept/pml_intercept_object.h"
#include "adapter/intercept/pml_intercept_scans.h"

struct pml__code_change {
  uintptr_t operand, from, to;
  uint32_t function; /* number from pml__unrecorded_note() */
};

/* Changes of one object. {0} is empty; pml__code_apply() frees it. */
struct pml__code {
  struct pml__code_change *change;
  size_t n, room;
};

/*
 * pml__code_add - let calls at @site, through the slot @at of @o, lead to @thunk after pml__code_apply(), or at once if
 * the slot was added before. @function: marked if that is impossible. Returns 0 or -ENOMEM.
 */
int pml__code_add(struct pml__code *c, const struct pml__object *o, uintptr_t *at, const struct pml__scan_site *site,
                  size_t n, uintptr_t thunk, uint32_t function);
void pml__code_apply(struct pml__code *c, const struct pml__object *o);

/*
 * pml__code_map_near - @bytes of writable zeros less than @reach from all of the object; NULL: no such addresses are
 * free. pml__code_open, pml__code_close - make the code of a segment writable, and not. pml__code_is_alone - the
 * process has one thread; if threads are hidden from the process, it is assumed to have several.
 */
void *pml__code_map_near(const struct pml__object *o, size_t bytes, uintptr_t reach);
bool pml__code_open(const struct pml__segment *s);
void pml__code_close(const struct pml__segment *s);
bool pml__code_is_alone(void);

/*
 * pml__code_restore - replace the thunks in second slots by the result of @original. pml__code_forget - unmap second
 * slots of unloaded objects. pml__code_give_up - in a child, drop all slots, because another thread of the parent was
 * using them.
 */
void pml__code_restore(uintptr_t (*original)(uintptr_t value));
void pml__code_forget(const struct pml__objects *all);
void pml__code_give_up(void);

/*
 * Chosen functions some of whose calls may be missing (pml_intercept_unrecorded()). pml__unrecorded_note - add one, or
 * find an existing one; returns its number. pml__unrecorded_calls - note that calls through its slot are missing, not
 * only calls by pointer.
 */
uint32_t pml__unrecorded_note(const char *name, const char *library);
void pml__unrecorded_calls(uint32_t number);
int pml__unrecorded_visit(pml_intercept_unrecorded_visit *visit, void *arg);
void pml__unrecorded_forget(void);

#endif
