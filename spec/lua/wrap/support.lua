-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/wrap/support.lua - what the specs of pmlua wrap share.

local busted = require "busted"
local support = require "spec.core.support"

local M = { fixtures = support.root .. "/spec/lua/wrap" }

local function why_not()
  if support.sanitized then return "a sanitizer must be loaded before what is preloaded" end
  if (support.shell("command -v gcc g++ nm objdump c++filt")) ~= 0 then return "no compiler or no binutils" end
  local clang, missing = require("pmlua.internal.wrap.paths").clang()
  if not clang then return missing end
  local there, absent = clang.available()
  return not there and absent
end

--- Why nothing can be wrapped here; false: it can.
M.missing = why_not()

--- it(), or pending where nothing can be wrapped.
function M.it(name, f)
  if M.missing then return busted.pending(name .. ": " .. M.missing) end
  return busted.it(name, f)
end

return M
