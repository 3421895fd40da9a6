-- SPDX-License-Identifier: BSD-3-Clause
-- spec/check.lua - run the tests and count them. Try: lua5.4 spec/check.lua layers c
--
-- Steps are named on the command line; without any, all of `make check` runs. Every step is a child process bounded in
-- time. C specs and busted count their own checks; any other step is one check. A skip prints its reason. The last line
-- is `N passed, N failed, N skipped`, alone.

package.path = "spec/?.lua;" .. package.path
local tally = require "tally"

local build = os.getenv("PMLUA_BUILD") or "build"
local whole, now = tally.whole, tally.now

local function cspec(program, seconds)
  tally.program("c " .. program:match("[^/]+$"), program, seconds)
end

local function sources(pattern)
  local p <close> = io.popen("ls spec/c/*.c")
  local list = {}
  for file in p:lines() do
    local f <close> = io.open(file)
    local name = file:match("([^/]+)%.c$")
    -- a file that says so is a helper program of another spec
    local head = f:read("a")
    if not head:find("not a spec by itself", 1, true) and (not pattern or head:find(pattern)) then
      list[#list + 1] = build .. "/spec/" .. name
    end
  end
  return list
end

local function busted(what, env)
  local t = now()
  local out, code = tally.sh(("%s busted --lua=%s -o plainTerminal %s"):format(env or "", "/usr/bin/lua5.4", what), 900)
  local p, f, e, s = out:match("(%d+) success%S* / (%d+) failure%S* / (%d+) error%S* / (%d+) pending")
  if not p then
    io.write(out)
    tally.say("busted " .. what, 0, 1, 0, now() - t)
    return
  end
  f = tonumber(f) + tonumber(e)
  if f > 0 or code ~= 0 then io.write(out) end
  for reason in out:gmatch("\nPending[^\n]*\n[^\n]*\n[^\n]*") do tally.skip((reason:gsub("%s*\n%s*", " | "))) end
  tally.say("busted " .. what, tonumber(p), f, tonumber(s), now() - t)
end

local steps = {
  layers = function() whole("layers", "make --no-print-directory layers", 60) end,
  lint = function() whole("lint", "make --no-print-directory lint", 900) end,
  c = function() for _, program in ipairs(sources()) do cspec(program, 120) end end,
  ["c-threads"] = function() for _, program in ipairs(sources("pthread_create")) do cspec(program, 240) end end,
  costs = function() tally.program("costs", "lua5.4 spec/costs.lua " .. build .. "/spec/cost", 120) end,
  busted = function() for _, dir in ipairs { "spec/core", "spec/lua", "spec/scripts", "spec/house" } do busted(dir) end end,
  asan = function() whole("asan", "make --no-print-directory asan", 1200) end,
  tsan = function() whole("tsan", "make --no-print-directory tsan", 900) end,
  ["lua-asan"] = function()
    busted("spec/core", "PMLUA_BUILD=" .. build)
  end,
  soak = function()
    local till, programs, n = now() + (tonumber(os.getenv("SOAK_SECONDS")) or 120), sources("pthread_create"), 0
    repeat
      cspec(programs[n % #programs + 1], 240)
      n = n + 1
    until now() > till or tally.failed > 0
  end,
}

local order = #arg > 0 and arg or { "layers", "c", "costs", "busted", "lint", "asan", "tsan" }
for _, name in ipairs(order) do
  if not steps[name] then
    io.stderr:write("check: no step called ", name, "\n")
    os.exit(2)
  end
  steps[name]()
end
tally.finish()
