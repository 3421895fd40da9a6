-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/kernels/lab.lua - run a kernel on all cores and hand over its samples, in ns per call.
--
-- Try:  local lab = require("kernels.lab").new(require "pmlua")
--       local ns, about = lab:measure({ kernel = "add", precision = "double", build = "256", n = 1000 }, 5)
--
-- A sample is the time of the slowest core for a batch of calls, divided by their number. `overhead` is the same for a
-- kernel without elements: the cost of a call. It is reported beside the samples, so that the raw
-- times are kept.

local latency = require "memory_latency.lab"
local workloads = require "workloads.workload"

local M = {}

M.precisions = { "double", "single" }
M.kernels = { "add", "mult", "fma", "divide", "sqrt", "mix" }
M.builds = { "scalar", "128", "256", "512" }
M.lanes = {
  double = { scalar = 1, ["128"] = 2, ["256"] = 4, ["512"] = 8 }, single = { scalar = 1, ["128"] = 4, ["256"] = 8, ["512"] = 16 },
}
M.bytes = { double = 8, single = 4 }

local Lab = {}
Lab.__index = Lab

---@param options? { copies: integer?, batch_ns: integer?, workload: string? } copies 0: all cores; workload: another build
---@return table? lab, string? err
function M.new(pml, options)
  options = options or {}
  local workload, err = workloads.load(options.workload or "kernels")
  if not workload then return nil, err end
  local self = setmetatable({
    pml = pml, workload = workload, copies = options.copies or 0, batch_ns = options.batch_ns or 100000,
    memory = latency.available(), refused = {},
  }, Lab)
  self.cores = self.copies > 0 and self.copies or #pml.sys.affinity()
  return self
end

--- Why a size cannot be measured on this machine, or nil.
function Lab:too_large(precision, n)
  local bytes = 3.0 * M.bytes[precision] * n * self.cores
  if not self.memory or bytes <= self.memory then return nil end
  return ("needs %.3g GB for %d cores; half of the free memory is %.3g GB"):format(bytes / 1e9, self.cores, self.memory / 1e9)
end

--- Why a build cannot run on this machine, or nil: asked of the workload, once.
function Lab:missing(build)
  local why = self.refused[build]
  if why == nil then
    local samples, err, code = self:measure({ kernel = "copy", precision = "double", build = build, n = 1, copies = 1,
      batch_ns = 1 }, 1)
    if not samples and code ~= "ENOTSUP" then error(err, 0) end
    why = not samples and err:match "cannot run: (.*)$" or false
    self.refused[build] = why
  end
  return why or nil
end

--- Measure one kernel.
---@param o { kernel: string, precision: string, build: string, n: integer, copies: integer?, batch_ns: integer? }
---@param count integer samples
---@return number[]? ns per call
---@return table|string about overhead [ns], cores, spread, flops and bytes per call, calls_made, phases; or what failed
---@return string? code
function Lab:measure(o, count)
  local out, about, code = workloads.measure(self.workload, {
    kernel = o.kernel, precision = o.precision, build = o.build, n = o.n, copies = o.copies or self.copies,
    batch_ns = o.batch_ns or self.batch_ns, samples = count,
  }, count)
  if not out then return nil, about, code end
  about.overhead = about.overhead * 1e9 / self.pml.clock.rate()
  for i, ns in ipairs(out) do out[i] = ns / about.calls end
  return out, about
end

return M
