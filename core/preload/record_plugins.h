/* SPDX-License-Identifier: BSD-3-Clause */
/* core/preload/record_plugins.h - metric plugins of a recorded process, synchronous and asynchronous. */
#ifndef PML_RECORD_PLUGINS_H
#define PML_RECORD_PLUGINS_H

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

#endif
