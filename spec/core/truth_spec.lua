-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/truth_spec.lua - scripts count exactly without a PMU, to the last event.

local support = require "spec.core.support"

local it, core = support.it, support.core

-- tracefs mounted for the child alone where the host has none; a script that prints what it counted.
local TRACED = "unshare --mount sh -c 'test -d /sys/kernel/tracing/events || " ..
  "mount -t tracefs pmlua /sys/kernel/tracing; exec \"$@\"' sh "

--- Open a set of events; nil after a pending with the reason if the machine refuses.
local function counting(names)
  local set, err, code = core.eventset.open(names)
  if set then return set end
  if code == "ENOENT" or code == "EACCES" or code == "EPARANOID" or code == "ECAP" or code == "ENOTHERE" then
    return pending(tostring(err))
  end
  error(err)
end

describe("A script counts", function()
  it("each sleep as a context switch", function()
    local set <close> = counting { "context-switches" }
    if not set then return end
    local function involuntary()
      local status = support.slurp("/proc/thread-self/status")
      return tonumber(status:match("nonvoluntary_ctxt_switches:%s*(%d+)"))
    end
    local before = involuntary()
    set:start()
    for _ = 1, 30 do core.sys.sleep(0.001) end
    local n = set:stop()
    local taken = involuntary() - before
    assert.is_true(n >= 30 and n <= 30 + taken, ("%d switches of 30 sleeps, %d against its will"):format(n, taken))
  end)

  it("each hop to another cpu as a migration", function()
    local cpus = core.sys.affinity()
    if #cpus < 2 then return pending "there is but one cpu to be on" end
    assert(core.sys.pin(cpus[1]))
    local set <close> = counting { "cpu-migrations" }
    if not set then return end
    set:start()
    for i = 1, 40 do assert(core.sys.pin(cpus[i % 2 + 1])) end
    local n = set:stop()
    core.sys.pin(cpus)
    assert.equal(40, n)
  end)

  it("each fresh page as a fault", function()
    -- in a separate process, because memory that was in use before causes no faults
    local script = support.spit(support.folder() .. "/fault.lua", [[
      local pml = require "pmlua"
      local set, err = pml.eventset.open { "page-faults", "major-faults" }
      if not set then return print(err) end
      set:start()
      set:stop()
      collectgarbage("stop")
      set:start()
      local samples = assert(pml.samples.new(256 * 4096 // 8)) -- less than a huge page
      print(set:stop())
      samples:close()
    ]])
    local status, out, err = support.shell(("%s/pmlua %s"):format(support.build, script))
    support.cleanup()
    assert.equal(0, status, err)
    local n, major = out:match("^(%d+)\t(%d+)\n$")
    if not n then return pending(out) end
    n = tonumber(n) -- a sanitizer has pages of its own beside ours
    assert.is_true(n >= 256 and n <= 256 + (support.sanitized and 128 or 16), ("%d of 256"):format(n))
    assert.equal("0", major)
  end)

  it("each call of a function as an execution of its first instruction", function()
    local set <close> = counting { "mem:pml_clock_realtime_ns:x:u" }
    if not set then return end
    set:start()
    for _ = 1, 500 do core.clock.realtime_ns() end
    assert.equal(500, (set:stop()))
  end)

  it("each call of a probed function of a library", function()
    local library
    for line in io.lines("/proc/self/maps") do library = library or line:match("%S*/libpmlua%.so%S*$") end
    if not library then return pending "this process has no libpmlua.so" end
    local name = ("uprobe:%s:pml_region_count"):format(library)
    local set <close> = counting { name, name .. "%return" }
    if not set then return end
    set:start()
    for _ = 1, 500 do core.region.count() end
    local calls, returns = set:stop()
    assert.equal(500, calls)
    assert.equal(500, returns)
  end)

  it("ticks of the TSC between two other readings of it", function()
    if core.clock.info().name ~= "tsc" then return pending "the clock is not the TSC" end
    local set <close> = counting { "msr/tsc/" }
    if not set then return end
    local before = core.clock.ticks_ordered()
    set:start()
    for _ = 1, 10000 do core.clock.ns() end
    local n = set:stop()
    local most = core.clock.ticks_ordered() - before
    assert.is_true(n > 0 and n <= most, ("%d of %d"):format(n, most))
  end)

  it("no more time on a cpu than went by, and none asleep", function()
    local set <close> = counting { "task-clock", "cpu-clock", "clock::ns" }
    if not set then return end
    set:start()
    local billed = os.clock()
    while os.clock() - billed < 0.02 do core.clock.ns() end
    core.sys.sleep(0.1)
    local task, cpu, wall = set:stop()
    assert.is_true(task >= 19e6 and cpu >= 19e6, ("%d and %d ns of 20 ms"):format(task, cpu))
    local most = wall - 75000000
    assert.is_true(task <= most and cpu <= most, ("%d and %d of %d ns, 100 ms of them asleep"):format(task, cpu, wall))
  end)

  it("each system call that a tracepoint sees", function()
    local able = support.shell(TRACED .. "test -d /sys/kernel/tracing/events")
    if able ~= 0 then return pending "tracefs is not mounted, and mounting it takes root" end
    local script = support.folder() .. "/count.lua"
    support.spit(script, [[
      local set = assert(pml.eventset.open { "syscalls:sys_enter_getpid", "syscalls:sys_exit_getpid" })
      set:start()
      for _ = 1, 500 do pml.sys.pid() end
      print(set:stop())
    ]])
    local status, out, err = support.shell(("%s %s/pmlua -e 'dofile(%q)'"):format(TRACED, support.build, script))
    support.cleanup()
    assert.equal(0, status, err)
    assert.equal("500\t500\n", out)
  end)
end)
