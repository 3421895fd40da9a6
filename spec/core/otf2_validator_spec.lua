-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/otf2_validator_spec.lua - tests of traces and of their validator: it accepts our traces and refuses broken ones.
-- Try: busted --lua=/usr/bin/lua5.4 spec/core/otf2_validator_spec.lua
--
-- Slow: writes and breaks some 50 traces.

local support = require "spec.core.support"
local quote = support.quote

local BUILD = support.build
local PYTHON = "/usr/bin/python3"

--- Run a command; its output (both streams) and exit status.
local function run(command)
  local status, output = support.shell("exec 2>&1; " .. command)
  return output, status
end

--- Call f with a fresh folder, which after_each removes.
local function with_folder(f) f(support.folder()) end

local function validate(dir)
  return run(PYTHON .. " spec/otf2_validate.py " .. quote(dir .. "/traces.otf2"))
end

local missing
if not support.has(BUILD .. "/spec/otf2") or not support.has(BUILD .. "/spec/otf2_broken") then
  missing = "the C specs are not in '" .. BUILD .. "/spec'; build them with make specs"
elseif support.shell(PYTHON .. " -c 'import _otf2'") ~= 0 then
  missing = "python3-otf2 is not installed for " .. PYTHON
end
local has_print = support.has "otf2-print"

--- A spec that needs the programs and the validator.
local function trace_it(name, f)
  it(name, function()
    if missing then return pending(missing) end
    return f()
  end)
end

describe("a trace", function()
  after_each(support.cleanup)

  for _, mode in ipairs { "good", "large", "empty", "careless" } do
    trace_it("is valid when the program is " .. mode, function()
      with_folder(function(dir)
        local said, status = run(("%s/spec/otf2 %s %s"):format(BUILD, mode, quote(dir)))
        assert.are.equal("", said)
        assert.are.equal(0, status)
        local verdict, refused = validate(dir)
        assert.matches("^ok: %d+ locations, %d+ events\n$", verdict)
        assert.are.equal(0, refused)
      end)
    end)
  end

  trace_it("is valid with the records of eight threads", function()
    with_folder(function(dir)
      local said, status = run(("%s/spec/otf2_threads %s"):format(BUILD, quote(dir)))
      assert.are.equal(0, status, said)
      assert.matches("^ok: 8 locations, %d+ events\n$", (validate(dir)))
      if not has_print then return end
      -- The small rings went round many times: each record's values (i, 2i, 3i) must have survived it.
      local events, n = run("otf2-print " .. quote(dir .. "/traces.otf2")), 0
      for a, b, c in events:gmatch '"a" <0>; UINT64; (%d+)[^\n]-"b" <1>; UINT64; (%d+)[^\n]-"c" <2>; UINT64; (%d+)' do
        n = n + 1
        if b ~= ("%d"):format(2 * a) or c ~= ("%d"):format(3 * a) then
          error(("values are mixed up: %s, %s, %s"):format(a, b, c))
        end
      end
      assert.is_true(n > 100, n .. " metric records")
    end)
  end)

  trace_it("is valid with the sections of five threads", function()
    with_folder(function(dir)
      local said, status = run(("%s/spec/otf2_attach %s"):format(BUILD, quote(dir)))
      assert.are.equal(0, status, said)
      assert.matches("^ok: 5 locations, %d+ events\n$", (validate(dir)))
    end)
  end)

  trace_it("prints the recorded events in the words of otf2-print", function()
    if not has_print then return pending "otf2-print is not installed" end
    with_folder(function(dir)
      run(("%s/spec/otf2 good %s"):format(BUILD, quote(dir)))
      local anchor = quote(dir .. "/traces.otf2")
      assert.are.equal(0, select(2, run("otf2-print --silent -Werror " .. anchor)))
      local definitions = run("otf2-print -G " .. anchor)
      for _, pattern in ipairs {
        'Class: "node"', "Type: PROCESS",
        'LOCATION +0 +Name: "main" <%d+>, Type: CPU_THREAD, # Events: 4002',
        'LOCATION +1 +Name: "idle" <%d+>, Type: CPU_THREAD, # Events: 0',
        'REGION +%d +Name: "inner" .-File: "spec/c/otf2.c" <%d+>, Begin: 42',
        'Name: "instructions" <%d+>, Descr.: "instructions retired" <%d+>, Type: OTHER, Mode: ACCUMULATED_START, ' ..
          'Value Type: UINT64, Base: DECIMAL, Exponent: 0, Unit: "#"',
        'Name: "temperature" .- Mode: ABSOLUTE_POINT, Value Type: UINT64, Base: DECIMAL, Exponent: %-3, Unit: "degC"',
      } do
        assert.matches(pattern, definitions)
      end
      local events = run("otf2-print " .. anchor)
      assert.matches('METRIC .-"instructions" <0>; UINT64; 99900', events)
      assert.matches('METRIC .-"temperature" <1>; UINT64; 36605', events)
    end)
  end)

  trace_it("has a note of its missing parts", function()
    if not has_print then return pending "otf2-print is not installed" end
    with_folder(function(dir)
      run(("%s/spec/otf2 careless %s"):format(BUILD, quote(dir)))
      local definitions = run("otf2-print -G " .. quote(dir .. "/traces.otf2"))
      for _, lack in ipairs { "DROPPED", "LIFTED", "UNMATCHED" } do
        assert.matches('Name: "PMLUA::' .. lack .. '" <%d+>, Type: UINT64, Value: [1-9]', definitions)
      end
    end)
  end)
end)

describe("the validator", function()
  after_each(support.cleanup)

  local list = missing and "" or run(BUILD .. "/spec/otf2_broken list")
  for name, violation in list:gmatch "(%S+) (%S+)\n" do
    trace_it(("finds %s in an archive broken by %s"):format(violation, name), function()
      with_folder(function(dir)
        local said, status = run(("%s/spec/otf2_broken %s %s"):format(BUILD, name, quote(dir)))
        assert.are.equal(0, status, said)
        local verdict, refused = validate(dir)
        assert.matches("^" .. violation:gsub("%-", "%%-") .. ": ", verdict)
        assert.are.equal(violation == "ok" and 0 or 1, refused)
        assert.is_nil(verdict:find("Traceback", 1, true))
      end)
    end)
  end

  trace_it("detects every way to break an archive", function()
    local n = select(2, list:gsub("\n", ""))
    assert.is_true(n > 40, "only " .. n .. " ways are listed")
  end)

  trace_it("refuses other files with one line", function()
    with_folder(function(dir)
      local verdict, status = validate(dir)
      assert.matches("^unreadable: there is no file [^\n]+\n$", verdict)
      assert.are.equal(1, status)
    end)
    assert.are.equal(2, select(2, run(PYTHON .. " spec/otf2_validate.py")))
  end)
end)
