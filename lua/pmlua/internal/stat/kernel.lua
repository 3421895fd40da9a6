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

--- The default events. For a cpu they include its clock, which also counts while it is idle.
local function usual(of_cpus)
  local names = table.move(software, 1, #software, 1, {})
  if of_cpus then names[1] = "cpu-clock" end
  return core.event.has_pmu() and table.move(hardware, 1, #hardware, #names + 1, names) or names
end

--- The sentence of a failure without the event's name, which the row has already.
local function sentence(err, name)
  local text = err:sentence()
  return text:sub(1, #name + 2) == name .. ": " and text:sub(#name + 3) or text
end

--- Count the events in several places and sum the counts. A thread that has ended meanwhile is skipped.
---@param places pmlua.EventsetOptions[]
local function attach(self, places)
  for i, name in ipairs(self.names) do
    self.sets[i] = {}
    for _, place in ipairs(places) do
      if place.label == self.cgroups[i] then self:open(i, name, place) end
    end
  end
end

--- Count the event of row @i in one more place.
local function open(self, i, name, place)
  local set, err, code = core.eventset.open({ name }, { pid = place.pid, cpu = place.cpu, cgroup = place.cgroup,
    inherit = place.inherit, on_exec = place.on_exec })
  if set then table.insert(self.sets[i], set)
  elseif code ~= "ESRCH" then self.reasons[i] = sentence(err, name) end
end

--- Add the names of an event's parts that never got a counter: kinds of cores the command did not visit, or places in use
--- by others.
local function add_idle(idle, set, about)
  for _, part in ipairs(about.nparts > 1 and set:parts(1) or {}) do
    if part.enabled_ns > 0 and part.running_ns == 0 then idle[#idle + 1] = part.pmu end
  end
end

--- Add a reading to a row.
local function add(row, r, scale)
  row.raw, row.enabled_ns, row.running_ns = row.raw + r.raw, row.enabled_ns + r.enabled_ns, row.running_ns + r.running_ns
  row.value = row.value + (r.enabled_ns == r.running_ns and r.raw or math.floor(r.scaled + 0.5)) * scale
end

local function row_of(self, i)
  local row = { event = self.names[i], cgroup = self.cgroups[i], unit = "", reason = self.reasons[i] }
  if row.reason or #self.sets[i] == 0 then return row end
  row.raw, row.enabled_ns, row.running_ns, row.value = 0, 0, 0, 0
  local idle = {}
  for _, set in ipairs(self.sets[i]) do
    local about = set:event(1)
    local readings, err = set:readings()
    if not readings then
      return { event = about.name, cgroup = row.cgroup, unit = about.unit, reason = core.failure.sentence(err) }
    end
    row.event, row.unit = about.name, about.unit
    add(row, readings[1], about.scale ~= 1 and about.scale or 1)
    add_idle(idle, set, about)
  end
  if row.enabled_ns > 0 and row.running_ns == 0 then
    row.reason, row.value = "it never counted: its counters were in use", nil
  elseif #idle > 0 then
    row.idle = idle
  end
  return row
end

local function rows(self)
  local out = {}
  for i in ipairs(self.names) do out[i] = row_of(self, i) end
  return out
end

local function close(self)
  for _, sets in ipairs(self.sets) do
    for _, set in ipairs(sets) do set:close() end
  end
end

--- Whether it is an event of the kernel at all; nil and why not.
local function check(name)
  local event, err = core.event.parse(name)
  if not event then return refuse(err) end
  if event.kind == "perf" then return true end
  return refuse("ENOTSUP", ("%s: only the kernel's events can be counted in another process"):format(name))
end

--- Every event once for each cgroup, and its cgroup.
local function in_each(names, cgroups)
  if not cgroups then return names, {} end
  local events, of = {}, {}
  for _, cgroup in ipairs(cgroups) do
    for _, name in ipairs(names) do events[#events + 1], of[#of + 1] = name, cgroup end
  end
  return events, of
end

---@param options { events: string[]?, all: boolean?, cgroups: string[]? }
---@return table? handle, pmlua.Failure? failure
function M.open(options)
  local names = options.events and {} or usual(options.all or options.cgroups)
  for _, name in ipairs(options.events or {}) do
    if not compiler.takes(name) then
      local fine, err = check(name)
      if not fine then return nil, err end
      names[#names + 1] = name
    end
  end
  local cgroups
  names, cgroups = in_each(names, options.cgroups)
  return { names = names, cgroups = cgroups, sets = {}, reasons = {}, attach = attach, open = open, rows = rows, close = close }
end

return M
