-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/live/sandbox.lua - the globals of untrusted code: Lua's standard library without files, processes, modules,
-- finalizers and debugging.
--
-- Try:  print(load("return 6 * 7", "=x", "t", require("pmlua.internal.live.sandbox").new(print))())
--
-- The caller that runs the code also limits its instructions and its memory, between Lua's instructions, and cancels its
-- thread if one instruction, or a C function of Lua, takes too long (bindings/live/live_worker.c), which ends the session.
-- Therefore calls that are known to take long are refused here by their arguments, and the session survives.

local core = require "pmlua.core"

local M = {}

-- In the application's own loop a call may take a fraction of a millisecond, else a fraction of a second.
local own_loop = core.live.own_loop()
local STEPS = own_loop and 1e5 or 1e8             -- worst case of a pattern
local SOURCE_BYTES = own_loop and 4096 or 65536   -- of code: labels, jumps and lists of conditions take quadratic time
local BYTES = own_loop and 1 << 18 or 16 << 20    -- of a repeated string
local ELEMENTS = own_loop and 1000 or 1000000     -- that a single call of a table function visits

local ns = core.clock.ns
local deadline = math.huge
local strings = getmetatable("")
local original = strings.__index

local function refuse(format, ...)
  error(original.format(format, ...), 0)
end

local function check_time()
  if ns() > deadline then error("the time for one question is used up", 0) end
end

--- Return the results of a C function, or raise its error as the caller's mistake: `where` is the called name, and `self` the
--- number of arguments that the caller did not write.
local function outcome(where, self, done, ...)
  if done then return ... end
  local message = ...
  if type(message) ~= "string" then error(message, 0) end
  local place, why = original.match(message, "^bad argument #(%d+) to '[^']*' %((.*)%)$")
  if place then
    local n = tonumber(place) - self
    message = original.format(original.find(why, "^must ") and "%s: argument %d %s" or "%s: argument %d: %s", where, n, why)
  elseif not original.find(message, "^[^\n]*:%d+: ") and not original.find(message, "^%l+[.:][%l_]+: ") then
    message = where .. ": " .. message -- else it is a callback's, or was told already
  end
  error(message, 0)
end

local function timed(f, where)
  return function(...)
    check_time()
    return outcome(where, 0, pcall(f, ...))
  end
end

local function copy(from, names)
  local to = {}
  for name in original.gmatch(names, "%S+") do to[name] = from[name] end
  return to
end

local function check(value, kind, where)
  if type(value) ~= kind then refuse("%s: %s expected, got %s", where, kind, type(value)) end
  return value
end

-- --- strings ---

local byte, sub, find = string.byte, string.sub, string.find

--- The place behind the set that opens at `i`.
local function behind_set(pattern, i)
  i = i + 1
  if byte(pattern, i) == 94 then i = i + 1 end -- ^
  repeat -- a ] that comes first is itself
    local c = byte(pattern, i)
    i = i + (c == 37 and 2 or 1) -- %
  until not c or byte(pattern, i) == 93
  return i + 1
end

