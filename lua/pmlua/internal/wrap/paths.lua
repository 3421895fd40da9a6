-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/paths.lua - where a wrapper finds pmlua's headers and library, and where installed wrappers are.
--
-- Try:  print(require("pmlua.internal.wrap.paths").installed()[1])

local core = require "pmlua.core"
local refuse = core.failure.refuse

local M = {}

local function parent(path, levels)
  for _ = 1, levels or 1 do path = path:match("^(.*)/[^/]*$") or "" end
  return path
end

--- The first of the files that is there, by its full path.
local function first(...)
  for _, path in ipairs { ... } do
    local real = core.sys.realpath(path)
    if real then return real end
  end
end

-- The code that runs: build/pmlua, build/lua/pmlua/core.so, PREFIX/bin/pmlua or PREFIX/lib/lua/5.4/pmlua/core.so.
local origin = parent(core.origin) == "" and "." or parent(core.origin)
local here = core.origin:find("%.so$") and { parent(origin, 2), parent(origin, 3) } or { origin, parent(origin) .. "/lib" }
local folder = core.sys.realpath(core.origin) and here or { origin }

--- The folder with libpmlua.so.
function M.library()
  for _, dir in ipairs(folder) do
    if first(dir .. "/libpmlua.so") then return first(dir) end
  end
  return refuse("ENOENT", "libpmlua.so is not in the folder of the command", "build it with make all")
end

--- The folder with adapter/wrap/pml_wrap.h: of the checkout, or of the installation.
function M.include()
  local lua = require "pmlua".paths.lua
  local checkout = lua and parent(lua) .. "/core"
  local installed = lua and parent(lua, 3) .. "/include/pmlua"
  for _, dir in ipairs { checkout, installed } do
    if first(dir .. "/adapter/wrap/pml_wrap.h") then return first(dir) end
  end
  return refuse("ENOENT", "pmlua's headers are not installed with its Lua modules", "install them with make install")
end

--- The file of a separate C module beside the command, or nil: it was not built.
---@param name string "clang" is pmlua.clang
function M.module_file(name)
  local found = package.searchpath("pmlua." .. name, package.cpath)
  for _, dir in ipairs(folder) do
    found = found or first(dir .. "/lua/pmlua/" .. name .. ".so", dir .. "/lua/5.4/pmlua/" .. name .. ".so")
  end
  return found
end

--- That module; a version behind a hyphen is of its file, as require() has it.
function M.module(name)
  local found = M.module_file(name)
  local open = found and package.loadlib(found, "luaopen_pmlua_" .. name:match("^[^-]*"))
  return open and open()
end

--- A library that other programs load, or nil.
---@param name string of the file
function M.preload(name)
  for _, dir in ipairs(folder) do
    local found = first(dir .. "/preload/" .. name, dir .. "/pmlua/preload/" .. name)
    if found then return found end
  end
end

--- The module that reads headers, or nil and what to do.
function M.clang()
  local module = M.module "clang"
  if module then return module end
  return refuse("ENOTSUP", "pmlua was built without libclang's headers", "install libclang-dev and build again")
end

--- Where `pmlua wrap install` puts wrappers unless another place is given.
function M.default()
  local library = M.library()
  if not library then return nil end
  -- build/pmlua is the command, PREFIX/lib/pmlua a folder
  return first(library .. "/pmlua/.") and library .. "/pmlua/wrap" or library .. "/wrap"
end

--- The folders of installed wrappers, in the order they are searched.
function M.installed()
  local list = {}
  for dir in (os.getenv("PMLUA_WRAP_PATH") or ""):gmatch("[^:]+") do list[#list + 1] = dir end
  list[#list + 1] = M.default()
  return list
end

return M
