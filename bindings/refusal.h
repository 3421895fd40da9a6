/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/refusal.h - refusals of the system, as functions return them to Lua. */
#ifndef REFUSAL_H
#define REFUSAL_H

#include <lua.h>

/* pml_pusherr - what the world refused: pushes nil, a failure (failure.h) whose place is @where, its code. Returns 3.
 */
int pml_pusherr(lua_State *L, int err, const char *where);

/* pml_pushdone - true if @err >= 0, else as pml_pusherr(). */
int pml_pushdone(lua_State *L, int err, const char *where);
/*
 * lutil_refused - note the failure on top of the stack as the last one.
 * lutil_refusal - push the sentence of the last failure, once: for a caller that reports a script which ignored it.
 */
void lutil_refused(lua_State *L);
int lutil_refusal(lua_State *L);

/*
 * A refusal gives nil, and a script that does not look at it fails later, at another line, with Lua's words.
 * lutil_script - @source is the name of the script's chunk: refusals keep the line of it that got them.
 * lutil_explain - the error message on top of the stack gets a remedy if it has a known one; if it is about a nil, it
 * gets the last refusal and its line. lutil_explained - the same for Lua: takes a message, returns it.
 */
void lutil_script(lua_State *L, const char *source);
void lutil_explain(lua_State *L);
int lutil_explained(lua_State *L);

#endif
