-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- Profiles of call paths: how often each path of regions was taken, and how long it took, on all threads.
---
--- An event costs some 140 instructions; memory is bounded by the number of call paths and functions.
---
---     local p <close> = assert(pml.profile.open())
---     pml.section.start "solve"; pml.section.stop "solve"
---     for _, n in ipairs(p:nodes()) do print(("  "):rep(n.depth) .. n.name, n.count, n.inclusive_ns) end
---@class pml.profile
local profile = {}

--- Take enters and leaves of all threads from now on: sections, intercepted calls, regions of the program.
---@return pmlua.Profile? profile, pmlua.Failure? failure, string? code
function profile.open() end

--- The least duration in a bucket of `functions()`; of the number after the last bucket, the most that one has.
---@param bucket integer from 0
---@return number ns
function profile.bucket_ns(bucket) end

---@class pmlua.Profile: pmlua.Handle
local Profile = {}

--- Every call path: parents before children, siblings by inclusive time, longest first.
---@return pmlua.ProfileNode[]? nodes, pmlua.Failure? failure, string? code
function Profile:nodes() end

--- Every function of which a call returned, wherever it was called from.
---@return pmlua.ProfileFunction[]? functions, pmlua.Failure? failure, string? code
function Profile:functions() end

--- Counts of recorded and lost events.
---@return pmlua.ProfileStats stats
function Profile:stats() end

---@class pmlua.ProfileNode
---@field name string
---@field file? string source file, or library
---@field region integer
---@field kind string function, library, section, python, lua, mpi, openmp, or an interface; "": unknown
---@field depth integer 0: called from no region
---@field threads integer that took this path
---@field running integer calls that did not return
---@field count integer calls that returned
---@field inclusive_ns number
---@field exclusive_ns number of that, in no region that was called from here
---@field min_ns number of a call that returned
---@field max_ns number

---@class pmlua.ProfileFunction
---@field name string
---@field file? string
---@field region integer
---@field kind string function, library, section, python, lua, mpi, openmp, or an interface; "": unknown
---@field count integer calls that returned
---@field min_ns number
---@field median_ns number to half a bucket, some 6 %
---@field max_ns number
---@field bucket table<integer, integer> calls by bucket, from 0, without empty buckets: each call took at least bucket_ns(i)

---@class pmlua.ProfileStats
---@field threads integer that raised events
---@field events integer enters
---@field unmatched integer leaves of regions that were not entered, or are not innermost
---@field dropped integer enters whose path did not fit in memory: their time counts for the parent
---@field abandoned integer calls that were open when their thread ended
