-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- Regions: names of stretches of code, and the numbers that events carry instead of them. They stay for good.
---
---     print(pml.region.describe(pml.region.intern("solve", "solver.c", 12)).name)
---@class pml.region
local region = {}

--- The number of a region; the same name, file and line have the same number.
---@param name string
---@param file? string or the library of a function
---@param line? integer
---@return integer? region, pmlua.Failure? failure, string? code
function region.intern(name, file, line) end

--- Describe the region with this number.
---@param number integer
---@return { name: string, file: string?, line: integer }? region, pmlua.Failure? failure, string? code
function region.describe(number) end

--- The number of regions; they are numbered from 1.
---@return integer
function region.count() end

--- Demangle a C++ name. Other names are returned unchanged, and so are all names if libstdc++ is missing.
---@param name string
---@return string
function region.demangle(name) end
