-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/noise/lab.lua - quanta on one cpu, the detours in them, and the kernel's account of the same time.
--
-- Try:  local lab = require("noise.lab").new { quantum = 1000, threshold = 1000 }
--       print(lab:calibrate(0), lab:measure({ cpu = 0, quantum = "time" }, 100)[1])

local kernel = require "noise.kernel"
local pml = require "pmlua"
local provenance = require "pmlua.internal.experiment.provenance"
local workloads = require "workloads.workload"

local M = {}

local Lab = {}
Lab.__index = Lab

local MOST = 16 -- cpus, unless they are chosen
local DETOURS = 1 << 16 -- kept of a round
local PREEMPTED, SLEPT, MOVED, FAULTED, STATE_BITS = 1, 2, 4, 8, 4 -- as in noise.c

---@param text string? "PERIOD:LENGTH" in microseconds
---@return { period: integer, length: integer }? plant ns
---@return string? err
function M.plant(text)
  if not text then return { period = 0, length = 0 } end
  local period, length = text:match "^(%d+):(%d+)$"
  period, length = math.tointeger(period), math.tointeger(length)
  if not period or not length or length < 1 or 2 * length > period or period > 10000000 then
    return nil, ("%s is not PERIOD:LENGTH in microseconds, LENGTH at most half of PERIOD"):format(text)
  end
  return { period = period * 1000, length = length * 1000 }
end

--- Cpus of a list such as 0-3,8; without one, the first.
---@param text string?
---@return integer[]?, string? err
function M.cpus(text, allowed)
  if not text then return table.move(allowed, 1, math.min(MOST, #allowed), 1, {}) end
  return require "core_to_core.choice"(text, allowed)
end

---@param options { quantum: integer, threshold: integer, plant: { period: integer, length: integer }? } us, ns, ns
---@return table? lab, string? err
function M.new(options)
  local workload, err = workloads.load "noise"
  if not workload then return nil, err end
  return setmetatable({
    workload = workload, tick = 1e9 / pml.clock.rate(), quantum = options.quantum * 1000,
    threshold = options.threshold, plant = options.plant or { period = 0, length = 0 }, visits = {},
    virtual = provenance.machine().virtual,
  }, Lab)
end

-- The cause of a detour, from the kernel's counts.
function Lab:cause(state)
  if state & MOVED ~= 0 then return "moved" end
  if state & PREEMPTED ~= 0 then return "another thread" end
  if state & SLEPT ~= 0 then return "slept" end
  if state & FAULTED ~= 0 then return "page fault" end
  return self.virtual and "interrupt or host" or "interrupt"
end

local function series(n)
  local out = {}
  for i, capacity in ipairs { n, n, DETOURS, DETOURS, DETOURS } do out[i] = assert(pml.samples.new(capacity)) end
  return out
end

function Lab:run(cpu, units, n)
  local s = series(n)
  local out, err = workloads.run(self.workload, {
    cpu = cpu, quantum = self.quantum, units = units, threshold = self.threshold,
    plant_period = self.plant.period, plant_length = self.plant.length,
  }, s)
  if not out then return nil, err end
  out.quanta, out.units, out.at, out.length, out.state = {}, {}, {}, {}, {}
  for i = 1, #s[1] do out.quanta[i], out.units[i] = s[1][i] * self.tick, s[2][i] end
  for i = 1, #s[4] do out.at[i], out.length[i], out.state[i] = s[3][i] * self.tick, s[4][i] * self.tick, s[5][i] end
  for _, one in ipairs(s) do one:close() end
  return out
end

local function least(samples)
  local v = math.huge
  for _, s in ipairs(samples) do v = math.min(v, s) end
  return v
end

--- Find out how many units a quantum holds that nothing disturbs, and whether the clock is fine enough.
---@return integer? units, string? err
function Lab:calibrate(cpu)
  local run, err = self:run(cpu, 0, 20)
  if not run then return nil, err end
  self.units = math.tointeger(math.max(1, table.unpack(run.units)))
  local each = {}
  for i, took in ipairs(run.quanta) do each[i] = took / run.units[i] end
  local grain = least(each)
  if 2 * grain <= self.threshold then return self.units end
  return nil, ("a unit takes %.0f ns by this clock: raise --threshold above %.0f ns"):format(grain, 2 * grain)
end

function Lab:detours(run, grain)
  local out = {}
  for i = 1, #run.length do
    local state = run.state[i]
    out[i] = { at = run.begin + run.at[i], length = run.length[i] - grain,
      cause = self:cause(state), cpu = state >> STATE_BITS }
  end
  return out
end

--- n quanta on a cpu: ns of a unit in each, and shares of the time by detours and by the kernel.
---@return number[]? samples, table|string about lost, detours, waited, steal, interrupts; or why not
function Lab:measure(p, n)
  local before = kernel.read(p.cpu)
  local run, err = self:run(p.cpu, p.quantum == "work" and self.units or 0, n)
  if not run then return nil, err end
  local since = kernel.since(before, kernel.read(p.cpu))
  local samples = {}
  for i, took in ipairs(run.quanta) do samples[i] = took / run.units[i] end
  local grain = least(samples)
  local detours, lost = self:detours(run, grain), 0
  for _, d in ipairs(detours) do lost = lost + d.length end
  self.visits[#self.visits + 1] = { cpu = p.cpu, quantum = p.quantum, took = run.took, detours = detours, since = since,
    left_out = run.lost, grain = grain, lost = lost, plant = run.plant_period and run }
  local function share(ns) return ns and 100 * ns / run.took end
  return samples, { phases = run.phases, lost = share(lost), detours = #detours / run.took * 1e9,
    waited = share(since.waited_ns), steal = share(since.steal_ns), interrupts = since.all and since.all / run.took * 1e9 }
end

return M
