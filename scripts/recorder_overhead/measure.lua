-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/recorder_overhead/measure.lua - run the C workload of a cell; its durations, and those that stand out.
--
-- Try:  local m = require("recorder_overhead.measure").new(pml, { type = "double", libsde = "libsde.so.1" })
--       print(#m:cell({ library = "pmlua", keep = "all", threads = 2, recorder = "same" }, 16384))
--
-- Lua is never in the timed loop. A separate run, which is not timed, watches what each push takes from the allocator: a
-- thread's lane, and libsde's array of one thread, grow at the same push each time. Watching is slow (some 15 us per push)
-- and stops after 65,536 pushes.

local workloads = require "workloads.workload"

local M = {}

M.most_threads = 8
--- The shortest spike, independent of the median. Longer pushes of every round are kept.
M.least_spike_ns = 1000

local sites = { bytes = M.most_threads + 1, slow = M.most_threads + 2 }
local most_watched = 1 << 16
local most_pushes = 1 << 20 -- per thread, as in the workload
local slow_rows = 4096 -- per thread, as in the workload
local slow_numbers = 5 -- per row

---@class recorder_overhead.Measure
---@field no_libsde string? why there is no libsde
---@field last table<string, userdata> the durations of the last round, by cell
local Measure = {}
Measure.__index = Measure

--- @param pml table
--- @param options {type: string, libsde: string}
--- @return recorder_overhead.Measure? measure
--- @return string? err
function M.new(pml, options)
  local workload, err = workloads.load "recorder"
  if not workload then return nil, err end
  local self = setmetatable({ pml = pml, options = options, workload = workload, grown = {}, last = {} }, Measure)
  self.least_spike = M.least_spike_ns * pml.clock.rate() / 1e9
  local ok, why = self:try "none"
  if not ok then return nil, why end
  ok, why = self:try "libsde"
  if not ok then self.no_libsde = why end
  return self
end

-- One run of n pushes, with the wanted room in some sites; the caller closes the samples.
function Measure:run(options, n, wanted)
  local samples = {}
  if n > most_pushes then
    return nil, ("%d pushes in a round; the limit is %d: use more --rounds"):format(n, most_pushes)
  end
  for i = 1, #self.workload.sites do
    local room, err = self.pml.samples.new(wanted[i] or 1)
    if not room then return nil, err end
    samples[i] = room
  end
  options.pushes, options.type, options.libsde = n, self.options.type, self.options.libsde
  local done, err = workloads.run(self.workload, options, samples)
  if not done then return nil, err end
  return samples, done
end

local function close(samples)
  for _, s in ipairs(samples) do s:close() end
end

-- Whether a library can be used.
function Measure:try(library)
  local samples, err = self:run({ library = library }, 1, {})
  if samples then close(samples) end
  return samples ~= nil, err
end

--- The bytes that each push takes from the allocator, by its number from 0, for a thread that does not share its array.
---@return table<integer, integer>? growth empty: none does, or the allocator does not tell; nil:
---unknown, because threads share libsde's one array
function Measure:growth(p, pushes)
  if p.library == "none" or (p.library == "libsde" and p.threads > 1 and p.recorder == "same") then return nil end
  local n = math.min(pushes, most_watched)
  local key = ("%s %s %d"):format(p.library, p.keep, n)
  if self.grown[key] then return self.grown[key] end
  local samples = self:run({ library = p.library, keep = p.keep, measure = "growth" }, n, { [sites.bytes] = n })
  if not samples then return nil end
  local index, value = samples[sites.bytes]:above(0, n)
  close(samples)
  local out = {}
  for k, i in ipairs(index) do out[i - 1] = value[k] end
  self.grown[key] = out
  return out
end

-- The durations of the pushes that grow the recorder.
local function at_growth(growth, series, n)
  local out = {}
  for index in pairs(growth or {}) do
    for first = 1, #series, n do out[#out + 1] = series[first + index] end
  end
  return out
end

-- The kernel's counts during the slow pushes, by thread (from 1) and number of the push.
local function circumstances(slow)
  local out = {}
  for i = 1, #slow, slow_numbers do
    local thread = slow[i] + 1
    out[thread] = out[thread] or {}
    out[thread][slow[i + 1]] = { faults = slow[i + 2], waits = slow[i + 3], preemptions = slow[i + 4] }
  end
  return out
end

-- The duration that every spike exceeds.
function Measure:candidates(series, n, slow)
  local index, value = series:above(self.least_spike, #series)
  local told, out = circumstances(slow), {}
  for k, i in ipairs(index) do
    local thread, push = (i - 1) // n + 1, (i - 1) % n
    out[k] = { thread = thread, index = push, ticks = value[k], seen = told[thread] and told[thread][push] }
  end
  return out
end

local function joined(pml, samples, threads, n)
  local out = pml.samples.new(threads * n)
  for t = 1, threads do out:append(samples[t]) end
  return out
end

function Measure:keep_last(p, series)
  local key = self.key(p)
  if self.last[key] then self.last[key]:close() end
  self.last[key] = series:copy()
end

function Measure.key(p) return table.concat({ p.library, p.keep, p.threads, p.recorder }, " ") end

--- Measure a cell.
---@param p table the factors
---@param n integer pushes of each thread
---@return userdata? samples n of each thread, one thread after the other
---@return table|string about the run; or why it cannot be measured
function Measure:cell(p, n)
  local growth, wanted = self:growth(p, n), { [sites.slow] = p.threads * slow_rows * slow_numbers }
  for t = 1, p.threads do wanted[t] = n end
  local options = { library = p.library, keep = p.keep, threads = p.threads, recorder = p.recorder }
  local samples, done = self:run(options, n, wanted)
  if not samples then return nil, done end
  local series = joined(self.pml, samples, p.threads, n)
  local candidates = self:candidates(series, n, samples[sites.slow])
  close(samples)
  if p.library ~= "none" and done.recorded ~= p.threads * n then
    return nil, ("the recorder lost values: it has %2$d of %1$d"):format(p.threads * n, done.recorded)
  end
  self:keep_last(p, series)
  return series, {
    pinned = done.pinned, overlap = done.overlap, pushes = n, phases = done.phases,
    candidates = candidates, at_growth = at_growth(growth, series, n),
  }
end

return M
