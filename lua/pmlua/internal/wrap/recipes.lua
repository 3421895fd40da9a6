-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/recipes.lua - the recipes in scripts/wrap: configurations of pmlua wrap init for well-known libraries.
--
-- A recipe is a Lua file that returns a table; folder.lua names its fields.
--
-- Try:  pmlua wrap list

local folder = require "pmlua.internal.wrap.folder"
local refuse = require "pmlua.core".failure.refuse

local M = {}

local function shipped()
  local scripts = require("pmlua").paths.scripts
  return scripts and scripts .. "/wrap"
end

--- The names of those that come with pmlua.
function M.names()
  local lfs, dir, names = require "lfs", shipped(), {}
  if not dir or lfs.attributes(dir, "mode") ~= "directory" then return names end
  for entry in lfs.dir(dir) do names[#names + 1] = entry:match("^(.+)%.lua$") end
  table.sort(names)
  return names
end

local function read_shipped(name) return folder.read(("%s/%s.lua"):format(shipped(), name), folder.recipe_fields) end

--- A recipe by its file, whose path has a slash or a dot, or by its name if it comes with pmlua; nil and why.
---@return table?, pmlua.Failure? failure
function M.read(what)
  if what:find "[/.]" then return folder.read(what, folder.recipe_fields) end
  local names = M.names()
  for _, name in ipairs(names) do
    if name == what then return read_shipped(name) end
  end
  if require("lfs").attributes(what, "mode") == "file" then
    return refuse("ENOENT", ("no recipe '%s'"):format(what), ("the file of that name is ./%s"):format(what))
  end
  local nearest = require "pmlua.internal.nearest"(what, names)
  return refuse("ENOENT", ("no recipe '%s'"):format(what), nearest and "did you mean '" .. nearest .. "'?" or
    "pmlua wrap list names them")
end

--- Those that come with pmlua, without what cannot be read.
function M.list()
  local list = {}
  for _, name in ipairs(M.names()) do list[#list + 1] = read_shipped(name) end
  return list
end

return M
