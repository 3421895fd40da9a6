-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/timers/clocks.lua - read one clock from C or from Lua: the cost, the steps, the first readings.
--
-- Try:  print(require("timers.clocks").new(require "pmlua", { reads = 1000, threads = 0 }):measure("MONOTONIC", 5)[1])

local workloads = require "workloads.workload"

local M = {}

M.names = {
  "ticks", "ticks-ordered", "ns", "MONOTONIC", "MONOTONIC_RAW", "MONOTONIC_COARSE", "BOOTTIME", "REALTIME",
  "REALTIME_COARSE", "TAI", "gettimeofday", "PROCESS_CPUTIME_ID", "THREAD_CPUTIME_ID", "clock", "lua:ticks", "lua:ns",
  "lua:os.clock", "lua:os.time",
}

local batch = 100 -- readings per sample
local shown = 400 -- readings that the figure shows
local lua_reads = 20000 -- fewer, because a Lua loop is slow and its steps are the interpreter's

local Lab = {}
Lab.__index = Lab

---@param options { reads: integer, threads: integer }
---@return table? lab, string? err
function M.new(pml, options)
  local workload, err = workloads.load "timers"
  if not workload then return nil, err end
  local tick = 1e9 / pml.clock.rate()
  return setmetatable({
    pml = pml, options = options, workload = workload, tick = tick, seen = {}, lua = {
      ["lua:ticks"] = { read = pml.clock.ticks, unit = tick, claimed = tick },
      ["lua:ns"] = { read = pml.clock.ns, unit = 1, claimed = 1 },
      ["lua:os.clock"] = { read = os.clock, unit = 1e9, claimed = 1000 },
      ["lua:os.time"] = { read = os.time, unit = 1e9, claimed = 1e9 },
    },
  }, Lab)
end

--- Shares of the steps whose quantiles are kept.
local shares = { 1, 0.9, 0.75, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5, 0 }

-- Keep the distribution of a clock's steps in the last round; sorts the caller's samples.
function Lab:keep(name, steps, unit, stairs)
  local tail = {}
  if #steps > 0 then
    assert(steps:sort())
    for _, share in ipairs(shares) do
      if share == 0 or share * #steps >= 1 then tail[#tail + 1] = { share = share, ns = steps:quantile(1 - share) * unit } end
    end
  end
  self.seen[name] = { tail = tail, stairs = stairs }
end

function Lab:in_c(name, n)
  local new = self.pml.samples.new
  local cost <close> = new(n)
  local step <close> = new(self.options.reads)
  local at <close> = new(shown)
  local said <close> = new(shown)
  local options = { clock = name, reads = self.options.reads, threads = self.options.threads }
  local about, err = workloads.run(self.workload, options, { cost, step, at, said })
  if not about then return nil, err end
  for _, k in ipairs { "worst_back", "least", "most", "across_worst" } do about[k] = about[k] and about[k] * about.unit end
  if about.least == 0 then about.least = nil end
  local out, stairs = {}, {}
  for i = 1, #cost do out[i] = cost[i] * self.tick / batch end
  for i = 1, #at do stairs[i] = { at[i] * self.tick, said[i] * about.unit } end
  self:keep(name, step, about.unit, stairs)
  return out, about
end

-- The same in a Lua loop.
function Lab:in_lua(name, n)
  local clock, ticks, out = self.lua[name], self.pml.clock.ticks, {}
  local read = clock.read
  for i = 1, n do
    local begin = ticks()
    for _ = 1, batch do read() end
    out[i] = (ticks() - begin) * self.tick / batch
  end
  local reads = math.min(self.options.reads, lua_reads)
  local about = { claimed = clock.claimed, reads = reads, still = 0, back = 0, worst_back = 0, most = 0 }
  local stairs = {}
  local step <close> = self.pml.samples.new(reads)
  local begin, first = ticks(), read()
  local last = first
  for i = 1, reads do
    local now = read()
    local d = (now - last) * clock.unit
    if i <= shown then stairs[i] = { (ticks() - begin) * self.tick, (now - first) * clock.unit } end
    if d < 0 then
      about.back, about.worst_back = about.back + 1, math.max(about.worst_back, -d)
    else
      step:push(math.floor(d + 0.5))
      if d == 0 then about.still = about.still + 1 else about.least = math.min(about.least or d, d) end
      about.most = math.max(about.most, d)
    end
    last = now
  end
  self:keep(name, step, 1, stairs)
  return out, about
end

--- Measure a clock: n samples of the cost of a reading, and the statistics of its steps.
---@return number[]? ns
---@return table|string about claimed, least, most, worst_back, across_worst [ns]; reads, still, back, across_...; or why not
function Lab:measure(name, n) return (self.lua[name] and self.in_lua or self.in_c)(self, name, n) end

return M
