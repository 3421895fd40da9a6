-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- A kernel counter (perf_event_open(2)) for one event. Event sets (`pml.eventset`) read several events at once, from any
--- source.
---
---     local c <close> = assert(pml.counter.open "task-clock"); work(); print(c:read())
---@class pml.counter
local counter = {}

--- Open a counter; it counts from now on. Six or seven system calls.
---@param name string
---@param options? pmlua.CounterOptions
---@return pmlua.Counter? counter, pmlua.Failure? failure, string? code
function counter.open(name, options) end

--- Run rounds of a loop whose events are known, to check counters against: "chain" (a round has 10 instructions, 1 branch and
--- 8 cycles), "copy" (a load, a store, a branch), "flops" (an addition and a multiplication of doubles), "random" (half a
--- misprediction), "touch" (a page fault), "walk" (a miss in each cache), "sleep" (a context switch).
---@param loop string
---@param rounds integer at most 2^30
---@return true? done, pmlua.Failure? failure, string? code
function counter.exercise(loop, rounds) end

---@class pmlua.CounterOptions
---@field pid? integer 0 (the default): the calling thread; a thread's id (a process's: its first); -1: all on `cpu`
---@field cpu? integer count on that cpu alone
---@field inherit? boolean also count threads and processes created from now on
---@field no_page? boolean read by read(2), although user space could
---@field disabled? boolean do not count yet
---@field part? integer which part of an event that has several, from 1

---@class pmlua.Counter: pmlua.Handle
local Counter = {}

--- The count since the counter was opened. Some 90 instructions where user space can read it, else a system call.
--- Where counters were multiplexed, running is less than enabled: the count is never scaled by itself.
---@return integer? raw, integer|pmlua.Failure enabled_ns or the failure
---@return integer|string running_ns or its code
function Counter:read() end

--- How the next reading on this thread is made: by the page that user space reads, or by read(2).
---@return "page"|"read" path, string? why not by the page
function Counter:path() end

--- The name of the counted event: the requested name, or NAME:u if the kernel refuses to count kernel mode.
---@return string name
function Counter:name() end
