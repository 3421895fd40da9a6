-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- Workloads: kernels in C that read counters where an application would, driven by a script. How one is written is in
--- pml_workload(3).
---
---     local w = assert(pml.workload.load(pml.paths.workloads .. "/loop.so"))
---     for _, o in ipairs(w.options) do print(o.name, o.default, o.help) end
---@class pml.workload
---@field operations string[] operations that a probe can do at each hit: empty, start_stop, read, read_ts, accum, reset
local workload = {}

--- Load a workload. Its code stays in the process.
---@param path string of the shared object
---@return pmlua.Workload? workload, pmlua.Failure? failure, string? code
function workload.load(path) end

---@class pmlua.Workload: pmlua.Handle
---@field name string
---@field help string one line
---@field sites string[] the places that it probes
---@field options { name: string, help: string, default: number|string }[]
local Workload = {}

--- Run it. An interrupt ends it early.
---@param how pmlua.WorkloadRun
---@return pmlua.WorkloadOutcome? outcome, pmlua.Failure? failure, string? code
function Workload:run(how) end

--- How a workload is run.
---@class pmlua.WorkloadRun
---@field operation? string of `pml.workload.operations`; "read"
---@field set? pmlua.Eventset the set that the probes read; every operation but "empty" needs it
---@field samples pmlua.Samples[] one for each site: ticks that each hit took, until they are full
---@field options? table<string, number|string> of the workload; missing ones have their defaults
---@field phases? integer how many phases to keep, for traces; 0

---@class pmlua.WorkloadOutcome
---@field results { name: string, unit: string, value: number }[] the workload's results
---@field retries integer[] of each site: pages that were read again
---@field skipped integer[] of each site: hits after its samples were full, at which nothing was done
---@field values integer[] of the first site: the last values of the set
---@field phases { region: integer, enter: integer, leave: integer }[] times in ticks
