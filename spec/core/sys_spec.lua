-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/sys_spec.lua - tests of pml.sys; signals are sent only to child processes.

local support = require "spec.core.support"
local it = support.it
local sys = support.core and support.core.sys

describe("The system", function()
  after_each(support.cleanup)

  it("pins the thread to a cpu, and unpins it", function()
    local all = sys.affinity()
    assert.is_true(#all >= 1 and #all <= sys.nprocs())
    assert.is_true(sys.pin(all[#all]))
    assert.same({ all[#all] }, sys.affinity())
    assert.equal(all[#all], sys.cpu())
    assert.is_true(sys.pin(all))
    assert.same(all, sys.affinity())
    assert.equal("EINVAL", select(3, sys.pin(65535)))
  end)

  it("sleeps at least as long as requested", function()
    local clock = support.core.clock
    local before = clock.ns()
    assert.is_true(sys.sleep(0.01))
    assert.is_true(clock.ns() - before >= 1e7 * 0.99)
    assert.error_matches(function() sys.sleep(0 / 0) end, "0 to 1e9")
  end)

  it("writes files to the disk, and resolves paths", function()
    local dir = support.folder()
    assert.is_true(sys.fsync(support.spit(dir .. "/f", "x")))
    assert.is_true(sys.fsync(dir))
    assert.equal("ENOENT", select(3, sys.fsync(dir .. "/nowhere")))
    assert.equal(sys.realpath(dir), sys.realpath(dir .. "/../" .. dir:match("[^/]*$") .. "/."))
  end)

  it("describes the machine and the process", function()
    assert.equal("Linux", sys.uname().sysname)
    assert.is_true(sys.pid() > 0)
    assert.is_boolean(sys.isatty(0))
    assert.is_false(sys.interrupted())
  end)
end)

describe("A signal", function()
  after_each(support.cleanup)

  --- The script says how far it is by say(WHAT); `until said WHAT` waits for that.
  local function run(code, kill)
    local folder = support.folder()
    local file = support.spit(folder .. "/s.lua", ("local sys = require 'pmlua'.sys "
      .. "local function say(what) io.open('%s/' .. what, 'w'):close() end\n"):format(folder) .. code)
    return support.shell(("said() { while ! test -e %s/$1; do sleep 0.05; done; }; %s/pmlua %s & pid=$!; %s; wait $pid")
      :format(folder, support.build, file, (kill:gsub("PID", "$pid"))), 60)
  end

  -- A shell starts background jobs with SIGINT ignored; SIGTERM takes the same way.
  it("raises an error in a long loop that does not test for it", function()
    local status, _, err = run("sys.on_interrupt() say 'ready'\nwhile true do end", "said ready; kill -TERM PID")
    assert.equal(1, status)
    assert.matches("^pmlua: [^\n]*s%.lua:3: interrupted\n$", err)
  end)

  it("is reported to a script that tests for it, which then runs to its end", function()
    local status, out = run("sys.on_interrupt() say 'ready'\nwhile not sys.interrupted() do sys.sleep(10) end\n" ..
      "for i = 1, 1e7 do end print 'tidied up'", "said ready; kill -INT PID; kill -TERM PID")
    assert.same({ 0, "tidied up\n" }, { status, out })
  end)

  it("also ends code that catches every error", function()
    local status, _, err = run("sys.on_interrupt() say 'ready'\nwhile true do pcall(function() while true do end end) end",
      "said ready; kill -TERM PID")
    assert.equal(1, status)
    assert.matches("interrupted\n$", err)
  end)

  it("ends the process the third time, and the first time if no handler was requested", function()
    local ask = "sys.on_interrupt() sys.raise_interrupt(false) say 'ready'\n" ..
      "local function wait(name) while not io.open(%q .. name) do end say(name .. '-seen') end\n" ..
      "wait 'one' wait 'two' while true do end"
    local dir = support.folder()
    local status = run(ask:format(dir .. "/"), ("said ready; kill -TERM PID; touch %s/one; said one-seen; kill -TERM PID; "
      .. "touch %s/two; said two-seen; kill -TERM PID"):format(dir, dir))
    assert.equal(143, status)
    assert.equal(143, (run("say 'ready' while true do end", "said ready; kill -TERM PID")))
  end)

  it("ends os.execute, io.popen and pml.command, by ending their processes", function()
    for what, code in pairs {
      execute = "os.execute 'touch %s/started; exec sleep 1000'",
      popen = "io.popen 'touch %s/started; exec sleep 1000':read 'a'",
      command = "local c = require 'pmlua'.command.spawn { 'sh', '-c', 'touch %s/started; exec sleep 1000' } c:start() c:wait()",
    } do
      local dir = support.folder()
      local status, _, err = run(("sys.on_interrupt() sys.raise_interrupt(true)\n" .. code .. "\nprint 'went on'"):format(dir),
        ("until test -e %s/started; do sleep 0.05; done; kill -INT PID"):format(dir))
      assert.equal(1, status, what)
      assert.matches("interrupted\n$", err)
    end
  end)
end)
