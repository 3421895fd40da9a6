-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/misuse_calls.lua - call every function and method of the bindings with wrong arguments of every type.
--
-- Run by misuse_spec.lua in a process of its own, so that a crash is seen. Prints a line for each broken promise and
-- at the end what the calls did. Arguments: a folder for traces, the socket of a process that serves, a workload's
-- shared object or "-".

local core = require "pmlua.core"

local dir, server, workload = arg[1], arg[2], arg[3] ~= "-" and arg[3] or nil
local seed = 12345

local function random(n)
  seed = (seed * 1103515245 + 12345) & 0x7fffffff
  return (seed >> 8) % n + 1
end

-- --- arguments of every type ---

local function cyclic()
  local t = setmetatable({}, {})
  t[1], t.self = t, t
  getmetatable(t).__index = t
  return t
end

local function hostile()
  local function raise() error("raised by a metamethod") end
  return setmetatable({ "x" }, { __index = raise, __newindex = raise, __len = function() return math.maxinteger end,
    __call = raise, __tostring = function() return 1 end, __name = 7, __gc = raise, __pairs = raise })
end

local function closed(h)
  if h then h:close() end
  return h
end

local function newtrace()
  local path = os.tmpname()
  os.remove(path)
  path = dir .. "/" .. path:match("[^/]*$")
  assert(os.execute("mkdir -p '" .. path .. "'"))
  return assert(core.trace.open(path, { metrics = { { name = "m" } }, buffer = 16 }))
end

local function newfilter()
  local path = dir .. "/misuse.filter"
  local f <close> = assert(io.open(path, "w"))
  f:write("SCOREP_REGION_NAMES_BEGIN EXCLUDE a*\nSCOREP_REGION_NAMES_END\n")
  f:close()
  return assert(core.filter.open(path))
end

--- A plugin is open once: the last that was asked for. Nil: those of the specs are not built.
local loaded
local function newsubstrate()
  if loaded then loaded:close() end
  loaded = core.substrate.load("nothing", { path = (os.getenv "PMLUA_BUILD" or "build") .. "/spec/plugins" })
  return loaded
end

--- What `true` leaves when it is recorded; nil: the library cannot be preloaded here.
local function newspool()
  local folder = os.tmpname()
  os.remove(folder)
  folder = dir .. "/" .. folder:match("[^/]*$")
  os.execute(("mkdir -p '%s'; LD_PRELOAD=$(realpath %s/preload/libpmlua-record.so) PMLUA_RECORD_DIR='%s' true 2>/dev/null")
    :format(folder, os.getenv("PMLUA_BUILD") or "build", folder))
  local path = io.popen(("ls '%s'/*.spool 2>/dev/null"):format(folder)):read("l")
  return path and assert(core.spool.open(path))
end

