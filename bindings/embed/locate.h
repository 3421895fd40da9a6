/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/embed/locate.h - location of pmlua's Lua folder, for the command, the module and the libraries. */
#ifndef LOCATE_H
#define LOCATE_H

#include <limits.h>
#include <stddef.h>

#define LOCATE_MAX (PATH_MAX + 32)

/*
 * locate_lua - the folder that holds pmlua/init.lua: PMLUA_LUA if it is set; else near the file that this code was
 * loaded from, or near the program: lua/ of a checkout or share/pmlua/lua of an installation, some folders above.
 * Returns 0, or -ENOENT, and pml_error_detail() says what to do.
 */
int locate_lua(char dir[LOCATE_MAX]);

/* locate_given - is @dir such a folder? 0 or -ENOENT. The first one is kept, for a program whose code is elsewhere. */
int locate_given(const char *dir);

/* locate_code - the file that this code was loaded from: command, module or library; "" if unknown. */
void locate_code(char path[PATH_MAX]);

#endif
