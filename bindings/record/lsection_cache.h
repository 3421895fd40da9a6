/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/record/lsection_cache.h - the sections of a log in memory, as a handle. */
#ifndef LSECTION_CACHE_H
#define LSECTION_CACHE_H

#include "module.h"

#include "read/section/pml_section_cache.h"

/* lsection_cache_open - cache(path): a handle, or nil and a failure. lsection_cache_class - its metatable. */
int lsection_cache_open(lua_State *L);
void lsection_cache_class(lua_State *L);

/* lsection_cache_at - the cache at @idx; NULL if there is no handle of one; raises if it is closed. */
const struct pml__section_cache *lsection_cache_at(lua_State *L, int idx);

#endif
