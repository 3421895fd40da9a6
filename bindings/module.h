/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/module.h - what a module in C needs: arguments, fields, handles, refusals; the list of modules. */
#ifndef MODULE_H
#define MODULE_H

#include "argument.h"
#include "fields.h"
#include "handle.h"
#include "pml.h"
#include "refusal.h"

#include <lauxlib.h>

/* The table of contents: each pushes one module. */
/* clang-format off */
#define LUTIL_MODULES(X)                                                                                               \
  X(clock) X(event) X(counter) X(group) X(eventset) X(region) X(samples) X(samples_log) X(workload) X(trace) X(sys) X(sde)           \
  X(section) X(profile) X(recording) X(link) X(live) X(command) X(buffer) X(intercept) X(filter) X(watchpoint) X(plugin) \
  X(substrate) X(count) X(tune) X(balance) X(flow) X(file) X(tool) X(data) X(statistics) X(failure) X(log) X(summary) X(rows) \
  X(sampler) X(metrics)
/* clang-format on */
#define LUTIL_DECLARE(name) int luaopen_pmlua_##name(lua_State *L);
LUTIL_MODULES(LUTIL_DECLARE)
#undef LUTIL_DECLARE

/* lutil_module - the end of luaopen_: push the table of @functions; returns 1. */
int lutil_module(lua_State *L, const luaL_Reg *functions);

#endif
