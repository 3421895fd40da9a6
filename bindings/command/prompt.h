/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/command/prompt.h - system support of the prompt: Ctrl-C clears the line, and a history file. */
#ifndef PML_PROMPT_H
#define PML_PROMPT_H

#include <lua.h>

/* prompt_functions - add at_prompt and private_file to the table on top. */
void prompt_functions(lua_State *L);

#endif
