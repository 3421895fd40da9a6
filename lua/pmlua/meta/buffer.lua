-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- Events kept in C until a script takes them, in batches. `pml.intercept` and `pml.substrate` are built on it.
---
---     local b <close> = assert(pml.buffer.open())
---     pml.section.start "a"; pml.section.stop "a"
---     local time, region, kind, thread = {}, {}, {}, {}
---     for i = 1, b:take(time, region, kind, thread, {}) do print(time[i], region[i], kind[i]) end
---@class pml.buffer
local buffer = {}

--- Store events of all threads from now on, each thread in a separate ring: about 40 instructions per event, no lock.
---@param options? pmlua.BufferOptions
---@return pmlua.Buffer? buffer, pmlua.Failure? failure, string? code
function buffer.open(options) end

---@class pmlua.BufferOptions
---@field records? integer records per ring, 16 bytes each; rounded up to a power of two; 65536
---@field threads? integer most threads with a ring; 64. Events of further threads are refused and counted

---@class pmlua.Buffer: pmlua.Handle
local Buffer = {}

--- Move up to 4096 events into arrays, at 1 to n, and overwrite the previous contents of the arrays.
---@param time integer[] ns of CLOCK_MONOTONIC_RAW
---@param region integer[]
---@param kind integer[] 1 an enter, -1 a leave, 0 a metric
---@param thread integer[] pmlua's numbers of threads
---@param values table<integer, table<string, number|string>> of those events that carry some, by name
---@return integer n
function Buffer:take(time, region, kind, thread, values) end

--- Stop storing events of a region, or store them again.
---@param region integer
---@param out boolean
function Buffer:leave_out(region, out) end

--- Counts of stored, dropped and refused events.
---@return pmlua.BufferStats stats
function Buffer:stats() end

---@class pmlua.BufferStats
---@field threads integer that have a ring
---@field events integer stored
---@field dropped integer lost because a ring was full, in whole calls
---@field unmatched integer leaves of regions that were not entered since the buffer was opened
---@field refused integer threads without a ring
