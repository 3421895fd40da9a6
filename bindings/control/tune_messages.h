/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/control/tune_messages.h - messages and logs of tuners and balancers, as Lua tables. */
#ifndef TUNE_TOLD_H
#define TUNE_TOLD_H

#include "module.h"

#include "control/tune/pml_tune.h"

/* A finalizer may close @h while a table is built: then it ends there. */
void tune_push_lines(lua_State *L, const struct lutil_handle *h, const char *(*line)(const void *h, size_t i));
void tune_push_log(lua_State *L, const struct lutil_handle *h,
                   bool (*entry)(const void *h, size_t i, struct pml_tune_entry *e));

#endif
