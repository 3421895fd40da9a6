-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/search.lua - the module search path: pmlua's and the system's folders first, then the user's.
--
-- Try:  cd /tmp && echo 'error "executed"' >lfs.lua && pmlua help
--
-- Lua searches the current folder before the C modules' folders, so every verb would run a file lfs.lua in a folder that came
-- from another user. Here package.path and package.cpath keep absolute folders only. Modules that a user's script requires may
-- be in the script's folder and in relative folders, which are searched last; modules that pmlua requires are never searched
-- there.
--
-- LUA_PATH and LUA_CPATH are the user's: their absolute folders come after pmlua's, their relative ones last. LUA_INIT is
-- not run. The C modules that pmlua requires are searched in the folders that this Lua was built for before the folders of
-- LUA_CPATH, which may be for another Lua.

local M = {}

local searchpath, loadlib, loadfile = package.searchpath, package.loadlib, loadfile

-- Modules that pmlua requires, and must not load from an untrusted folder.
local reserved = { pmlua = true, lfs = true, cjson = true, zlib = true, socket = true }

local builtin = "" -- the absolute folders of this Lua's package.cpath

local own = { path = {}, cpath = {} } -- the user's folders, as templates

local function split(templates)
  local absolute, relative = {}, {}
  for template in templates:gmatch "[^;]+" do
    local list = template:sub(1, 1) == "/" and absolute or relative
    list[#list + 1] = template
  end
  return table.concat(absolute, ";"), relative
end

local function find(name, list)
  if #list == 0 then return nil, "" end
  return searchpath(name, table.concat(list, ";"))
end

local function load(name, library)
  local open, err = loadlib(library, "luaopen_" .. name:gsub("^[^-]*%-", ""):gsub("%.", "_"))
  return open or error(("error loading module '%s' from file '%s':\n\t%s"):format(name, library, err), 0), library
end

--- Runs before Lua's searchers: load a module that pmlua requires from the folders of this Lua's modules.
local function own_searcher(name)
  local library = reserved[name:match "^[^.]*"] and searchpath(name, builtin)
  if not library then return nil end
  return load(name, library)
end

--- The last of package.searchers.
local function searcher(name)
  if reserved[name:match "^[^.]*"] then
    return ("\n\tno file for '%s' in the folders that pmlua trusts, nor in absolute ones of LUA_PATH and LUA_CPATH"):format(name)
  end
  local path, missing = find(name, own.path)
  if path then
    local chunk, err = loadfile(path)
    return chunk or error(("error loading module '%s' from file '%s':\n\t%s"):format(name, path, err), 0), path
  end
  local library, absent = find(name, own.cpath)
  if not library then return missing .. absent end
  return load(name, library)
end

--- Sort the folders. To be called once, before anything else is required.
---@param with_libraries boolean whether modules in C may come from relative folders
---@param libraries string this Lua's package.cpath without the environment
function M.trust(with_libraries, libraries)
  builtin = split(libraries)
  package.path, own.path = split(package.path)
  package.cpath, own.cpath = split(package.cpath)
  if not with_libraries then own.cpath = {} end
  table.insert(package.searchers, #package.searchers - 2, own_searcher) -- the three of Lua look at the environment's folders
  table.insert(package.searchers, searcher)
end

--- A folder whose modules the user's script may require.
function M.add(folder)
  table.insert(own.path, 1, folder .. "/?/init.lua")
  table.insert(own.path, 1, folder .. "/?.lua")
end

return M
