-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/command_spec.lua - a program that waits until counters are on it, and its end.

local support = require "spec.core.support"
local core, it = support.core, support.it

local function shell(code)
  return assert(core.command.spawn { "sh", "-c", code })
end

describe("pml.command", function()
  after_each(support.cleanup)

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
    assert.is_true(ended.real_ns > 0 and ended.maxrss_bytes > 0)
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

  it("tells which signal ended the program", function()
    local command <close> = shell("kill -TERM $$; sleep 60")
    assert(command:start())
    assert.equal(15, assert(command:wait(60)).signal)
  end)

  it("gives up waiting when told to, and goes on later", function()
    local command <close> = shell("sleep 60")
    assert(command:start())
    assert.equal("ETIMEDOUT", select(3, command:wait(0.01)))
    assert.is_true(command:kill(9))
    assert.equal(9, assert(command:wait(60)).signal)
    assert.equal("ESRCH", select(3, command:kill(0)))
  end)

  it("says why a program cannot be run", function()
    local command <close> = assert(core.command.spawn { "/nowhere/to/be/found" })
    assert.equal("ENOENT", select(3, command:start()))
    assert.equal(127, command:wait().status)
    local folder <close> = assert(core.command.spawn { "/" })
    assert.equal("EACCES", select(3, folder:start()))
  end)

  it("starts a program once", function()
    local command <close> = shell("exit 0")
    assert(command:start())
    assert.equal("EALREADY", select(3, command:start()))
    assert(command:wait(60))
  end)

  it("ends a program that nobody waits for", function()
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
end)
