-- SPDX-License-Identifier: BSD-3-Clause
--- lua/pmlua/internal/cc/layouts.lua - link a program again with its objects in other orders: PROGRAM.2, PROGRAM.3, ...
--
-- Try:  pmlua cc --layouts 3 --print -- gcc a.o b.o -lm -o app

local lists = require "pmlua.internal.lists"
local refuse = require("pmlua.core").failure.refuse
local words_of = require "pmlua.internal.cc.words"

local M = {}

--- Sources and object files, whose order may change; archives and libraries must stay behind what uses them.
local function movable(item) return item.file ~= nil and (item.language ~= nil or item.file:find "%.l?o$" ~= nil) end

--- The line with its objects in an order that depends on the number, and another output.
local function reordered(line, number, output)
  local files, words = lists.filter(line.items, movable), table.move(line.compiler, 1, #line.compiler, 1, {})
  local random = require "pmlua.internal.rng"(number)
  for i = #files, 2, -1 do
    local k = random(i)
    files[i], files[k] = files[k], files[i]
  end
  for _, item in ipairs(line.items) do
    if not (item[1] == "-o" or item[1] == "--output" or item[1]:find "^%-o.") then
      table.move(movable(item) and table.remove(files) or item, 1, 2, #words + 1, words)
    end
  end
  return table.move({ "-o", ("%s.%d"):format(output, number) }, 1, 2, #words + 1, words)
end

--- The steps that link a program with so many layouts; only the line itself if it does not link.
---@return table[]? steps, pmlua.Failure? failure
function M.plan(words, count)
  local line, steps = words_of.parse(words), { words }
  for word in pairs(words_of.stops) do
    if line.has[word] then return steps end
  end
  if line.asks then return steps end
  if #lists.filter(line.items, movable) < 2 then
    return refuse("EINVAL", "--layouts: one file has one order", "compile the sources to several object files")
  end
  if lists.any(line.items, function(item) return item[1]:find "^%-x" end) then
    return refuse("ENOTSUP", "--layouts: -x depends on the order", "compile to object files first, without --layouts")
  end
  for number = 2, count do
    steps[number] = reordered(line, number, line.output or "a.out")
    steps[number].environment = words.environment
  end
  return steps
end

return M
