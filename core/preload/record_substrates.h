/* SPDX-License-Identifier: BSD-3-Clause */
/* core/preload/record_substrates.h - Score-P's substrate plugins of a recorded process. */
#ifndef PML_RECORD_SUBSTRATES_H
#define PML_RECORD_SUBSTRATES_H

#include <stdbool.h>
#include <stddef.h>

/* pml__record_substrates_wanted - whether $SCOREP_SUBSTRATE_PLUGINS names any. */
bool pml__record_substrates_wanted(void);

/*
 * pml__record_substrates_open - load them, before calls are recorded. Their data goes to the folder @directory, unless
 * $SCOREP_EXPERIMENT_DIRECTORY names another. Returns how many there are.
 */
size_t pml__record_substrates_open(const char *directory);

/*
 * pml__record_substrates_close - all write what they have, and end: when the process ends by itself, or, @confined,
 * before it gives up its system calls. Idempotent. A process that ends inside a plugin's function, which may hold locks
 * of the plugin's or of ours, ends without it. Not async-signal-safe.
 */
void pml__record_substrates_close(bool confined);

/* pml__record_substrates_trouble - the @i-th thing, from 0, that was worth saying, in @text; false: no more. */
bool pml__record_substrates_trouble(size_t i, char *text, size_t size);

#endif