--- How often a pattern can turn back: items that repeat, and those that are there or not; and the bytes of its longest
--- set, all of which are compared with each byte of the subject.
local function repetitions(pattern)
  local repeated, optional, longest, i = 0, 0, 1, 1
  while i <= #pattern do
    local c = byte(pattern, i)
    if c == 37 then -- %: %b and %1 go over the subject themselves
      local class = sub(pattern, i + 1, i + 1)
      if find(class, "[b%d]") then repeated = repeated + 1 end
      i = i + (class == "b" and 4 or 2)
    elseif c == 91 then -- [
      local after = behind_set(pattern, i)
      longest, i = math.max(longest, after - i), after
    else i = i + 1 end
    local suffix = sub(pattern, i, i)
    if suffix == "?" then optional = optional + 1
    elseif find(suffix, "[-*+]") then repeated = repeated + 1 end
  end
  return repeated, optional, longest
end

--- Steps that matching may take: n^(k+1) for k repetitions, doubled by each option, more for a very long pattern or set.
--- Matching is tried at each position of the subject, unless ^ anchors it to the first; gmatch treats ^ as a letter.
local function steps(subject, pattern, anchors)
  local repeated, optional, longest = repetitions(pattern)
  if not anchors or byte(pattern) ~= 94 then repeated = repeated + 1 end
  return (#subject + 1.0) ^ repeated * 2.0 ^ optional * math.max(1, #pattern / 64, longest / 8)
end

local function matching(name)
  local f = string[name]
  return function(subject, pattern, third, plain, ...)
    check_time()
    if type(subject) == "number" then subject = tostring(subject) end
    if type(pattern) == "number" then pattern = tostring(pattern) end
    check(subject, "string", "string." .. name)
    check(pattern, "string", "string." .. name)
    local worst = name == "find" and plain and (#subject + 1.0) * #pattern
      or steps(subject, pattern, name ~= "gmatch")
    if worst > STEPS then
      refuse("string.%s: this pattern on %d bytes could take %.0e steps; make either shorter", name, #subject, worst)
    end
    return outcome("string." .. name, 0, pcall(f, subject, pattern, third, plain, ...))
  end
end

local function rep(s, n, separator)
  check_time()
  if type(s) == "number" then s = tostring(s) end
  check(s, "string", "string.rep")
  n = math.tointeger(check(n, "number", "string.rep")) or refuse("string.rep: the number has no integer representation")
  local bytes = #s + (separator and #check(separator, "string", "string.rep") or 0)
  if n > BYTES or n * bytes > BYTES then refuse("string.rep: the result would be too long") end
  return string.rep(s, n, separator)
end

local function new_string()
  local library = { rep = rep }
  for name in original.gmatch("byte char format len lower reverse sub upper", "%S+") do
    library[name] = timed(string[name], "string." .. name)
  end
  for name in original.gmatch("find match gmatch gsub", "%S+") do library[name] = matching(name) end
  return library
end

-- --- tables ---

--- A table whose elements C can go over: no metamethods that would run in its stead, and not too many.
local function plain(t, where)
  check(t, "table", where)
  if getmetatable(t) ~= nil then refuse("%s: the table has a metatable; copy its elements first", where) end
  if rawlen(t) > ELEMENTS then refuse("%s: more than %d elements", where, ELEMENTS) end
  return t
end

local function bounded(first, last, where)
  first, last = math.tointeger(first), math.tointeger(last)
  if not first or not last then refuse("%s: an index must be an integer", where) end
  if last + 0.0 - first > ELEMENTS then refuse("%s: more than %d elements", where, ELEMENTS) end
end

--- A function of a list whose arguments `first` and `last` (their places in ...) give the range, if any.
local function ranged(name, first, last)
  local f, where = table[name], "table." .. name
  return function(t, ...)
    check_time()
    plain(t, where)
    if first then
      local i, j = (select(first, ...)), (select(last, ...))
      bounded(i or 1, j or #t, where)
    end
    return outcome(where, 0, pcall(f, t, ...))
  end
end

local function move(from, first, last, place, to)
  check_time()
  plain(from, "table.move")
  if to ~= nil then plain(to, "table.move") end
  bounded(first, last, "table.move")
  return table.move(from, first, last, place, to or from)
end

local function new_table()
  return {
    concat = ranged("concat", 2, 3), unpack = ranged("unpack", 1, 2), insert = ranged "insert", remove = ranged "remove",
    sort = ranged "sort", move = move, pack = table.pack,
  }
end

-- --- pml ---

local function as_it_is(f, handle, ...) return f(handle, ...) end

--- A handle of the core with a subset of its methods; untrusted code must not use the others.
local function guarded(handle, name, methods)
  local index = {}
  for method, wrap in pairs(methods) do -- `wrap` calls it
    local f = handle[method]
    index[method] = function(_, ...)
      check_time()
      local where = name .. ":" .. method
      -- Lua names a function by the variable in its caller, and does not name a function that pcall calls.
      if wrap == as_it_is then return outcome(where, 1, pcall(f, handle, ...)) end
      return outcome(where, 1, pcall(wrap, f, handle, ...))
    end
  end
  return setmetatable({}, { __index = index, __name = name, __metatable = false })
end

local series_methods = {}
for name in original.gmatch("values quantile count dropped nans error epoch info", "%S+") do
  series_methods[name] = as_it_is
end

local function opened(f, event)
  local handle, err, code = f(event)
  if not handle then return nil, err, code end
  if handle.quantile then return guarded(handle, "recorder", series_methods) end
  return guarded(handle, "countingset", { values = as_it_is, info = as_it_is })
end

local event_methods = { read = as_it_is, write = as_it_is, info = as_it_is, open = opened }

--- Finds registered events only: an unregistered name would stay in the application as a placeholder.
local function find_event(name)
  check_time()
  check(name, "string", "sde.find")
  local full = "sde:::" .. original.gsub(name, "^sde:::", "")
  for _, info in ipairs(core.sde.select({ original.sub(full, 7) }, 100) or {}) do
    if info.name == full then
      local event, err, code = core.sde.find(full)
      if not event then return nil, err, code end
      return guarded(event, "sdeevent", event_methods)
    end
  end
  local text = original.format("no event is called %s", full)
  return nil, core.failure.new { place = "sde.find", code = "ENOEVENT", text = text, remedy = "pml.sde.list() names them" },
    "ENOEVENT"
end

local profile

local function close_profile(f, handle)
  profile = nil
  return f(handle)
end

local profile_methods = { nodes = as_it_is, stats = as_it_is, close = close_profile }

--- A profile of the application's calls, which ends with the session. Each adds to the cost of every call: one is enough.
local function open_profile()
  check_time()
  if profile then refuse "profile.open: a session has one profile; close it first" end
  local handle, err, code = core.profile.open()
  if not handle then return nil, err, code end
  profile = guarded(handle, "profile", profile_methods)
  return profile
end

local function new_pml(more)
  local pml = {
    profile = { open = open_profile },
    version = core.version,
    clock = copy(core.clock, "ticks ticks_ordered ns to_ns at_ns realtime_ns"),
    sde = { list = timed(core.sde.list, "sde.list"), find = find_event },
    section = { report = timed(core.section.report, "section.report") },
  }
  for name, value in pairs(more or {}) do
    if type(value) ~= "table" then pml[name] = value
    else
      pml[name] = pml[name] or {}
      for k, v in pairs(value) do pml[name][k] = v end
    end
  end
  return pml
end

-- --- the globals ---

local function safe_setmetatable(t, meta)
  if type(meta) == "table" and rawget(meta, "__gc") ~= nil then
    error("setmetatable: __gc is not allowed: it would run without limits", 2)
  end
  return setmetatable(t, meta)
end

local function safe_getmetatable(t)
  if type(t) ~= "table" then return nil end
  return getmetatable(t)
end

local function safe_collectgarbage(option)
  if option ~= "count" then error("collectgarbage: only 'count' is allowed", 2) end
  return collectgarbage "count"
end

--- New globals. `write` gets what print prints, line by line; `more` is added to pml.
---@param write fun(line: string)
---@param more table?
---@return table
function M.new(write, more)
  local env = copy(_G, "assert error ipairs next pairs pcall rawequal rawget rawlen rawset select tonumber tostring type "
    .. "xpcall _VERSION")
  env._G = env
  env.setmetatable, env.getmetatable, env.collectgarbage = safe_setmetatable, safe_getmetatable, safe_collectgarbage
  env.string, env.table = new_string(), new_table()
  env.math = copy(math, "abs ceil cos deg exp floor fmod huge log max maxinteger min mininteger modf pi rad random sin sqrt "
    .. "tan tointeger type ult acos asin atan")
  env.utf8 = copy(utf8, "char charpattern codes")
  for _, name in ipairs { "len", "offset", "codepoint" } do env.utf8[name] = timed(utf8[name], "utf8." .. name) end
  env.os = copy(os, "clock time difftime")
  env.coroutine = copy(coroutine, "create resume status wrap yield isyieldable running close")
  env.pml = new_pml(more)
  function env.require(name) -- rules and scripts begin with it
    if name ~= "pmlua" then error("require: only \"pmlua\" can be loaded here", 2) end
    return env.pml
  end
  function env.print(...)
    local texts = table.pack(...)
    for i = 1, texts.n do texts[i] = tostring(texts[i]) end
    write(table.concat(texts, "\t"))
  end
  function env.load(code, name, _, globals)
    check_time()
    if type(code) ~= "string" then return nil, "load: only text is allowed, no functions" end
    if #code > SOURCE_BYTES then return nil, ("load: at most %d bytes are compiled"):format(SOURCE_BYTES) end
    return load(code, type(name) == "string" and name or "=(load)", "t", globals or env)
  end
  return env
end

--- The globals of a state that runs untrusted code alone; print writes to standard output.
---@return table
function M.install()
  local env = M.new(function(line) io.stdout:write(line, "\n") end)
  M.enter(env, math.huge)
  return env
end

--- Run untrusted code from here to M.leave(), for at most this many seconds. Strings have the methods of `env`.
---@param env table
---@param seconds number
function M.enter(env, seconds)
  deadline = ns() + seconds * 1e9
  local library = rawget(env, "string")
  strings.__index = type(library) == "table" and library or new_string()
end

function M.leave()
  deadline = math.huge
  strings.__index = original
end

local function finish(library, done, ...)
  strings.__index = library
  if not done then error((...), 0) end
  return ...
end

--- A function of ours for code from outside: while it runs, strings have their own methods again.
function M.host(f)
  return function(...)
    local library = strings.__index
    strings.__index = original
    return finish(library, pcall(f, ...))
  end
end

return M
