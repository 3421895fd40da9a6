/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/ltrace_read.h - the reading half of pml.trace. */
#ifndef LTRACE_READ_H
#define LTRACE_READ_H

#include "lutil.h"

#include "substrate/trace/read/pml_otf2_events.h"

struct ltrace_reader {
  struct lutil_handle h;
  struct pml_otf2_read *trace;
  struct pml_otf2_events *events; /* of the t:each that runs, or NULL */
};

/* ltrace_reader - the open reader at argument @arg; raises otherwise. */
struct ltrace_reader *ltrace_reader(lua_State *L, int arg);

/*
 * ltrace_question - the question in the table at @arg, or the default one. What it points to stays on the stack, whose
 * top becomes @arg before. @more: which fields it has beside where.
 */
enum { LTRACE_BY = 1, LTRACE_ORDER = 2 };
struct pml_otf2_question ltrace_question(lua_State *L, const struct pml_otf2_read *t, int arg, unsigned more);

/* t:each(function, question): its method, and the metatable of its state. */
int ltrace_each(lua_State *L);
void ltrace_each_class(lua_State *L);

/* trace.read(path): a function of the module. ltrace_read_classes - the metatables of what it gives. */
int ltrace_read(lua_State *L);
void ltrace_read_classes(lua_State *L);

#endif
