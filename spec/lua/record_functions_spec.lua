-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/record_functions_spec.lua - what recorded processes left is read, and what is damaged is refused in one line.

local support = require "spec.core.support"
local calls = require "pmlua.internal.record.functions"

local whole = "program\t/bin/x\npid\t7\nparent\t1\nended\texit\ndropped\t0\ntick_ns\t0.5\n"
  .. "call\t0\t3\t1\t1\t100\t60\t40\t60\tliba.so\touter\n"
  .. "call\t1\t2\t0\t1\t40\t40\t10\t30\tliba.so\tinner\n"
  .. "function\t2\t10\t20\t30\tliba.so\tinner\t20:1 25:1\n"
  .. "values\tliba.so\tinner\tn\t2\t6\t1\t5\nvalues\tliba.so\tinner\tx\t2\tnan\t-inf\t1.5\nend\n"

local function read(text)
  local dir = support.folder()
  support.spit(dir .. "/7.calls", text)
  return calls.read(dir)
end

describe("results of recorded processes", function()
  teardown(support.cleanup)

  it("are read", function()
    local all = assert(read(whole))
    assert.same({ "outer", 3, 1 }, { all.functions[1].name, all.functions[1].calls, all.functions[1].unreturned })
    assert.is_true(all.processes[1].whole)
    local values = all.functions[2].values
    assert.same({ count = 2, sum = 6, mean = 3, min = 1, max = 5 }, values.n)
    assert.same({ 2, -math.huge, 1.5, true }, { values.x.count, values.x.min, values.x.max, values.x.sum ~= values.x.sum })
  end)

  it("have sums that are floats where no integer holds them", function()
    local largest = ("%d"):format(math.maxinteger)
    local most = "values\tliba.so\tinner\tn\t1\t" .. largest .. "\t" .. largest .. "\t" .. largest .. "\n"
    local all = assert(read(whole:sub(1, -5) .. most .. "end\n"))
    assert.same({ count = 3, sum = 2.0 ^ 63 + 5, mean = (2.0 ^ 63 + 5) / 3, min = 1, max = math.maxinteger },
      all.functions[2].values.n)
  end)

  -- what stands there, what comes in its place, and what is said of it
  local damages = {
    { "call\t0\t3\t", "call\t0\t1000000000000000000\t", "calls is no count" },
    { "call\t0\t3\t", "call\t0\t-3\t", "calls is no count" },
    { "call\t0\t3\t1\t", "call\t0\t3\t4\t", "more calls did not return than began" },
    { "call\t1\t2", "call\t2\t2", "a call path has no caller" },
    { "call\t1\t2", "call\t0.5\t2", "depth is no count" },
    { "\t100\t60\t40", "\t1e999\t60\t40", "inclusive_ns is no time" },
    { "\t100\t60\t40", "\t100\t600\t40", "a part of the time is longer than the whole" },
    { "\t40\t60\tliba", "\t40\t600\tliba", "a call took longer than all of them" },
    { "20:1 25:1", "20:1 25:9000", "not what a recorded process writes" },
    { "20:1 25:1", "20:1 900:1", "not what a recorded process writes" },
    { "dropped\t0", "dropped\tmany", "dropped is no count" },
    { "tick_ns\t0.5", "tick_ns\t-1", "tick_ns is no time" },
    { "n\t2\t6", "n\t0\t6", "not what a recorded process writes" },
    { "n\t2\t6", "n\t2\tsix", "not what a recorded process writes" },
    { "\t1\t5\n", "\t5\t1\n", "not what a recorded process writes" },
    { "pid\t7", "paths\t7", "not what a recorded process writes" },
    { "pid\t7", "pid\t99999999999999999999", "pid is no count" },
  }
  for _, d in ipairs(damages) do
    it(("are refused where they are damaged: %s"):format((d[2]:gsub("\t", " "))), function()
      local from, to = whole:find(d[1], 1, true)
      local all, err = read(whole:sub(1, from - 1) .. d[2] .. whole:sub(to + 1))
      assert.is_nil(all)
      assert.truthy(err:find("^[^\n]*/7%.calls:%d+: damaged: [^\n]*$") and err:find(d[3], 1, true), err)
    end)
  end

  it("end in results or in a line, whatever bytes are changed", function()
    local seed = 1
    local function random(n)
      seed = (seed * 1103515245 + 12345) % 2147483648
      return seed // 65536 % n + 1
    end
    for _ = 1, 300 do
      local at = random(#whole)
      local all, err = read(whole:sub(1, at - 1) .. string.char(random(256) - 1) .. whole:sub(at + random(3)))
      assert.truthy(all or not err:find("\n", 1, true))
      if not all then assert.truthy(err:find("damaged", 1, true), err) end
    end
  end)
end)
