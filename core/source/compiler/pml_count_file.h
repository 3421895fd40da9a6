/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/compiler/pml_count_file.h - compiler counts of this process. */
#ifndef PML_COUNT_FILE_H
#define PML_COUNT_FILE_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

enum pml_count_at { PML_COUNT_AT_NONE, PML_COUNT_AT_SOURCE, PML_COUNT_AT_FINAL, PML_COUNT_AT_BOTH };

/*
 * pml_count_kind - name and description of event @i, Byfl's events first, then the kinds of operation; false past the
 * last. The strings are constant.
 */
PML__SHARED bool pml_count_kind(size_t i, const char **name, const char **description);

/* pml_count_active - whether code in this process has compiler counts that this library can read. */
PML__SHARED bool pml_count_active(void);

/* pml_count_here - the stage of the modules loaded so far: before or after optimisation. */
PML__SHARED enum pml_count_at pml_count_here(void);

/*
 * pml_count_watch - call @heard whenever a counting module was loaded, on the loading thread. Only one function,
 * permanently; set it before another thread may load a module. pml_count_is_event - whether @name is an event
 * sde:::BYFL::...
 */
PML__SHARED void pml_count_watch(void (*heard)(void));
PML__SHARED bool pml_count_is_event(const char *name);

/*
 * pml_count_left_out - the part of this process that is not counted so far: copies the names of objects compiled
 * without counts, except the C library, to @libraries, of @room bytes, separated by commas, "" for none. Returns the
 * number of places in counting objects that could not be counted, such as inline assembly. Takes the loader's lock.
 */
uint64_t pml_count_left_out(char *libraries, size_t room);

/* pml_count_at_name - "source", "final", "mixed" or "none". pml_count_at_label - the same as a phrase: "counted by the
 * compiler, at source"; "" for none. */
PML__SHARED const char *pml_count_at_name(enum pml_count_at at);
PML__SHARED const char *pml_count_at_label(enum pml_count_at at);

PML_END_DECLS

#endif
