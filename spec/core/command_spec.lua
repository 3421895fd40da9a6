-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/command_spec.lua - tests of a program that waits for counters before it starts, and of its end.

local support = require "spec.core.support"
local core, it = support.core, support.it

local function shell(code)
  return assert(core.command.spawn { "sh", "-c", code })
end

describe("pml.command", function()
  after_each(support.cleanup)

  it("runs a program to its end in one call, and refuses a failed one", function()
    local run, file = require "pmlua".command.run, support.folder() .. "/out"
    local ended = assert(run({ "sh", "-c", "echo $X" }, { environment = { "X=1" }, output = file }))
    assert.same({ 0, "1\n" }, { ended.status, support.slurp(file) })
    assert.is_true(ended.real_ns > 0)
    local cases = {
      { "ECHILD", "false ended with exit status 1", { "false" } },
      { "ECHILD", "sh was ended by signal 9", { "sh", "-c", "kill -9 $$" } },
      { "ENOENT", "no-such-program: No such file or directory", { "no-such-program" } },
      { "ETIMEDOUT", "sleep took longer than 0.1 s and was killed", { "sleep", "600" }, { seconds = 0.1 } },
    }
    for _, c in ipairs(cases) do
      local none, failure, code = run(c[3], c[4])
      assert.same({ c[1], c[2] }, { code, none or failure:sentence():match "^[^;]*" })
    end
    assert.equal(9, run({ "sh", "-c", "kill -9 $$" }, { unchecked = true }).signal)
    assert.has_error(function() run({ "true" }, { secons = 1 }) end)
    assert.has_error(function() run "true" end)
  end)

  it("holds the program until it is started, then tells how it ended", function()
    local file = support.folder() .. "/ran"
    local command <close> = shell("touch " .. file .. "; exit 3")
    core.sys.sleep(0.05)
    assert.is_nil(io.open(file))
    assert.same({ nil, "EMODE" }, { (command:wait()), select(3, command:wait()) })
    assert.equal(command, command:start())
    local ended = assert(command:wait(60))
    assert.equal(3, ended.status)
    assert.is_nil(ended.signal)
    assert.is_true(ended.real_ns > 0 and ended.maxrss_bytes > 0 and ended.maxrss_floor_bytes > 0
      and ended.maxrss_floor_bytes <= ended.maxrss_bytes)
    assert.equal(0, command:pid())
    assert.same(ended, command:wait())
    io.open(file):close()
  end)

  it("lets counters be put on the program and its children before its first instruction", function()
    local command <close> = shell("sh -c 'exit 0'; sh -c 'exit 0'")
    local set <close> = assert(core.eventset.open({ "page-faults", "task-clock" }, { pid = command:pid(), inherit = true }))
    assert(command:start())
    assert(command:wait(60))
    local faults, clock = set:read()
    assert.is_true(faults > 100 and clock > 0) -- three programs were loaded; one alone makes some 60 faults
  end)

  it("can be counted from its execve on, without the work of the waiting child", function()
    local names, command <close> = { "page-faults", "task-clock", "clock::ns" }, shell "exit 0"
    local about = { pid = command:pid(), inherit = true }
    local all <close> = assert(core.eventset.open(names, about))
    about.on_exec = true
    local program <close> = assert(core.eventset.open(names, about))
    about.ungrouped = true
    local apart <close> = assert(core.eventset.open(names, about))
    assert(command:start())
    assert(command:wait(60))
    local a, p, s = all:readings(), program:readings(), apart:readings()
    assert.is_true(p[1].raw > 0 and p[1].raw < a[1].raw, p[1].raw .. " of " .. a[1].raw)
    assert.is_true(p[2].raw > 0 and p[2].raw < a[2].raw, p[2].raw .. " of " .. a[2].raw)
    assert.is_true(p[1].enabled_ns < a[1].enabled_ns and p[1].enabled_ns == p[1].running_ns)
    assert.equal(p[1].raw, s[1].raw)
  end)

  it("counts nothing on exec if no program is executed", function()
    local command <close> = assert(core.command.spawn { "/nowhere/program" })
    local all <close> = assert(core.eventset.open({ "task-clock" }, { pid = command:pid() }))
    local program <close> = assert(core.eventset.open({ "task-clock" }, { pid = command:pid(), on_exec = true }))
    assert.equal("ENOENT", select(3, command:start()))
    assert.is_true(all:read() > 0)
    assert.equal(0, program:read())
    assert.equal(0, program:readings()[1].enabled_ns)
  end)

  it("adds to the program's environment, which overrides the caller's", function()
    local file = support.folder() .. "/environment"
    local command <close> = assert(core.command.spawn({ "sh", "-c", "echo $HOME $ADDED $PATH >" .. file },
      { environment = { "HOME=/nowhere", "ADDED=a=b" } }))
    assert(command:start())
    assert(command:wait(60))
    assert.equal(("/nowhere a=b %s\n"):format(os.getenv "PATH"), support.slurp(file))
    assert.error_matches(function() core.command.spawn({ "true" }, { environment = { "NOTHING" } }) end, "has no '='")
    assert.error_matches(function() core.command.spawn({ "true" }, { folder = "/" }) end, "unknown option 'folder'")
  end)

  it("stops waiting on request, and continues later", function()
    local command <close> = shell("sleep 60")
    assert(command:start())
    assert.equal("ETIMEDOUT", select(3, command:wait(0.01)))
    assert.is_true(command:kill(9))
    assert.equal(9, assert(command:wait(60)).signal)
    assert.equal("ESRCH", select(3, command:kill(0)))
  end)

  it("gives the reason if a program cannot be run, not that of an earlier failure", function()
    assert.is_nil((core.file.read "/nowhere/before"))
    local command <close> = assert(core.command.spawn { "/nowhere/to/be/found" })
    local _, err, code = command:start()
    assert.same({ "No such file or directory", "ENOENT" }, { err.text, code })
    assert.equal(127, command:wait().status)
    local folder <close> = assert(core.command.spawn { "/" })
    assert.equal("EACCES", select(3, folder:start()))
  end)

  it("runs a script without an interpreter by the shell, but no empty text", function()
    local folder = support.folder()
    support.spit(folder .. "/script", "exit 4\n")
    support.spit(folder .. "/text", "")
    assert(os.execute("chmod +x " .. folder .. "/script"))
    local script <close> = assert(core.command.spawn { folder .. "/script" })
    assert(script:start())
    assert.equal(4, script:wait(60).status)
    local text <close> = assert(core.command.spawn { folder .. "/text" })
    assert.equal("EACCES", select(3, text:start()))
  end)

  it("leaves the program the signals that the caller ignored at its creation, without handlers", function()
    local folder = support.folder()
    support.spit(folder .. "/ignore.lua", [[
      local core = require "pmlua.core"
      local c <close> = assert(core.command.spawn { "sh", "-c", "kill -INT $$; kill -TERM $$; exit 5" })
      core.sys.on_interrupt()
      assert(c:start())
      print(c:wait().signal)
    ]])
    assert.truthy(select(2, support.shell_in(folder, ("trap '' INT; %s/pmlua ignore.lua >out; cat out")
      :format(core.sys.realpath(support.build)), 60)):find "15")
  end)

  it("reports the memory of the program, not of its caller", function()
    local large = ("x"):rep(64 << 20)
    local function peak(code)
      local command <close> = assert(core.command.spawn { "/usr/bin/python3", "-c", code })
      assert(command:start())
      return command:wait(60).maxrss_bytes
    end
    assert.is_true(peak "pass" < #large)
    assert.is_true(peak("b'x' * " .. #large) > #large)
  end)

  it("starts a program once", function()
    local command <close> = shell("exit 0")
    assert(command:start())
    assert.equal("EALREADY", select(3, command:start()))
    assert(command:wait(60))
  end)

  it("ends a program without a waiting caller", function()
    local file = support.folder() .. "/pid"
    local command = shell("echo $$ > " .. file .. "; exec sleep 60")
    local pid = command:pid()
    assert(command:start())
    command:close()
    command:close()
    assert.is_nil(io.open(("/proc/%d/stat"):format(pid)))
    assert.has_error(function() command:wait() end, "command: the handle is closed")
    local never = shell("touch " .. file .. ".never")
    pid = never:pid()
    never:close()
    assert.is_nil(io.open(("/proc/%d/stat"):format(pid)))
    assert.is_nil(io.open(file .. ".never"))
  end)

  it("ends with its caller, if requested", function()
    local folder = support.folder()
    -- The shell kills the caller; then it becomes a program that is bound to the caller or not.
    support.spit(folder .. "/bound.lua", [[
      local command = require "pmlua.core".command
      local c = assert(command.spawn({ "sh", "-c", "echo $$ > pid; exec > /dev/null 2>&1; kill -KILL $PPID; exec sleep 60" },
        { bound = arg[1] == "bound" }))
      assert(c:start())
      c:wait()
    ]])
    for how, lives in pairs { bound = false, alone = true } do
      support.shell_in(folder, ("%s/pmlua bound.lua %s"):format(core.sys.realpath(support.build), how), 60)
      local pid = tonumber(support.slurp(folder .. "/pid"))
      local there = true
      for _ = 1, how == "bound" and 500 or 10 do
        local stat = io.open(("/proc/%d/stat"):format(pid))
        there = stat ~= nil and not stat:read "a":find "%) Z"
        if stat then stat:close() end
        if not there then break end
        core.sys.sleep(0.01)
      end
      support.shell("kill -KILL " .. pid .. " 2>/dev/null", 10)
      assert.same({ how, lives }, { how, there })
    end
  end)
end)
