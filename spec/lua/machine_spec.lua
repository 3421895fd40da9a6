-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/machine_spec.lua - tests of pml.machine: the first question measures, the next one reads the kept result; damaged or
-- foreign files do no harm.

local support = require "spec.core.support"
local json = require "pmlua.json"
local lfs = require "lfs"
local quote, shell = support.quote, support.shell

local dir

-- Run code with a new state folder; returns its standard output and standard error.
local function answer(code, environment)
  return support.done(shell(("XDG_STATE_HOME=%s/state TMPDIR=%s/tmp %s %s/pmlua -e %s"):format(dir, dir,
    environment or "",
    support.build, quote(code))))
end

local function write(path, text)
  local f <close> = assert(io.open(path, "w"))
  f:write(text)
end

local function kept(subject)
  return answer "print(pml.machine.folder())":match "[^\n]+" .. "/" .. subject .. ".json"
end

local function entries(path)
  local n = 0
  for name in lfs.dir(path) do n = n + (name:find "^%.+$" and 0 or 1) end
  return n
end

-- The cheapest subject of pml.machine.
local EXCHANGE = [[
  local e, why = pml.machine.exchange(%s)
  print(e and e.measured, e and e.quick, e and #e.pairs or tostring(why))
]]

describe("pml.machine", function()
  before_each(function()
    dir = support.folder()
    assert(lfs.mkdir(dir .. "/tmp"))
  end)

  local function several() return #require "pmlua".sys.affinity() > 1 end

  it("measures once, keeps the result, and measures again on request", function()
    if not several() then return pending "this process has one cpu" end
    assert.matches("nil%s+nil%s+core_to_core was not measured on this machine", answer(EXCHANGE:format "{ kept = true }"))
    local first = answer(EXCHANGE:format "")
    assert.matches("^%d+%-%d+%-%d+T%S+%s+true%s+%d+\n$", first)
    assert.equal(first, answer(EXCHANGE:format "{ kept = true }"))
    local path = kept "exchange"
    local data = json.decode(assert(io.open(path)):read "a")
    assert.same({ "exchange", true }, { data.subject, data.quick })
    data.result.measured = "long ago"
    write(path, json.encode(data))
    assert.matches("^long ago", answer(EXCHANGE:format ""))
    assert.matches("^%d+%-", answer(EXCHANGE:format "{ again = true }"))
    assert.equal(0, entries(dir .. "/tmp"))
  end)

  it("measures nothing in a simulation, because such times would be kept", function()
    assert.matches("core_to_core was not measured: times of a simulation mean nothing",
      answer(EXCHANGE:format "", "PMLUA_SIM=" .. dir .. "/tmp"))
    assert.matches("was not measured on this machine", answer(EXCHANGE:format "{ kept = true }"))
  end)

  it("does not use a quick result in place of a full one", function()
    if not several() then return pending "this process has one cpu" end
    answer(EXCHANGE:format "")
    assert.matches("was not measured", answer(EXCHANGE:format "{ kept = true, quick = false }"))
  end)

  it("reads nothing from a damaged file, a folder or a device, and writes through no link", function()
    if not several() then return pending "this process has one cpu" end
    answer(EXCHANGE:format "")
    local path = kept "exchange"
    for _, text in ipairs { "", "{", "[]", "null", '{"measured": 1}', '{"measured": "1", "subject": "exchange"}',
      '{"measured": "1", "subject": "exchange", "result": {"code": "nop"}}',
      '{"measured": "1", "subject": "noise", "result": {}}', ("x"):rep(2 << 20) } do
      write(path, text)
      assert.matches("was not measured", answer(EXCHANGE:format "{ kept = true }"))
    end
    os.remove(path)
    write(dir .. "/other", "untouched")
    assert(lfs.link(dir .. "/other", path, true))
    assert.matches("^%d+%-", answer(EXCHANGE:format ""))
    assert.equal("untouched", assert(io.open(dir .. "/other")):read "a")
  end)

  it("works without a folder of the user's", function()
    if not several() then return pending "this process has one cpu" end
    local out = support.done(shell(("env -u HOME -u XDG_STATE_HOME TMPDIR=%s/tmp %s/pmlua -e %s"):format(dir, support.build,
      quote(EXCHANGE:format "" .. " print(pml.machine.folder())"))))
    assert.matches("nil\tnowhere to keep results: neither HOME nor XDG_STATE_HOME is set", out)
  end)

  it("forgets this machine only", function()
    if not several() then return pending "this process has one cpu" end
    answer(EXCHANGE:format "")
    assert(lfs.mkdir(dir .. "/state/pmlua/machine/other"))
    answer "pml.machine.forget()"
    assert.equal(1, entries(dir .. "/state/pmlua/machine"))
    assert.matches("was not measured", answer(EXCHANGE:format "{ kept = true }"))
  end)

  it("has a failure for faulty code, and raises an error for misuse", function()
    local machine = require "pmlua".sys.uname().machine
    if machine ~= "x86_64" and machine ~= "aarch64" then return pending("no sequences for " .. machine) end
    assert.matches("^nil\t[^\n]*foo bar: [^\n]+\n$", answer 'local i, why = pml.machine.instruction "foo bar" print(i, why)')
    local status, _, err = shell(support.build .. "/pmlua -e " .. quote "pml.machine.noise { qiuck = true }")
    assert.equal(1, status)
    assert.matches("machine.noise: [^\n]*qiuck[^\n]*quick", err)
    status, _, err = shell(support.build .. "/pmlua -e " .. quote 'pml.machine.instruction "nop || nop"')
    assert.equal(1, status)
    assert.matches("one sequence at a time", err)
  end)

  it("has numbers for each subject", function()
    local out = answer [[
      local function has(name, v) print(name, v ~= nil and v) end
      local l = assert(pml.machine.latency())
      has("latency", #l.points > 10 and l.points[1].ns > 0)
      local b = assert(pml.machine.bandwidth())
      has("bandwidth", b.mixes[1].best > 0 and b.mixes[1].threads == 1)
      local n = assert(pml.machine.noise())
      has("noise", n.cpus[1].grain > 0 and n.cpus[1].lost >= 0)
    ]]
    assert.equal("latency\ttrue\nbandwidth\ttrue\nnoise\ttrue\n", out)
  end)
end)
