-- SPDX-License-Identifier: BSD-3-Clause
-- spec/bench/live.lua - what scrapes and rules cost a program: processor time of its threads, which the kernel counts.
--
-- Run by `make bench`. A child has 10,000 counters and 20 sections, sleeps, and is read 100 times, as pmlua serve reads it. Its
-- own thread must not run. The reference is one read of a counter by Lua.

local pml = require "pmlua"
local rules = require "pmlua.internal.live.rules"

local COUNTERS <const>, SECTIONS <const>, SCRAPES <const>, TICKS <const> = 10000, 20, 100, 100000

local APPLICATION <const> = ([[
local lib = pml.sde.library "BENCH"
for i = 1, %d do lib:counter("c" .. i) end
for i = 1, SECTIONS do local s = pml.section.define { label = "s" .. i } s:start() s:stop() end
assert(pml.live.start { name = "BENCH" })
pml.sys.sleep(600)
]]):format(COUNTERS)

--- Processor time of a process's own thread, and of its other threads, in ns.
local function times_of(pid)
  local own, others = 0, 0
  for task in require "lfs".dir(("/proc/%d/task"):format(pid)) do
    local f <close> = io.open(("/proc/%d/task/%s/schedstat"):format(pid, task))
    local ns = f and f:read "n" or 0
    if task == tostring(pid) then own = own + ns else others = others + ns end
  end
  return own, others
end

--- Processor time of a scrape of an application with so many sections: of its main thread, and of the threads of the service.
local function scraped(sections)
  local code = os.tmpname()
  local f = assert(io.open(code, "w"))
  assert(f:write("local pml = require 'pmlua'\n", (APPLICATION:gsub("SECTIONS", sections))))
  f:close()
  local exe = pml.sys.realpath "/proc/self/exe"
  local child <close> = assert(pml.command.spawn({ exe, code }, { bound = true }))
  local pid = child:pid()
  assert(child:start())
  local scrape <close> = require "pmlua.internal.serve.scrape".new { which = { tostring(pid) }, patience = 60 }
  local function is_up() return assert(scrape:read()) and scrape:list()[1] and scrape:list()[1].up end
  while not is_up() do pml.sys.sleep(0.1) end
  local own, others = times_of(pid)
  for _ = 1, SCRAPES do
    scrape.sections_due_s = 0
    assert(scrape:read())
  end
  local own_after, others_after = times_of(pid)
  os.remove(code)
  return (own_after - own) / SCRAPES, (others_after - others) / SCRAPES
end

local function ns_of(n, f)
  local before = os.clock()
  for _ = 1, n do f() end
  return (os.clock() - before) / n * 1e9
end

local counter = pml.sde.library "BENCH":counter "one"
local event = assert(pml.sde.find "BENCH::one")
local read = ns_of(TICKS, function() return event:read() end)
local rule = rules.add("BENCH::one", 0.001, function(value) return value >= 0 end)
local now_s = 0
local tick = ns_of(TICKS, function()
  now_s = now_s + 0.001
  rules.tick(now_s)
end)
assert(rule:fired() >= TICKS - 1)
counter:add(1)

local own, plain = scraped(0)
local _, more = scraped(SECTIONS)
print(("\na live program: %d counters, %d sections; processor time per scrape or tick"):format(COUNTERS, SECTIONS))
print(("%-44s %12s %14s %7s %6s"):format("figure", "ns", "event:read, ns", "ratio", "limit"))
for _, row in ipairs {
  { "a counter in a scrape", plain / COUNTERS, 4 }, { "a section in a scrape", (more - plain) / SECTIONS, 4000 },
  { "a scrape, in the application's own thread", own, 0 }, { "a rule's tick", tick, 300 },
} do
  local ratio = row[2] / read
  print(("%-44s %12.0f %14.0f %7.2f %6.0f %s"):format(row[1], row[2], read, ratio, row[3], ratio <= row[3] and "ok" or "OVER"))
end
