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

/* TUNE_MESSAGES - the methods l_lines and l_log of struct handle, whose @member @prefix_line and @prefix_entry take. */
#define TUNE_MESSAGES(prefix, member)                                                                                  \
  static const char *line(const void *h, size_t i) {                                                                   \
    return prefix##_line(((const struct handle *)h)->member, i);                                                       \
  }                                                                                                                    \
  static bool entry(const void *h, size_t i, struct pml_tune_entry *e) {                                               \
    return prefix##_entry(((const struct handle *)h)->member, i, e);                                                   \
  }                                                                                                                    \
  static int l_lines(lua_State *L) {                                                                                   \
    tune_push_lines(L, &check(L)->h, line);                                                                            \
    return 1;                                                                                                          \
  }                                                                                                                    \
  static int l_log(lua_State *L) {                                                                                     \
    tune_push_log(L, &check(L)->h, entry);                                                                             \
    return 1;                                                                                                          \
  }

#endif
