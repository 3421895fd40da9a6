-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/reference_values_spec.lua - what functions of C give has the fields and types that their annotations say.

local support = require "spec.core.support"
package.path = "spec/?.lua;lua/?.lua;lua/?/init.lua;" .. package.path
local build = os.getenv("PMLUA_BUILD") or "build"
package.cpath = build .. "/lua/?.so;" .. package.cpath

local sh = require "shell".sh
local pml, classes

local BASIC = { boolean = true, string = true, table = true, userdata = true, number = true, any = true }

local fits

local function fits_class(value, class)
  if type(value) == "userdata" then return #class.functions > 0 end
  if type(value) ~= "table" then return false, ("a %s is no %s"):format(type(value), class.name) end
  local known = {}
  for _, field in ipairs(class.fields) do
    known[field.name] = true
    local is = value[field.name]
    if is == nil and not field.optional then return false, ("%s.%s is missing"):format(class.name, field.name) end
    local good, why = true, nil
    if is ~= nil then good, why = fits(is, field.type) end
    if not good then
      return false, why or ("%s.%s is a %s (%s), not %s"):format(class.name, field.name, math.type(is) or type(is),
        tostring(is), field.type)
    end
  end
  for key in pairs(value) do
    if not known[key] then return false, ("%s has a field %s without an annotation"):format(class.name, tostring(key)) end
  end
  return true
end

local function fits_list(value, kind)
  if type(value) ~= "table" then return false end
  for _, element in ipairs(value) do
    local good, why = fits(element, kind)
    if not good then return false, why or "an element is not " .. kind end
  end
  return true
end

