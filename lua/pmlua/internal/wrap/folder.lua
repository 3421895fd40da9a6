-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/wrap/folder.lua - the working folder of a wrapper: its configuration, and where its files are.
--
--   wrap.lua      name, language, flags, libraries, twins of variadic functions, values to record
--   headers.h     an include for each header that applications include
--   example.c     (example.cc) a small program that uses the library
--   NAME.filter   which functions are wanted, in Score-P's syntax
--   build/        what pmlua wrap build makes
--
-- Try:  pmlua -e 'print(require("pmlua.internal.wrap.folder").load(".").libs)'

local literal = require "pmlua.internal.literal"
local shell = require "pmlua.internal.wrap.shell"
local sorted = require "pmlua.internal.sorted"
local refuse = require "pmlua.core".failure.refuse

local M = {}

-- Fields of wrap.lua and of a recipe, with their types.
M.fields = { name = "string", language = "string", cflags = "string", ldflags = "string", libs = "string",
  variadic = "table", record = "table", calls = "table" }
-- Those that a recipe has besides.
M.recipe_fields = { headers = "table", package = "string", example = "string", filter = "string", title = "string" }

--- A Lua value as source, tables with sorted keys.
---@param indent string?
function M.literal(value, indent)
  if type(value) ~= "table" then return (("%q"):format(value):gsub("\\\n", "\\n")) end
  indent = (indent or "") .. "  "
  local keys, rows = {}, {}
  for _, v in ipairs(value) do rows[#rows + 1] = indent .. M.literal(v, indent) end
  for k in pairs(value) do
    if type(k) == "string" then keys[#keys + 1] = k end
  end
  table.sort(keys)
  for _, k in ipairs(keys) do
    local key = k:find("^[%a_][%w_]*$") and k or ("[%q]"):format(k)
    rows[#rows + 1] = ("%s%s = %s"):format(indent, key, M.literal(value[k], indent))
  end
  if #rows == 0 then return "{}" end
  return "{\n" .. table.concat(rows, ",\n") .. ",\n" .. indent:sub(3) .. "}"
end

local function check(file, t, more)
  for k, v in sorted(t) do
    local wanted = M.fields[k] or more and more[k]
    if not wanted then return refuse("EINVAL", ("%s: no such field: %s"):format(file, tostring(k))) end
    if type(v) ~= wanted then return refuse("EINVAL", ("%s: %s must be a %s"):format(file, k, wanted)) end
  end
  if not (t.name or ""):find("^[%w_][%w_.-]*$") then
    return refuse("EINVAL", file .. ": name must consist of letters, digits, '_', '.' and '-'")
  end
  if t.language and t.language ~= "c" and t.language ~= "c++" then
    return refuse("EINVAL", file .. ": language must be c or c++")
  end
  return t
end

--- The table that a Lua file returns; it sees no functions. nil and why.
---@param more table<string, string>? fields beside those of wrap.lua
---@return table?, pmlua.Failure? failure
function M.read(file, more)
  local t, err = literal.read(file)
  if not t then return nil, err end
  return check(file, t, more)
end

---@class pmlua.wrap.folder
---@field dir string
---@field name string
---@field language string
---@field cflags string
---@field ldflags string
---@field libs string
---@field variadic table<string, string>
---@field record string[]
---@field calls table<string, integer> that the example makes, by name; none: it is not known
---@field headers string file
---@field example string file
---@field filter string file
---@field build string folder

--- Add defaults and the names of the files.
---@return pmlua.wrap.folder
function M.complete(dir, t)
  local cfg = { dir = dir, name = t.name, language = t.language or "c", cflags = t.cflags or "", ldflags = t.ldflags or "",
    libs = t.libs or "", variadic = t.variadic or {}, record = t.record or {}, calls = t.calls or {} }
  cfg.suffix = cfg.language == "c" and ".c" or ".cc"
  cfg.headers, cfg.example = dir .. "/headers.h", dir .. "/example" .. cfg.suffix
  cfg.filter, cfg.build = dir .. "/" .. cfg.name .. ".filter", dir .. "/build"
  cfg.source = cfg.build .. "/" .. cfg.name .. "-wrap" .. cfg.suffix
  return cfg
end

---@return pmlua.wrap.folder? folder, pmlua.Failure? failure
function M.load(dir)
  local core = require "pmlua.core"
  local real = core.sys.realpath(dir)
  if not real then return nil, dir .. ": no such folder; pmlua wrap init makes one" end
  if require "lfs".attributes(real, "mode") ~= "directory" then return nil, dir .. ": not a folder" end
  if not core.sys.realpath(real .. "/wrap.lua") then return nil, dir .. " has no wrap.lua; make a folder with pmlua wrap init" end
  local t, err = M.read(real .. "/wrap.lua")
  if not t then return nil, err end
  return M.complete(real, t)
end

--- The text of wrap.lua.
---@param cfg pmlua.wrap.folder
function M.configuration(cfg)
  local t = {}
  for field in pairs(M.fields) do t[field] = cfg[field] end
  return "-- How " .. cfg.name .. " is compiled, linked and wrapped; read by pmlua wrap.\nreturn " .. M.literal(t) .. "\n"
end

--- Create the build folder and return it; nil and the reason.
function M.make(dir)
  local done, out = shell.run("mkdir -p " .. shell.quote(dir))
  if not done then return refuse("EIO", (out:gsub("\n.*", ""))) end
  return dir
end

return M
