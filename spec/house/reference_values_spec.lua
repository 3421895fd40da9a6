-- SPDX-License-Identifier: BSD-3-Clause
-- spec/house/reference_values_spec.lua - check of results of C functions against their annotations: fields and types.

local support = require "spec.core.support"
local build = os.getenv("PMLUA_BUILD") or "build"

local sh = require "spec.shell".sh
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

--- Check the results of a function against its annotation; examples of names: "pml.clock.info", "pmlua.Eventset:event".
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

--- Calls of a module's functions without arguments, by name: "clock.info clock.ns".
local function calls(names)
  for module, f in names:gmatch "([%w_]+)%.([%w_]+)" do check(("pml.%s.%s"):format(module, f), pml[module][f]()) end
end

--- A call with arguments, by name.
local function call(name, ...)
  local module, f = name:match "([%w_]+)%.([%w_]+)"
  return check("pml." .. name, pml[module][f](...))
end

--- A method of an object of a class, and several without arguments.
local function method(class, object, name, ...) return check(("pmlua.%s:%s"):format(class, name), object[name](object, ...)) end
local function methods(class, object, names)
  for name in names:gmatch "%S+" do method(class, object, name) end
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
    calls "clock.info clock.ns event.pmus event.has_pmu sys.uname sys.affinity sys.cpu_time count.kinds count.here live.folder"
    calls "live.functions live.rules"
    call("event.parse", "task-clock")
    call("event.parse", "clock::ns")
    call("event.list", "cycles")
    call("sys.realpath", ".")
    call("region.describe", call("region.intern", "a", "b.c", 1))
    call("region.describe", pml.region.intern "alone")
  end)

  it("are as annotated: counters, groups, sets, samples", function()
    local counter <close> = call("counter.open", "task-clock")
    methods("Counter", counter, "read path name")
    local group <close> = call("group.open", { "task-clock", "page-faults" })
    methods("CounterGroup", group, "read")
    local set <close> = call("eventset.open", { "task-clock", "clock::ns" })
    methods("Eventset", set, "start readings accum")
    for i = 1, #set do method("Eventset", set, "event", i) end
    method("Eventset", set, "parts", 1)
    assert.equal("number", type(method("Eventset", set, "reader")()))
    local s <close> = call("samples.new", 8)
    method("Samples", s, "push", 7)
    methods("Samples", s, "copy sort moments")
    method("Samples", s, "quantile", 0.5)
    method("Samples", s, "format", "", 1)
    method("Samples", s, "above", 1, 1)
  end)

  it("are as annotated: software-defined events", function()
    local lib = call("sde.library", "REFERENCE")
    local counter = method("SdeLibrary", lib, "counter", "c")
    counter:add()
    methods("SdeCounter", counter, "read info")
    local recorder = method("SdeLibrary", lib, "recorder", "r", { type = "double" })
    method("Recorder", recorder, "push", 0.5)
    method("Recorder", recorder, "quantile", 50)
    methods("Recorder", recorder, "values count dropped nans error epoch info")
    local set = method("SdeLibrary", lib, "set", "s")
    method("CountingSet", set, "insert", "x")
    methods("CountingSet", set, "values")
    methods("SdeEvent", call("sde.find", "REFERENCE::c"), "read info")
    methods("SdeEvent", pml.sde.find "REFERENCE::s", "open")
    calls "sde.list"
    methods("SdeLibrary", lib, "shutdown")
  end)

  it("are as annotated: sections, profiles, buffers, traces", function()
    local solve = call("section.define", { label = "solve", events = { "task-clock" }, record = true })
    local profile <close> = call "profile.open"
    local buffer <close> = call "buffer.open"
    sh("mkdir " .. dir .. "/trace")
    local trace = call("trace.create", dir .. "/trace", { metrics = { { name = "n" } } })
    methods("Trace", trace, "attach")
    do
      local scope <close> = method("SectionHandle", solve, "enter")
      method("SectionScope", scope, "stop", { operations = 2 })
    end
    call("section.start", "bytes")
    call("section.stop", "bytes", { bytes = 8 })
    pml.section.stop "bytes"
    methods("Trace", trace, "detach")
    local location = method("Trace", trace, "location", "here")
    method("TraceLocation", location, "enter", pml.region.intern "a")
    method("TraceLocation", location, "metric", { 1 })
    method("TraceLocation", location, "leave", pml.region.intern "a")
    methods("Trace", trace, "stats close")
    methods("SectionHandle", solve, "info")
    method("SectionHandle", solve, "quantile", 50)
    call("section.report", { threads = true })
    calls "section.report section.snapshot"
    methods("Profile", profile, "nodes functions stats")
    local time = {}
    method("Buffer", buffer, "take", time, {}, {}, {}, {})
    methods("Buffer", buffer, "stats")
    assert.is_true(#time >= 4)
  end)

  it("are as annotated: commands, filters, workloads", function()
    local command <close> = call("command.spawn", { "true" })
    methods("Command", command, "pid start wait")
    local w = call("workload.load", pml.paths.workloads .. "/loop.so")
    for _, field in ipairs(classes["pmlua.Workload"].fields) do assert.is_true(fits(w[field.name], field.type), field.name) end
    local samples = {}
    for i = 1, #w.sites do samples[i] = pml.samples.new(16) end
    method("Workload", w, "run", { operation = "empty", samples = samples, phases = 16 })
    calls "substrate.list substrate.lines"
    method("BalanceController", call("balance.controller", { reference = 3e9, min = 1e9 }), "step", 0.5, 1)
  end)

  it("are as annotated: plugins, tuners, balancers, variables of a program", function()
    local plugin = call("plugin.define", { name = "reference", every = "1ms",
      events = { { name = "load", unit = "1" } }, collect = function() return { load = 1 } end })
    methods("Plugin", plugin, "start")
    pml.sys.sleep(0.02)
    methods("Plugin", plugin, "stop info")
    assert.is_true(#method("Plugin", plugin, "series") == 1)
    call("plugin.find", "reference")
    calls "plugin.list"
    local tune <close> = call("tune.open", { dry_run = true, rules = { { region = "a", threads = 2 } } })
    methods("TuneHandle", tune, "lines log stats")
    local balancer <close> = call("balance.open", { dry_run = true, sync = { "b" }, reference = 3e9, min = 1e9 })
    for _ = 1, 3 do pml.section.start "b"; pml.section.stop "b" end
    methods("Balancer", balancer, "lines log stats rule take")
    assert.is_true(call("watchpoint.find", build .. "/pmlua", "main").func)
  end)

  it("are nil, a sentence and a code if the machine refuses", function()
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
