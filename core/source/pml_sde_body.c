/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/pml_sde_body.c - what is behind an event's name, and the object file that it lives in. */
#include "source/pml_sde_private.h"

#include <dlfcn.h>
#include <stdlib.h>

struct pml__sde_body *pml__sde_body_new(enum pml_sde_kind kind, enum pml_type type, unsigned mode) {
  struct pml__sde_body *b = calloc(1, sizeof *b);
  if (b == NULL) return NULL;
  b->kind = kind;
  b->type = type;
  b->mode = mode;
  return b;
}

/*
 * A reference to the object file that holds @address; NULL for the heap, a stack or the program itself, which the
 * loader does not unload.
 */
void *pml__sde_object_hold(const void *address) {
  Dl_info info;
  if (address == NULL || dladdr(address, &info) == 0 || info.dli_fname == NULL || info.dli_fname[0] == '\0')
    return NULL;
  return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

void pml__sde_object_drop(void *object) {
  if (object != NULL) (void)dlclose(object);
}

static void recorder_leave(struct pml__sde_recorder *r) {
  if (r == NULL || atomic_fetch_sub_explicit(&r->users, 1, memory_order_acq_rel) > 1) return;
  pml_recorder_close(r->recorder);
  free(r);
}

static void overflow_free(struct pml__sde_overflow *o) {
  while (o != NULL) {
    struct pml__sde_overflow *before = o->before;
    free(o);
    o = before;
  }
}

void pml__sde_body_free(struct pml__sde_body *b) {
  if (b == NULL) return;
  pml__sde_counter_free(b->counter);
  recorder_leave(b->recorder);
  pml__sde_set_free(b->set);
  pml__sde_members_free(atomic_load_explicit(&b->members, memory_order_relaxed));
  pml__sde_members_free(b->outgrown);
  overflow_free(atomic_load_explicit(&b->overflow, memory_order_relaxed));
  for (unsigned i = 0; i < PML__SDE_OBJECTS; i++) pml__sde_object_drop(b->object[i]);
  free(b);
}
