-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/installed.lua - wrappers that were installed: putting them there, and finding them.
--
-- Wrappers are searched in the folders of PMLUA_WRAP_PATH, then where pmlua itself is.
--
-- Try:  pmlua wrap list

local core = require "pmlua.core"
local literal = require "pmlua.internal.literal"
local folder = require "pmlua.internal.wrap.folder"
local paths = require "pmlua.internal.wrap.paths"
local shell = require "pmlua.internal.wrap.shell"
local try = require "pmlua.internal.try"
local refuse = core.failure.refuse

local M = {}

local MEGABYTES = 64 -- largest description: Qt's has some 11,000 functions

--- A wrapper's description from its folder; nil and why.
local function describe(dir, name)
  local file = ("%s/%s.lua"):format(dir, name)
  local w, err = literal.read(file, MEGABYTES)
  if not w then return nil, err end
  if type(w.functions) ~= "table" or type(w.libraries) ~= "table" or w.name ~= name then
    return nil, file .. ": not the description of a wrapper; build and install it again"
  end
  w.dir = core.sys.realpath(dir)
  return w
end

--- All wrappers, the first of each name, by name.
function M.list()
  local lfs = require "lfs"
  local list, seen = {}, {}
  for _, dir in ipairs(paths.installed()) do
    if lfs.attributes(dir, "mode") == "directory" then
      for entry in lfs.dir(dir) do
        local name = entry:match("^(.*)%.wrap$")
        local w = name and not seen[name] and describe(dir, name)
        if w then
          seen[name] = true
          list[#list + 1] = w
        end
      end
    end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

--- One wrapper by its name; nil and why.
---@return table?, pmlua.Failure? failure
function M.find(name)
  local list, names = M.list(), {}
  for i, w in ipairs(list) do
    if w.name == name then return w end
    names[i] = w.name
  end
  local nearest = require "pmlua.internal.nearest"(name, names)
  return refuse("ENOENT", ("no wrapper '%s'"):format(name), nearest and "did you mean '" .. nearest .. "'?" or
    "pmlua wrap list shows those in PMLUA_WRAP_PATH and pmlua's folder")
end

--- The wrapper that a working folder has built; nil and why.
---@param cfg pmlua.wrap.folder
---@return table?, pmlua.Failure? failure
function M.built(cfg)
  if not core.sys.realpath(("%s/%s.lua"):format(cfg.build, cfg.name)) then
    return nil, cfg.dir .. ": nothing is built; run pmlua wrap build"
  end
  return describe(cfg.build, cfg.name)
end

--- The files of a wrapper.
local function files(w)
  local list = { w.name .. ".wrap", w.name .. ".lua" }
  for _, kind in ipairs { "link", "run" } do
    for _, suffix in ipairs { "so", "a" } do
      local file = ("libpmlua-wrap-%s-%s.%s"):format(w.name, kind, suffix)
      if w.shared or kind == "link" and suffix == "a" then list[#list + 1] = file end
    end
  end
  return list
end

--- Copy the built files to PREFIX/lib/pmlua/wrap, or beside pmlua; return the folder, or nil and the reason.
---@param cfg pmlua.wrap.folder
---@param prefix string?
---@return string?, pmlua.Failure? failure
M.install = try.catching(function(cfg, prefix)
  local w = try(M.built(cfg))
  local dir = prefix and prefix .. "/lib/pmlua/wrap" or paths.default()
  if not dir then return refuse("ENOENT", "libpmlua.so is not in the folder of the command", "name the folder with --prefix") end
  try(folder.make(dir))
  for _, file in ipairs(files(w)) do
    -- a new file, not a new content: programs that run keep the old one
    local command = "cp -f %s %s.new && mv -f %s.new %s"
    local from, to = shell.quote(cfg.build .. "/" .. file), shell.quote(dir .. "/" .. file)
    local done, out = shell.run(command:format(from, to, to, to))
    if not done then return refuse("EIO", (out:gsub("\n.*", ""))) end
  end
  return core.sys.realpath(dir)
end)

return M
