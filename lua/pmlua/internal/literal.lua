-- SPDX-License-Identifier: BSD-3-Clause
--- Data files: a Lua table constructor after `return`, read without giving it anything to do harm with.
--
-- Event groups, presets, facts about PMUs and wrappers' descriptions are such files. They see no globals and no methods of
-- strings, are bounded in instructions, memory and time, and give strings, numbers, booleans and tables of these. Errors
-- name the file and the line.
--
--     pmlua -e 'print(require("pmlua.internal.literal").parse("return { a = = 1 }", "x.lua"))'

local core = require "pmlua.core"
local refuse = core.failure.refuse

local M = {}

local BYTES_MAX = 1 << 20
local MEMORY, INSTRUCTIONS, VALUES = 64 << 20, 1000000, 200000 -- limits for a file of BYTES_MAX, scaled for longer ones

--- The first line of @text where @needle stands as a whole word; 1 if it stands nowhere.
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
  if err:sub(1, #name + 1) == name .. ":" then return err end
  return ("%s:1: %s"):format(name, err)
end

--- Read the text of a data file. It runs in a separate Lua state, without any library, and with bounded instructions,
--- memory, time and values (bindings/base/ldata.c).
---@param name string of the file, for errors
---@param megabytes? integer how long it may be (1)
---@return table? data, pmlua.Failure? failure "file:line: what"
function M.parse(text, name, megabytes)
  local most = megabytes or 1
  if #text > most * BYTES_MAX then
    return refuse("EFBIG", ("%s:1: longer than %s"):format(name, most == 1 and "a megabyte" or most .. " megabytes"))
  end
  local data, err = core.data.read(text, "@" .. name, MEMORY * most, INSTRUCTIONS * most, VALUES * most)
  if not data then return refuse(err.code, complaint(name, err.text)) end
  return data
end

--- Read a data file.
---@param megabytes? integer how long it may be (1)
---@return table? data, string text its text, for line_of; or the error
function M.read(path, megabytes)
  local text, err = require("pmlua.internal.file").read(path, (megabytes or 1) * BYTES_MAX)
  if not text then return nil, err end
  local data, why = M.parse(text, path, megabytes)
  if not data then return nil, why --[[@as string]] end
  return data, text
end

--- The path of a file or folder of pmlua's data.
---@param name string "groups", "groups/part/metrics.lua", ...
function M.shipped(name)
  return (debug.getinfo(1, "S").source:sub(2):match "^(.*)/internal/[^/]*$" or "..") .. "/" .. name
end

--- The data files of a folder of pmlua, by name without .lua, sorted.
---@param folder string "groups", ...
---@return { name: string, path: string }[]
function M.list(folder)
  local lfs, path = require "lfs", M.shipped(folder)
  local files = {}
  for entry in lfs.dir(path) do
    local name = entry:match("^([%w_]+)%.lua$")
    if name then files[#files + 1] = { name = name, path = ("%s/%s"):format(path, entry) } end
  end
  table.sort(files, function(a, b) return a.name < b.name end)
  return files
end

return M
