-- SPDX-License-Identifier: BSD-3-Clause
-- spec/core/misuse_calls.lua - call every function and method of the bindings with wrong arguments of every type.
--
-- Run by misuse_spec.lua in a new process, so that a crash is noticed. Prints a line for each broken promise, and at the end a
-- summary of the calls. Arguments: a folder for traces, the socket of a live program, the shared object of a workload or "-".

package.path = arg[0]:match("^(.*/)") .. "?.lua;" .. package.path
local core = require "pmlua.core"
local make, misuse, given = require "misuse_handles", require "misuse_values", require "misuse_arguments"

local dir, workload = arg[1], arg[3] ~= "-" and arg[3] or nil
local seed = 12345

local function random(n)
  seed = (seed * 1103515245 + 12345) & 0x7fffffff
  return (seed >> 8) % n + 1
end

local function closed(h)
  if h then h:close() end
  return h
end

local handles, dead = make.all(), make.all()
for _, h in pairs(dead) do closed(h) end
handles.interception = make.interception()
handles.substrateplugin = make.substrate()
handles.tune, handles.balancer = make.tune(), make.balancer()

local NIL, values = misuse.NIL, misuse.with({ handles, dead }, make.all)

-- --- one call and its permitted outcomes ---

--- The most results of each function and method, as annotated: of "clock.ns", of "counter:read".
local most = {}
local model = require "pmlua.internal.reference.model".load "lua"
local handle_of = {}
for handle, class in pairs(require "handle_classes") do handle_of[class] = handle .. ":" end
for _, module in pairs(model.modules) do
  for _, class in ipairs { module.class, table.unpack(module.classes) } do
    local prefix = handle_of[class.name] or class.name:gsub("^pml%.", "") .. "."
    for _, f in ipairs(class.functions) do
      local returns = f.returns
      most[prefix .. f.name] = (#returns == 0 or returns[#returns].name ~= "...") and #returns or math.huge
    end
  end
end

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

--- @at: the only wrong argument, if there is one.
local function checkraise(name, message, at)
  counts.raised = counts.raised + 1
  if type(message) ~= "string" then return complain(name, "raised a " .. type(message)) end
  if message:find("raised by a metamethod", 1, true) or message:find("not enough memory", 1, true) then return end
  local blamed = tonumber(message:match "bad argument #(%-?%d+)")
  if blamed and (blamed < 1 or at and blamed ~= at) then
    complain(name, ("argument %s is wrong: %s"):format(at or "?", message))
  end
  if not message:find("misuse_calls%.lua:%d+: ") then complain(name, "raised without a line: " .. message) end
end

local function checkrefusal(name, r)
  counts.refused = counts.refused + 1
  if name == "failure.refuse" then return end -- its text is the caller's
  if not tostring(r[2]):find("^[%w_.]+: E%w+: .") then
    complain(name, "refused without a sentence: " .. tostring(r[2]))
  elseif type(r[3]) ~= "string" or not r[3]:find("^E%w+$") or r[2].code ~= r[3] then
    complain(name, "refused without a code: " .. tostring(r[3]))
  end
end

local function call(name, f, args, at)
  counts.calls = counts.calls + 1
  local ok, r = pcall(invoke, f, args)
  if not ok then return checkraise(name, r, at) end
  if r.n >= 2 and r[1] == nil then return checkrefusal(name, r) end
  counts.answered = counts.answered + 1
  local annotated = most[name:match "^[%w_.:]+"]
  if annotated and r.n > annotated then complain(name, ("gave %d results, not %d"):format(r.n, annotated)) end
  for i = 1, r.n do -- close new handles, because descriptors are limited
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

-- Valid arguments except one, all wrong, too few, too many; then random ones.
local function attack(name, f, valid, fast, some)
  local n = #valid
  local values = some or values -- luacheck: ignore 431
  for i = 1, math.max(n, 1) do
    for _, v in ipairs(values) do
      local args = { table.unpack(valid) }
      args[i] = v
      call(name, f, arguments(args), i)
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

local functions, names, slow, few = given.functions, given.names, given.slow, given.few
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

handles.interception:close()
for _, o in ipairs(given.options) do
  local full, first, beside, keys = table.unpack(o, 1, 4)
  local module, name = full:match "^(.*)%.(.*)$"
  local list = {}
  for key in keys:gmatch "%S+" do list[#list + 1] = key end
  attackoptions(full, function(before, options)
    for key, value in pairs(beside or {}) do if options[key] == nil then options[key] = value end end
    if before == "" then return core[module][name](options) end
    return core[module][name](before, options)
  end, first, list)
end
handles.interception = make.interception()
core.section.enable(true)
attackoptions("sdelibrary:counter", function(event, options)
  return handles.sdelibrary:counter(event, options)
end, "OPTIONS", { "readonly", "instant" })
attackoptions("sdelibrary:recorder", function(event, options)
  return handles.sdelibrary:recorder(event, options)
end, "OPTIONS", { "type", "keep", "alpha", "cap" })
attackoptions("tune.open{rules}", function(_, rule)
  rule.region = rule.region or "misuse"
  return core.tune.open { rules = { rule }, dry_run = true }
end, "", { "region", "frequency", "frequency_min", "frequency_max", "governor", "idle", "threads", "enter", "leave" })
attackoptions("watchpoint.plan", function(_, point)
  point.path, point.name = point.path or "/proc/self/exe", point.name or "main"
  return core.watchpoint.plan(dir .. "/nowhere/plan", { point })
end, "", { "path", "name", "access", "content" })
for _, v in ipairs(values) do
  for _, key in ipairs { "name", "description", "unit", "mode", "exponent", "type", "base" } do
    local metric = { name = "m" }
    if v ~= NIL then metric[key] = v end
    call("trace.create{metrics}", core.trace.create, arguments { "/nowhere", { metrics = { metric } } })
  end
end
for _, v in ipairs(values) do call("eventset()", core.eventset, arguments { v }) end

-- --- the methods, on open and on closed handles ---

local methods = given.methods(handles)

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
    -- close, and other methods that end a handle, are called below on separate handles
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

for kind, h in pairs(make.all()) do
  for name, f in pairs(debug.getmetatable(h)) do
    if type(f) == "function" then attack(kind .. "." .. name, f, { dead[kind] }, false) end
  end
end
handles = make.all() -- the attack above closed what it met
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

-- A userdata with a stolen metatable must not pass for one of ours.
for _, h in pairs(make.all()) do
  local mt, impostor = debug.getmetatable(h), io.tmpfile()
  local own = debug.getmetatable(impostor)
  debug.setmetatable(impostor, mt)
  for name, f in pairs(methodsof(h)) do call("impostor:" .. name, f, arguments { impostor, 1, 1 }) end
  debug.setmetatable(impostor, own)
end

-- --- finalizers, coroutines, handles closed during a call ---

collectgarbage("generational")
for i = 1, 20 do
  local h = make.all()
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

-- The state closes the handles that are still open at the end, in any order, while finalizers use them.
local last = make.all()
_G.kept = setmetatable({ last, last.eventset:reader(), last.trace:location("end") }, { __gc = function(t)
  for kind, h in pairs(t[1]) do
    for name, f in pairs(methodsof(h)) do
      local _, made = pcall(f, h, table.unpack(methods[kind][name] or {}))
      if type(made) == "userdata" then made:close() end -- the closing state runs no finalizer of objects created now
    end
  end
  pcall(t[2])
  pcall(t[3].enter, t[3], given.region)
end })
io.stdout:flush()
os.exit(broken == 0, true)
