-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/cli/common.lua - the options that several verbs have: each means the same wherever it is.
--
-- Try:  print(require("pmlua.internal.cli.common").with("json", { help = "the counts as JSON" }).name)

local M = {}

local common = {
  json = { name = "json", help = "print the results as JSON, with all digits" },
  csv = { name = "csv", help = "print the results as CSV (RFC 4180)" },
  out = { name = "out", short = "o", kind = "file", help = "write the results into FILE, which is opened first" },
  folder = { name = "out", short = "o", kind = "dir", help = "the folder for the results" },
  quiet = { name = "quiet", short = "q", help = "print only failures on standard error, no progress, notes and warnings" },
  plot = { name = "plot", kind = "picture", help = "draw the results into FILE (.svg or .png)" },
  event = { name = "event", short = "e", kind = "event", many = true, key = "events", help = "count this event" },
  patience = { name = "patience", kind = "duration", default = "5s", such = "5s or 500ms",
    help = "how long to wait for an answer" },
}

--- A common option, with what is particular about it here: its help, its default.
---@param name string
---@param particular? table
---@return pmlua.cli.Option
function M.with(name, particular)
  local option = {}
  for k, v in pairs(common[name]) do option[k] = v end
  for k, v in pairs(particular or {}) do option[k] = v end
  return option
end

--- Is this the beginning of a name with a path in it, whose slashes enclose nothing?
local function has_path(name) return name:find "^uprobe:" ~= nil or name:find "^usdt:" ~= nil end

--- Add names between commas; those inside pmu/a,b/ are its own. What is wrong.
local function add_names(names, text)
  local name, inside = "", false
  for c in (text .. ","):gmatch(".") do
    if c == "/" and not has_path(name) then inside = not inside end
    if c == "," and not inside then
      if name == "" then return "--event: an event's name is empty" end
      names[#names + 1], name = name, ""
    else
      name = name .. c
    end
  end
  if inside then return ("--event: '%s' lacks the closing '/'"):format(text) end
end

--- The events that --event names, which may be several between commas.
---@param lists string[]
---@return string[]? names
---@return string? err
function M.event_names(lists)
  local names = {}
  for _, list in ipairs(lists) do
    local wrong = add_names(names, list)
    if wrong then return nil, wrong end
  end
  return names
end

--- Events of a simulation by their places in its arrays of counts.
---@param names string[]
---@return integer[]? places
---@return string? err
function M.simulated_places(names)
  local events, places = require("pmlua.internal.simulation.run").events, {}
  for i, name in ipairs(names) do
    local short = name:gsub("^sim::", "")
    for k, event in ipairs(events) do
      if event == short then places[i] = k end
    end
    if not places[i] then
      return nil, ("--event: a simulation has no event '%s'; choose one of %s"):format(name, table.concat(events, " "))
    end
  end
  return places
end

return M
