-- spec/check.lua - run the tests and count them. Try: lua5.4 spec/check.lua layers c
--
-- Steps are named on the command line; without any, all of `make check` runs. Every step is a child process bounded in
-- time. C specs and busted count their own checks; any other step is one check. A skip prints its reason. The last line
-- is `N passed, N failed, N skipped`, alone.

local build = os.getenv("PMLUA_BUILD") or "build"
local passed, failed, skipped = 0, 0, 0
local skips = {}

local function sh(command, seconds)
  local p = assert(io.popen(("timeout -k 5 %d sh -c '%s' </dev/null 2>&1"):format(seconds, command:gsub("'", "'\\''"))))
  local out = p:read("a")
  local _, what, code = p:close()
  if what == "signal" then code = 128 + code end
  return out, code
end

local function say(name, p, f, s, seconds)
  passed, failed, skipped = passed + p, failed + f, skipped + s
  io.write(("%-34s %5d passed %3d failed %3d skipped  %5.1f s\n"):format(name, p, f, s, seconds))
  io.flush()
end

local function now()
  local f <close> = io.open("/proc/uptime")
  return f:read("n")
end

--- One command that passes or fails as a whole.
local function whole(name, command, seconds)
  local t = now()
  local out, code = sh(command, seconds)
  if code ~= 0 then io.write(out) end
  say(name, code == 0 and 1 or 0, code == 0 and 0 or 1, 0, now() - t)
end

--- A C spec: its last line counts (a sanitizer may speak after it); 77 is a skip as a whole; dying on the way, or
--- ending without having counted, is a failure.
local function cspec(program, seconds)
  local t, name = now(), program:match("[^/]+$")
  local out, code = sh(program, seconds)
  local p, f, s = ("\n" .. out):match(".*\n(%d+) passed, (%d+) failed, (%d+) skipped\n")
  p, f, s = tonumber(p) or 0, tonumber(f) or 0, tonumber(s) or 0
  if code == 77 and s == 0 then s = 1 end
  if (code ~= 0 and code ~= 77 or p + s == 0) and f == 0 then
    f = 1
    out = out .. ("%s ended with status %d%s\n"):format(program, code, code == 124 and " (out of time)" or "")
  end
  if f > 0 then io.write(out) end
  for reason in out:gmatch("[^\n]*SKIP[^\n]*") do skips[#skips + 1] = name .. ": " .. reason end
  say("c " .. name, p, f, s, now() - t)
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

local function busted(what, lua)
  local t = now()
  local out, code = sh(("PMLUA_BUILD=%s busted --lua=%s -o plainTerminal %s"):format(build, lua or "/usr/bin/lua5.4", what), 900)
  local p, f, e, s = out:match("(%d+) success%S* / (%d+) failure%S* / (%d+) error%S* / (%d+) pending")
  if not p then
    io.write(out)
    say("busted " .. what, 0, 1, 0, now() - t)
    return
  end
  f = tonumber(f) + tonumber(e)
  if f > 0 or code ~= 0 then io.write(out) end
  for reason in out:gmatch("\nPending[^\n]*\n[^\n]*\n[^\n]*") do skips[#skips + 1] = reason:gsub("%s*\n%s*", " | ") end
  say("busted " .. what, tonumber(p), f, tonumber(s), now() - t)
end

local steps = {
  layers = function() whole("layers", "make --no-print-directory layers", 60) end,
  lint = function() whole("lint", "make --no-print-directory lint", 900) end,
  c = function() for _, program in ipairs(sources()) do cspec(program, 120) end end,
  ["c-threads"] = function() for _, program in ipairs(sources("pthread_create")) do cspec(program, 240) end end,
  busted = function() for _, dir in ipairs { "spec/core", "spec/lua", "spec/scripts", "spec/house" } do busted(dir) end end,
  asan = function() whole("asan", "make --no-print-directory asan", 1200) end,
  tsan = function() whole("tsan", "make --no-print-directory tsan", 900) end,
  ["lua-asan"] = function()
    -- a stock Lua cannot load a sanitized module: the command itself runs busted
    local p <close> = io.popen("pwd")
    busted("spec/core", p:read("l") .. "/" .. build .. "/pmlua")
  end,
}

local order = #arg > 0 and arg or { "layers", "c", "busted", "lint", "asan", "tsan" }
for _, name in ipairs(order) do
  if not steps[name] then
    io.stderr:write("check: no step called ", name, "\n")
    os.exit(2)
  end
  steps[name]()
end
for _, s in ipairs(skips) do print("skipped: " .. s) end
print(("%d passed, %d failed, %d skipped"):format(passed, failed, skipped))
os.exit(failed == 0 and passed > 0)
