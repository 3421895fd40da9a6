-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- Event sets: any mix of events of all sources, read in one ordered pass.
---
--- A set counts the events of its target: the calling thread, unless options name another. Values are in the order of the
--- names: integers, or floats for events whose type is "float"; nil for a metric without a value yet. Counts are relative to
--- `start()` (to opening, before the first start); instantaneous events read as their current value. Only one thread may use
--- a set at a time.
---
--- Calling the module opens a set: `pml.eventset { "task-clock" }` is `pml.eventset.open { "task-clock" }`.
---
---     local set <close> = assert(pml.eventset { "task-clock", "page-faults" })
---     set:start(); work(); print(set:read())
---@class pml.eventset
---@overload fun(names: string[], options?: pmlua.EventsetOptions): pmlua.Eventset?, pmlua.Failure?, string?
local eventset = {}

--- Open a set; its events count from now on. Milliseconds at first, then some system calls for each event.
---@param names string[]
---@param options? pmlua.EventsetOptions
---@return pmlua.Eventset? set, pmlua.Failure? failure, string? code
function eventset.open(names, options) end

---@class pmlua.EventsetOptions
---@field pid? integer 0 (the default): the calling thread; a thread's id (a process's: its first); -1: all on `cpu`
---@field cpu? integer count on that cpu alone
---@field cgroup? string count the processes of this cgroup, a folder below /sys/fs/cgroup, while they run on `cpu`
---@field inherit? boolean also count threads and processes created from now on
---@field no_page? boolean read by read(2), although user space could
---@field ungrouped? boolean each event by itself: the kernel may schedule them at different times
---@field multiplex? boolean allow more hardware events than there are counters; `readings()` has the times for scaling
---@field on_exec? boolean count from the moment at which the target executes its program, for `pml.command`

--- `#set` is the number of its events.
---@class pmlua.Eventset: pmlua.Handle
---@operator len: integer
local Eventset = {}

--- Count relative to now. No system call is made for it: counters run all the time, and differences are taken.
---@return pmlua.Eventset? self, pmlua.Failure? failure, string? code
function Eventset:start() end

--- The counts since the start. Some 135 instructions of C for a set of one event by its page, a system call otherwise;
--- no allocation.
---@return number? ... a value for each event; or nil, failure, code
function Eventset:read() end

--- The same, with the clock right before the counters were read.
---@return integer? ticks of `pml.clock`
---@return number? ... a value for each event; or nil, failure, code
function Eventset:read_ts() end

--- Read, and stand still: later readings give the same values until `start()`.
---@return number? ... a value for each event; or nil, failure, code
function Eventset:stop() end

--- Count relative to now, whether running or stopped; a stopped set then reads 0.
---@return pmlua.Eventset? self, pmlua.Failure? failure, string? code
function Eventset:reset() end

--- Add the counts since the start to sums, then reset.
---
---     local sums = set:accum(); more(); set:accum(sums)
---@param sums? number[] by event; nil: a new table
---@return number[]? sums the same table
---@return pmlua.Failure? failure, string? code
function Eventset:accum(sums) end

--- A function that reads this set: `read()` without the look-up of a method, for loops that measure.
---@return fun(): number? read what `read()` returns
function Eventset:reader() end

--- The counts with the times that scaling needs, in the order of the names.
---@return pmlua.Reading[]? readings, pmlua.Failure? failure, string? code
function Eventset:readings() end

--- Describe an event of the set and how it is read.
---@param i integer from 1
---@return pmlua.EventOfSet event
function Eventset:event(i) end

--- The parts of an event that is counted on several PMUs (hybrid cpus) or packages; an empty list for any other event.
---@param i integer from 1
---@return pmlua.PartReading[]? parts, pmlua.Failure? failure, string? code
function Eventset:parts(i) end

---@class pmlua.EventOfSet
---@field name string the requested name; NAME:u if the kernel refuses to count kernel mode
---@field unit string
---@field scale number factor that converts a value to `unit`
---@field path "page"|"read" in user space, or by read(2)
---@field why? string why it is not read through the page; for software-defined events and metrics, why there is no value
---@field nparts integer 0: no event of the kernel; more than 1: the value is the sum of its parts
---@field type "integer"|"unsigned"|"float"
---@field mode string what its values are: "accumulated_start", or of metrics and instant events "absolute_point", ...
---@field base integer `scale` is base to the power of `exponent`: 2 or 10 ...
---@field exponent integer ... 0 where it is a power of neither: then use `scale` alone

---@class pmlua.PartReading
---@field pmu string its name, with the place if it has one: "power:package0"
---@field raw integer
---@field enabled_ns integer
---@field running_ns integer
---@field scaled number
