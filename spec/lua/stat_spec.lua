-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/stat_spec.lua - tests of pmlua stat: the kernel's counts of a command, its exit status, and helpful errors.

local permission = require "spec.permission"
local support = require "spec.core.support"
local json = require "pmlua.json"
local quote = support.quote

local command = support.build .. "/pmlua stat "

--- The counts of a run by event.
local function counted(arguments)
  local status, out, err = support.shell(command .. "--json " .. arguments)
  local text = out:match("({\n.*)$")
  assert.truthy(text, err)
  local told, by_event = json.decode(text), {}
  for _, row in ipairs(told.counts) do by_event[row.event] = row end
  return by_event, status, told
end

local refused = support.refused("stat", function(arguments, environment)
  return support.shell((environment or "") .. command .. arguments)
end)

describe("pmlua stat", function()
  it("refuses a breakpoint on a symbol, whose address is pmlua's own, and names the lookup in the command", function()
    for _, verb in ipairs { "stat -e %s -- true", "sample -e %s -- true" } do
      for _, event in ipairs { "mem:environ:w", "mem:malloc:x", "mem:no_such_variable" } do
        local _, _, err = support.shell(("%s/pmlua "):format(support.build) .. verb:format(event))
        assert.matches("pmlua watchpoint", err, 1, true)
        assert.falsy(err:find("\n" .. event:gsub("%p", "%%%0") .. " +%d"), err)
      end
    end
  end)

  it("prints times, memory and the kernel's counts with their units, and returns the command's status", function()
    local status, out, err = support.shell(command .. "-- sh -c 'echo hello; exit 3'")
    assert.equal(3, status)
    assert.equal("hello\n", out)
    assert.truthy(err:find("\nelapsed time +%d+  ns +getrusage\n"), err)
    assert.truthy(err:find("\n" .. permission.pattern "task-clock" .. " +%d+  ns +perf_event\n"), err)
    assert.truthy(err:find("\nlargest resident set +%d+  bytes +getrusage\n"), err)
    assert.truthy(err:find("pmlua stat: sh: exit status 3\n", 1, true), err)
  end)

  it("counts the command alone, neither the waiting child nor the setup of its environment", function()
    local faults = permission.name "page-faults"
    local least, lone = math.huge, math.huge -- the least of some runs: a loader's faults vary by a few
    for _ = 1, 5 do
      least = math.min(least, counted("-e page-faults -e sde:::BYFL::flop_count_I -- true")[faults].value)
      local child <close> = assert(support.core.command.spawn { "true" })
      local set <close> = assert(support.core.eventset.open({ "page-faults" }, { pid = child:pid(), on_exec = true }))
      assert(child:start() and child:wait(60))
      lone = math.min(lone, (set:read()))
    end
    assert.is_true(math.abs(least - lone) < 15, ("%d faults, %d of the command alone"):format(least, lone))
  end)

  it("counts what the command's children do", function()
    local faults = permission.name "minor-faults"
    local alone = counted("-e minor-faults -- sh -c :")
    local with = counted("-e minor-faults -- sh -c 'for i in 1 2 3 4 5 6 7 8; do /bin/true; done'")
    assert.is_true(with[faults].value > alone[faults].value + 8 * 20)
  end)

  it("offers alternatives without a PMU", function()
    local _, _, err = support.shell(command .. "-- true")
    if support.core.event.has_pmu() then
      assert.truthy(err:find("\ninstructions +%d+ +perf_event"), err)
    else
      assert.truthy(err:find("pmlua stat: no PMU, hence no hardware counts; --sim counts", 1, true), err)
      assert.truthy(err:find("pmlua cc --count", 1, true), err)
    end
  end)

  it("counts only the requested events, also names with commas", function()
    local by_event = counted("-e task-clock,page-faults -e 'software/config=0x2,config1=0/,minor-faults' -- true")
    assert.truthy(by_event[permission.name "task-clock"].value > 0)
    assert.equal("perf_event", by_event[permission.name "page-faults"].source)
    assert.truthy(by_event[permission.name "minor-faults"])
    assert.is_nil(by_event["context-switches"])
  end)

  it("gives the reason for an uncounted event, and still counts the rest", function()
    if support.core.event.has_pmu() then return pending("there is a PMU") end
    local by_event = counted("-e instructions,task-clock -- true")
    assert.is_nil(by_event.instructions.value)
    assert.truthy(by_event.instructions.reason:find("%w"))
    assert.truthy(by_event[permission.name "task-clock"].value > 0)
  end)

  it("prints the counts until then when the command is interrupted, or killed", function()
    local by_event, status, told = counted("-- sh -c 'kill -KILL $$'")
    assert.equal(128 + 9, status)
    assert.equal(9, told.ended.signal)
    assert.truthy(by_event[permission.name "task-clock"].value > 0)
  end)

  it("passes on a signal that was sent to it alone, and prints its counts", function()
    for _, signal in ipairs { "INT", "TERM" } do
      local status, _, err = support.shell(("%s -- sh -c 'kill -%s $PPID; exec sleep 60'"):format(command, signal))
      assert.equal(128 + 15, status)
      assert.truthy(err:find("\n" .. permission.pattern "task-clock" .. " +%d+"), err)
      assert.truthy(err:find("pmlua stat: sh: ended by signal 15\n", 1, true), err)
    end
  end)

  it("writes its table to a file, and nothing else there", function()
    local dir = support.folder()
    local out,
      err = support.done(support.shell(command .. "--out " .. quote(dir .. "/table") .. " -- sh -c 'echo out; echo err >&2'"))
    assert.equal("out\n", out)
    assert.truthy(err:find("^err\n"), err)
    assert.truthy(support.slurp(dir .. "/table"):find("\nelapsed time +%d+  ns"))
  end)

  it("accepts names with a path in them, beside others", function()
    local parse = require "pmlua.internal.cli.common".event_names
    local names = assert(parse { "usdt:/a/b:p:n,cycles", "cpu/a=1,b=2/,uprobe:/lib/x.so:f" })
    assert.same({ "usdt:/a/b:p:n", "cycles", "cpu/a=1,b=2/", "uprobe:/lib/x.so:f" }, names)
  end)

  it("runs a command several times, and gives means, their intervals and extremes", function()
    local dir = support.folder()
    local status, out = support.shell(("%s -r 4 --json -e task-clock -- sh -c 'echo x >> %s/runs; exit 3'"):format(command, dir))
    assert.equal(3, status)
    assert.equal("x\nx\nx\nx\n", support.slurp(dir .. "/runs"))
    local told = json.decode(out)
    assert.equal(4, #told.ended)
    for _, row in ipairs(told.counts) do
      local sum, squares = 0, 0
      for _, v in ipairs(row.values) do sum = sum + v end
      for _, v in ipairs(row.values) do squares = squares + (v - sum / 4) ^ 2 end
      assert.equal(4, #row.values)
      assert.near(sum / 4, row.mean, 1e-12 * row.mean) -- as nobody, values have fractions: the order of sums shows
      assert.near(3.182446 * math.sqrt(squares / 3 / 4), row.half_interval, 1e-5 * row.mean + 1e-9) -- t of 3 degrees, 97.5 %
      assert.same({ math.min(table.unpack(row.values)), math.max(table.unpack(row.values)) }, { row.least, row.most })
    end
    local _, _, err = support.shell(command .. "-r 2 -e task-clock -- true")
    assert.matches("\nevent +mean +%+%- %(95 %%%) +least +most +unit +counted by\n.*\n2 runs\n", err)
  end)

  it("prints the counts of each interval; all intervals make the whole", function()
    local _, err = support.done(support.shell(command
      .. "-I 50 -e task-clock -- sh -c 'sleep 0.12; i=0; while [ $i -lt 9999 ]; do i=$((i+1)); done'"))
    local clock = permission.pattern "task-clock"
    local sum, n, last = 0, 0, 0
    for time, count in err:gmatch("\n +([%d.]+) +(%d+)  ns +" .. clock) do
      assert.is_true(tonumber(time) > last)
      sum, n, last = sum + math.tointeger(count), n + 1, tonumber(time)
    end
    assert.is_true(n >= 2, err)
    assert.equal(tostring(sum), err:match("\n" .. clock .. " +(%d+)  ns +perf_event"))
    local _, out = support.shell(command .. "-I 50ms --csv -e task-clock -- sleep 0.12")
    assert.matches("^time_s,event,count,unit,counted_by,remark\n0%.%d+," .. clock .. ",%d+,ns,perf_event,\n0%.", out)
    _, out = support.shell(command .. "-I 50ms --json -e task-clock -- sleep 0.12")
    for line in out:gmatch "[^\n]+" do assert.equal("ns", json.decode(line).counts[1].unit) end
  end)

  it("joins intervals that passed while it could not run", function()
    local next_due = require "pmlua.internal.child".next_due
    assert.same({ 1.5, 2.0, 2.5, 3.0, 1.0 }, { next_due(1.0, 0.5, 1.125), next_due(1.0, 0.5, 1.25), next_due(1.0, 0.5, 2.0),
      next_due(1.0, 0.5, 2.25), next_due(0.5, 0.5, 0.25) })
  end)

  it("counts in a running process, during a command or until it ends", function()
    local busy = "sh -c 'while :; do :; done' & pid=$!; "
    local _, out = support.shell(busy .. command .. "--json -e task-clock -p $pid -- sleep 0.3; kill $pid")
    local row = json.decode(out).counts[2]
    assert.is_true((row.value or 0) > 0, out)
    _, out = support.shell("sleep 100 & pid=$!; " .. command .. "--json -e task-clock -p $pid -- sleep 0.1; kill $pid")
    assert.equal(0, json.decode(out).counts[2].value)
    local status, _, err = support.shell("timeout 60 " .. command .. "-e task-clock -p $(sleep 2 >&- 2>&- & echo $!)")
    assert.equal(0, status)
    assert.matches("\nelapsed time +%d+  ns", err)
    status, _, err = support.shell("timeout -s INT 2 " .. command .. "-e task-clock -p $$; echo status $? >&2")
    assert.matches("\nelapsed time +%d+  ns.*\nstatus 124\n", err, status)
    refused("-p 4194305 -- true", "no process 4194305; ps lists those that run", 1)
  end)

  it("counts on all cpus, for any programs there", function()
    local by_event, _, told = counted("-a -e cpu-clock -- sleep 0.2")
    local row = told.counts[2]
    if row.reason then return pending("cpus of others cannot be counted: " .. row.reason) end
    local cpus = support.core.sys.nprocs()
    assert.near(1, row.value / (cpus * by_event["elapsed time"].value), 0.3)
  end)

  it("names errors in the command line", function()
    refused("", "pmlua stat: no command given\n")
    refused("-e task-clock,, -- true", "--event: an event's name is empty")
    refused("-e 'cpu/x -- true' true", "--event: 'cpu/x -- true' lacks the closing '/'")
    refused("-e sim::Ir -- true", "sim::Ir is counted by simulation; add --sim")
    refused("--sim --D1 32k -- true", "--D1: '32k' is not BYTES,WAYS,LINE; write one such as 32768,8,64")
    refused("--sim --D1=100,3,64 -- true", "--D1: '100,3,64' is not a possible cache")
    refused("--sim -e instructions -- true", "--event: a simulation has no event 'instructions'; choose one of Ir Dr")
    refused("A=1 true", "a command with '=' in its name cannot be counted")
  end)

  it("names events, commands and files that it cannot use", function()
    refused("-e task-clokc -- true", "nearest: task-clock", 1)
    refused("-e clock::ns -- true", "clock::ns: only the kernel's events can be counted in another process", 1)
    refused("-- nosuch", "pmlua stat: nosuch: command not found", 127)
    refused("-- /etc/passwd", "/etc/passwd cannot be executed", 126)
    refused("--out /nowhere/table -- true", "/nowhere/table: No such file or directory", 1)
    refused("--sim -- nosuch", "pmlua stat: nosuch: command not found", 127)
  end)

  it("reports errors in the name of a compiler's event, and suggests a near name", function()
    refused("-e sde:::BYFL::flop_count -- true", "the compiler does not count this; did you mean sde:::BYFL::flop_count_I?", 1)
    refused("-e 'sde:::BYFL::*' -- true", "does not count this; pmlua events 'sde:::BYFL::*' lists what it counts", 1)
  end)

  it("counts the kernel's events if there is no folder for the rest, and reports that", function()
    local _, err = support.done(support.shell("TMPDIR=/nowhere " .. command .. "-- true"))
    assert.matches("\n" .. permission.pattern "task-clock" .. " +%d+ +ns +perf_event\n", err)
    assert.matches("\nnot counted by the compiler: /nowhere: [%w ]+; set TMPDIR to a folder that you can write to\n", err)
    refused("-e sde:::BYFL::flop_count_I -- true", "/nowhere: No such file or directory; set TMPDIR to", 1, "TMPDIR=/nowhere ")
    refused("--sim -- true", "/nowhere: No such file or directory; set TMPDIR to", 1, "TMPDIR=/nowhere ")
  end)

  it("names programs that valgrind cannot run", function()
    local dir = support.folder()
    assert.equal(0, (support.shell(("cp /bin/true %s/true && chmod u+s %s/true"):format(quote(dir), quote(dir)))))
    refused("--sim -- " .. quote(dir .. "/true"), "/true is set-uid or set-gid, which valgrind cannot run", 126)
  end)

  it("names the package to install if valgrind is missing", function()
    local dir = support.folder()
    os.execute(("ln -s /bin/true %s/true"):format(quote(dir)))
    local status, _, err = support.shell(("PATH=%s %s --sim -- true"):format(quote(dir), command))
    assert.equal(1, status)
    assert.equal("pmlua stat: valgrind is not installed; install your system's package valgrind " ..
      "(Debian: apt-get install valgrind)\n", err)
    support.spit(dir .. "/script.lua", "print(1)\n")
    status, _, err = support.shell(("PATH=%s %s/pmlua --sim %s/script.lua"):format(quote(dir), quote(support.build), quote(dir)))
    assert.equal(1, status)
    assert.truthy(err:find("^pmlua %-%-sim: valgrind is not installed; [^\n]+\n$"), err)
  end)
end)

describe("pmlua stat --cgroup", function()
  local folders = {}

  --- A new cgroup that perf can count, or nil and the reason for its lack.
  local function cgroup(name)
    for _, root in ipairs { "/sys/fs/cgroup/unified/", "/sys/fs/cgroup/perf_event/", "/sys/fs/cgroup/" } do
      local path = ("%spmlua-spec-%d-%s"):format(root, support.core.sys.pid(), name)
      if os.execute(("mkdir %s 2>/dev/null && test -w %s/cgroup.procs"):format(path, path)) then
        folders[#folders + 1] = path
        local set <close>, err = support.core.eventset.open({ "task-clock" }, { cgroup = path, cpu = 0 })
        return set and path, tostring(err)
      end
    end
    return nil, "no cgroup can be made below /sys/fs/cgroup"
  end

  after_each(function()
    for _, path in ipairs(folders) do os.execute("rmdir " .. path) end
    folders = {}
  end)

  it("counts only the processes of each cgroup", function()
    local busy, why = cgroup "busy"
    if not busy then return pending(why) end
    local idle = assert(cgroup "idle")
    local inside = ("echo $$ >%s/cgroup.procs; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; times"):format(busy)
    local out = support.done(support.shell(("%s --json -e task-clock,context-switches -G %s -G %s -- sh -c %s"):format(command,
      busy, idle, quote(inside .. "; echo $$ >" .. busy:gsub("[^/]+$", "") .. "cgroup.procs"))))
    local told, ns = json.decode(out:match "({\n.*)$"), {}
    for _, row in ipairs(told.counts) do
      if row.event == "task-clock" then ns[row.cgroup] = row.value end
    end
    assert.equal(0, ns[idle])
    local minutes, seconds = out:match "(%d+)m([%d.]+)s"
    local user = 1e9 * (60 * tonumber(minutes) + tonumber(seconds))
    assert.is_true(user > 0 and ns[busy] > 0.8 * user, ("%d ns counted, %d ns by the shell's clock"):format(ns[busy], user))
    assert.is_true(ns[busy] <= told.ended.user_ns + told.ended.system_ns + 2e7)
  end)

  it("prints the cgroup beside the event", function()
    local path, why = cgroup "table"
    if not path then return pending(why) end
    local _, _, err = support.shell(command .. "-e page-faults -G " .. path:match "[^/]+$" .. " -- true")
    assert.truthy(err:find("\npage%-faults in pmlua%-spec%-%d+%-table +0"), err)
  end)

  it("refuses other folders, and pid or all beside it", function()
    refused("--cgroup /tmp -- true", "/tmp: no cgroup /tmp", 1)
    refused("--cgroup no-such-group -- true", "no-such-group: no cgroup /sys/fs/cgroup/no-such-group", 1)
    refused("--cgroup x -a -- true", "--cgroup")
    local set, err, code = support.core.eventset.open({ "task-clock" }, { cgroup = "/tmp", cpu = 0 })
    assert.is_nil(set)
    assert.equal("EINVAL", code)
    assert.truthy(tostring(err):find("/tmp: not a cgroup", 1, true))
    assert.error(function() support.core.eventset.open({ "task-clock" }, { cgroup = "/tmp", pid = 1 }) end)
  end)
end)