-- { name: type, ... }
local function fits_fields(value, kind)
  if type(value) ~= "table" then return false end
  local class = { name = kind, fields = {}, functions = {} }
  for name, of in kind:sub(2, -2):gmatch "([%w_]+):%s*([^,]+)" do
    class.fields[#class.fields + 1] = { name = name, type = of:gsub("%?%s*$", ""), optional = of:find "%?" ~= nil }
  end
  return fits_class(value, class)
end

function fits(value, kind)
  kind = kind:match "^%s*(.-)%s*$"
  if kind:find "^fun%(" then return type(value) == "function" end
  if kind:find "^%b()$" then return fits(value, kind:sub(2, -2)) end
  if kind:find "%[%]$" then return fits_list(value, kind:sub(1, -3)) end
  if kind:find "^%b{}$" then return fits_fields(value, kind) end
  if kind:find "^table<" then return type(value) == "table" end
  if kind:find "|" then
    local why
    for one in kind:gmatch "[^|]+" do
      local good, reason = fits(value, one)
      if good then return true end
      why = why or reason
    end
    return false, why
  end
  if kind:find '^".*"$' then return value == kind:sub(2, -2) end
  if kind == "integer" then return math.type(value) == "integer" end
  if BASIC[kind] then return kind == "any" or type(value) == kind end
  assert(classes[kind], kind)
  return fits_class(value, classes[kind])
end

--- What a function gave, by the annotation of it: "pml.clock.info", "pmlua.Eventset:event".
local function check(name, ...)
  local owner, f = name:match "^(.*)[.:]([%w_]+)$"
  local returns
  for _, one in ipairs(assert(classes[owner], owner).functions) do
    if one.name == f then returns = one.returns end
  end
  assert(returns, name)
  local values = table.pack(...)
  assert(values[1] ~= nil, ("%s: %s"):format(name, tostring(values[2])))
  for i, row in ipairs(returns) do
    if row.name ~= "..." and not row.type:find "pmlua.Failure" and values[i] ~= nil then
      local good, why = fits(values[i], row.type)
      assert.is_true(good, ("%s: %s"):format(name, why or ("result %d is %s"):format(i, tostring(values[i]))))
    end
    if values[i] == nil and not row.optional and row.name ~= "..." then
      error(("%s: result %d is nil"):format(name, i))
    end
  end
  return ...
end

describe("The values that annotated functions give", function()
  local dir

  setup(function()
    pml = require "pmlua"
    local model = require "pmlua.internal.reference.model".load "lua"
    classes = {}
    for _, name in ipairs(model.names) do
      local module = model.modules[name]
      for _, class in ipairs { module.class, table.unpack(module.classes) } do classes[class.name] = class end
    end
    dir = support.folder()
  end)

  it("are as annotated: clocks, events, the system", function()
    check("pml.clock.info", pml.clock.info())
    check("pml.clock.ns", pml.clock.ns())
    check("pml.event.parse", pml.event.parse "task-clock")
    check("pml.event.parse", pml.event.parse "clock::ns")
    check("pml.event.list", pml.event.list "cycles")
    check("pml.event.pmus", pml.event.pmus())
    check("pml.event.has_pmu", pml.event.has_pmu())
    check("pml.sys.uname", pml.sys.uname())
    check("pml.sys.affinity", pml.sys.affinity())
    check("pml.sys.cpu_time", pml.sys.cpu_time())
    check("pml.sys.realpath", pml.sys.realpath ".")
    check("pml.region.intern", pml.region.intern("a", "b.c", 1))
    check("pml.region.describe", pml.region.describe(pml.region.intern("a", "b.c", 1)))
    check("pml.region.describe", pml.region.describe(pml.region.intern "alone"))
    check("pml.count.kinds", pml.count.kinds())
    check("pml.count.here", pml.count.here())
    check("pml.live.folder", pml.live.folder())
    check("pml.live.functions", pml.live.functions())
    check("pml.live.rules", pml.live.rules())
  end)

  it("are as annotated: counters, groups, sets, samples", function()
    local counter <close> = check("pml.counter.open", pml.counter.open "task-clock")
    check("pmlua.Counter:read", counter:read())
    check("pmlua.Counter:path", counter:path())
    check("pmlua.Counter:name", counter:name())
    local group <close> = check("pml.group.open", pml.group.open { "task-clock", "page-faults" })
    check("pmlua.CounterGroup:read", group:read())
    local set <close> = check("pml.eventset.open", pml.eventset { "task-clock", "clock::ns" })
    check("pmlua.Eventset:start", set:start())
    check("pmlua.Eventset:readings", set:readings())
    for i = 1, #set do check("pmlua.Eventset:event", set:event(i)) end
    check("pmlua.Eventset:parts", set:parts(1))
    check("pmlua.Eventset:accum", set:accum())
    assert.equal("number", type(check("pmlua.Eventset:reader", set:reader())()))
    local s <close> = check("pml.samples.new", pml.samples.new(8))
    check("pmlua.Samples:push", s:push(7))
    check("pmlua.Samples:copy", s:copy())
    check("pmlua.Samples:sort", s:sort())
    check("pmlua.Samples:moments", s:moments())
    check("pmlua.Samples:quantile", s:quantile(0.5))
    check("pmlua.Samples:format", s:format("", 1))
    check("pmlua.Samples:above", s:above(1, 1))
  end)

  it("are as annotated: software-defined events", function()
    local lib = check("pml.sde.library", pml.sde.library "REFERENCE")
    local counter = check("pmlua.SdeLibrary:counter", lib:counter "c")
    counter:add()
    check("pmlua.SdeCounter:read", counter:read())
    check("pmlua.SdeCounter:info", counter:info())
    local recorder = check("pmlua.SdeLibrary:recorder", lib:recorder("r", { type = "double" }))
    check("pmlua.Recorder:push", recorder:push(0.5))
    check("pmlua.Recorder:values", recorder:values())
    check("pmlua.Recorder:quantile", recorder:quantile(50))
    for _, method in ipairs { "count", "dropped", "nans", "error", "epoch", "info" } do
      check("pmlua.Recorder:" .. method, recorder[method](recorder))
    end
    local set = check("pmlua.SdeLibrary:set", lib:set "s")
    check("pmlua.CountingSet:insert", set:insert "x")
    check("pmlua.CountingSet:values", set:values())
    local event = check("pml.sde.find", pml.sde.find "REFERENCE::c")
    check("pmlua.SdeEvent:read", event:read())
    check("pmlua.SdeEvent:info", event:info())
    check("pmlua.SdeEvent:open", pml.sde.find "REFERENCE::s":open())
    check("pml.sde.list", pml.sde.list())
    check("pmlua.SdeLibrary:shutdown", lib:shutdown())
  end)

  it("are as annotated: sections, profiles, buffers, traces", function()
    local solve = check("pml.section.define", pml.section.define { label = "solve", events = { "task-clock" }, record = true })
    local profile <close> = check("pml.profile.open", pml.profile.open())
    local buffer <close> = check("pml.buffer.open", pml.buffer.open())
    sh("mkdir " .. dir .. "/trace")
    local trace = check("pml.trace.create", pml.trace.create(dir .. "/trace", { metrics = { { name = "n" } } }))
    check("pmlua.Trace:attach", trace:attach())
    do
      local scope <close> = check("pmlua.SectionHandle:enter", solve:enter())
      check("pmlua.SectionScope:stop", scope:stop { operations = 2 })
    end
    check("pml.section.start", pml.section.start "bytes")
    check("pml.section.stop", pml.section.stop("bytes", { bytes = 8 }))
    pml.section.stop "bytes"
    check("pmlua.Trace:detach", trace:detach())
    local location = check("pmlua.Trace:location", trace:location "here")
    check("pmlua.TraceLocation:enter", location:enter(pml.region.intern "a"))
    check("pmlua.TraceLocation:metric", location:metric { 1 })
    check("pmlua.TraceLocation:leave", location:leave(pml.region.intern "a"))
    check("pmlua.Trace:stats", trace:stats())
    check("pmlua.Trace:close", trace:close())
    check("pmlua.SectionHandle:info", solve:info())
    check("pmlua.SectionHandle:quantile", solve:quantile(50))
    check("pml.section.report", pml.section.report())
    check("pml.section.report", pml.section.report { threads = true })
    check("pml.section.snapshot", pml.section.snapshot())
    for _, method in ipairs { "nodes", "functions", "stats" } do
      check("pmlua.Profile:" .. method, profile[method](profile))
    end
    local time, values = {}, {}
    check("pmlua.Buffer:take", buffer:take(time, {}, {}, {}, values))
    check("pmlua.Buffer:stats", buffer:stats())
    assert.is_true(#time >= 4)
  end)

  it("are as annotated: commands, filters, workloads", function()
    local command <close> = check("pml.command.spawn", pml.command.spawn { "true" })
    check("pmlua.Command:pid", command:pid())
    check("pmlua.Command:start", command:start())
    check("pmlua.Command:wait", command:wait())
    local w = check("pml.workload.load", pml.workload.load(pml.paths.workloads .. "/loop.so"))
    for _, field in ipairs(classes["pmlua.Workload"].fields) do assert.is_true(fits(w[field.name], field.type), field.name) end
    local samples = {}
    for i = 1, #w.sites do samples[i] = pml.samples.new(16) end
    check("pmlua.Workload:run", w:run { operation = "empty", samples = samples, phases = 16 })
    check("pml.substrate.list", pml.substrate.list())
    check("pml.substrate.lines", pml.substrate.lines())
    check("pml.balance.controller", pml.balance.controller { reference = 3e9, min = 1e9 })
    check("pmlua.BalanceController:step", pml.balance.controller { reference = 3e9, min = 1e9 }:step(0.5, 1))
  end)

  it("are as annotated: plugins, tuners, balancers", function()
    local plugin = check("pml.plugin.define", pml.plugin.define { name = "reference", every = "1ms",
      events = { { name = "load", unit = "1" } }, collect = function() return { load = 1 } end })
    check("pmlua.Plugin:start", plugin:start())
    pml.sys.sleep(0.02)
    check("pmlua.Plugin:stop", plugin:stop())
    check("pmlua.Plugin:info", plugin:info())
    assert.is_true(#check("pmlua.Plugin:series", plugin:series()) == 1)
    check("pml.plugin.find", pml.plugin.find "reference")
    check("pml.plugin.list", pml.plugin.list())
    local tune <close> = check("pml.tune.open", pml.tune.open { dry_run = true, rules = { { region = "a", threads = 2 } } })
    for _, method in ipairs { "lines", "log", "stats" } do check("pmlua.TuneHandle:" .. method, tune[method](tune)) end
    local options = { dry_run = true, sync = { "b" }, reference = 3e9, min = 1e9 }
    local balancer <close> = check("pml.balance.open", pml.balance.open(options))
    for _ = 1, 3 do pml.section.start "b"; pml.section.stop "b" end
    for _, method in ipairs { "lines", "log", "stats", "rule", "take" } do
      check("pmlua.Balancer:" .. method, balancer[method](balancer))
    end
  end)

  it("are as annotated: variables of a program", function()
    local variable = check("pml.watchpoint.find", pml.watchpoint.find(build .. "/pmlua", "main"))
    assert.is_true(variable.func)
  end)

  it("are nil, a sentence and a code where the machine refuses", function()
    for _, refused in ipairs {
      table.pack(pml.eventset { "no-such-event" }), table.pack(pml.counter.open "no-such-event"),
      table.pack(pml.samples.new(1 << 50)), table.pack(pml.filter.open(dir .. "/none")),
      table.pack(pml.sys.realpath(dir .. "/none")),
      table.pack(pml.command.spawn { dir .. "/none" }:start()), table.pack(pml.trace.create(dir .. "/none")),
    } do
      assert.is_nil(refused[1])
      assert.truthy(tostring(refused[2]):find ": E%u+: ", tostring(refused[2]))
      assert.truthy(refused[3]:find "^E%u+$", refused[3])
      assert.same({ true }, { fits(refused[2], "pmlua.Failure") })
    end
  end)
end)
