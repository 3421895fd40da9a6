/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_private.h - what the parts of interception share. */
#ifndef PML_INTERCEPT_PRIVATE_H
#define PML_INTERCEPT_PRIVATE_H

#include "adapter/intercept/pml_intercept.h"
#include "base/pml_region.h"

#include <stdbool.h>
#include <stddef.h>

#define PML__INTERCEPT_BLOCK 1024u  /* functions that share a piece of thunks */
#define PML__INTERCEPT_BLOCKS 1024u /* of them */

struct pml__intercept_function {
  uintptr_t target;
  pml_region_t region;
};

/* A piece is published before its first thunk is anywhere, and stays. */
extern
    __attribute__((visibility("hidden"))) struct pml__intercept_function *pml__intercept_block[PML__INTERCEPT_BLOCKS];

/* ---- calls ---- */

int pml__intercept_calls_prepare(void);
void pml__intercept_calls_stats(struct pml_intercept_stats *s);
void pml__intercept_calls_forked(void);                              /* counts begin again in the child */
extern __attribute__((visibility("hidden"))) bool pml__intercept_on; /* atomic: calls are recorded */

/*
 * Calls that wrappers make, on the same lists. Between claim and let_go the thread is at them, and nothing else is
 * recorded on it; false: it was already. begin raises @e as an enter, at the stack pointer @sp, and gives the call's
 * number, 0: too many are under way; end raises @e as its leave. Both fill in the ticks and, where calls are counted,
 * the counts, which take the place of other values.
 */
struct pml_stream_event;
bool pml__intercept_claim(uintptr_t sp);
void pml__intercept_let_go(void);
uint32_t pml__intercept_begin(struct pml_stream_event *e, uintptr_t sp);
void pml__intercept_end(uint32_t i, struct pml_stream_event *e);

/*
 * Who gives events values (pml_intercept_events.c): for @e, or none; a thread ends; no system calls but reads from here
 * on. NULL: nobody.
 */
struct pml__intercept_counting {
  void (*read)(struct pml_stream_event *e);
  void (*thread_ends)(void);
  void (*confine)(void);
};
extern const struct pml__intercept_counting *pml__intercept_counting; /* atomic */

/* ---- thunks ---- */

/* The thunk of @target, known as @name in @library; 0: no memory. */
uintptr_t pml__intercept_thunk(uintptr_t target, const char *name, const char *library);
/* The function behind a thunk; 0: @address is none. */
uintptr_t pml__intercept_target(uintptr_t address);
uint32_t pml__intercept_functions(void);
int pml__intercept_thunks_error(void); /* why the last could not be made, since this was asked */
void pml__intercept_thunks_watch_forks(void);

/* ---- slots; under the lock of pml_intercept.c ---- */

struct pml__choice;

/* @unloaded: objects have gone since the last scan. */
int pml__intercept_scan(const struct pml__choice *c, struct pml_intercept_stats *s, bool unloaded);
void pml__intercept_restore(void);
extern __attribute__((visibility("hidden"))) uint64_t pml__intercept_looks; /* at an object, in all scans */
void pml__intercept_give_up(void);                                          /* a scan that will never end */

/* ---- doors: functions of the loader with which a program looks for others ---- */

struct pml__intercept_door {
  const char *name;
  uintptr_t linked, real, ours; /* linked: what this code was told to be the function, which may stand in for it */
};
const struct pml__intercept_door *pml__intercept_door_named(const char *name);
uintptr_t pml__intercept_behind_door(uintptr_t address); /* 0: it is none */
void pml__intercept_doors_prepare(void);
void pml__intercept_doors_forked(void);
uint64_t pml__intercept_unseen(void); /* look-ups of chosen functions whose calls are not seen */

/* The true ones, also where this code is part of a program whose slots are filled. */
extern void *(*pml__intercept_real_dlopen)(const char *file, int mode);
extern void *(*pml__intercept_real_dlsym)(void *handle, const char *name);
extern void *(*pml__intercept_real_dlvsym)(void *handle, const char *name, const char *version);

extern void *pml__intercept_global; /* a handle of all that is global */

void pml__arch_dlopen(void);
void pml__arch_dlsym(void);
void pml__arch_dlvsym(void);

/* What is chosen now; NULL: calls are not intercepted. Lock-free. */
const struct pml__choice *pml__intercept_chosen(void);
const struct pml__choice *pml__intercept_last_choice(void); /* also when it is over; NULL: there was none */
/* Look at what was loaded since, unless somebody is at it. */
void pml__intercept_scan_new(void);

#endif
