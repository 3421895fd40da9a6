/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/record/lsection_process.h - a log's process as a Lua table: pmlua.SectionProcess. */
#ifndef LSECTION_PROCESS_H
#define LSECTION_PROCESS_H

#include "module.h"

#include "read/section/pml_sde_log_read.h"
#include "read/section/pml_section_reader.h"

/* lsection_process_push - a table with all but sections and timeline, whose lists are empty. */
void lsection_process_push(lua_State *L, const struct pml__section_reader *b, const struct pml__sde_log *left);

/* lsection_process_section - a table for a section, without rows and quantiles. */
void lsection_process_section(lua_State *L, const struct pml__section_definition *s);

/*
 * lsection_process_timeline - a table for the timeline of extent @i, with its events; the process's table, two places
 * below, gets the names of their regions.
 */
void lsection_process_timeline(lua_State *L, const struct pml__section_reader *b, size_t i,
                               const struct pml__log_timeline *timeline);

#endif
