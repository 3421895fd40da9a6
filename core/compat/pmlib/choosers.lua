-- SPDX-License-Identifier: BSD-3-Clause
-- core/compat/pmlib/choosers.lua - the events of PMlib's choosers by PMU, as C, from the data of pmlua's groups. Run by make:
--
--     lua5.4 core/compat/pmlib/choosers.lua lua/pmlua/groups/*.lua lua/pmlua/without_pmu/compiler.lua >chooser_events.c

local NAMES <const> = { "FLOPS", "BANDWIDTH", "VECTOR", "CACHE", "CYCLE", "LOADSTORE" }
local LAST <const> = { cycles = true, instructions = true } -- listed first if not all events fit

local function data(path) return assert(loadfile(path, "t", {}))() end

--- The name and the formula of a metric; without a formula, part/metrics.lua has it.
local function parts_of(m)
  if type(m) == "table" then return m.name, m.formula end
  return m:match "^[%w_]+", m:match " = ([^;]*)"
end

local known = {}
for _, m in ipairs(data("lua/pmlua/groups/part/metrics.lua").metrics) do
  local name, formula = parts_of(m)
  known[name] = formula
end

--- Lay `own` over `base` one by one; false takes one away.
local function over(base, own)
  local both = {}
  for key, v in pairs(base or {}) do both[key] = v end
  for key, v in pairs(own or {}) do both[key] = v or nil end
  return both
end

--- The events and groups of a file, including inherited ones.
local function whole(path)
  local own, events, groups = data(path), {}, {}
  for _, other in ipairs(type(own.like) == "table" and own.like or { own.like }) do
    local of = whole(("%s/%s.lua"):format(path:match "^(.*)/[^/]*$", other))
    events, groups = over(events, of.events), over(groups, of.groups)
  end
  for name, group in pairs(own.groups or {}) do
    local metrics = group and #group > 0 and group
    local base = group and not metrics and groups[name] or {}
    groups[name] = group and { events = over(base.events, group.events), metrics = metrics or base.metrics } or nil
  end
  return { events = over(events, own.events), groups = groups }
end

--- The events of a group: its own events, and the events of the file that are named in its formulas.
local function events_of(file, group)
  local events, above = over(group.events), {}
  for _, m in ipairs(group.metrics) do
    local name, formula = parts_of(m)
    for word in (formula or known[name]):gmatch "[%a_][%w_]*" do
      if not above[word] then events[word] = events[word] or file.events[word] end
    end
    above[name] = true
  end
  return events
end

local function list(events)
  local keys, names, seen = {}, {}, {}
  for key in pairs(events) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b)
    if (LAST[a] or false) ~= (LAST[b] or false) then return not LAST[a] end
    return a < b
  end)
  for _, key in ipairs(keys) do
    if not seen[events[key]] then names[#names + 1], seen[events[key]] = events[key], true end
  end
  return table.concat(names, " ")
end

print '#include "compat/pmlib/pmlib.h"\nconst struct pmlib_chooser_events pmlib_chooser_events[] = {'
for _, path in ipairs(arg) do
  local file = whole(path)
  for _, pmu in ipairs(data(path).pmus or {}) do
    for _, name in ipairs(NAMES) do
      local group = file.groups[name]
      if group then print(('  {"%s", "%s", "%s"},'):format(pmu, name, list(events_of(file, group)))) end
    end
  end
end
print "  {0, 0, 0}};"
