-- SPDX-License-Identifier: BSD-3-Clause
--- Inheritance of PMU data: a file of groups, presets or counters has `like = "icx"` and lists only the differences.
--
-- The other file is in the same folder, or in its folder part/, whose files belong to no PMU but are shared. With a
-- list, `like = { "hsw", "part/home_agents" }`, later entries override earlier ones, and the file overrides all. Constants,
-- presets, groups and events are merged by name; the file's entries replace inherited ones, and false removes an event or a
-- group. A group without metrics keeps the inherited ones, and its events override the inherited events one by one. The
-- same applies to a preset without a formula; a preset whose events are false is removed.
--
--     pmlua -e 'print(pml.groups.of("spr").CYCLE.events.memory_stalls)'

local literal = require "pmlua.internal.literal"
local refuse = require "pmlua.core".failure.refuse

local M = {}

local DEPTH_MAX = 8 -- files that are like another that is like another

--- Leaves a value that is not a table unchanged: the reader of the whole refuses it.
local function over(base, own)
  local both = {}
  if base ~= nil and type(base) ~= "table" then return base end
  if own ~= nil and type(own) ~= "table" then return own end
  for k, v in pairs(base or {}) do both[k] = v or nil end
  for k, v in pairs(own or {}) do both[k] = v or nil end
  return both
end

local function groups(base, own)
  local all = over(base, own)
  if type(all) ~= "table" then return all end
  for name, group in pairs(own or {}) do
    local other = base[name]
    if type(group) == "table" and group.metrics == nil and group[1] == nil and type(other) == "table" then
      all[name] = over(other, group)
      all[name].events = over(other.events, group.events)
    end
  end
  return all
end

--- A preset without a formula inherits it, as a group inherits its metrics.
local function preset(base, own)
  if type(base) ~= "table" or own.formula ~= nil or type(own.events) ~= "table" then return own end
  local both = over(base, own)
  both.events = over(base.events, own.events)
  return both
end

--- A preset that is a text begins with its name.
local function name_of(p) return type(p) == "string" and p:match "^[%w_]*" or type(p) == "table" and p.name end

--- In the order of the other file; new ones after them, and without those whose events are false.
local function presets(base, own)
  local all, at, kept = {}, {}, {}
  if type(base) ~= "table" then return base end
  if own ~= nil and type(own) ~= "table" then return own end
  for i, p in ipairs(base) do
    all[i] = p
    if name_of(p) then at[name_of(p)] = i end
  end
  for _, p in ipairs(own or {}) do
    local i = at[name_of(p)]
    all[i or #all + 1] = i and type(p) == "table" and preset(all[i], p) or p
  end
  for _, p in ipairs(all) do
    if type(p) ~= "table" or p.events ~= false then kept[#kept + 1] = p end
  end
  return kept
end

--- @data over @base, which is whole.
local function lay(base, data)
  local whole = over(base, data)
  whole.pmus, whole.names = data.pmus, data.names
  whole.constants = over(base.constants, data.constants)
  if base.presets then whole.presets = presets(base.presets, data.presets) end
  if base.groups then whole.groups = groups(base.groups, data.groups) end
  if base.events then whole.events = over(base.events, data.events) end
  return whole
end

--- The names in `like`, as a list; nil if one of them is not the name of a file.
local function names_of(like)
  local list = type(like) == "table" and like or { like }
  for _, name in ipairs(list) do
    if type(name) ~= "string" or not (name:find "^[%w_]+$" or name:find "^part/[%w_]+$") then return nil end
  end
  return #list > 0 and list or nil
end

local function read_whole(path, at, depth)
  local data, said = literal.read(path)
  if not data then return refuse(said, at) end
  return M.whole(data, said, path, depth)
end

--- The data with all that it has from others.
---@param data table as it stands in the file
---@return table? whole, pmlua.Failure? failure "file:line: what"
function M.whole(data, text, path, depth)
  if data.like == nil then return data end
  local at = ("%s:%d: like"):format(path, literal.line_of(text, "like"))
  local names = names_of(data.like)
  if not names then return refuse("EFORMAT", at .. ": not the name of a file beside this one or in part/, or a list of such") end
  if (depth or 1) > DEPTH_MAX then
    return refuse("EFORMAT", ("%s: leads back to this file, or is nested more than %d deep"):format(at, DEPTH_MAX))
  end
  local whole = {}
  for _, name in ipairs(names) do
    local other, err = read_whole(path:gsub("[^/]*$", "") .. name .. ".lua", at, (depth or 1) + 1)
    if not other then return nil, err end
    whole = lay(whole, other)
  end
  return lay(whole, data)
end

return M
