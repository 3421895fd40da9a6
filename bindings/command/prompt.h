/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/command/prompt.h - what a prompt needs of the system: Ctrl-C that clears the line, and a file for its
 * history. */
#ifndef PML_PROMPT_H
#define PML_PROMPT_H

#include <lua.h>

/* prompt_functions - add at_prompt and private_file to the table on top. */
void prompt_functions(lua_State *L);

#endif
