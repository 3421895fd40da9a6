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

--- The broken readers; who was caught by what is for the log.
local function mutants()
  local out, good = tally.program("mutants", "lua5.4 spec/mutants.lua", 1800)
  if good then io.write((out:gsub("[^\n]*\n?$", ""))) end
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

local function busted(what, lua, seconds)
  local t = now()
  local command = "PMLUA_BUILD=%s busted --lua=%s -o plainTerminal %s"
  local out, code = tally.sh(command:format(build, lua or "/usr/bin/lua5.4", what), seconds or 1800)
  local p, f, e, s = out:match("(%d+) success%S* / (%d+) failure%S* / (%d+) error%S* / (%d+) pending")
  if not p then
    io.write(out)
    tally.fail("busted " .. what, out)
    tally.say("busted " .. what, 0, 1, 0, now() - t)
    return
  end
  f = tonumber(f) + tonumber(e)
  if f > 0 or code ~= 0 then io.write(out) end
  if f == 0 and code ~= 0 then -- a sanitizer that speaks when all is over
    f = 1
    tally.fail("busted " .. what, ("%s\nbusted %s ended with status %d"):format(out, what, code))
  end
  for _, kind in ipairs { "Failure", "Error" } do
    for where, name, reason in out:gmatch("\n" .. kind .. " %-> ([^\n]*)\n([^\n]*)\n([^\n]*)") do
      tally.fail("busted " .. what, where .. " | " .. name .. " | " .. reason)
    end
  end
  for reason in out:gmatch("\nPending[^\n]*\n[^\n]*\n[^\n]*") do tally.skip((reason:gsub("%s*\n%s*", " | "))) end
  tally.say("busted " .. what, tonumber(p), f, tonumber(s), now() - t)
end

-- The limits end what hangs: a machine that others use, too, may take several times what it takes alone.
local steps = {
  layers = function() whole("layers", "make --no-print-directory layers", 120) end,
  lint = function() whole("lint", "make --no-print-directory lint", 1800) end,
  c = function() for _, program in ipairs(sources()) do cspec(program, 300) end end,
  ["c-threads"] = function() for _, program in ipairs(sources("pthread_")) do cspec(program, 600) end end,
  mutants = mutants,
  costs = function() tally.program("costs", "lua5.4 spec/costs.lua " .. build .. "/spec/cost", 300) end,
  busted = function() for _, dir in ipairs { "spec/core", "spec/lua", "spec/scripts", "spec/house" } do busted(dir) end end,
  wrap = function() busted("spec/wrap", nil, 2400) end,
  asan = function() whole("asan", "make --no-print-directory asan", 3600) end,
  tsan = function() whole("tsan", "make --no-print-directory tsan", 3600) end,
  ["lua-asan"] = function()
    -- a stock Lua cannot load a sanitized module: the command itself runs busted
    local p <close> = io.popen("pwd")
    busted("spec/core", p:read("l") .. "/" .. build .. "/pmlua")
  end,
}

-- The log of a whole run tells what machine proved what.
if #arg == 0 then io.write(tally.sh(build .. "/pmlua doctor", 60), "\n") end
local order = #arg > 0 and arg or { "layers", "c", "mutants", "costs", "busted", "lint", "asan", "tsan" }
for _, name in ipairs(order) do
  if not steps[name] then
    io.stderr:write("check: no step called ", name, "\n")
    os.exit(2)
  end
  steps[name]()
end
tally.finish()
