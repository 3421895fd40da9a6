-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

---@class pml.watchpoint
local watchpoint = {}

--- Can this machine have watchpoints? ENOTSUP: x86-64 only; EPARANOID, ENOTHERE (no breakpoints, as in some virtual
--- machines), ENOSPC (all are taken).
---@return boolean? can, pmlua.Failure? failure, string? code
function watchpoint.available() end

--- Where a program or library keeps a variable or function, by its symbols and debug information.
---@param path string of the ELF file
---@param name string such as "grid.level[2]", "file.c::counter", "z.real"
---@param typed? boolean its type must be known, so that its content can be read
---@return pmlua.watchpoint.Variable? variable, pmlua.Failure? failure, string? code
function watchpoint.find(path, name, typed) end

---@class pmlua.watchpoint.Variable
---@field address integer in the file's own layout
---@field bytes integer 0: unknown
---@field func boolean it is a function
---@field content "none"|"signed"|"unsigned"|"float"
---@field type string the type in the source; "": unknown

--- Write the plan of a program that is to be run with watchpoints; `run` does it.
---@param path string a file that is not there yet
---@param points pmlua.watchpoint.Point[] at most four
---@param values? integer accesses to keep, of all threads; 0: count only
---@return boolean? done, pmlua.Failure? failure, string? code
function watchpoint.plan(path, points, values) end

---@class pmlua.watchpoint.Point
---@field path string of the ELF file
---@field name string
---@field access? string of r, w and x; rw of a variable, x of a function
---@field content? boolean store the written values

--- Read the file that a process left, or is still writing.
---@param path string
---@return pmlua.watchpoint.Store? store, pmlua.Failure? failure, string? code
function watchpoint.load(path) end

---@class pmlua.watchpoint.Store: pmlua.Handle
local Store = {}

--- The process and its points.
---@return pmlua.watchpoint.Summary summary
function Store:summary() end

--- The accesses of one thread to one point.
---@param i integer from 1
---@return pmlua.watchpoint.StoredLane lane
function Store:lane(i) end

--- The ticks of the stored accesses of a lane.
---@param i integer from 1
---@return integer[] ticks, number[] values 0 without content
function Store:values(i) end

---@class pmlua.watchpoint.Summary
---@field pid integer
---@field program string
---@field lanes integer
---@field lost integer accesses of threads that could not be stored
---@field unexplained integer debug exceptions that came without their breakpoint: accesses are missing, as many or more
---@field start_ticks integer
---@field stop_ticks? integer nil: it did not end, or has not yet
---@field closed boolean the program closed the descriptors of the watchpoints
---@field ticks_per_second number
---@field points pmlua.watchpoint.StoredPoint[]

---@class pmlua.watchpoint.StoredPoint
---@field name string
---@field type string
---@field access string of r, w and x
---@field content "none"|"signed"|"unsigned"|"float"
---@field address integer in the process
---@field length integer bytes
---@field hits? integer the kernel's count; nil: the process did not end

---@class pmlua.watchpoint.StoredLane
---@field tid integer
---@field point integer from 1
---@field accesses integer
---@field late integer of them: signalled after the thread had continued
---@field dropped integer of them: neither time nor content was stored
