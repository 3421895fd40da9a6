-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/plugins/uncore.lua - plugin::uncore: events of package PMUs over time, a metric for each package.
--
-- Try:  pmlua -e 'print(pml.plugin.load { name = "uncore", metrics = { "power/energy-pkg/" } })'
--
-- Options: metrics (events, or globs of events from pmlua events), every ("100ms"). For power/energy-pkg/ on a machine
-- with two packages the metrics are plugin::uncore::power/energy-pkg/:package0 and ...:package1, in Joules since the
-- start.

local core = require "pmlua.core"

local M = {
  summary = "events of packages (uncore, energy) over time",
  scope = "host",
  exact = true,
  default = { "power/energy-*/" },
}

local NONE = "no PMU of this machine counts packages (a virtual machine?)"

local sentence = core.failure.sentence

--- The events that a glob matches; the token itself if it is not a glob.
local function events_of(token)
  if not token:find "[*?]" then return { token } end
  local names = {}
  for _, row in ipairs(core.event.list(token) or {}) do
    if (row.source == "sysfs" or row.source == "libpfm4") and not row.name:find ":cpu%d+$" and not row.name:find ":package%d" then
      names[#names + 1] = row.name
    end
  end
  return names
end

--- Why it cannot be counted here; nil if it can.
local function refusal(name)
  local set <close>, err = core.eventset.open { name }
  if set then return nil end
  err = sentence(err)
  return err:sub(1, #name + 2) == name .. ": " and err:sub(#name + 3) or err
end

local function metric_of(name, event)
  return { name = name, reason = refusal(name), description = ("count of %s"):format(name), mode = "accumulated_start",
    unit = event.unit ~= "" and event.unit or "#", type = "float", scale = event.scale }
end

--- A metric for each place of an event; without places one metric with the reason.
local function places_of(name, metrics)
  local event, err = core.event.parse(name)
  if not event then
    metrics[#metrics + 1] = { name = name, reason = sentence(err) }
    return
  end
  for _, part in ipairs(event.parts) do
    local whole = name:find ":cpu%d+$" or name:find ":package%d+:die%d+$"
    local base = whole and name or name:gsub(":package%d+$", "")
    if part.place then metrics[#metrics + 1] = metric_of(whole and name or base .. ":" .. part.place, event) end
  end
  if #event.parts == 0 or not event.parts[1].place then
    metrics[#metrics + 1] = { name = name, reason = "it counts threads, not packages; read it with an event set" }
  end
end

---@param options { metrics?: string[] }
function M.metrics(options)
  local metrics = {}
  for _, token in ipairs(options.metrics or M.default) do
    local names = events_of(token)
    for _, name in ipairs(names) do places_of(name, metrics) end
    if #names == 0 then metrics[#metrics + 1] = { name = token, reason = NONE } end
  end
  return metrics
end

function M.collector(_, metrics)
  local names, set = {}, nil
  for i, metric in ipairs(metrics) do names[i] = metric.name end
  return function()
    if not set then
      set = assert(core.eventset.open(names))
      set:start()
    end
    local values = { set:read() }
    if not values[1] then error(values[2], 0) end
    local result = {}
    for i, metric in ipairs(metrics) do result[metric.name] = values[i] * (metric.scale or 1) end
    return result
  end
end

return M
