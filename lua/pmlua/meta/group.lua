-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- Events that the kernel schedules together, so that they count over the same time. `pml.eventset` makes groups by itself.
---
---     local g <close> = assert(pml.group.open { "task-clock", "page-faults" })
---     for _, r in ipairs(g:read()) do print(r.name, r.raw) end
---@class pml.group
local group = {}

--- Open a group; all its members count from the same moment on. It is refused as a whole if the PMU cannot count them together.
---@param names string[]
---@param options? pmlua.GroupOptions
---@return pmlua.CounterGroup? group, pmlua.Failure? failure, string? code
function group.open(names, options) end

---@class pmlua.GroupOptions
---@field pid? integer as for `pml.counter.open`
---@field cpu? integer
---@field inherit? boolean
---@field no_page? boolean
---@field disabled? boolean

--- `#group` is the number of its events.
---@class pmlua.CounterGroup: pmlua.Handle
---@operator len: integer
local CounterGroup = {}

--- The counts since the group was opened, in the order of the names.
---@return pmlua.Reading[]? readings
---@return integer|pmlua.Failure retries how often a page had to be read again, normally 0; or the failure
---@return string? code
function CounterGroup:read() end

--- A count with the times that scaling needs.
---@class pmlua.Reading
---@field name string NAME:u where the kernel refuses to count itself
---@field raw integer|number the unscaled count
---@field enabled_ns integer how long it was to count
---@field running_ns integer how long it did; less, where counters were multiplexed
---@field scaled number raw * enabled / running: an estimate, unless the times are equal; NaN if it never ran
