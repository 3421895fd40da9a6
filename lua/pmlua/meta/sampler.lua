-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- Where an event happens: the kernel notes one event in so many with its place. `histogram` counts them by function, line, page.
---
---     local s <close> = assert(pml.sampler.open("task-clock", { frequency = 5000 })); work(); s:stop()
---     for _, bar in ipairs(pml.sampler.histogram(s, "function")) do print(bar.share, bar.func) end
---@class pml.sampler
local sampler = {}

--- Sample an event from now on. Some ten system calls, with `inherit` or `all` for each thread and cpu.
---@param name string an event of the kernel
---@param options? pmlua.SamplerOptions
---@return pmlua.Sampler? sampler, pmlua.Failure? failure, string? code
function sampler.open(name, options) end

---@class pmlua.SamplerOptions
---@field pid? integer|integer[] a thread, or several; nil: the calling thread
---@field all? boolean all processes on all cpus
---@field cgroup? string the folder of a cgroup: its processes on all cpus
---@field inherit? boolean also sample threads and processes created from now on
---@field on_exec? boolean begin when the thread executes a program
---@field address? boolean note the address of the data that was accessed, for page faults and precise memory events
---@field calls? boolean note the stack of user space, as far as programs have frame pointers
---@field registers? boolean note the registers of user space (x86-64, arm64), not beside `calls`
---@field period? integer a sample at each so many events
---@field frequency? integer samples a second that the kernel aims at (1000, if there is no period)
---@field max? integer samples to keep (4194304); further ones are counted as dropped

---@class pmlua.Sample
---@field time_ns integer CLOCK_MONOTONIC
---@field ip integer where the processor was
---@field address integer of the data, with the option `address`; else 0
---@field period integer number of events that it represents
---@field pid integer
---@field tid integer
---@field cpu integer
---@field mode "user"|"kernel"|"other"

---@class pmlua.SamplerRow
---@field object? string a file, "[kernel]", "[heap]", "//anon" or "[unknown]"
---@field place integer
---@field pid? integer
---@field samples integer
---@field period integer about how many events these were
---@field frames? { object: string, place: integer }[] by path: the stack, innermost first; by data: where a variable would be

---@class pmlua.Sampler: pmlua.Handle
local Sampler = {}

--- Take what the kernel has written into its buffers, which hold some 7000 samples: some ten times a second. No system call.
---@return integer? samples that came, pmlua.Failure? failure, string? code
function Sampler:drain() end

--- Sample no more, and take the rest.
---@return integer? samples that came, pmlua.Failure? failure, string? code
function Sampler:stop() end

--- The name of the sampled event: the requested name, or NAME:u if the kernel refuses to sample kernel mode.
---@return string name
function Sampler:name() end

--- Counts of samples and losses: `lost` because a buffer was full, `dropped` beyond `max`, `throttled` (how often the kernel
--- paused the event), and `odd` (invalid records).
---@return { samples: integer, lost: integer, dropped: integer, throttled: integer, odd: integer } counts
function Sampler:counts() end

--- One sample; nil behind the last.
---@param i integer
---@return pmlua.Sample? sample
function Sampler:sample(i) end

--- Count the samples by place of code (`place`: where in the file `object`), by page of data (its address), by thread or cpu, by
--- the path of calls (with the option `calls`), or by data (with `address`).
---@param by "code"|"page"|"thread"|"cpu"|"path"|"data"
---@return pmlua.SamplerRow[]? rows, pmlua.Failure? failure, string? code
function Sampler:fold(by) end

--- The function and the source line of a place of code.
---@param object string the file
---@param place integer where in it
---@return { func: string?, file: string?, line: integer? }? place, pmlua.Failure? failure, string? code
function Sampler:place(object, place) end

--- With the option `registers`: a sample's registers by name, and its code address and object; nil: the sample has none.
---@param i integer
---@return table<string, integer>? registers, integer? place, string? object
function Sampler:registers(i) end

--- The variable at a place of data, and how far into it.
---@param object string the file
---@param place integer where in it, as `fold "data"` gives it
---@return string? name, integer|pmlua.Failure into, string? code
function Sampler:variable(object, place) end
