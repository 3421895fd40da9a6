-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/late_types_spec.lua - events without a value when their section is defined: types and sums, in each consumer.

local support = require "spec.core.support"
local it = support.it
local json = require "pmlua.json"
local command = support.build .. "/pmlua"

-- Each section encloses all changes of its event. The recorders of L are empty first, and LATE is registered in round 1.
local script = [=[
local pml = require "pmlua"
local l, late = pml.sde.library "L", nil
local real, whole = assert(l:recorder("real", { type = "double" })), assert(l:recorder("whole", { type = "int64" }))
local level, counter
local function register()
  late = pml.sde.library "LATE"
  level, counter = assert(late:recorder("real", { type = "double" })), assert(late:counter "whole")
end
local names = { "L::real:MAX", "L::whole:MAX", "LATE::real:MAX", "LATE::whole" }
local metrics, columns = {}, {}
for i, name in ipairs(names) do
  metrics[i] = "sde:::" .. name
  columns[i] = { name = metrics[i], type = name:find "real" and "float" or "integer", mode = "absolute" }
end
local trace = assert(pml.trace.create("t", { metrics = columns }))
assert(trace:attach())
assert(pml.flow.start { metrics = metrics })
local s = {}
for i, name in ipairs(names) do s[i] = assert(pml.section.define { label = name, events = { metrics[i] } }) end
s[#s + 1] = assert(pml.section.define { label = "all", events = metrics })
for round = 1, 3 do
  for i = 1, #s do assert(s[i]:start()) end
  if not late then register() end
  real:push(round + 0.5) whole:push(round) level:push(2.5 * round) counter:add(10 ^ round // 1 | 0)
  for i = #s, 1, -1 do assert(s[i]:stop()) end
end
assert(trace:detach() ~= false)
assert(trace:close())
local sums = { section = {}, flow = {} }
for _, row in ipairs(pml.section.report()) do
  sums.section[row.label] = row.events["sde:::" .. row.label]
  for i, name in ipairs(row.label == "all" and metrics or {}) do assert(row.events[name] == sums.section[names[i]]) end
end
for _, n in ipairs(pml.flow.stop().graphs[1].nodes) do sums.flow[n.name] = n.metrics and n.metrics["sde:::" .. n.name] end
print(require "pmlua.json".encode(sums))
]=]

describe("An event without a value at the definition of its section", function()
  local right = { ["L::real:MAX"] = 3.5, ["L::whole:MAX"] = 3, ["LATE::real:MAX"] = 7.5, ["LATE::whole"] = 1110 }
  local dir, sums

  setup(function()
    dir = support.folder()
    support.spit(dir .. "/late.lua", script)
    assert(os.execute("mkdir " .. dir .. "/t"))
    local out = support.done(support.shell(("cd %s && PMLUA_REPORT=o %s late.lua"):format(dir, command)))
    sums = json.decode(out)
  end)

  it("has sums of its own type in sections and flows", function()
    assert.same({ section = right, flow = right }, sums)
    assert.equal("float", math.type(sums.section["LATE::real:MAX"]))
  end)

  it("has them in the log", function()
    local r = json.decode(support.done(support.shell(("%s report %s/o --json"):format(command, dir))))
    local logged = {}
    for _, section in ipairs(r.sections) do logged[section.label] = section.events["sde:::" .. section.label] end
    assert.same(right, logged)
  end)

  it("has its values in a trace, which omits doubles before the first and has -1 for integers", function()
    local r = json.decode(support.done(support.shell(("%s trace %s/t/traces.otf2 --json"):format(command, dir))))
    local least, most, values = {}, {}, {}
    for _, m in ipairs(r.metrics) do
      local name = m.metric:gsub("^sde:::", "")
      least[name], most[name], values[name] = m.least, m.most, m.values
    end
    assert.same(right, most)
    assert.same({ ["L::real:MAX"] = 1.5, ["L::whole:MAX"] = -1, ["LATE::real:MAX"] = 2.5, ["LATE::whole"] = -1 }, least)
    assert.same({ ["L::real:MAX"] = 5, ["L::whole:MAX"] = 6, ["LATE::real:MAX"] = 5, ["LATE::whole"] = 6 }, values)
  end)
end)
