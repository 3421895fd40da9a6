/* SPDX-License-Identifier: BSD-3-Clause */
/* core/preload/record_plugins.h - Score-P's metric and substrate plugins of a recorded process. */
#ifndef PML_RECORD_PLUGINS_H
#define PML_RECORD_PLUGINS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * pml__record_plugins_load - load the plugins of $SCOREP_METRIC_PLUGINS. Adds the names of metrics that can be read at
 * a call, at most @room, to @event; never freed. Returns their number.
 */
size_t pml__record_plugins_load(const char **event, size_t room);

/*
 * pml__record_plugins_libraries - the files of metric and substrate plugins, separated by ':'. Calls of a plugin, from
 * its threads or while it is read, are not calls of the program.
 */
const char *pml__record_plugins_libraries(void);

/* pml__record_plugins_start - start asynchronous plugins. */
void pml__record_plugins_start(void);

/* pml__record_plugins_units - a line for each metric of calls, in the format that pmlua record reads.
 * pml__record_plugins_troubles - a line for each failure. Both write at most @size bytes including the 0. */
void pml__record_plugins_units(char *text, size_t size);
void pml__record_plugins_troubles(char *text, size_t size);

/* pml__record_plugins_end - end all plugins and write their remaining series to the log. */
void pml__record_plugins_end(void);

/* ---- substrate plugins ---- */

/* pml__record_substrates_wanted - whether $SCOREP_SUBSTRATE_PLUGINS names any. */
bool pml__record_substrates_wanted(void);

/* pml__record_substrates_open - load the plugins, before calls are recorded. Their data goes to the folder @directory,
 * unless $SCOREP_EXPERIMENT_DIRECTORY names another. Returns their number. */
size_t pml__record_substrates_open(const char *directory);

/*
 * pml__record_substrates_close - let all plugins write their data and end: at the process's exit, or with @confined
 * before it forbids itself system calls. Idempotent. Skipped if the process ends inside a plugin's function, which may
 * hold locks of the plugin or of pmlua. Not async-signal-safe.
 */
void pml__record_substrates_close(bool confined);

/* pml__record_substrates_trouble - message @i, from 0, in @text; false: no more. */
bool pml__record_substrates_trouble(size_t i, char *text, size_t size);

#endif
