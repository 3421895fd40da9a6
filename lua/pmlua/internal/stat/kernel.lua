-- SPDX-License-Identifier: BSD-3-Clause
--- Events that the kernel counts for a command and all that it starts: perf_event counters that children inherit.
--
--     pmlua stat -e page-faults -e context-switches -- make

local compiler = require "pmlua.internal.stat.compiler"
local core = require "pmlua.core"
local refuse = core.failure.refuse

local M = { name = "perf_event" }

local software = { "task-clock", "context-switches", "cpu-migrations", "minor-faults", "major-faults" }
local hardware = { "cycles", "instructions", "branches", "branch-misses", "cache-references", "cache-misses" }

--- What there is to count without being asked.
local function usual()
  local names = table.move(software, 1, #software, 1, {})
  return core.event.has_pmu() and table.move(hardware, 1, #hardware, #names + 1, names) or names
end

--- The sentence of a failure without the event's name, which the row has already.
local function sentence(err, name)
  local text = err:sentence()
  return text:sub(1, #name + 2) == name .. ": " and text:sub(#name + 3) or text
end

local function attach(self, pid)
  for i, name in ipairs(self.names) do
    local set, err = core.eventset.open({ name }, { pid = pid, inherit = true, on_exec = true })
    self.sets[i], self.reasons[i] = set or false, err and sentence(err, name)
  end
end

--- Parts of an event that never got a counter: kinds of cores the command did not visit, or places in use by others.
local function idle_parts(set, about)
  local idle = {}
  for _, part in ipairs(about.nparts > 1 and set:parts(1) or {}) do
    if part.enabled_ns > 0 and part.running_ns == 0 then idle[#idle + 1] = part.pmu end
  end
  return #idle > 0 and idle or nil
end

local function row_of(self, i)
  local row = { event = self.names[i], unit = "", reason = self.reasons[i] }
  local set = self.sets[i]
  if not set then return row end
  local about = set:event(1)
  row.event, row.unit = about.name, about.unit
  local readings, err = set:readings()
  if not readings then
    row.reason = core.failure.sentence(err)
    return row
  end
  local r = readings[1]
  row.raw, row.enabled_ns, row.running_ns = r.raw, r.enabled_ns, r.running_ns
  if r.enabled_ns > 0 and r.running_ns == 0 then
    row.reason = "it never counted: its counters were in use"
  else
    row.value = r.enabled_ns == r.running_ns and r.raw or math.floor(r.scaled + 0.5)
    row.idle = idle_parts(set, about)
    if about.scale ~= 1 then row.value = row.value * about.scale end
  end
  return row
end

local function rows(self)
  local out = {}
  for i in ipairs(self.names) do out[i] = row_of(self, i) end
  return out
end

local function close(self)
  for _, set in ipairs(self.sets) do
    if set then set:close() end
  end
end

--- Whether it is an event of the kernel at all; nil and why not.
local function check(name)
  local event, err = core.event.parse(name)
  if not event then return refuse(err) end
  if event.kind == "perf" then return true end
  return refuse("ENOTSUP", ("%s: only the kernel's events can be counted in another process"):format(name))
end

---@param options { events: string[]? }
---@return table? handle
---@return pmlua.Failure? failure
function M.open(options)
  local names = options.events and {} or usual()
  for _, name in ipairs(options.events or {}) do
    if not compiler.takes(name) then
      local fine, err = check(name)
      if not fine then return nil, err end
      names[#names + 1] = name
    end
  end
  return { names = names, sets = {}, reasons = {}, attach = attach, rows = rows, close = close }
end

return M
