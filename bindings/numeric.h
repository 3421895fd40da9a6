/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/numeric.h - a decimal point in numbers, independent of the process's locale. */
#ifndef PML_NUMERIC_H
#define PML_NUMERIC_H

#include <locale.h>
#include <lua.h>

/*
 * numeric_enter - give the calling thread the "C" locale; returns what numeric_leave() needs.
 *
 * printf(3), strtod(3) and so Lua follow the locale, and an application may choose one with a decimal comma: data.dat,
 * JSON and questions would then not be what their readers expect. Only the calling thread is concerned. Pairs nest.
 * Cost: two writes to thread-local memory; the first call of a process allocates.
 */
locale_t numeric_enter(void);
void numeric_leave(locale_t was);

/*
 * numeric_setlocale - replace os.setlocale of @L by a version that does not affect numbers, because programs read all
 * output of the pmlua command. Call once per state; the
 * calling thread has a separate locale from then on.
 */
void numeric_setlocale(lua_State *L);

#endif
