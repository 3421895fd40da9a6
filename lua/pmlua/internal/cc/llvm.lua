-- SPDX-License-Identifier: BSD-3-Clause
--- lua/pmlua/internal/cc/llvm.lua - which LLVM a compiler is made of, and the instrumenters that pmlua was built with.
--
-- Each LLVM reads its own IR, so that there is an instrumenter for each: a module that reads bitcode, and a plugin for
-- compilers that load theirs from a shared library.
--
-- Try:  print(require("pmlua.internal.cc.llvm").of { "clang-14" }.version)

local core = require "pmlua.core"
local disk = require "pmlua.internal.file"
local paths = require "pmlua.internal.wrap.paths"
local shell = require "pmlua.internal.wrap.shell"
local refuse = core.failure.refuse

local M = {}

local FIRST, LAST = 14, 19
local HEAD = 4 << 20 -- bytes of a program that are searched: its list of libraries is near the beginning

--- The versions that this pmlua was built with.
function M.built()
  local list = {}
  for version = FIRST, LAST do
    if paths.module_file("instrument-" .. version) then list[#list + 1] = version end
  end
  return list
end

--- Refuse a version of LLVM that this build has no module for.
local function refuse_version(version)
  local built = M.built()
  local has = #built > 0 and "built for LLVM " .. table.concat(built, ", ") .. " only" or "built without LLVM"
  version = version or FIRST
  if version < FIRST or version > LAST then
    return refuse("ENOTSUP", ("pmlua was %s, and supports LLVM %d to %d"):format(has, FIRST, LAST),
      ("use clang-%d"):format(built[#built] or FIRST))
  end
  return refuse("ENOTSUP", "pmlua was " .. has,
    ("install llvm-%d-dev and clang-%d, then run make again"):format(version, version))
end

--- The module that adds counters to bitcode, of one version or of any; or nil and what to do.
---@param version integer?
function M.instrumenter(version)
  local module = paths.module("instrument-" .. (version or M.built()[1] or FIRST))
  if module then return module end
  return refuse_version(version)
end

--- The file that a name on the command line runs, or nil.
local function program(name)
  local path = require "pmlua.internal.preload".locate(name)
  return path and core.sys.realpath(path)
end

--- The LLVM that a program loads, by the name of the library in its head; nil: none, or it is linked into it.
local function loads(file)
  local f <close> = file and disk.open(file)
  local head = f and f:read(HEAD) or ""
  return math.tointeger(tonumber(head:match("%f[%w]libLLVM%-(%d+)[%d.]*%.so") or head:match("%f[%w]libLLVM%.so%.(%d+)")))
end

local function ask(words)
  local quoted = {}
  for i, word in ipairs(words) do quoted[i] = shell.quote(word) end
  local ran, said = shell.run(table.concat(quoted, " ") .. " --version")
  return ran and said or nil
end

---@class pmlua.cc.Llvm
---@field version integer
---@field shared boolean the compiler loads LLVM, and can load a plugin that does so, too
---@field flang boolean

--- The LLVM of a compiler, given as in a command line: with launchers before its name.
---@return pmlua.cc.Llvm? llvm nil: it has none
---@return string? why
function M.of(words)
  local name = words[#words]
  local base = name:match("[^/]*$")
  local file = program(name)
  if not file then return refuse("ENOENT", name .. " does not run", "is it installed?") end
  local flang = file:match("[^/]*$"):find("flang", 1, true) ~= nil
  local version = (flang or file:match("[^/]*$"):find("clang", 1, true)) and loads(file)
  -- a launcher may know a result by the command line, which lacks part of what the plugin gets
  if version then return { version = version, shared = flang or #words == 1, flang = flang } end
  local said = ask(words)
  if not said then return refuse("ENOENT", name .. " does not run", "is it installed?") end
  version = math.tointeger(tonumber(said:match("[cf]lang version (%d+)") or said:match("flang%-new version (%d+)")))
  if version then return { version = version, shared = false, flang = said:find("flang", 1, true) ~= nil } end
  if base:find("fortran", 1, true) then
    return refuse("ENOTSUP", name .. " is not supported: operations are counted in LLVM IR", "compile with flang")
  end
  return refuse("ENOTSUP", name .. " is not supported: operations are counted in LLVM IR", "compile with clang")
end

--- The plugin for a compiler, or nil.
---@return string?
function M.plugin(llvm)
  return llvm.shared and paths.preload(("libpmlua-instrument-%d.so"):format(llvm.version)) or nil
end

--- Why nothing can be counted with this LLVM; nil: it can.
---@param name string of the compiler
---@return string?
function M.lacking(name, llvm)
  if paths.module_file("instrument-" .. llvm.version) then return nil end
  local _, failure = refuse_version(llvm.version)
  failure.text = ("%s uses LLVM %d: %s"):format(name, llvm.version, failure.text)
  return failure
end

return M
