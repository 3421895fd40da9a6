-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/event_spec.lua - pml.event from Lua.

local helper = require "spec.lua.helper"
local support = require "spec.core.support"
local it = support.it
local event = support.core and support.core.event

describe("An event's name", function()
  it("is parsed into what the kernel is asked for", function()
    local e = assert(event.parse("task-clock"))
    assert.same({ "task-clock", "perf", 1 }, { e.name, e.kind, #e.parts })
    assert.same({ 1, 1, true }, { e.parts[1].type, e.parts[1].config, e.parts[1].here })
    assert.is_true(event.parse("task-clock:u").parts[1].exclude_kernel)
  end)

  it("may be a clock, which has no parts", function()
    local e = assert(event.parse("clock::ns"))
    assert.same({ "clock", "ns", 0 }, { e.kind, e.unit, #e.parts })
  end)

  it("is answered with the nearest ones when it is misspelt", function()
    local e, err, code = event.parse("page-fautls")
    assert.is_nil(e)
    assert.equal("ENOEVENT", code)
    assert.matches("^event%.parse: ENOEVENT: .*page%-faults", err)
  end)

  it("of a PMU needs libpfm4, which is loaded for it; the kernel's own names do without", function()
    local folder = helper.folder()
    helper.write(folder .. "/libpfm.so.4", "this is no library")
    local run = ("LD_LIBRARY_PATH=%s${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} %s/pmlua stat -e %%s -- true")
      :format(folder, helper.build)
    for _, name in ipairs { "INST_RETIRED", "skx::INST_RETIRED" } do
      local status, _, err = helper.shell(run:format(name))
      assert.equal(1, status)
      assert.matches("^pmlua stat: [^\n]*libpfm%.so%.4, which knows the events of PMUs, is not installed [^\n]*\n$", err)
    end
    local status, out, err = helper.shell(run:format("page-faults"))
    assert.equal(0, status, err)
    assert.matches("page%-faults +%d+", out .. err)
    helper.clean()
  end)

  it("must not contain a zero byte", function()
    assert.error_matches(function() event.parse("task-clock\0x") end, ".*zero byte")
  end)
end)

describe("The list of events", function()
  after_each(function() if event then event.set_sysfs() end end)

  it("holds rows that parse when they are available", function()
    local rows = assert(event.list("page-faults"))
    assert.is_true(#rows > 0)
    for _, row in ipairs(rows) do
      assert.is_string(row.description)
      assert.is_true(row.available or row.reason ~= "") -- who may count user space only is told :u
      if row.available then assert.is_table(event.parse(row.name)) end
    end
  end)

  it("is longer with the PMUs that are not here", function()
    assert.is_true(#event.list("cycles", true) > #event.list("cycles"))
  end)

  it("is empty where nothing matches", function()
    assert.same({}, event.list("no event is called like this"))
  end)
end)

describe("The PMU", function()
  it("is there, or it is said why not", function()
    local has, why = event.has_pmu()
    if has then assert.is_nil(why) else assert.is_true(#why > 10) end
  end)
end)
