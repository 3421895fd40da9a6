-- SPDX-License-Identifier: BSD-3-Clause
-- core/compat/pmlib/choosers.lua - the events of PMlib's choosers by PMU, as C, from the data of pmlua's groups. Run by make:
--
--     lua5.4 core/compat/pmlib/choosers.lua lua/pmlua/groups/*.lua lua/pmlua/without_pmu/compiler.lua >chooser_events.c

local NAMES <const> = { "FLOPS", "BANDWIDTH", "VECTOR", "CACHE", "CYCLE", "LOADSTORE" }
local LAST <const> = { cycles = true, instructions = true } -- what goes first where not all events fit

local function data(path) return assert(loadfile(path, "t", {}))() end

--- The groups of a file with those of the files that it is like; events alone.
local function groups_of(path)
  local own, groups = data(path), {}
  for _, other in ipairs(type(own.like) == "table" and own.like or { own.like }) do
    local folder = path:match "^(.*)/[^/]*$"
    for name, events in pairs(groups_of(("%s/%s.lua"):format(folder, other))) do groups[name] = events end
  end
  for name, group in pairs(own.groups or {}) do
    local events = {}
    for key, event in pairs(group and not group.metrics and groups[name] or {}) do events[key] = event end
    for key, event in pairs(group and group.events or {}) do events[key] = event or nil end
    groups[name] = group and events or nil
  end
  return groups
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
  local groups = groups_of(path)
  for _, pmu in ipairs(data(path).pmus or {}) do
    for _, name in ipairs(NAMES) do
      if groups[name] then print(('  {"%s", "%s", "%s"},'):format(pmu, name, list(groups[name]))) end
    end
  end
end
print "  {0, 0, 0}};"