-- The file that a watched process leaves: a head, 4096 lanes of 64 bytes, one chunk of 16384; one access.
local function newwatchpoints()
  local path = dir .. "/watchpoints"
  local f <close> = assert(io.open(path, "wb"))
  local bytes = 4096 + 4096 * 64 + 16384
  local head = string.pack("<c8I4I4I8I4I4I4i4", "pmlwatch", 1, 1, bytes, 1, 1, 1, 42)
  local lane = string.pack("<I4I4I8I8I8I4I4", 42, 0, 1, 0, 0, 1, 1)
  local chunk = string.pack("<I4I4I8I8I8", 0, 1, 0, 7, 8)
  f:write(head, ("\0"):rep(4096 - #head), lane, ("\0"):rep(4096 * 64 - #lane), chunk, ("\0"):rep(16384 - #chunk))
  f:close()
  return assert(core.watchpoint.load(path))
end

local function newlink() return assert(core.link.connect(server)) end

-- A process has one: the last that was asked for. No library is called so: what is tried here are its doors.
local installed
local function newinterception()
  if installed then installed:close() end
  installed = assert(core.intercept.install { lib = "libnothing-is-called-so" })
  return installed
end

local plugins = 0
local function newplugin()
  plugins = plugins + 1
  return assert(core.plugin.provide { name = "misuse" .. plugins, kind = "code", every = 0.01, events = { { name = "e" } },
    text = "return { events = { 'e' }, collect = function() return { e = 1 } end }" })
end

local function newhandles()
  local h = {}
  h.counter = assert(core.counter.open("task-clock"))
  h.group = assert(core.group.open { "task-clock", "page-faults" })
  h.eventset = assert(core.eventset.open { "task-clock", "clock::ns" })
  h.samples = assert(core.samples.new(8))
  h.samples:push(3)
  h.trace = newtrace()
  h.location = assert(h.trace:location("main"))
  local library = assert(core.sde.library("MISUSE"))
  h.sdelibrary = library
  h.sdecounter = assert(library:counter("COUNTER"))
  h.recorder = assert(library:recorder("RECORDER", { type = "int64", cap = 1000 }))
  h.recorder:push(3)
  h.countingset = assert(library:set("SET"))
  h.countingset:insert("element", 1)
  h.sdeevent = assert(core.sde.find("MISUSE::COUNTER"))
  h.section = assert(core.section.define { label = "misuse", record = true })
  h.sectionscope = assert(h.section:enter())
  h.profile = assert(core.profile.open())
  h.spool = newspool()
  h.buffer = assert(core.buffer.open { records = 256, threads = 2 })
  h.luasubstrate = assert(core.substrate.each { enter = function() end, flush = function() return { 1 } end })
  h.substrateplugin = newsubstrate()
  h.interception = newinterception()
  h.filter = newfilter()
  h.link = newlink()
  h.command = assert(core.command.spawn { "/bin/true" })
  h.watchpoints = newwatchpoints()
  h.plugin = newplugin()
  h.workload = workload and assert(core.workload.load(workload)) or nil
  return h
end

local light = debug.upvalueid(function() return core end, 1)
local file = io.tmpfile()
local shut = io.tmpfile()
shut:close()
local handles, dead = newhandles(), newhandles()
for _, h in pairs(dead) do closed(h) end
handles.interception = newinterception()
handles.substrateplugin = newsubstrate()

local NIL = {} -- stands for nil in lists
local values = {
  NIL, true, false, 0, 1, -1, 2, math.maxinteger, math.mininteger, 1 << 31, 1 << 32, 1 << 53, 0.5, -0.0, 1e308, -1e308,
  5e-324, 0 / 0, 1 / 0, -1 / 0, "", "x", "task-clock", "a\0b", ("y"):rep(70000), "%s%n%s", "../..", "/dev/null", "1", {},
  { 1, 2, 3 }, { "task-clock" }, { "a\0b" }, { {} }, { n = 1 }, { [1.5] = 2 }, cyclic(), hostile(), print, newhandles,
  coroutine.create(print), light, file, shut,
}
for _, set in ipairs { handles, dead } do
  for _, h in pairs(set) do values[#values + 1] = h end
end

-- --- one call and what it may do ---

local counts = { calls = 0, raised = 0, refused = 0, answered = 0 }
local broken = 0

local function complain(name, what)
  broken = broken + 1
  if broken <= 50 then print("BROKEN " .. name .. ": " .. what) end
end

local function invoke(f, args)
  local results = table.pack(f(table.unpack(args, 1, args.n))) -- the line that a message must name
  return results
end

local function checkraise(name, message)
  counts.raised = counts.raised + 1
  if type(message) ~= "string" then return complain(name, "raised a " .. type(message)) end
  if message:find("raised by a metamethod", 1, true) or message:find("not enough memory", 1, true) then return end
  if not message:find("misuse_calls%.lua:%d+: ") then complain(name, "raised without a line: " .. message) end
end

local function checkrefusal(name, r)
  counts.refused = counts.refused + 1
  if type(r[2]) ~= "string" or not r[2]:find("^[%w_.]+: E%w+: .") then
    complain(name, "refused without a sentence: " .. tostring(r[2]))
  elseif type(r[3]) ~= "string" or not r[3]:find("^E%w+$") then
    complain(name, "refused without a code: " .. tostring(r[3]))
  end
end

local function call(name, f, args)
  counts.calls = counts.calls + 1
  local ok, r = pcall(invoke, f, args)
  if not ok then return checkraise(name, r) end
  if r.n >= 2 and r[1] == nil then return checkrefusal(name, r) end
  counts.answered = counts.answered + 1
  for i = 1, r.n do -- what was opened is closed, or the process would run out of descriptors
    local mt = type(r[i]) == "userdata" and debug.getmetatable(r[i])
    if mt and tostring(mt.__name):find("^pml%.") then
      local mine = true
      for _, h in pairs(handles) do mine = mine and not rawequal(h, r[i]) end
      if mine then r[i]:close() end
    end
  end
end

local function arguments(list)
  local args = { n = #list }
  for i, v in ipairs(list) do if v ~= NIL then args[i] = v end end
  return args
end

-- Valid arguments with one wrong, all wrong, too few, too many; then random ones.
local function attack(name, f, valid, fast, some)
  local n = #valid
  local values = some or values -- luacheck: ignore 431
  for i = 1, math.max(n, 1) do
    for _, v in ipairs(values) do
      local args = { table.unpack(valid) }
      args[i] = v
      call(name, f, arguments(args))
    end
  end
  for _, v in ipairs(values) do call(name, f, arguments { v, v, v, v, v }) end
  for i = 0, n - 1 do call(name, f, arguments { table.unpack(valid, 1, i) }) end
  call(name, f, arguments { table.unpack(valid) })
  for _ = 1, fast and 300 or 0 do
    local args = {}
    for i = 1, random(5) do args[i] = (i == 1 and random(2) == 1 and valid[1]) or values[random(#values)] end
    call(name, f, arguments(args))
  end
end

local function attackoptions(name, f, first, options)
  for _, key in ipairs(options) do
    for _, v in ipairs(values) do
      if v ~= NIL then call(name .. "{" .. key .. "}", f, arguments { first, { [key] = v } }) end
    end
  end
end

-- --- the modules ---

local names = { "task-clock", "page-faults" }
local functions = {
  clock = { ticks = {}, ticks_ordered = {}, ns = {}, to_ns = { 1 }, at_ns = { 1 }, realtime_ns = {}, info = {} },
  event = { parse = { "task-clock" }, list = { "task-clock", false }, pmus = {}, has_pmu = {}, set_sysfs = { "/sys" } },
  command = { spawn = { { "/bin/true" } } },
  count = { read = { "/nowhere/counts" }, kinds = {}, here = {} },
  counter = { open = { "task-clock", {} } },
  group = { open = { names, {} } },
  eventset = { open = { names, {} } },
  region = { intern = { "r", "f.c", 1 }, describe = { 1 }, count = {}, demangle = { "_ZN1a1bEv" } },
  samples = { new = { 4 } },
  workload = { load = { "/nowhere/x.so" } },
  trace = { open = { dir, {} } },
  section = { define = { { label = "misuse", record = true } }, start = { "misuse" }, stop = { "misuse", {} },
              report = { {} }, reset = {}, enable = { true }, text = { {} }, timeline = { 8 },
              write = { dir .. "/nowhere/sections" } },
  profile = { open = {}, bucket_ns = { 100 } },
  spool = { open = { dir .. "/nosuch.spool" } },
  buffer = { open = { { records = 256, threads = 2 } } },
  substrate = { load = { "no_such", { path = "/nowhere", directory = "/nowhere" } }, lines = {}, list = {},
                each = { { enter = function() end, flush = function() end } } },
  intercept = { install = { { lib = "libnothing", sym = "f*", ["not"] = "g*" } } },
  filter = { open = { dir .. "/misuse.filter" } },
  sde = { library = { "MISUSE" }, find = { "MISUSE::COUNTER" }, list = {}, hook = { "/nonexistent" } },
  sys = { interrupted = {}, on_interrupt = { false }, pid = {}, uname = {}, isatty = { 1 }, affinity = {}, pin = { 0 },
          sleep = { 0 }, exec = { { "/nowhere/program" }, { MISUSE = "yes" } }, fsync = { dir },
          realpath = { dir }, setid = { dir }, cpu = {},
          nprocs = {} },
  link = { connect = { "/nowhere/socket" } },
  watchpoint = { available = {}, find = { "/proc/self/exe", "main", false }, load = { "/nowhere/watchpoints" },
                 plan = { dir .. "/nowhere/plan", { { path = "/proc/self/exe", name = "main" } }, 1 } },
  plugin = { load = { { name = "nowhere" } }, find = { "misuse1" }, list = {},
             provide = { { name = "misuse", kind = "code", text = "return {}", events = { { name = "e" } } } } },
  live = { start = { { name = "misuse" } }, stop = {}, path = {}, folder = {}, rule = { "rule" }, cancel = { 1 },
           rules = {}, functions = {}, call = { "f", 1 }, stop_run = {}, say = {} },
}
local slow = { ["event.list"] = true, ["event.parse"] = true, ["clock.info"] = true, ["sys.sleep"] = true,
               ["counter.open"] = true, ["group.open"] = true, ["eventset.open"] = true, ["trace.open"] = true,
               ["event.set_sysfs"] = true, ["samples.new"] = true, ["live.start"] = true, ["command.spawn"] = true,
               ["section.text"] = true, ["watchpoint.find"] = true, ["watchpoint.plan"] = true,
               ["plugin.provide"] = true }
-- One list is a walk over all of libpfm4 and tracefs; sleeping sleeps; 2^31 samples may well fit, but take a minute.
local few = {
  ["event.list"] = { NIL, -1, "a\0b", {}, print },
  ["sys.sleep"] = { NIL, true, -1, 0 / 0, 1 / 0, 1e308, math.maxinteger, math.mininteger, "", "x", {}, print, file },
  ["live.say"] = { NIL, true, {}, print, file }, -- what it says would be heard
  ["live.stop_run"] = { NIL, true, "a\0b", {}, print, file },
  ["section.write"] = { NIL, true, "", "a\0b", {}, print, file }, -- else it would
  ["watchpoint.plan"] = { NIL, true, "", "a\0b", {}, { {} }, print, file }, -- so would this
  ["samples.new"] = { NIL, true, 0, -1, 1, math.maxinteger, math.mininteger, 1 << 53, 0.5, 0 / 0, "x", {}, print, file },
}
local target = { "pid", "cpu", "inherit", "no_page" }
local affinity = core.sys.affinity()

for module, list in pairs(core) do
  for name, f in pairs(type(list) == "table" and list or {}) do
    if type(f) == "function" then
      local full = module .. "." .. name
      local valid = functions[module] and functions[module][name]
      if not valid then complain(full, "is not known to this file: give it valid arguments here") end
      attack(full, f, valid or {}, not slow[full], few[full])
      core.event.set_sysfs()
      core.sys.on_interrupt(false)
    end
  end
end
core.sys.pin(affinity)

for _, opener in ipairs { "counter", "group", "eventset" } do
  attackoptions(opener .. ".open", core[opener].open, opener == "counter" and "task-clock" or names, target)
end
attackoptions("counter.open", core.counter.open, "task-clock", { "disabled", "part" })
attackoptions("eventset.open", core.eventset.open, names, { "ungrouped", "multiplex" })
attackoptions("sdelibrary:counter", function(event, options)
  return handles.sdelibrary:counter(event, options)
end, "OPTIONS", { "readonly", "instant" })
attackoptions("sdelibrary:recorder", function(event, options)
  return handles.sdelibrary:recorder(event, options)
end, "OPTIONS", { "type", "keep", "alpha", "cap" })
attackoptions("section.define", function(label, options)
  options.label = options.label or label
  return core.section.define(options)
end, "misuse", { "label", "type", "exclusive", "events", "record", "file", "line" })
attackoptions("section.text", core.section.text, nil, { "timeline" })
attackoptions("section.stop", core.section.stop, "misuse", { "operations", "bytes", "iterations" })
core.section.enable(true)
attackoptions("live.start", function(_, options) return core.live.start(options) end, "", { "name", "rules", "unasked" })
attackoptions("buffer.open", function(_, options) return core.buffer.open(options) end, "", { "records", "threads" })
attackoptions("substrate.load", core.substrate.load, "no_such", { "path", "directory" })
attackoptions("substrate.each", function(_, options) return core.substrate.each(options) end, "",
  { "enter", "leave", "metric", "flush" })
handles.interception:close()
attackoptions("intercept.install", function(_, options) return core.intercept.install(options) end, "",
  { "lib", "sym", "not" })
handles.interception = newinterception()
attackoptions("watchpoint.plan", function(_, point)
  point.path, point.name = point.path or "/proc/self/exe", point.name or "main"
  return core.watchpoint.plan(dir .. "/nowhere/plan", { point })
end, "", { "path", "name", "access", "content" })
attackoptions("trace.open", core.trace.open, "/nowhere", { "metrics", "buffer" })
attackoptions("plugin.load", function(name, options)
  options.name = options.name or name
  return core.plugin.load(options)
end, "nowhere", { "name", "path", "metrics" })
attackoptions("plugin.provide", function(name, options)
  options.name = options.name or name
  options.kind, options.text = options.kind or "code", options.text or "return {"
  options.events = options.events or { { name = "e" } }
  return core.plugin.provide(options)
end, "misuse", { "name", "kind", "text", "scope", "every", "events" })
for _, v in ipairs(values) do
  for _, key in ipairs { "name", "description", "unit", "mode", "exponent", "type", "base" } do
    local metric = { name = "m" }
    if v ~= NIL then metric[key] = v end
    call("trace.open{metrics}", core.trace.open, arguments { "/nowhere", { metrics = { metric } } })
  end
end
for _, v in ipairs(values) do call("eventset()", core.eventset, arguments { v }) end

-- --- the methods, on open and on closed handles ---

local region = core.region.intern("misuse")
local methods = {
  counter = { read = {}, path = {} },
  group = { read = {} },
  eventset = { start = {}, read = {}, read_ts = {}, stop = {}, reset = {}, accum = { {} }, reader = {}, readings = {},
               event = { 1 }, parts = { 1 } },
  samples = { capacity = {}, push = { 1 }, clear = {}, copy = {}, append = { handles.samples }, sort = {},
              quantile = { 0.5 }, moments = {}, format = { "1,2,", 1, 2 }, above = { 1, 10 }, histogram = { 0, 10, 4 } },
  workload = { run = { { operation = "empty", samples = { handles.samples } } } },
  trace = { location = { "l" }, flush = {}, stats = {}, attach = {}, detach = {}, plugin = { handles.plugin, 0 } },
  section = { start = {}, stop = { {} }, enter = {}, info = {}, quantile = { 50 } },
  sectionscope = { stop = { { operations = 1 } } },
  profile = { nodes = {}, stats = {}, functions = {} },
  spool = { story = {}, sums = {}, profile = {}, trace = { dir .. "/nosuch", "misuse", function() end } },
  luasubstrate = { flush = {}, stats = {} },
  substrateplugin = { record = { true }, stats = {} },
  buffer = { take = { {}, {}, {}, {}, {} }, leave_out = { 1, true }, stats = {} },
  interception = { stats = {} },
  filter = { wants = { "/usr/include/a.h", "a()", "_Z1av" } },
  sdelibrary = { counter = { "COUNTER", {} }, recorder = { "RECORDER", {} }, set = { "SET" },
                 group = { "GROUP", "sum", "COUNTER" }, describe = { "COUNTER", "counts" },
                 unregister = { "COUNTER" }, shutdown = {} },
  sdecounter = { add = { 1 }, read = {}, reset = {}, info = {} },
  watchpoints = { summary = {}, lane = { 1 }, values = { 1 } },
  command = { pid = {}, start = {}, wait = { 5 }, kill = { 0 } },
  recorder = { push = { 1 }, values = { 1, 2 }, quantile = { 50 }, count = {}, dropped = {}, nans = {}, error = {},
               reset = {}, epoch = {}, info = {} },
  countingset = { insert = { "e", 1 }, remove = { "e", 1 }, values = {}, info = {} },
  sdeevent = { read = { 1 }, write = { 1 }, reset = {}, info = {}, open = {} },
  location = { enter = { region }, leave = { region }, metric = { { 1 } } },
  link = { ask = { "eval", "1 + 1", 1 } },
  plugin = { start = {}, collect = {}, series = {}, info = {}, stop = {} },
}

local function methodsof(h)
  local index = debug.getmetatable(h).__index
  if type(index) == "function" then local _, t = debug.getupvalue(index, 1) index = t end
  return index
end

for kind, h in pairs(handles) do
  for name, f in pairs(methodsof(h)) do
    local full = kind .. ":" .. name
    local valid = methods[kind][name] or (name == "close" and {})
    if not valid then complain(full, "is not known to this file: give it valid arguments here") end
    -- close and what ends a handle are attacked on handles made for it, below
    if name ~= "close" then
      attack(full, f, { h, table.unpack(valid or {}) }, kind ~= "workload")
      attack(full .. " (closed)", f, { dead[kind], table.unpack(valid or {}) }, false)
    end
  end
end

if workload then
  attackoptions("workload:run", function(key, options)
    options.samples = options.samples or { handles.samples }
    options.operation = options.operation or (key ~= "set" and "empty" or nil)
    handles.samples:clear()
    return handles.workload:run(options)
  end, "key", { "operation", "set", "samples", "options", "phases" })
end

-- A reader outlives its set, and its arguments do not matter.
local set = assert(core.eventset.open(names))
local reader = set:reader()
attack("reader", reader, {}, true)
set:close()
attack("reader (closed)", reader, {}, true)

-- --- the metamethods, called by hand on everything ---

for kind, h in pairs(newhandles()) do
  for name, f in pairs(debug.getmetatable(h)) do
    if type(f) == "function" then attack(kind .. "." .. name, f, { dead[kind] }, false) end
  end
end
handles = newhandles() -- the attack above closed what it met
for kind, h in pairs(handles) do
  for _, name in ipairs { "close" } do
    local f = methodsof(h)[name]
    for _, v in ipairs(values) do call(kind .. ":" .. name, f, arguments { v, v }) end
  end
  h:close()
  h:close()
  call(kind .. ":tostring", tostring, arguments { h })
  -- arithmetic, comparison, calls and indexing of a handle are errors of Lua, not of ours
  for _, operation in ipairs { "return h + 1", "return h .. ''", "return h < h", "return #h", "return h()",
                               "return h.x.y", "h.x = 1", "return h[1]", "return -h" } do
    local f = load("local h = ... " .. operation, "@misuse_calls.lua")
    counts.calls = counts.calls + 1
    local ok, message = pcall(f, h)
    if ok then counts.answered = counts.answered + 1 else checkraise(kind .. " " .. operation, message) end
  end
end

-- A userdata that wears another's metatable is still not one of ours.
for _, h in pairs(newhandles()) do
  local mt, impostor = debug.getmetatable(h), io.tmpfile()
  local own = debug.getmetatable(impostor)
  debug.setmetatable(impostor, mt)
  for name, f in pairs(methodsof(h)) do call("impostor:" .. name, f, arguments { impostor, 1, 1 }) end
  debug.setmetatable(impostor, own)
end

-- --- finalizers, coroutines, closing under one's feet ---

collectgarbage("generational")
for i = 1, 20 do
  local h = newhandles()
  setmetatable({}, { __gc = function() -- runs at some allocation of the bindings, and closes what they work on
    for _, x in pairs(h) do x:close() end
  end })
  local co = coroutine.wrap(function()
    for kind, x in pairs(h) do
      for name, f in pairs(methodsof(x)) do
        if name ~= "close" and kind ~= "workload" then
          call(kind .. ":" .. name .. " (finalized)", f, arguments { x, table.unpack(methods[kind][name] or {}) })
        end
        if i % 2 == 0 then coroutine.yield() end
      end
    end
  end)
  for _ = 1, 3 do if not pcall(co) then break end end
  for _, x in pairs(h) do x:close() end
end
collectgarbage("incremental")

print(("calls %d raised %d refused %d answered %d broken %d"):format(counts.calls, counts.raised, counts.refused,
  counts.answered, broken))

-- Handles that are open at the end are closed by the state, in whatever order; finalizers use them meanwhile.
local last = newhandles()
_G.kept = setmetatable({ last, last.eventset:reader(), last.trace:location("end") }, { __gc = function(t)
  for kind, h in pairs(t[1]) do
    for name, f in pairs(methodsof(h)) do
      local _, made = pcall(f, h, table.unpack(methods[kind][name] or {}))
      if type(made) == "userdata" then made:close() end -- a state that ends finalizes nothing that is made now
    end
  end
  pcall(t[2])
  pcall(t[3].enter, t[3], region)
end })
io.stdout:flush()
os.exit(broken == 0, true)
