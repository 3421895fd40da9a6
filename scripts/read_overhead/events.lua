-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/read_overhead/events.lua - choose the eight events, and the path of each combination.
--
-- Try:  print(table.concat(require("read_overhead.events").choose(require "pmlua").names, " "))
--
-- With a PMU: instructions and cycles first, as in the papers, then further events that it can count at the same time. Without:
-- software events, which every Linux has; their page cannot be read in user space, so that path is not measured.

local M = {}

M.most = 8

local hardware = {
  "instructions", "cycles", "branches", "branch-misses", "cache-references", "cache-misses", "ref-cycles", "bus-cycles",
  "stalled-cycles-frontend", "stalled-cycles-backend",
}
-- The CPU clock comes last: it is the only software event that is expensive to read, and would bend the line of the costs.
local software = {
  "perf::TASK-CLOCK", "perf::PAGE-FAULTS", "perf::CONTEXT-SWITCHES", "perf::CPU-MIGRATIONS", "perf::MINOR-FAULTS",
  "perf::MAJOR-FAULTS", "alignment-faults", "emulation-faults", "bpf-output", "dummy", "perf::CPU-CLOCK",
}

-- The paths of the table, and the event set's options for each.
local path_options = {
  none = {},
  page = {},
  read = { no_page = true, ungrouped = true },
  group = { no_page = true },
}

--- Open the set of a cell; the caller closes it.
---@param path string "page", "read" or "group"
---@return userdata? set, string? err, string? code
function M.open(pml, names, path)
  local options = {}
  for k, v in pairs(path_options[path]) do options[k] = v end
  return pml.eventset.open(names, options)
end

-- The names of events that open together: NAME:u if they exclude the kernel; nil and why, if they do not open.
local function called(pml, names, path)
  local set <close>, err = M.open(pml, names, path)
  if not set then return nil, err end
  local list = {}
  for i = 1, #set do list[i] = set:event(i).name end
  return list
end

local function gather(pml, candidates, path)
  local names = {}
  for _, name in ipairs(candidates) do
    if #names == M.most then break end
    local more = table.move(names, 1, #names, 1, {})
    more[#more + 1] = name
    names = called(pml, more, path) or names
  end
  return names
end

---@class read_overhead.Events
---@field names string[] at most eight
---@field pmu boolean
---@field why? string why there is no PMU
---@field note? string remark about them for the reader of the table

--- Choose the events.
---@param asked? string[] the user's own choice
---@return read_overhead.Events? events, string? err
function M.choose(pml, asked)
  local pmu, why = pml.event.has_pmu()
  local events = { pmu = pmu and true or false, why = not pmu and why or nil }
  if asked and #asked > 0 then
    if #asked > M.most then return nil, ("%d events requested; at most %d can be measured"):format(#asked, M.most) end
    for _, name in ipairs(asked) do
      local ok, err = pml.event.parse(name)
      if not ok then return nil, err end
    end
    local names, err = called(pml, asked, "group")
    events.names = names
    return names and events, err
  end
  if events.pmu then
    events.names = gather(pml, hardware, "page")
    if #events.names < M.most then
      events.note = ("the PMU counts only %d of these events at once; larger sets are not measured"):format(#events.names)
    end
  end
  if not events.names or #events.names == 0 then
    events.names = gather(pml, software, "group")
    events.note = "these are software events, whose cost is that of read(2); the page path needs a PMU"
  end
  if #events.names == 0 then
    return nil, "no event can be opened; run `pmlua doctor`, or lower kernel.perf_event_paranoid"
  end
  return events
end

--- The first n of them.
function M.first(events, n) return table.move(events.names, 1, n, 1, {}) end

--- The path that is actually taken: a set that has no readable page goes through one read(2).
---@param set userdata
---@param path string what was asked for
---@return string taken
function M.taken(set, path)
  if path ~= "page" then return path end
  for i = 1, #set do
    if set:event(i).path ~= "page" then return "group" end
  end
  return "page"
end

return M
