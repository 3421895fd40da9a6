-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/live/session.lua - one connection to a running application: replies with completions, code.
--
-- Try:  print(select(2, require("pmlua.internal.live.session").handle("eval", "6 * 7")))
--
-- Runs in the connection's Lua state, inside the application, on the service's thread, under limits of
-- instructions and memory. It needs no C module except pmlua.core, because an application may have none.

local core = require "pmlua.core"
local evaluate = require "pmlua.internal.prompt.evaluate"
local json = require "pmlua.json"
local open_string = require "pmlua.internal.prompt.openstring"
local read_json = require "pmlua.internal.readjson"
local sandbox = require "pmlua.internal.live.sandbox"

local M = {}

--- From this call on, the service may cancel this thread if a called function runs for too long (bindings/live/live_worker.c).
local interruptible = core.live.interruptible

local CODE_S = 4           -- time limit of untrusted code
local GARBAGE_KB = 8192    -- memory above which a question begins with a collection, because C functions do not trigger one
local OUTPUT_BYTES = 10 << 20
local MESSAGE_BYTES = 1000
local WORD_BYTES = 400     -- longest word that completion handles

--- The first line of a message. Only a prefix is searched, because untrusted code may make messages long.
local function first_line(message)
  local text = tostring(message):sub(1, MESSAGE_BYTES)
  return (text:sub(1, (text:find("\n", 1, true) or 0) - 1):gsub("%s+$", ""))
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
  local rank, size = core.sys.launched()
  local command = slurp("/proc/self/cmdline"):gsub("%z$", ""):gsub("%z", " ")
  return {
    pid = core.sys.pid(), name = socket:match("^%d+%.(.*)$"), command = command, version = core.version, protocol = 1,
    up_s = up_s(), events = core.sde.count(), rank = rank, size = size, functions = json.array(live_text "functions" or {}),
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

--- A method of an object for code that must not have the object.
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
  local rules = require "pmlua.internal.live.rules"
  if type(every) == "string" and #every > 20 then error("every is too long for a time", 0) end
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
  return setmetatable({}, { __index = methods, __name = "watch rule", __metatable = false,
    __tostring = function() return "watch rule on " .. event end })
end

more.sde.watch = sandbox.host(watch)

--- Run code in the application's own state, if it lends that; its results are copies.
more.live.state = sandbox.host(function(code)
  if type(code) ~= "string" then error("state: the code must be a string", 0) end
  local text, err, code_name = core.live.state(code)
  if not text then return nil, err, code_name end
  local results = { n = 0 }
  for line in text:gmatch "[^\n]+" do
    results.n = results.n + 1
    results[results.n] = read_json(line)
  end
  return table.unpack(results, 1, results.n)
end)

local env = sandbox.new(write, more)

--- Run f as code from outside, with a handler of errors: true, results ... or false, message; as table.pack gives them.
local function guarded(f, handler, ...)
  sandbox.enter(env, CODE_S)
  local results = table.pack(interruptible(xpcall, f, handler, ...))
  sandbox.leave()
  return results
end

function run_outside(f, ...)
  local results = guarded(f, evaluate.describe, ...)
  if not results[1] then error(first_line(results[2]), 0) end
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
  -- The error is one line; earlier output comes with the next answer.
  if text ~= "" then pcall(write, text) end
  return false, first_line(results[2])
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
  if word:find "[*?]" then return candidates end
  local name = word:gsub("^sde:::", "")
  for _, row in ipairs(core.sde.select({ name .. "*" }, 200) or {}) do
    if begins(row.name, word) then add(candidates, row.name)
    elseif begins(row.name, "sde:::" .. word) then add(candidates, row.name:sub(7)) end
  end
  return candidates
end

--- The table of a value's fields, found without running metamethods.
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

local function complete(payload)
  local text, comment = open_string(payload)
  if comment then return true, "" end
  payload = payload:sub(-WORD_BYTES)
  local bare = payload:match("sde:::[^%s'\"()]*$")
  local candidates
  if text or bare then candidates = complete_event(bare or text)
  else candidates = complete_name(payload:match("[%a_][%w_.:]*$") or "") end
  return true, table.concat(candidates, "\n")
end

-- --- the service's side ---

local kinds = { info = info, complete = complete, eval = eval }

--- Answer one question.
---@param kind string info, complete or eval; C answers the others
---@param payload string
---@return boolean ok, string text
function M.handle(kind, payload)
  sandbox.leave() -- the last question may have been cut off by a limit
  if collectgarbage "count" > GARBAGE_KB then collectgarbage() end
  local f = kinds[kind]
  if not f then
    return false, ("unknown request '%s'; this program's pmlua is older than your pmlua command"):format(kind)
  end
  local done, ok, text = pcall(f, payload)
  sandbox.leave()
  if not done then return false, first_line(ok) end
  return ok, text
end

--- Run the watch rules of this session that are due.
---@param now_s number the monotonic clock
---@return number? seconds until the next is due
function M.tick(now_s)
  local rules = package.loaded["pmlua.internal.live.rules"]
  if not rules then return nil end
  sandbox.leave()
  return rules.tick(now_s)
end

--- Begin anew, for another client.
function M.reset()
  sandbox.leave()
  take_output()
  local rules = package.loaded["pmlua.internal.live.rules"]
  for _, rule in ipairs(rules and rules.list() or {}) do rules.cancel(rule.id) end
  env = sandbox.new(write, more)
end

return M
