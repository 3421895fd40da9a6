-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- Filter files in Score-P's syntax: which functions are wanted.
---
---     local f <close> = assert(pml.filter.open "scorep.filter"); print(f:wants("libz.so.1", "deflate"))
---@class pml.filter
local filter = {}

--- Read a filter file; EFORMAT names the line that is wrong.
---@param path string
---@return pmlua.Filter? filter, pmlua.Failure? failure, string? code
function filter.open(path) end

---@class pmlua.Filter: pmlua.Handle
local Filter = {}

--- Is a function wanted? The last rule that matches decides, for files and for names; without a rule everything is wanted.
---@param file? string source file or library; nil: unknown, no rule of files matches
---@param name? string as in the source, with arguments in C++
---@param symbol? string as the symbol table has it, for rules with MANGLED
---@return boolean wanted
function Filter:wants(file, name, symbol) end
