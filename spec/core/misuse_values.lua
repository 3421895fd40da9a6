-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/misuse_values.lua - values of every type, including the most harmful ones, for misuse_calls.lua.

local core = require "pmlua.core"

local M = { NIL = {} } -- M.NIL is nil in lists
local NIL = M.NIL

local function cyclic()
  local t = setmetatable({}, {})
  t[1], t.self = t, t
  getmetatable(t).__index = t
  return t
end

local function hostile()
  local function raise() error("raised by a metamethod") end
  return setmetatable({ "x" }, { __index = raise, __newindex = raise, __len = function() return math.maxinteger end,
    __call = raise, __tostring = function() return 1 end, __name = 7, __gc = raise, __pairs = raise })
end

local light = debug.upvalueid(function() return core end, 1)
M.file = io.tmpfile()
local shut = io.tmpfile()
shut:close()

--- All values, the given handles, and a function that makes handles. If this function fails, for example for lack of descriptors,
--- the caller made no mistake.
function M.with(handles, make_all)
  local function make()
    local made, err = pcall(make_all)
    if not made then error("raised by a metamethod, or the like: " .. tostring(err)) end
  end
  local values = {
    NIL, true, false, 0, 1, -1, 2, math.maxinteger, math.mininteger, 1 << 31, 1 << 32, 1 << 53, 0.5, -0.0, 1e308, -1e308,
    5e-324, 0 / 0, 1 / 0, -1 / 0, "", "x", "task-clock", "a\0b", ("y"):rep(70000), "%s%n%s", "../..", "/dev/null", "1", {},
    { 1, 2, 3 }, { "task-clock" }, { "a\0b" }, { {} }, { n = 1 }, { [1.5] = 2 }, cyclic(), hostile(), print, make,
    coroutine.create(print), light, M.file, shut,
  }
  for _, set in ipairs(handles) do
    for _, h in pairs(set) do values[#values + 1] = h end
  end
  return values
end

return M
