/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/pml_intercept_private.h - what the parts of interception share. */
#ifndef PML_INTERCEPT_PRIVATE_H
#define PML_INTERCEPT_PRIVATE_H

#include "adapter/pml_intercept.h"
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
extern struct pml__intercept_function *pml__intercept_block[PML__INTERCEPT_BLOCKS];

/* ---- calls ---- */

int pml__intercept_calls_prepare(void);
void pml__intercept_calls_stats(struct pml_intercept_stats *s);
extern bool pml__intercept_on; /* atomic: calls are recorded */

/*
 * Calls that wrappers make, on the same lists. Between claim and let_go the thread is at them, and nothing else is
 * recorded on it; false: it was already. begin raises @e as an enter, at the stack pointer @sp, and gives the call's
 * number, 0: too many are under way; end raises @e as its leave. Both fill in the ticks.
 */
struct pml_stream_event;
bool pml__intercept_claim(uintptr_t sp);
void pml__intercept_let_go(void);
uint32_t pml__intercept_begin(struct pml_stream_event *e, uintptr_t sp);
void pml__intercept_end(uint32_t i, struct pml_stream_event *e);

/* ---- choice ---- */

/* Whether @names, patterns separated by ':', have one for @name. */
bool pml__intercept_matches(const char *patterns, const char *name);
bool pml__intercept_wants_library(const struct pml_intercept_options *o, const char *path, bool program);
bool pml__intercept_wants_function(const struct pml_intercept_options *o, const char *name);
bool pml__intercept_wants_caller(const char *path);

/* ---- objects; all under the lock of pml_intercept.c ---- */

/* The thunk of @target, known as @name in @library; 0: no memory. */
uintptr_t pml__intercept_thunk(uintptr_t target, const char *name, const char *library);
/* The function behind a thunk; 0: @address is none. */
uintptr_t pml__intercept_target(uintptr_t address);

int pml__intercept_scan(const struct pml_intercept_options *o, struct pml_intercept_stats *s);
void pml__intercept_restore(void);
/* The thunk for what dlsym() found, or the address itself. */
uintptr_t pml__intercept_found(const struct pml_intercept_options *o, uintptr_t address, const char *name);

/* The doors, and what is behind them. */
void pml__arch_dlopen(void);
void pml__arch_dlsym(void);

#endif
