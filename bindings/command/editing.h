/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/command/editing.h - line editing by readline(3), if it is installed. */
#ifndef PML_EDITING_H
#define PML_EDITING_H

#include <lua.h>

/*
 * editing_functions - add edit, edit_line, edit_completer, edit_history and edit_save to the table on top.
 * Readline is looked up when edit() is called first: nothing is linked with it, and what needs no prompt never loads
 * it.
 */
void editing_functions(lua_State *L);

/* editing_at_prompt - @on_event is called while readline waits for a key, and after a signal came. */
void editing_at_prompt(int (*on_event)(void));

/* editing_clear_line - start an empty line after @prompt, below the typed one; only from on_event. */
void editing_clear_line(const char *prompt);

#endif
