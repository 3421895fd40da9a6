-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- Failures: the second value that a function gives when the machine refuses what it should do.
---
--- A function that can be refused returns `nil, failure, code`. `assert(...)` raises the failure.
---
---     local set, failure, code = pml.eventset { "no-such-event" }
---     if not set and failure:is "ENOEVENT" then print(code, failure.place, failure.text, failure.remedy) end
---@class pml.failure
local failure = {}

--- Make a failure, for modules in Lua that refuse as those in C do.
---@param parts { place: string?, code: string, text: string, remedy: string? }
---@return pmlua.Failure failure the same table
function failure.new(parts) end

--- Refuse, in a function of Lua: `return refuse("ENOENT", path .. ": no such run", "pmlua history lists them")`.
---@param code string
---@param text string what happened, and where: a file and its line, a program, a run
---@param remedy? string what to do about it
---@return nil, pmlua.Failure failure without a place: its string is "text; remedy"
---@return string code
---@overload fun(failure: pmlua.Failure, about?: string): nil, pmlua.Failure, string passes one of the core on: its text
---becomes "about: text", and its place is dropped
function failure.refuse(code, text, remedy) end

--- "text; remedy" of a failure; for any other value, its string.
---@param value any
---@return string
function failure.sentence(value) end

--- The reason for a failed operation. As a string it is "place: code: text; remedy", or "text; remedy" if the text names the
--- place. `..`, `#` and string methods convert it to this string. `io.write` does not: pass it `tostring(failure)`.
---@class pmlua.Failure
---@field code string its name, such as "ENOENT" or "EPARANOID"
---@field place? string the function, such as "eventset.open"; nil: the text names the place
---@field text string what happened
---@field remedy? string what to do about it
---@operator len: integer
local Failure = {}

--- Compare its code.
---@param code string
---@return boolean
function Failure:is(code) end

--- "text; remedy".
---@return string
function Failure:sentence() end
