-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/workloads/workload.lua - load a workload of pmlua's, and take its samples in nanoseconds.
--
-- Try:  local workload = require "workloads.workload"
--       print(workload.measure(workload.load "chase", { bytes = 32768, stride = 64, pages = "small", loads = 4096 }, 5, 4096)[1])

local pml = require "pmlua"

local M = {}

---@param name string of a file in build/workloads
---@return userdata? workload, string? err
function M.load(name)
  if not pml.paths.workloads then return nil, "the workloads are not built; run make" end
  local workload, err = pml.workload.load(("%s/%s.so"):format(pml.paths.workloads, name))
  if not workload then return nil, err:sentence() end
  return workload
end

--- Run a workload that is not probed.
---@param samples userdata[] one for each site
---@return table? about its results by name, and phases
---@return string? err, string? code
function M.run(workload, options, samples)
  local run, err, code = workload:run { operation = "empty", samples = samples, options = options, phases = 1 }
  if not run then return nil, (err:sentence():gsub("^" .. workload.name .. ": ", "")), code end
  local about = { phases = run.phases }
  for _, r in ipairs(run.results) do about[r.name] = r.value end
  return about
end

--- n samples of a workload with one site.
---@param share? number what a sample is divided by, such as the loads of a batch
---@return number[]? ns, table|string about as from run(); or why not
---@return string? code
function M.measure(workload, options, n, share)
  local samples <close> = pml.samples.new(n)
  local about, err, code = M.run(workload, options, { samples })
  if not about then return nil, err, code end
  local out, tick = {}, 1e9 / pml.clock.rate() / (share or 1)
  for i = 1, #samples do out[i] = samples[i] * tick end
  return out, about
end

return M
