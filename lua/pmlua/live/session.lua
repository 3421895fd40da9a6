-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/live/session.lua - what a running application answers to one connection: its events, completions, code.
--
-- Try:  print(select(2, require("pmlua.live.session").handle("read", "*")))
--
-- Runs in a Lua state of the connection's own, inside the application, on the service's thread, under limits of
-- instructions and memory. It needs no C module beside pmlua.core, because an application may have none.

local core = require "pmlua.core"
local evaluate = require "pmlua.evaluate"
local json = require "pmlua.json"
local sandbox = require "pmlua.live.sandbox"

_G.pml = core -- what is asked for needs no require

local M = {}

local CALLBACK_S = 1       -- that a callback of the application may take to give a value
local CODE_S = 4           -- that code from outside may take
local GARBAGE_KB = 8192    -- from which it is collected before a question; functions in C do not collect for themselves
local OUTPUT_BYTES = 10 << 20
local VALUES = 65536       -- of a recorder, in one answer
local ROWS = 10000         -- in one answer

-- --- events ---

--- A glob (* and ?) as the pieces between its stars, each a pattern without repetition.
local function compile_glob(glob)
  local pieces = {}
  for piece in (glob .. "*"):gmatch("([^*]*)%*") do
    pieces[#pieces + 1] = piece:gsub("[^%w%s:_]", "%%%0"):gsub("%%%?", ".")
  end
  if #pieces == 1 then return { exact = "^" .. pieces[1] .. "$" } end
  local length = #glob:match("[^*]*$") -- of what must come last
  return { first = "^" .. pieces[1], middle = { table.unpack(pieces, 2, #pieces - 1) }, last = "^" .. pieces[#pieces] .. "$",
    length = length }
end

--- Whether a name fits: each piece is taken where it comes first, so that nothing is tried twice.
local function fits(name, glob)
  if glob.exact then return name:find(glob.exact) ~= nil end
  local _, at = name:find(glob.first)
  for _, piece in ipairs(glob.middle) do
    if not at then return false end
    _, at = name:find(piece, at + 1)
  end
  return at ~= nil and #name - at >= glob.length and name:find(glob.last, #name - glob.length + 1) ~= nil
end

--- A number as JSON can carry it: what a double cannot hold is text, what JSON has no word for is a reason.
local function portable(v)
  if math.type(v) == "integer" then
    if v > -(1 << 53) and v < 1 << 53 then return v end
    return ("%d"):format(v)
  end
  if v ~= v then return nil, "the value is not a number" end
  if v == math.huge or v == -math.huge then return nil, "the value is infinite" end
  return v
end

local function sentence(err)
  return (tostring(err):gsub("^[%w_.]+: E%w+: ", ""))
end

local quantiles = { min = 0, q1 = 25, median = 50, q3 = 75, max = 100 }

local function recorder_row(row, recorder)
  local r = { count = recorder:count(), dropped = recorder:dropped(), nans = recorder:nans() }
  r.error = recorder:error()
  for name, percent in pairs(quantiles) do
    local v = recorder:quantile(percent)
    if v then r[name] = portable(v) end
  end
  row.value, row.recorder = portable(r.count), r
end

--- Fill in the value, or the reason why there is none.
local function read_event(row, event)
  if row.kind == "placeholder" then
    row.reason = "nobody has registered this event (yet)"
    return
  end
  if row.kind == "recorder" then
    local recorder <close>, why = event:open()
    if not recorder then row.reason = sentence(why) else recorder_row(row, recorder) end
    return
  end
  local v, err = event:read(CALLBACK_S)
  if not v then row.reason = sentence(err) else row.value, row.reason = portable(v) end
end

local function read_row(info)
  local row = { name = info.name, kind = info.kind, type = info.type, writable = info.writable }
  if info.description ~= "" then row.description = info.description end
  -- One event that cannot be read says so; the others are read all the same.
  local event <close>, err = core.sde.find(info.name)
  if not event then
    row.reason = sentence(err)
    return row
  end
  local done, why = pcall(read_event, row, event)
  if not done then row.value, row.reason = nil, sentence(why) end
  return row
end

local function full_name(name)
  return name:find("^sde:::") and name or "sde:::" .. name
end

local function fits_any(name, globs)
  for _, glob in ipairs(globs) do
    if fits(name, glob) then return true end
  end
  return false
end

--- A recorder is shown with its quantiles; RECORDER:MED and its like only where the recorder itself was not asked for.
local function select_events(globs)
  local selected, recorders = {}, {}
  for _, info in ipairs(core.sde.list()) do
    if fits_any(info.name, globs) then
      selected[#selected + 1] = info
      recorders[info.name] = info.kind == "recorder" or nil
    end
  end
  local shown = {}
  for _, info in ipairs(selected) do
    local derived = info.kind == "quantile" or info.kind == "count"
    if not derived or not recorders[info.name:match("^(.*):%w+$")] then shown[#shown + 1] = info end
  end
  if #shown > ROWS then
    error(("%d events match; at most %d are read at once, so narrow the pattern"):format(#shown, ROWS), 0)
  end
  return shown
end

--- Values of a recorder from its place `first` on.
local function series_row(name, first)
  local event <close>, err = core.sde.find(name)
  if not event then return { name = name, reason = sentence(err) } end
  local info = event:info()
  local recorder <close>, why = event:open()
  if not recorder or info.kind ~= "recorder" then
    return { name = name, kind = info.kind, reason = why and sentence(why) or name .. " is not a recorder" }
  end
  local values = json.array(recorder:values(first, VALUES))
  local reason
  if #values == 0 and recorder:count() >= first then reason = "this recorder keeps a sketch, not its values" end
  for i, v in ipairs(values) do values[i] = type(v) == "number" and portable(v) or 0 / 0 end
  return { name = name, kind = info.kind, type = info.type, values = values, next = first + #values, reason = reason }
end

local function read(payload)
  local globs, rows = {}, json.array()
  for line in payload:gmatch("[^\n]+") do
    local name, first = line:match("^%+(.-)%s+(%d+)$")
    if not name then globs[#globs + 1] = compile_glob(full_name(line))
    else rows[#rows + 1] = series_row(full_name(name), math.max(1, math.tointeger(tonumber(first)) or 1)) end
  end
  local time = core.clock.realtime_ns() / 1e9
  if #globs > 0 then
    for _, info in ipairs(select_events(globs)) do rows[#rows + 1] = read_row(info) end
  end
  return true, json.line { time_s = time, rows = rows }
end

-- --- about the application ---

local function slurp(path)
  local f <close> = io.open(path, "rb")
  return f and f:read("a") or ""
end

--- Seconds since the application began, from the kernel's clock ticks (100 a second for programs, everywhere).
local function up_s()
  local started = slurp("/proc/self/stat"):match("^.*%) (.*)$")
  local ticks, i = nil, 2
  for word in (started or ""):gmatch("%S+") do
    i = i + 1
    if i == 22 then ticks = tonumber(word) end
  end
  local up = tonumber(slurp("/proc/uptime"):match("^%S+"))
  return ticks and up and math.max(0, math.floor(100 * up - ticks) / 100)
end

local function live_text(name)
  local f = core.live and core.live[name]
  return f and f() or nil
end

local function information()
  local socket = (live_text "path" or ""):match("[^/]*$")
  local command = slurp("/proc/self/cmdline"):gsub("%z$", ""):gsub("%z", " ")
  return {
    pid = core.sys.pid(), name = socket:match("^%d+%.(.*)$"), command = command, version = core.version, protocol = 1,
    up_s = up_s(), events = #core.sde.list(), functions = json.array(live_text "functions" or {}),
  }
end

--- The rules are JSON already: the state that has them wrote it.
local function info()
  local text = json.line(information())
  local rules = live_text "rules"
  return true, text:sub(1, -2) .. ', "rules": ' .. (rules and rules ~= "" and rules or "[]") .. "}"
end

-- --- code ---

local output, written = {}, 0

local function write(line)
  written = written + #line + 1
  if written > OUTPUT_BYTES then error("too much was printed", 0) end
  output[#output + 1] = line
end

local function take_output()
  local text = #output == 1 and output[1] or table.concat(output, "\n") -- a long one is not copied
  output, written = {}, 0
  return text
end

local more = { live = { info = sandbox.host(information) }, sde = {} }
for _, name in ipairs { "call", "functions", "stop_run" } do
  more.live[name] = core.live and core.live[name]
end
-- --- watch rules that end with the session ---

local RULES = 100

--- A method of an object for who must not have the object.
local function lend(object, name)
  return function(_, ...) return object[name](object, ...) end
end

--- A series as a rule from outside sees it: not the recorder that it is read from.
local function shown_series(series)
  local methods = { last = lend(series, "last"), new = lend(series, "new"), slope = lend(series, "slope") }
  local time = series.time and setmetatable({}, {
    __index = function(_, i) return series.time[i] end, __len = function() return #series end, __metatable = false,
  })
  return setmetatable({}, {
    __index = function(_, key)
      if type(key) == "number" then return series[key] end
      if key == "time" then return time end
      if key == "resets" then return series.resets end
      return methods[key]
    end,
    __len = function() return #series end,
    __metatable = false,
  })
end

local run_outside

local function watch(event, every, f, options)
  local rules = require "pmlua.live.rules"
  local wrong = rules.wrong(event, every, f, options)
  if wrong then error(wrong, 0) end
  if #rules.list() >= RULES then error("a session has at most " .. RULES .. " watch rules", 0) end
  local seen, shown
  local rule = rules.add(event, every, function(value, series)
    if series ~= seen then seen, shown = series, shown_series(series) end
    return run_outside(f, value, shown)
  end, options)
  local methods = {}
  for _, name in ipairs { "cancel", "fired", "error", "last" } do methods[name] = lend(rule, name) end
  return setmetatable({}, { __index = methods, __name = "watch rule", __metatable = false })
end

more.sde.watch = sandbox.host(watch)

local env = sandbox.new(write, more)

--- Run f as code from outside, with a handler of errors: true, results ... or false, message; as table.pack gives them.
local function guarded(f, handler, ...)
  sandbox.enter(env, CODE_S)
  local results = table.pack(xpcall(f, handler, ...))
  sandbox.leave()
  return results
end

function run_outside(f, ...)
  local results = guarded(f, evaluate.describe, ...)
  if not results[1] then error(results[2], 0) end
  return results[2]
end

local function eval(payload)
  local f, _, err = evaluate.compile(payload, env)
  if not f then return false, err end
  local results = guarded(function()
    local text = evaluate.text(table.pack(f()))
    if text then write(text) end
  end, evaluate.describe)
  local text = take_output()
  if results[1] then return true, text end
  -- The error is one line; what was printed before it comes with the next answer.
  if text ~= "" then pcall(write, text) end
  return false, (tostring(results[2]):gsub("%s*\n.*", ""))
end

-- --- completion ---

local function add(candidates, word)
  if #candidates < 200 then candidates[#candidates + 1] = word end
end

local function begins(text, start)
  return text:sub(1, #start) == start
end

local function complete_event(word)
  local candidates = {}
  for _, row in ipairs(core.sde.list()) do
    if begins(row.name, word) then add(candidates, row.name)
    elseif begins(row.name, "sde:::" .. word) then add(candidates, row.name:sub(7)) end
  end
  return candidates
end

--- What a table offers, without running any of its metamethods.
local function fields(value)
  if type(value) == "string" then return env.string end
  if type(value) ~= "table" then return nil end
  local meta = debug.getmetatable(value)
  local index = meta and rawget(meta, "__index")
  return type(index) == "table" and next(value) == nil and index or value
end

local function complete_name(word)
  local candidates, holder = {}, env
  local path, separator, last = word:match("^(.-)([.:]?)([%w_]*)$")
  for name in path:gmatch("[^.:]+") do
    holder = fields(holder)
    holder = holder and rawget(holder, name)
  end
  local names = {}
  for name, value in next, fields(holder) or {} do
    if type(name) == "string" and begins(name, last) and name:find("^[%a_][%w_]*$")
      and (separator ~= ":" or type(value) == "function") then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do add(candidates, path .. separator .. name) end
  return candidates
end

--- Whether the text ends inside a string, and if so what of it is there.
local function open_string(left)
  local quote, start
  local i = 1
  while i <= #left do
    local c = left:sub(i, i)
    if quote and c == "\\" then i = i + 1
    elseif quote and c == quote then quote = nil
    elseif not quote and (c == '"' or c == "'") then quote, start = c, i + 1 end
    i = i + 1
  end
  return quote and left:sub(start)
end

local function complete(payload)
  local text = open_string(payload)
  local bare = payload:match("sde:::[^%s'\"()]*$")
  local candidates
  if text or bare then candidates = complete_event(bare or text)
  else candidates = complete_name(payload:match("[%a_][%w_.:]*$") or "") end
  return true, table.concat(candidates, "\n")
end

-- --- the service's side ---

local kinds = { info = info, read = read, complete = complete, eval = eval }

--- Answer one question.
---@param kind string info, read, complete or eval
---@param payload string
---@return boolean ok
---@return string text
function M.handle(kind, payload)
  sandbox.leave() -- the last question may have been cut off by a limit
  if collectgarbage "count" > GARBAGE_KB then collectgarbage() end
  local f = kinds[kind]
  if not f then return false, "there is no question of this kind" end
  local done, ok, text = pcall(f, payload)
  sandbox.leave()
  if not done then return false, (tostring(ok):gsub("\n.*", "")) end
  return ok, text
end

--- Run the watch rules of this session that are due.
---@param now_s number the monotonic clock
---@return number? seconds until the next is due
function M.tick(now_s)
  local rules = package.loaded["pmlua.live.rules"]
  if not rules then return nil end
  sandbox.leave()
  return rules.tick(now_s)
end

return M
