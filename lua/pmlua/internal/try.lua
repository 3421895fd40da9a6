-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/try.lua - raise a failure in one function and catch it in a distant caller.
--
-- Try:  local try = require "pmlua.internal.try"; print(try.catch(function() return try(io.open "/none"):read() end))
--
-- try(f()) returns the results of f, or raises them if the first is nil or false. try.catch() returns raised results.

local Raised = { __tostring = function(raised) return tostring(raised[2]) end } -- the metatable of results that were raised

local M = {}

local function results(done, first, ...)
  if done then return first, ... end
  if getmetatable(first) ~= Raised then error(first, 0) end
  return table.unpack(first, 1, first.n)
end

--- Call a function; return its results, or those that try() raised in it. Other errors are raised again.
---@param f function
function M.catch(f, ...) return results(pcall(f, ...)) end

--- A function that calls this one by M.catch().
---@generic F: function
---@param f F
---@return F
function M.catching(f) return function(...) return results(pcall(f, ...)) end end

--- Raise an error of a program again with its traceback, for pmlua --debug, which prints more than its first line.
---@param f function
function M.catch_traced(f, ...)
  return results(xpcall(f, function(err)
    return type(err) == "string" and debug.traceback(require "pmlua.core".sys.explained(err), 2) or err
  end, ...))
end

local function raise_failed(_, result, ...)
  if result then return result, ... end
  error(setmetatable(table.pack(result, ...), Raised))
end

return setmetatable(M, { __call = raise_failed })
