/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_sde_body.c - bodies of events, and the object files that they belong to. */
#include "base/pml_error.h"
#include "base/pml_process.h"
#include "record/recorder/pml_recorder_lane.h"
#include "source/sde/pml_sde_private.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Atomic uint64_t pml__sde_compiler_epoch = 1;

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

/* ---- recorders ---- */

static struct {
  struct pml__lock lock;
  struct pml__sde_recorder *first;
} gone;

static bool is_same(const struct pml_recorder *r, const char *name, const struct pml_recorder_options *o) {
  struct pml_recorder_options had = pml_recorder_options(r);
  return strcmp(r->name, name) == 0 && had.type == o->type && (o->bytes == 0 || had.bytes == o->bytes) &&
         had.compare == o->compare && had.keep == o->keep && had.cap == o->cap;
}

static struct pml__sde_recorder *take_gone(const char *name, const struct pml_recorder_options *o) {
  pml__process_look();
  pml__lock_take(&gone.lock);
  struct pml__sde_recorder **at = &gone.first;
  while (*at != NULL && !is_same((*at)->recorder, name, o)) at = &(*at)->next;
  struct pml__sde_recorder *r = *at;
  if (r != NULL) __atomic_store_n(at, r->next, __ATOMIC_RELEASE);
  pml__lock_leave(&gone.lock);
  return r;
}

int pml__sde_recorder_new(struct pml__sde_recorder **out, const char *name, const struct pml_recorder_options *o) {
  struct pml__sde_recorder *r = take_gone(name, o);
  *out = r;
  if (r != NULL) {
    pml_recorder_reset(r->recorder);
    return 0;
  }
  r = calloc(1, sizeof *r);
  if (r == NULL) return pml_fail(-ENOMEM, "%s: out of memory", name);
  int err = pml_recorder_open(&r->recorder, o);
  if (err == 0) err = pml__recorder_log(r->recorder, name, 0);
  if (err == 0) {
    *out = r;
    return 0;
  }
  pml_recorder_close(r->recorder);
  free(r);
  return err;
}

void pml__sde_recorder_leave(struct pml__sde_recorder *r) {
  if (r == NULL || atomic_fetch_sub_explicit(&r->users, 1, memory_order_acq_rel) > 1) return;
  if (r->recorder->name == NULL) {
    pml_recorder_close(r->recorder);
    free(r);
    return;
  }
  pml__lock_take(&gone.lock);
  r->next = gone.first;
  __atomic_store_n(&gone.first, r, __ATOMIC_RELEASE);
  pml__lock_leave(&gone.lock);
}

static void members_free(struct pml__sde_members *m) {
  while (m != NULL) {
    struct pml__sde_members *before = m->before;
    free(m);
    m = before;
  }
}

static void overflow_free(struct pml__sde_overflow *o) {
  while (o != NULL) {
    struct pml__sde_overflow *before = o->before;
    pml__sde_object_drop(o->object);
    free(o);
    o = before;
  }
}

void pml__sde_body_free(struct pml__sde_body *b) {
  if (b == NULL) return;
  pml__sde_counter_free(b->counter);
  pml__sde_recorder_leave(b->recorder);
  pml__sde_set_free(b->set);
  members_free(atomic_load_explicit(&b->members, memory_order_relaxed));
  members_free(b->outgrown);
  overflow_free(atomic_load_explicit(&b->overflow, memory_order_relaxed));
  for (unsigned i = 0; i < PML__SDE_OBJECTS; i++) pml__sde_object_drop(b->object[i]);
  free(b);
}
