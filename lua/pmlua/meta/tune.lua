-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

---@class pml.tune
local tune = {}

--- Whether this process may write to the kernel's files: `pmlua --allow-tuning`, or `pml_tune_allow()`.
---@return boolean allowed
function tune.allowed() end

--- Create the handle that `pml.tune` wraps: rules are a list, idle states a list of pairs. It prints nothing.
---@param options pmlua.TuneHandleOptions
---@return pmlua.TuneHandle? tune, pmlua.Failure? failure, string? code
function tune.open(options) end

---@class pmlua.TuneHandleOptions
---@field rules pmlua.TuneHandleRule[]
---@field root? string
---@field cpus? "thread"|"current"|"all"
---@field dry_run? boolean

---@class pmlua.TuneHandleRule
---@field region string a name, or a pattern of the shell
---@field frequency? number Hz
---@field frequency_min? number Hz
---@field frequency_max? number Hz
---@field governor? string
---@field idle? { [1]: string, [2]: boolean }[] at most 11 states
---@field threads? integer
---@field enter? fun(region: string)
---@field leave? fun(region: string)

---@class pmlua.TuneHandle: pmlua.Handle
local TuneHandle = {}

--- Put all back and tune no more.
function TuneHandle:stop() end

--- Messages so far: settings that the kernel refused or changed, and rules that raised an error.
---@return string[] lines
function TuneHandle:lines() end

--- Actions that a dry run would have carried out.
---@return pmlua.TuneEntry[] entries
function TuneHandle:log() end

--- Counts of actions so far.
---@return pmlua.TuneStats stats
function TuneHandle:stats() end

---@class pmlua.TuneEntry
---@field ns integer when
---@field thread integer
---@field region? string
---@field what string a path, "omp_set_num_threads", or "call"
---@field value string

---@class pmlua.TuneStats
---@field entered integer regions that have a rule
---@field writes integer to files
---@field refused integer of them
---@field lost integer regions that were not tuned for want of memory
---@field files integer
