-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/memory_bandwidth/lab.lua - passes of threads over their memory, and how much of it this machine allows.
--
-- Try:  print(require("memory_bandwidth.lab").new { megabytes = 64 }:measure({ threads = 1, writes = 50 }, 5)[1])

local caches = require "kernels.caches"
local latency = require "memory_latency.lab"
local pml = require "pmlua"
local workloads = require "workloads.workload"

local M = {}

local Lab = {}
Lab.__index = Lab

local GROUP = 4 * 4096 -- bytes of four blocks

--- Megabytes per thread: twice the last-level cache for all of them, 64 to 512.
function M.megabytes()
  local cpus = pml.sys.affinity()
  local last = 0
  for _, level in ipairs(caches.levels(1, cpus[1])) do last = math.max(last, level.bytes) end
  return math.max(64, math.min(512, 2 * last // #cpus >> 20))
end

--- 1, 2, 4 ... and all.
function M.threads(cpus)
  local out, n = {}, 1
  while n < cpus do
    out[#out + 1] = n
    n = 2 * n
  end
  out[#out + 1] = cpus
  return out
end

---@param options { megabytes: integer }
---@return table? lab, string? err
function M.new(options)
  local workload, err = workloads.load "bandwidth"
  if not workload then return nil, err end
  return setmetatable({ workload = workload, each = (options.megabytes << 20) // GROUP * GROUP }, Lab)
end

--- Bytes that all threads read and write in a pass.
function Lab:bytes(p) return self.each * p.threads end

--- Whether there is memory for it; true or why not.
function Lab:room(p)
  local room = latency.available()
  if not room or self:bytes(p) <= room then return true end
  return ("needs %d MiB; half of the memory that is available is %d MiB"):format(self:bytes(p) >> 20, room >> 20)
end

--- n passes, in nanoseconds.
---@param p { threads: integer, writes: integer } writes: 0, 25, 50, 75 or 100 %
---@return number[]? samples, table|string about phases; or why not
function Lab:measure(p, n)
  return workloads.measure(self.workload, { threads = p.threads, bytes = self.each, writes = p.writes // 25 }, n)
end

--- Say so where the memory of all threads fits into a cache.
function Lab:warn(run)
  local cpus = pml.sys.affinity()
  local last
  for _, level in ipairs(caches.levels(1, cpus[1])) do last = level.bytes > 0 and level or last end
  if last and self.each * #cpus < 2 * last.bytes then
    run:warn(("%s has %d MiB: a part of %d MiB of all threads stays in it; raise --megabytes"):format(last.name,
      last.bytes >> 20, self.each * #cpus >> 20))
  end
end

return M
