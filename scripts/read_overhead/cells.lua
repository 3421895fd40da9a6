-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/read_overhead/cells.lua - the places where a read is made, and which combinations of factors are measured.
--
-- Try:  for _, c in ipairs(require("read_overhead.cells").contexts) do print(c.name, c.workload, c.site) end
--
-- The bare loop is measured with every operation, path and number of events; with one read(2) per event, which is expensive
-- and strictly linear, operations other than the read only with 1, 2, 4 and 8. The other places are measured with the plain
-- read of a few events, by each path: they differ in the state of the caches, not in the operation.

local M = {}

M.operations = { "empty", "start_stop", "read", "read_ts", "accum", "reset" }
M.paths = { "none", "page", "read", "group" } -- none: no counter is read

-- name: as in the tables; site: index among the sites of the workload; event: instead of the chosen ones.
M.contexts = {
  { name = "loop", workload = "loop", site = 1 },
  { name = "msr/tsc/", workload = "loop", site = 1, event = "msr/tsc/", path = "read" },
  { name = "clock::ticks", workload = "loop", site = 1, event = "clock::ticks", path = "none" },
  { name = "clock::ns", workload = "loop", site = 1, event = "clock::ns", path = "none" },
  { name = "sobel/pixel", workload = "sobel", site = 1 },
  { name = "stream/element", workload = "stream", site = 1 },
  { name = "stream/copy", workload = "stream", site = 2 },
  { name = "stream/scale", workload = "stream", site = 3 },
  { name = "stream/add", workload = "stream", site = 4 },
  { name = "stream/triad", workload = "stream", site = 5 },
  { name = "lu/panel_init", workload = "lu", site = 1 },
  { name = "lu/panel_factorisation", workload = "lu", site = 2 },
  { name = "lu/broadcast", workload = "lu", site = 3 },
  { name = "lu/update", workload = "lu", site = 4 },
}

local by_name = {}
for _, c in ipairs(M.contexts) do by_name[c.name] = c end

--- Look up a context by its name.
function M.context(name) return by_name[name] end

local function names_of_contexts()
  local out = {}
  for i, c in ipairs(M.contexts) do out[i] = c.name end
  return out
end

local function numbers(first, last)
  local out = {}
  for i = first, last do out[#out + 1] = i end
  return out
end

--- The factors in the order of the table's columns.
---@param most integer the most events
function M.factors(most)
  return {
    { "context", names_of_contexts() }, { "operation", M.operations }, { "path", M.paths }, { "events", numbers(0, most) },
  }
end

-- Why a path cannot be measured on this machine, or true.
local function possible(events, p)
  if p.path == "page" and not events.pmu then return "needs a PMU: " .. events.why:match "^[^:;(]*" end
  if p.events > #events.names then return ("needs a PMU with %d counters; here are %d"):format(p.events, #events.names) end
  return true
end

local function loop(events, p)
  if p.operation == "empty" then return p.path == "none" and p.events == 0 end
  if p.path == "none" or p.events == 0 then return false end
  -- one read(2) per event costs in proportion to the number: beyond the read itself, powers of two show it
  if p.path == "read" and p.operation ~= "read" and p.events & (p.events - 1) ~= 0 then return false end
  return possible(events, p)
end

--- The rule that decides for each combination whether it is a cell, and why it cannot be measured on this machine.
---@param unavailable table<string, string> reasons by event name
---@return fun(p: table): boolean|string
function M.rule(events, context_events, unavailable)
  return function(p)
    local c = by_name[p.context]
    if c.name == "loop" then return loop(events, p) end
    if p.operation ~= "read" then return false end
    if c.event then
      if p.events ~= 1 or p.path ~= c.path then return false end
      return unavailable[c.event] or true
    end
    if p.path == "none" or p.events ~= context_events then return false end
    return possible(events, p)
  end
end

return M
