/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/substrate/substrate_state.h - Lua functions called for each event, on the thread that produces it.
 *
 * They run in a separate Lua state, one call at a time, because events occur at any time, even while the script's state
 * is executing, and on any thread. So they share nothing with the script: they are copied, have no upvalues, and the
 * results of flush are copied back.
 */
#ifndef SUBSTRATE_STATE_H
#define SUBSTRATE_STATE_H

#include "module.h"

#include <stdbool.h>

struct substrate_state;

/* The kinds of events that functions may take come first. */
enum { SUBSTRATE_FLUSH = PML_STREAM_METRIC + 1, SUBSTRATE_FUNCTIONS };

struct substrate_stats {
  uint64_t events; /* that functions were called for */
  uint64_t late;   /* and those that came up in a call of flush, on its thread: not delivered */
  char error[512]; /* what a function raised; it was the last that was called */
};

/*
 * substrate_state_new - copy the functions at stack index @at[i], 0 for none; if one cannot be copied, *@misuse is a
 * sentence to raise. @l's stack is unchanged.
 * substrate_state_start - deliver events from now on; substrate_state_free - stop, and free everything.
 * Return 0 or a negative code. Not from a consumer of the stream.
 *
 * Cost of an event: some 200 ns, a hundred times a C substrate's, and threads wait for each other.
 */
int substrate_state_new(struct substrate_state **s, lua_State *l, const int at[SUBSTRATE_FUNCTIONS], char misuse[256]);
int substrate_state_start(struct substrate_state *s);
void substrate_state_free(struct substrate_state *s);

/* substrate_state_flush - push what flush returns to @l, how many in *@n; -EINVAL and a sentence in @error: it raised.
 * May raise where @l has no memory. */
int substrate_state_flush(struct substrate_state *s, lua_State *l, int *n, char error[512]);
void substrate_state_stats(struct substrate_state *s, struct substrate_stats *stats);

#endif
