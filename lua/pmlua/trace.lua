-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/trace.lua - the run itself as an OTF2 trace: a region per cell, the phases of its workload inside, metrics.
--
-- Try:  otf2-print results/read_overhead/latest/traces.otf2 | head -30
--
-- The trace is an addition to the tables: if it cannot be written, the run reports this once and continues.
-- The functions of core.trace (pml.trace.create) are available here as well.

---@class pml.trace
local M = setmetatable({}, { __index = function(_, name) return require "pmlua.core".trace[name] end })

--- The trace of an experiment's run; `pml.trace.create` gives a trace of a script's own.
---@class pmlua.RunTrace
local Trace = {}
Trace.__index = Trace

local samples_metric = { name = "samples", description = "samples taken so far", unit = "#", mode = "accumulated" }

--- The unit of the raw count: if no power of 2 or 10 converts it to the event's unit, the factor is part of the unit.
local function unit_of(e)
  local unit = e.unit ~= "" and e.unit or "#"
  if e.scale == 1 or e.exponent ~= 0 then return unit end
  return ("%.10g %s"):format(e.scale, unit)
end

-- Events of the script's choice, read at each enter and leave.
local function open_events(core, names)
  if not names or #names == 0 then return nil, { samples_metric } end
  local set, err = core.eventset.open(names)
  if not set then return nil, { samples_metric }, err end
  local metrics = { samples_metric }
  for i = 1, #set do
    local e = set:event(i)
    local remark = require "pmlua.internal.verify".remark(e.name)
    metrics[i + 1] = { name = e.name, description = "count since the start of the run" .. (remark and "; " .. remark or ""),
                       unit = unit_of(e), mode = e.mode, type = e.type, base = e.base, exponent = e.exponent }
  end
  return set, metrics
end

-- ---- reading ----

--- A function that removes a folder once: when it is called, or when it is collected.
local function remover(dir)
  local temporary, done = require "pmlua.internal.temporary", false
  local function remove()
    if not done then temporary.remove(dir) end
    done = true
  end
  return setmetatable({}, { __gc = remove, __call = remove })
end

--- Logs that are no archive yet become one, which is gone when the reader is closed.
local function open_logs(core, dir)
  local folder, refused = require "pmlua.internal.temporary".folder "trace"
  if not folder then return nil, refused, "EACCES" end
  local after = remover(folder)
  local made, err, code = require "pmlua.internal.record.archive".make(dir, folder)
  if not made then
    after()
    local _, failure = core.failure.refuse(code or "ENODATA", core.failure.sentence(err))
    return nil, failure, code or "ENODATA"
  end
  return core.trace.open(folder .. "/traces.otf2", after)
end

--- Open a trace to read it: an OTF2 archive of any writer by its anchor file, or a folder that has one, or the logs of
--- `pmlua record --trace`, which are made an archive first: in a temporary folder, so that nothing is written into @path.
---@param path string such as out/traces.otf2, or out
---@return pmlua.TraceReader? reader, pmlua.Failure? failure, string? code
function M.open(path)
  local core = require "pmlua.core"
  if type(path) ~= "string" or require "lfs".attributes(path, "mode") ~= "directory" then return core.trace.open(path) end
  local anchor = path .. "/traces.otf2"
  if core.sys.realpath(anchor) then return core.trace.open(anchor) end
  return open_logs(core, path)
end

-- ---- the trace of a run ----

--- Open the archive of a run in its folder.
---@param core table pmlua.core
---@param dir string
---@param events? string[]
---@return pmlua.RunTrace? trace, string? err without a trace; beside a trace: why its events are missing
function M.follow(core, dir, events)
  local set, metrics, no_events = open_events(core, events)
  local archive, err = core.trace.create(dir, { metrics = metrics })
  local location
  if archive then location, err = archive:location("main") end
  if not location then
    if archive then archive:close() end
    if set then set:close() end
    return nil, err
  end
  if set then set:start() end
  return setmetatable({ core = core, archive = archive, location = location, set = set, samples = 0 }, Trace), no_events
end

--- Record the current values of the metrics.
---@param ticks integer
function Trace:metric(ticks)
  local values = { self.samples }
  local read = self.set and { self.set:read() }
  for i = 1, read and #self.set or 0 do values[i + 1] = read[i] or false end -- false: it has no value yet
  self.location:metric(values, ticks)
end

--- A cell begins.
---@param label string
---@param file? string the script
---@param line? integer
function Trace:enter(label, file, line)
  self.region = self.core.region.intern(label, file, line)
  self.entered = self.core.clock.ticks()
  self.location:enter(self.region, self.entered)
  self:metric(self.entered)
end

-- Convert phases from intervals to a sequence in time, properly nested. If two phases begin together, the longer one is
-- the outer one; a phase that extends past its outer phase is cut there.
local function sequence(phases, first, last)
  local sorted, out, open = table.move(phases, 1, #phases, 1, {}), {}, {}
  table.sort(sorted, require "pmlua.internal.order".by("enter", "-leave"))
  local function close_until(ticks)
    while open[#open] and open[#open].leave <= ticks do
      local p = table.remove(open)
      out[#out + 1] = { "leave", p.region, p.leave }
    end
  end
  for _, p in ipairs(sorted) do
    if p.enter >= first and p.leave <= last and p.enter <= p.leave then
      close_until(p.enter)
      local outer = open[#open]
      out[#out + 1] = { "enter", p.region, p.enter }
      open[#open + 1] = { region = p.region, leave = outer and math.min(p.leave, outer.leave) or p.leave }
    end
  end
  close_until(math.maxinteger)
  return out
end
--- The enters and leaves of phases, in the order of time and properly nested.
---@param phases { region: integer, enter: integer, leave: integer }[]
---@param first integer ticks; what began before is left out
---@param last integer ticks; what ended after is left out
---@return { [1]: "enter"|"leave", [2]: integer, [3]: integer }[] records region and ticks
M.sequence = sequence

--- The cell has been measured.
---@param n integer samples it gave
---@param phases? {region: integer, enter: integer, leave: integer}[]
function Trace:leave(n, phases)
  local now = self.core.clock.ticks()
  for _, e in ipairs(sequence(phases or {}, self.entered, now)) do
    self.location[e[1]](self.location, e[2], e[3])
  end
  self.samples = self.samples + n
  self:metric(now)
  self.location:leave(self.region, now)
  self.region = nil
end

--- Write the definitions and close; idempotent.
---@return boolean? ok, string? err
function Trace:close()
  if not self.archive then return true end
  local archive = self.archive
  self.archive = nil
  if self.set then self.set:close() end
  return archive:close()
end

return M
