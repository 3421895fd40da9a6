-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/core_to_core/lab.lua - pairs of cpus, the hardware that they share, and the latency of a cache line between them.
--
-- Try:  print(require("core_to_core.lab").new { trips = 100, patience = 2 }:measure("0-1", 5)[1])

local pml = require "pmlua"
local workloads = require "workloads.workload"

local M = {}

local Lab = {}
Lab.__index = Lab

---@param options { trips: integer, patience: integer } patience: seconds for a round of a pair
---@return table? lab, string? err
function M.new(options)
  local workload, err = workloads.load "exchange"
  if not workload then return nil, err end
  return setmetatable({
    -- a trip takes some tens of nanoseconds: a batch of them is far longer than what the clock resolves
    workload = workload, trips = math.max(options.trips, math.ceil(pml.clock.info().resolution_ns)), patience = options.patience,
  }, Lab)
end

--- Each two of some cpus, as text such as "0-1"; one cpu is a pair with itself.
function M.pairs(cpus)
  local out = {}
  for i = 1, #cpus do
    for k = i + 1, #cpus do out[#out + 1] = cpus[i] .. "-" .. cpus[k] end
  end
  return #out > 0 and out or { cpus[1] .. "-" .. cpus[1] }
end

---@return integer from, integer to
function M.cpus(pair)
  local from, to = pair:match "^(%d+)%-(%d+)$"
  return math.tointeger(from), math.tointeger(to)
end

local function topology(cpu, name)
  local f <close> = io.open(("/sys/devices/system/cpu/cpu%d/topology/%s"):format(cpu, name))
  return f and f:read "l"
end

--- The hardware that two cpus share, from the kernel: "core", "package" or "machine"; nil if it does not report it.
---@return string?
function M.shared(pair)
  local from, to = M.cpus(pair)
  local function same(name)
    local a = topology(from, name)
    return a and a == topology(to, name)
  end
  if not topology(from, "physical_package_id") then return nil end
  if not same "physical_package_id" then return "machine" end
  return same "core_id" and "core" or "package"
end

--- n samples of the way of a line from one cpu to the other, in nanoseconds: half of a trip to and fro.
---@return number[]? samples, table|string about phases; or why not
function Lab:measure(pair, n)
  local from, to = M.cpus(pair)
  return workloads.measure(self.workload, { from = from, to = to, trips = self.trips, patience = self.patience * 1000 }, n,
    2 * self.trips)
end

return M
