/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/compiler/runtime/pml_count_private.h - declarations shared by the files of the runtime. Internal. */
#ifndef PML_COUNT_PRIVATE_H
#define PML_COUNT_PRIVATE_H

#include "source/compiler/pml_count_layout.h"

#include <stdbool.h>
#include <stddef.h>

/* --- pml_count_area.c: the memory, and the file behind it --- */

/* Map the counts as PMLUA_COUNT wants it. NULL: no memory. Once. */
struct pml_count_area *pml__count_map(void);
/* Make lane @lane reachable; false: there is no room for it. Async-signal-safe. */
bool pml__count_reach(struct pml_count_area *a, uint32_t lane);
/* In a forked child: make separate counts at the same address; @lane gets the counts at the fork (@cells). */
void pml__count_renew(struct pml_count_area *a, uint32_t lane, const uint64_t *cells);
/* The process is about to exit. */
void pml__count_end(struct pml_count_area *a);
/* Whether the counts are mapped from a file, which children also map. */
bool pml__count_in_file(void);
bool pml__count_wants_report(void);
/* The count of the process so far. */
uint64_t pml__count_total(const struct pml_count_area *a, unsigned cell);
/* Threads that are in loops which count in registers. */
uint64_t pml__count_underway(const struct pml_count_area *a);

/* --- pml_count.c: around what makes a child, on the thread that does. Async-signal-safe, and keep errno --- */

void pml__count_before_fork(void);
void pml__count_after_fork(void);
/* In a new child, begin separate counts. */
void pml__count_look(void);

/* --- pml_count_others.c --- */

/* Loaded libraries without any of the @n modules, whose work is therefore not counted: their names go into
 * @to, separated by commas. Not the C library, which no program counts. Takes the loader's lock. */
void pml__count_others(const struct pml_count_module *const *module, size_t n, char *to, size_t room);

/* --- pml_count_report.c --- */

/* A line to stderr, begun with "pmlua count: ". */
void pml__count_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The table that PMLUA_COUNT=report asks for. */
void pml__count_report(const struct pml_count_area *a);

#endif
