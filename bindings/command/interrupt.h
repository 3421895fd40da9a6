/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/command/interrupt.h - SIGINT and SIGTERM for scripts. */
#ifndef PML_INTERRUPT_H
#define PML_INTERRUPT_H

#include <lua.h>
#include <stdbool.h>

/* Set by SIGINT and SIGTERM once a script asked for it; workloads poll it. */
extern volatile int lutil_interrupted;

/*
 * interrupt_reached_children - whether the children of this process have got the signal: the terminal gave it to the
 * whole group, or the handler passed it on. Meaningful while lutil_interrupted is set.
 */
bool interrupt_reached_children(void);

/* interrupt_off - no flag, no hook, and the signals' default action: on_interrupt(false). */
int interrupt_off(lua_State *L);

/* interrupt_functions - add on_interrupt, raise_interrupt and interrupted to the table on top. */
void interrupt_functions(lua_State *L);

/*
 * interrupt_execute - replace os.execute of @L by a version that handles an interrupt: system(3) ignores SIGINT in its
 */
void interrupt_execute(lua_State *L);

#endif
