-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- Counts of programs that `pmlua cc --count` compiled: the file of one process, and the kinds of counts. `pml.countfile`
--- adds up the files of a run.
---
---     for _, k in ipairs(pml.count.kinds()) do print(k.name, k.description) end
---@class pml.count
local count = {}

--- Read the file that PMLUA_COUNT named, of one process; also while it runs.
---@param path string
---@return pmlua.ProcessCounts? counts, pmlua.Failure? failure, string? code
function count.read(path) end

--- The kinds that are counted: Byfl's nine sums first, then the kinds of operation.
---@return { name: string, description: string }[] kinds
function count.kinds() end

--- Does this process count?
---@return boolean active, string at source, final, mixed, or none
function count.here() end

---@class pmlua.ProcessCounts
---@field pid integer
---@field parent integer
---@field started_ns integer since 1970
---@field ended boolean the process came to its end; false: it runs, or was killed
---@field at string where the compiler counted: source, final, mixed, or none
---@field threads integer that counted
---@field sharing integer of them: threads whose counts may be low
---@field underway integer threads that were in a loop: its newest turns are missing; 0: the counts are whole
---@field modules integer programs and libraries that count
---@field refused integer modules of another version of pmlua, which spoil the counts
---@field uncounted integer places of the code that could not be counted, such as inline assembly
---@field host string
---@field command string
---@field others string what counts nothing, separated by commas: libraries, the program
---@field events table<string, integer> Byfl's sums, by name
---@field operations table<string, integer> by kind, without kinds that did not occur
---@field parts { name: string, at: string, uncounted: integer }[] each module
