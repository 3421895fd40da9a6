-- SPDX-License-Identifier: BSD-3-Clause
--- Data of PMUs that differ little: a file of groups, presets or counters says `like = "icx"` and then only what differs.
--
-- The other file stands in the same folder. Constants, presets, groups and events are taken from it by name; what the
-- file gives itself replaces them, and false takes an event away. A group that gives no metrics keeps those of the
-- other: its events are put over the other's one by one. So does a preset that gives no formula; one whose events are
-- false is taken away.
--
--     pmlua -e 'print(pml.groups.of("spr").CYCLE.events.memory_stalls)'

local literal = require "pmlua.internal.literal"
local refuse = require "pmlua.core".failure.refuse

local M = {}

local DEPTH_MAX = 8 -- files that are like another that is like another

--- Leaves a value that is not a table unchanged: the reader of the whole refuses it.
local function over(base, own)
  local both = {}
  if own ~= nil and type(own) ~= "table" then return own end
  for k, v in pairs(base or {}) do both[k] = v end
  for k, v in pairs(own or {}) do both[k] = v or nil end
  return both
end

local function groups(base, own)
  local all = over(base, own)
  if type(all) ~= "table" then return all end
  for name, group in pairs(own or {}) do
    local other = base[name]
    if type(group) == "table" and group.metrics == nil and other then
      all[name] = over(other, group)
      all[name].events = over(other.events, group.events)
    end
  end
  return all
end

--- A preset without a formula keeps that of the other, as a group without metrics does.
local function preset(base, own)
  if type(base) ~= "table" or own.formula ~= nil or type(own.events) ~= "table" then return own end
  local both = over(base, own)
  both.events = over(base.events, own.events)
  return both
end

--- In the order of the other file; new ones after them, and without those whose events are false.
local function presets(base, own)
  local all, at, kept = {}, {}, {}
  if own ~= nil and type(own) ~= "table" then return own end
  for i, p in ipairs(base) do
    all[i] = p
    if type(p) == "table" and p.name then at[p.name] = i end
  end
  for _, p in ipairs(own or {}) do
    local i = type(p) == "table" and at[p.name]
    all[i or #all + 1] = i and preset(all[i], p) or p
  end
  for _, p in ipairs(all) do
    if type(p) ~= "table" or p.events ~= false then kept[#kept + 1] = p end
  end
  return kept
end

--- The data with all that it has from others.
---@param data table as it stands in the file
---@param text string
---@param path string
---@return table? whole
---@return pmlua.Failure? failure "file:line: what"
function M.whole(data, text, path, depth)
  if data.like == nil then return data end
  local at = ("%s:%d: like"):format(path, literal.line_of(text, "like"))
  if type(data.like) ~= "string" or not data.like:find("^[%w_]+$") then
    return refuse("EFORMAT", at .. ": not the name of a file beside this one")
  end
  if (depth or 1) > DEPTH_MAX then
    return refuse("EFORMAT", ("%s: leads back to this file, or is nested more than %d deep"):format(at, DEPTH_MAX))
  end
  local other = path:gsub("[^/]*$", "") .. data.like .. ".lua"
  local base, said = literal.read(other)
  if not base then return refuse(said, at) end
  local err
  base, err = M.whole(base, said, other, (depth or 1) + 1)
  if not base then return nil, err end
  local whole = over(base, data)
  whole.pmus = data.pmus
  whole.constants = over(base.constants, data.constants)
  if base.presets then whole.presets = presets(base.presets, data.presets) end
  if base.groups then whole.groups = groups(base.groups, data.groups) end
  if base.events then whole.events = over(base.events, data.events) end
  return whole
end

return M
