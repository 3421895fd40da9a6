-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/memory_latency/lab.lua - the latency of a load in a working set, and the working sets that this machine allows.
--
-- Try:  print(require("memory_latency.lab").new { loads = 4096 }:measure({ bytes = 32768, stride = 64, pages = "small" }, 5)[1])

local pml = require "pmlua"
local workloads = require "workloads.workload"

local M = {}

local Lab = {}
Lab.__index = Lab

local LEAST = 4096

---@param options { loads: integer }
---@return table? lab, string? err
function M.new(options)
  local workload, err = workloads.load "chase"
  if not workload then return nil, err end
  return setmetatable({ workload = workload, loads = options.loads, grain = pml.clock.info().resolution_ns / options.loads,
    simulated = require("memory_latency.simulated").open() }, Lab)
end

--- Sizes from 4 KiB to @largest, @steps to each doubling, multiples of a line.
function M.sizes(largest, steps)
  local out, k = {}, 0
  repeat
    local bytes = math.floor(LEAST * 2 ^ (k / steps)) // 64 * 64
    if bytes <= largest and bytes ~= out[#out] then out[#out + 1] = bytes end
    k = k + 1
  until bytes >= largest
  return out
end

--- Bytes that may be taken without pushing others out: half of what the kernel says is available.
---@return integer?
function M.available()
  local f <close> = io.open "/proc/meminfo"
  local kib = f and f:read("a"):match "MemAvailable:%s+(%d+)"
  return kib and tonumber(kib) * 1024 // 2
end

--- Latencies of n batches, per load, in nanoseconds.
---@return number[]? samples, table|string about huge: share of the working set that lies in huge pages; or why not
function Lab:measure(p, n)
  local options = { bytes = p.bytes, stride = p.stride, pages = p.pages, loads = self.loads }
  local out, about = workloads.measure(self.workload, options, n, self.loads)
  if not out then return nil, about end
  about.huge = about.huge_bytes >= 0 and math.min(1, about.huge_bytes / p.bytes) or nil
  if p.pages == "huge" and about.huge == 0 then return nil, "the kernel gave no huge pages: see transparent_hugepage/enabled" end
  return out, about
end

return M
