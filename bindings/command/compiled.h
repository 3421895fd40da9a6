/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bindings/command/compiled.h - precompiled Lua modules of the command.
 *
 * Compiling its modules was two thirds of what `pmlua record -- true` executed. The command contains the compiled
 * modules, with their line numbers and variable names, and the hashes of their sources (compile.lua). A compiled module
 * is used only if the file that Lua would load has the same text, so that an edited file takes effect at once, in a
 * checkout and in an installation in any folder: messages name the file that was found. Only chunks that are linked
 * into the command are executed; other files of compiled code are never read.
 */
#ifndef COMPILED_H
#define COMPILED_H

#include <lua.h>

/*
 * compiled_searcher - one of package.searchers for modules of pmlua; its upvalue is the folder of Lua modules. It finds
 * nothing, and leaves the module to the next searcher, if the source differs from the compiled one, cannot be read, or
 * does not come first in package.path.
 * NULL if this Lua is not the release that compiled: their codes may differ.
 * Cost: the source is read and hashed, some 6 instructions for 8 bytes; an eighth of compiling it.
 */
lua_CFunction compiled_searcher(void);

#endif
