-- SPDX-License-Identifier: BSD-3-Clause
--- Data files: a Lua table constructor after `return`, read without giving it anything to do harm with.
--
-- Event groups, presets and facts about PMUs are such files. They see no globals, run a bounded number of instructions,
-- and give strings, numbers, booleans and tables of these. Errors name the file and the line.
--
--     pmlua -e 'print(pml.datafile.parse("return { a = = 1 }", "x.lua"))'

local M = {}

local INSTRUCTIONS_MAX, DEPTH_MAX, BYTES_MAX = 1000000, 20, 1 << 20

--- Only plain data passes: no function, no cycle.
local function plain(v, path, depth)
  local kind = type(v)
  if kind == "string" or kind == "number" or kind == "boolean" then return nil end
  if kind ~= "table" then return ("%s is a %s, not data"):format(path, kind) end
  if depth > DEPTH_MAX then return path .. " is nested too deeply" end
  for k, inner in pairs(v) do
    if type(k) ~= "string" and math.type(k) ~= "integer" then return path .. " has a key that is neither name nor number" end
    local why = plain(inner, ("%s.%s"):format(path, k), depth + 1)
    if why then return why end
  end
end

--- The first line of @text where @needle stands as a whole word; 1 if it stands nowhere.
---@param text string
---@param needle string
---@return integer line
function M.line_of(text, needle)
  local at = 1
  while true do
    local first, last = text:find(needle, at, true)
    if not first then return 1 end
    local before, after = text:sub(first - 1, first - 1), text:sub(last + 1, last + 1)
    if not before:find("[%w_]") and not after:find("[%w_]") then
      local _, breaks = text:sub(1, first):gsub("\n", "")
      return breaks + 1
    end
    at = first + 1
  end
end

--- Lua's own message: chunk:line: what; for a file the chunk is its name already.
local function complaint(name, err)
  err = tostring(err)
  if err:sub(1, #name + 1) == name .. ":" then return err end
  return ("%s:1: %s"):format(name, err)
end

--- Read the text of a data file.
---@param text string
---@param name string of the file, for errors
---@return table? data
---@return string? err "file:line: what"
function M.parse(text, name)
  if #text > BYTES_MAX then return nil, ("%s:1: longer than a megabyte"):format(name) end
  local chunk, err = load(text, "@" .. name, "t", {})
  if not chunk then return nil, complaint(name, err) end
  local run = coroutine.create(chunk)
  debug.sethook(run, function() error("runs too long for a data file", 2) end, "", INSTRUCTIONS_MAX)
  local strings = getmetatable("")
  local methods = strings.__index
  strings.__index = nil -- ("x"):rep(1e9) needs no globals
  local done, data = coroutine.resume(run)
  strings.__index = methods
  if not done then return nil, complaint(name, data) end
  if coroutine.status(run) ~= "dead" or type(data) ~= "table" then
    return nil, ("%s:1: it does not return a table"):format(name)
  end
  local why = plain(data, "the table", 1)
  if why then return nil, ("%s:1: %s"):format(name, why) end
  return data
end

--- Read a data file.
---@param path string
---@return table? data
---@return string text its text, for line_of; or the error
function M.read(path)
  local text, err = require("pmlua.file").read(path)
  if not text then return nil, err end
  local data, why = M.parse(text, path)
  if not data then return nil, why --[[@as string]] end
  return data, text
end

--- The data files of a folder beside this module, by name without .lua, sorted.
---@param folder string "groups", ...
---@return { name: string, path: string }[]
function M.list(folder)
  local here = debug.getinfo(1, "S").source:sub(2):match("^(.*)/[^/]*$") or "."
  local lfs = require "lfs"
  local files = {}
  for entry in lfs.dir(here .. "/" .. folder) do
    local name = entry:match("^([%w_]+)%.lua$")
    if name then files[#files + 1] = { name = name, path = ("%s/%s/%s"):format(here, folder, entry) } end
  end
  table.sort(files, function(a, b) return a.name < b.name end)
  return files
end

return M
