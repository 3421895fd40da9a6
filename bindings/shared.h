/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/shared.h - what one handle's binding shows to another's. */
#ifndef SHARED_H
#define SHARED_H

#include <lua.h>

struct pml_eventset;
struct pml_flow;
struct pml_plugin;
struct pml_profile;
struct pml_samples;

/* Each returns the contents of the handle at @idx, and raises as lutil_check() does. */
struct pml_eventset *lutil_eventset(lua_State *L, int idx);
struct pml_samples *lutil_samples(lua_State *L, int idx);
struct pml_plugin *lutil_plugin(lua_State *L, int idx);

/* lutil_pushprofile, lutil_pushflow - a handle that owns @p or @f; without the memory for it that is closed. */
void lutil_pushprofile(lua_State *L, struct pml_profile *p);
void lutil_pushflow(lua_State *L, struct pml_flow *f);

#endif
