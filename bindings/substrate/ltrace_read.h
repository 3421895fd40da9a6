/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/substrate/ltrace_read.h - the reading half of pml.trace. */
#ifndef LTRACE_READ_H
#define LTRACE_READ_H

#include "lutil.h"

/* trace.read(path): a function of the module. ltrace_read_classes - the metatables of what it gives. */
int ltrace_read(lua_State *L);
void ltrace_read_classes(lua_State *L);

#endif
