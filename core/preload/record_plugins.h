/* SPDX-License-Identifier: BSD-3-Clause */
/* core/preload/record_plugins.h - Score-P's metric and substrate plugins of a recorded process. */
#ifndef PML_RECORD_PLUGINS_H
#define PML_RECORD_PLUGINS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * pml__record_plugins_load - load those of $SCOREP_METRIC_PLUGINS. The names of metrics that can be asked for values at
 * a call, at most @room, are added to @event; for good. Returns how many there are.
 */
size_t pml__record_plugins_load(const char **event, size_t room);

/*
 * pml__record_plugins_libraries - their files and those of substrate plugins, between ':'. A plugin's own calls, from
 * threads of its own or while it is asked, are no calls of the program.
 */
const char *pml__record_plugins_libraries(void);

/* pml__record_plugins_start - those that measure in their own time begin. */
void pml__record_plugins_start(void);

/*
 * pml__record_plugins_units - a line for each metric that calls carry, as pmlua record reads it.
 * pml__record_plugins_troubles - a line for each thing that went wrong. Both: at most @size bytes with the 0.
 */
void pml__record_plugins_units(char *text, size_t size);
void pml__record_plugins_troubles(char *text, size_t size);

/* pml__record_plugins_end - all end, and what they still have of their series goes into the log. */
void pml__record_plugins_end(void);

/* ---- substrate plugins ---- */

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
