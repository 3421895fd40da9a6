-- SPDX-License-Identifier: BSD-3-Clause
-- spec/bench/trace.lua - speed of a question, a Lua function and an export on a trace, in events for each second of processor
-- time, beside empty callbacks of libotf2, otf2-print and python3-otf2 in the same run.
--
-- Run by `make bench`. The trace is one location with calls of 20 regions, two deep. The questions alternate, and the best of
-- three rounds counts. Python reads a shorter trace of the same calls. The memory that each export adds is printed beside it.

local pml = require "pmlua"

local EVENTS <const>, SHORT <const>, REGIONS <const>, ROUNDS <const> = 10000000, 400000, 20, 3
local folder = os.tmpname()
os.remove(folder)
assert(require "lfs".mkdir(folder))

local function write(name, events)
  local dir = folder .. "/" .. name
  assert(require "lfs".mkdir(dir))
  local trace <close> = assert(pml.trace.create(dir))
  local location, region = assert(trace:location "main"), {}
  for i = 1, REGIONS do region[i] = assert(pml.region.intern("region " .. i)) end
  for i = 0, events // 4 - 1 do
    local outer, inner = region[i % REGIONS + 1], region[(i + 1) % REGIONS + 1]
    location:enter(outer)
    location:enter(inner)
    location:leave(inner)
    location:leave(outer)
  end
  assert(trace:close())
  return dir .. "/traces.otf2"
end

local long, short = write("long", EVENTS), write("short", SHORT)
local reader <close> = assert(pml.trace.open(long))
local nothing <close> = assert(io.open("/dev/null", "w"))

local function run(command)
  local p <close> = assert(io.popen(command .. " 2>/dev/null"))
  local text = p:read "a"
  return p:close() and text or nil
end

--- A command that prints how many events it read, in which seconds of the processor: events a second.
local function counted(command, events)
  local n, seconds = (run(command) or ""):match "^(%d+) ([%d.e-]+)\n$"
  return n and (assert(tonumber(n) == events, "not all events were read") and events / tonumber(seconds))
end

local function timed(f)
  return function()
    local before = os.clock()
    f()
    return EVENTS / (os.clock() - before)
  end
end

--- The most memory that this process had, in KB.
local function most_memory()
  local status <close> = assert(io.open "/proc/self/status")
  return math.tointeger(status:read("a"):match "VmHWM:%s+(%d+)")
end

local rows = {
  { name = "libotf2, callbacks that do nothing", lacks = "cc and the headers of libotf2", peer = true,
    rate = run(("cc -O2 -o %s/empty spec/bench/trace/empty.c -lotf2"):format(folder))
      and function() return counted(("%s/empty %s 1"):format(folder, long), EVENTS) end },
  { name = "t:group by region", limit = 20, rate = timed(function()
    local calls = 0
    for _, r in ipairs(assert(reader:group { threads = 1 })) do calls = calls + r.calls end
    assert(2 * calls == EVENTS)
  end) },
  { name = "t:each, a function of Lua", limit = 3, rate = timed(function()
    local n = 0
    assert(reader:each(function() n = n + 1 end) == EVENTS and n == EVENTS)
  end) },
  { name = "otf2-print", lacks = "otf2-print", peer = true, once = true, rate = run "command -v otf2-print" and function()
    local text = run(("bash -c 'TIMEFORMAT=\"%%U %%S\"; { time otf2-print %s >/dev/null; } 2>&1'"):format(short))
    local user, system = (text or ""):match "^([%d.]+) ([%d.]+)\n$"
    return user and SHORT / (user + system)
  end },
  { name = "python3-otf2", lacks = "python3-otf2", peer = true, once = true,
    rate = function() return counted(("/usr/bin/python3 spec/bench/trace/events.py %s"):format(short), SHORT) end },
}
for _, form in ipairs { "perfetto", "csv" } do
  local row = { name = "export to " .. form, limit = 5, once = true }
  local export = timed(function() assert(2 * assert(reader:export(form, nothing)).calls == EVENTS) end)
  function row.rate()
    local before = most_memory()
    local rate = export()
    row.grew = most_memory() - before
    return rate
  end
  rows[#rows + 1] = row
end

for round = 1, ROUNDS do
  for _, row in ipairs(rows) do
    local rate = (round == 1 or not row.once) and row.rate and row.rate()
    row.best = rate and math.max(rate, row.best or 0) or row.best
  end
end

print(("\nevents of a trace: %d enters and leaves of one location, in one thread"):format(EVENTS))
print(("%-36s %12s %12s %10s"):format("figure", "million/s", "of libotf2", "at least"))
for _, row in ipairs(rows) do
  local rate = row.best and row.best / 1e6
  if not rate then
    print(("%-36s needs %s"):format(row.name, row.lacks))
  else
    print((("%-36s %12.2f %12s %10s %s%s"):format(row.name, rate, rows[1].best and ("%.3f"):format(row.best / rows[1].best) or "",
      row.limit or "", row.limit and (rate >= row.limit and "ok" or "OVER") or "",
      row.grew and (", %d KB more memory"):format(row.grew) or ""):gsub("%s+$", "")))
  end
end
os.execute("rm -rf " .. folder)
