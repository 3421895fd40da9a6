-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/sim/support.lua - what the specs of simulation share.

local busted = require "busted"
local support = require "spec.core.support"

local M = {}

--- Why nothing can be simulated here; false: it can.
M.without = (support.shell("command -v valgrind")) ~= 0 and "valgrind is not installed"
  or support.sanitized and "valgrind cannot run what a sanitizer watches"

--- describe(), or pending where nothing can be simulated.
function M.describe(what, tests)
  busted.describe(what, function()
    if M.without then return busted.pending(what .. ": " .. M.without) end
    tests()
  end)
end

--- The program of sections, built as dir/sections.
function M.build_sections(dir)
  local quote = support.quote
  local build = quote(support.build)
  support.done(support.shell(("gcc -O1 -g -std=gnu11 -Icore spec/lua/sim/sections.c -o %s -L%s -lpmlua %s")
    :format(quote(dir .. "/sections"), build, "-lpthread -Wl,-rpath," .. build)))
end

--- A text with one byte changed and up to two lost, n times.
function M.damaged(text, n)
  local random = require "pmlua.internal.rng" (8)
  return coroutine.wrap(function()
    for _ = 1, n do
      local at = random(#text)
      coroutine.yield(text:sub(1, at - 1) .. string.char(random(256) - 1) .. text:sub(at + random(3) - 1))
    end
  end)
end

return M
