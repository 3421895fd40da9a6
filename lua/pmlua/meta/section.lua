-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- Sections: named stretches of code, with counts, times, work and events for each thread, and a report over them.
---
--- A start and a stop cost a reading of the clock each and some 50 and 80 instructions of C, without a lock. Sections nest
--- and recur. `PMLUA_SECTIONS=off` makes them do nothing, `PMLUA_REPORT=DIR` leaves a file for `pmlua report`.
---
---     local solve = assert(pml.section.define { label = "solve", events = { "task-clock" } })
---     do local s <close> = solve:enter(); work() end
---     for _, row in ipairs(pml.section.report()) do print(row.label, row.count, row.total_ns) end
---@class pml.section
local section = {}

--- The section of a label. A label that is defined already is the same section; its options must be the same then.
---@param options pmlua.SectionOptions
---@return pmlua.SectionHandle? section, pmlua.Failure? failure, string? code
function section.define(options) end

---@class pmlua.SectionOptions
---@field label string any bytes but zero
---@field type? "calculation"|"communication" its work is operations, or bytes; calculation
---@field exclusive? boolean it contains no other section, so that the times of exclusive ones add up
---@field events? string[] counted inside of it, on each thread
---@field record? boolean|"all"|"sketch" keep every duration, or a sketch of them, for quantiles
---@field file? string where it is in the source
---@field line? integer

--- Start the section of a label on this thread; a label that is not defined yet is defined without options.
---@param label string
---@return boolean? done, pmlua.Failure? failure, string? code
function section.start(label) end

--- Stop it. A stop without a start is refused with EINVAL and counted in the report.
---@param label string
---@param work? pmlua.SectionWork
---@return boolean? done, pmlua.Failure? failure, string? code
function section.stop(label, work) end

--- Work done since the start; operations and bytes of all calls are summed.
---@class pmlua.SectionWork
---@field operations? number
---@field bytes? number
---@field iterations? integer 1

--- One row for each section that was started, merged over threads. Threads may keep running: each row is a snapshot.
---@param options? pmlua.SectionReportOptions
---@return pmlua.SectionRow[]? rows, pmlua.Failure? failure, string? code
function section.report(options) end

---@class pmlua.SectionReportOptions
---@field threads? boolean a row for each section and thread

--- Reset the statistics of all threads; open sections stay open.
function section.reset() end

--- Switch all sections off, or on again.
---@param on boolean
function section.enable(on) end

--- The current state of this process's sections as a log (docs/log.md).
---@param options? pmlua.SectionSnapshotOptions
---@return string? bytes, pmlua.Failure? failure, string? code
function section.snapshot(options) end

---@class pmlua.SectionSnapshotOptions
---@field timeline? boolean include the stored starts and stops

--- Write the same, with the timeline, to a file, which is replaced as a whole or not at all; `pml.sections.read` reads it.
---@param path string
---@return boolean? done, pmlua.Failure? failure, string? code
function section.write(path) end

--- Keep this many starts and stops of each thread, for a timeline.
---@param events integer 0: none
---@return boolean? done, pmlua.Failure? failure, string? code
function section.timeline(events) end

--- A section. It is never freed; the handle may be closed.
---@class pmlua.SectionHandle
local SectionHandle = {}

--- Start it on this thread.
---@return boolean? done, pmlua.Failure? failure, string? code
function SectionHandle:start() end

--- Stop it.
---@param work? pmlua.SectionWork
---@return boolean? done, pmlua.Failure? failure, string? code
function SectionHandle:stop(work) end

--- Start it until the result is closed or stopped: `local s <close> = solve:enter()`.
---@return pmlua.SectionScope? scope, pmlua.Failure? failure, string? code
function SectionHandle:enter() end

--- The parameters of the section's definition.
---@return pmlua.SectionInfo info
function SectionHandle:info() end

--- A quantile of the durations of a section that records them; ENOENT if it was never stopped, EMODE if it does not record.
---@param percent integer 0 to 100
---@return number? ns, pmlua.Failure? failure, string? code
function SectionHandle:quantile(percent) end

--- Release the handle.
function SectionHandle:close() end

--- An open call of a section.
---@class pmlua.SectionScope
local SectionScope = {}

--- Stop the section, with the work that was done.
---@param work? pmlua.SectionWork
---@return boolean? done, pmlua.Failure? failure, string? code
function SectionScope:stop(work) end

--- Stop the section if it was not stopped yet.
function SectionScope:close() end

---@class pmlua.SectionInfo
---@field label string
---@field region integer
---@field type "calculation"|"communication"
---@field exclusive boolean
---@field record? "all"|"sketch"
---@field events? string[]

---@class pmlua.SectionRow
---@field label string
---@field interface? string the annotation interface that named it, such as "Kokkos"; nil: pmlua's own
---@field type "calculation"|"communication"
---@field exclusive boolean
---@field thread? integer of a report by threads
---@field threads integer that took part
---@field running integer calls under way
---@field count integer calls that ended
---@field total_ns number in the section, nested calls of itself once
---@field self_ns number in it and in no section started inside
---@field min_ns number of a call
---@field max_ns number
---@field mean_ns number
---@field stddev_ns number of the sample (n - 1)
---@field operations? number of a calculation
---@field bytes? number of a communication
---@field iterations integer
---@field misuse? pmlua.SectionMisuse what went wrong, and how often; nil: nothing
---@field events? table<string, number> sums by name

--- How often each was wrong.
---@class pmlua.SectionMisuse
---@field unmatched? integer stopped without a start
---@field foreign? integer stopped on a thread other than the one that started it
---@field crossed? integer stopped while sections that started later were still running
---@field abandoned? integer still running when its thread ended
---@field work? integer a workload that is negative or not a number; the time is counted, the workload is not
---@field unread? integer the events could not be read; the time is counted, the events are not
---@field unrecorded? integer a duration lost because the series was full
---@field unstarted? integer not started: nested too deep, or no memory
---@field overlap? integer exclusive, but it contains other sections
