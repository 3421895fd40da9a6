-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/scaffold.lua - what pmlua wrap init writes into a new working folder.
--
-- Try:  pmlua wrap init --name zlib --headers zlib.h --libs -lz

local folder = require "pmlua.internal.wrap.folder"
local shell = require "pmlua.internal.wrap.shell"
local try = require "pmlua.internal.try"

local M = {}

local readme = [[
# Wrapper NAME

Records the calls of LIBS, made by `pmlua wrap init`.

| file | what it is for |
| --- | --- |
| wrap.lua | name, language, flags, libraries: how applications are built; twins of variadic functions; values; calls |
| headers.h | an include for each header that applications include |
| EXAMPLE | a small program that uses the library: it shows that the flags are right, and what is counted |
| NAME.filter | which functions are wrapped, in Score-P's syntax |
| build/ | the wrapper's source, four libraries, NAME.wrap (the linker's flags), left_out.txt (what is not wrapped, and why) |

## Steps

1. Put the includes into headers.h and a program into EXAMPLE, unless init has done it.
2. `make`: builds the example without wrapper, reads the headers, and builds the wrapper.
3. `make check`: names functions that no library has, and those that link without the library; `make fix` excludes both.
4. `make install` (PREFIX=DIR for another place; then PMLUA_WRAP_PATH=DIR/lib/pmlua/wrap finds it).
5. `make installcheck`: builds and runs the example in every way, and counts its calls.

## Use

    pmlua cc --wrap NAME -- COMPILER app.o LIBS -o app              # link time: calls of the program
    pmlua cc --wrap NAME --runtime -- COMPILER app.o LIBS -o app    # run time: those between libraries, too
    LD_PRELOAD=.../libpmlua-wrap-NAME-run.so pmlua record -- ./app  # not linked again

A wrapped program runs as before; `pmlua record`, or a program that uses pmlua itself, receives the calls. Calls that both a
wrapper and `pmlua record` see are counted once.

## What may be said

| message | what to do |
| --- | --- |
| the headers do not compile: headers.h:3: ... | the line of headers.h, the compiler's message: a flag or an include is missing |
| library -lfoo is not found | name it as the linker does; -L in ldflags |
| the example does not build without wrapper | the flags in wrap.lua or EXAMPLE are wrong |
| nothing to wrap: ... | no listed header declares a function that the libraries have |
| it takes '...' and has no twin with a va_list | name the twin in wrap.lua: variadic = { f = "vf" } |
| its code is in the header | inline functions are part of the program: no wrapper sees them |
| its wrapper does not compile: ... | a type that is not complete, or has no name; the function is left out |
]]

local makefile = [[
# Made by pmlua wrap init. PREFIX: where to install, if not beside pmlua.
PMLUA ?= COMMAND

.PHONY: all check fix install installcheck clean
all:
	"$(PMLUA)" wrap build
check:
	"$(PMLUA)" wrap check
fix:
	"$(PMLUA)" wrap check --fix
install: all
	"$(PMLUA)" wrap install $(if $(PREFIX),--prefix "$(PREFIX)")
installcheck:
	"$(PMLUA)" wrap installcheck
clean:
	rm -rf build
]]

local filter = [[
# Which functions are wrapped. The last rule that matches decides; at first everything of the listed headers is wanted.
# With a block for files, that block alone says which headers are meant:
#
#   SCOREP_FILE_NAMES_BEGIN
#     EXCLUDE *
#     INCLUDE /usr/include/NAME/*
#   SCOREP_FILE_NAMES_END
#   SCOREP_REGION_NAMES_BEGIN
#     EXCLUDE NAME_debug_*
#   SCOREP_REGION_NAMES_END
]]

local function include(header)
  if header:find('^[<"]') then return "#include " .. header end
  return header:find("^[./]") and ('#include "%s"'):format(header) or ("#include <%s>"):format(header)
end

local function headers(list)
  local lines = { "/* What applications include of the library, one after the other; macros may be defined before. */" }
  for i, header in ipairs(list) do lines[i + 1] = include(header) end
  return table.concat(lines, "\n") .. "\n"
end

local stub = [[
/* A program that uses the library: call here what applications call. */
#include "headers.h"

int main(void) {
  return 0;
}
]]

--- The command to put into the Makefile.
local function command()
  local core = require "pmlua.core"
  local real = core.sys.realpath(core.origin)
  return real and not real:find("%.so$") and real or "pmlua"
end

local function texts(cfg, o)
  local program = cfg.example:match("[^/]*$")
  local words = { NAME = cfg.name, LIBS = cfg.libs, EXAMPLE = program, COMMAND = command(),
    COMPILER = cfg.language == "c" and "gcc" or "g++" }
  local function fill(text) return (text:gsub("%u%u%u%u+", words)) end
  return {
    ["wrap.lua"] = folder.configuration(cfg),
    ["README.md"] = fill(readme),
    ["Makefile"] = (makefile:gsub("COMMAND", (command():gsub("%$", "$$"):gsub("%%", "%%%%")))),
    ["headers.h"] = headers(o.headers or {}),
    [program] = o.example or stub,
    [cfg.name .. ".filter"] = fill(filter) .. (o.filter and "\n" .. o.filter or ""),
  }
end

-- Files that an update overwrites; the other files are the user's.
local ours = { ["wrap.lua"] = true, ["README.md"] = true, ["Makefile"] = true }

--- Write the folder; nil and the reason. With @update, rewrite the configuration of an existing folder.
---@param cfg pmlua.wrap.folder
---@param o { headers: string[]?, example: string?, filter: string?, update: boolean? }
---@return true?, string? err
M.write = try.catching(function(cfg, o)
  try(folder.make(cfg.dir))
  for name, text in pairs(texts(cfg, o)) do
    local there = shell.slurp(cfg.dir .. "/" .. name) ~= nil
    if not there or o.update and ours[name] then
      try(shell.spit(cfg.dir .. "/" .. name, text))
    end
  end
  return true
end)

return M
