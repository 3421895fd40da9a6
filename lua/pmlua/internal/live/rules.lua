-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/live/rules.lua - watch rules: functions that check a software-defined event periodically and act.
--
-- Try:  local rules = require "pmlua.internal.live.rules"
--       rules.add("sde:::DEMO::steps", "100ms", function(value, series) print(value, series:slope()) end)
--       for _ = 1, 1e6 do rules.tick(pml.clock.ns() / 1e9) end
--
-- The owner of the Lua state calls tick(), which returns the time until the next call. Owners are the service's thread in an
-- application, a connection's session, and scripts. The first failure of a rule is reported; ten failures in a row cancel
-- the rule. It needs no C module except pmlua.core.

local core = require "pmlua.core"
local fields = require "pmlua.internal.fields"
local history = require "pmlua.internal.live.history"

local M = {}

local SHORTEST_S = 0.001
local STRIKES = 10         -- failures in a row that end a rule
local KEEP = 1000          -- samples of a counter
local GONE = 16            -- cancelled rules that are still reported

---@class pmlua.Watch
local Watch = {}
Watch.__index = Watch

local rules, gone, last_id = {}, {}, 0
local loading -- the file whose rules are added
local running -- the rule that runs; still set when the next tick comes: it was cut off by a limit

local units = { us = 1e-6, ms = 1e-3, s = 1, m = 60, min = 60, h = 3600 }

--- Seconds of a period: a number, or "100ms", "1s", "2m".
local function seconds(every)
  if type(every) ~= "string" then return every end
  local number, unit = every:match("^%s*([%d.]+)%s*(%a*)%s*$")
  local unit_s = units[unit == "" and "s" or unit]
  return tonumber(number) and unit_s and tonumber(number) * unit_s
end

--- The value that a rule watches: an event of a library or plugin, or a clock, which every program has.
local function handle_of(event)
  local clock = event:match "^clock::(%l+)$"
  if not (clock == "ns" or clock == "ticks") then return core.sde.find(event) end
  return setmetatable({ info = function() return { name = event, kind = "counter" } end, close = function() end,
    read = function() return core.clock[clock]() end }, { __close = function() end })
end

local function place(fn)
  local info = debug.getinfo(fn, "S")
  return ("%s:%d"):format(info.short_src, info.linedefined)
end

local function say(rule, text)
  core.live.say(("rule %s: %s"):format(rule.name, text))
end

local known = { name = true, keep = true, key = true }

--- Check the arguments of a watch; return the error.
---@return string? err
function M.wrong(event, every, fn, options)
  if type(event) ~= "string" then return "the event's name must be a string" end
  if type(fn) ~= "function" then return "a rule must be a function of a value and a series" end
  local s = seconds(every)
  if type(s) ~= "number" or not (s >= SHORTEST_S and s <= 1e9) then
    return ("every is %s; give seconds, or a time such as \"100ms\", \"1s\", \"2m\", of at least 1 ms"):format(
      type(every) == "string" and ("%q"):format(every) or type(every) == "number" and tostring(every) or "a " .. type(every))
  end
  if options ~= nil and type(options) ~= "table" then return "the options must be a table" end
  for key in pairs(options or {}) do
    if not known[key] then return ("unknown option '%s'%s"):format(tostring(key), fields.near(key, { "keep", "name" })) end
  end
  local keep, name = options and options.keep or KEEP, options and options.name
  if math.type(keep) ~= "integer" or keep < 1 or keep > 1000000 then
    return "option 'keep' must be an integer from 1 to 1000000"
  end
  if name ~= nil and type(name) ~= "string" then return "option 'name' must be a string" end
  local handle <close>, err = handle_of(event)
  return not handle and err or nil
end

--- Watch an event in this state.
---@param event string "LIB::EVENT", which the rule waits for; "plugin::NAME::METRIC" of a started plugin; "clock::ns"
---@param every number|string seconds, or "100ms", "1s", "2m"
---@param fn fun(value: number, series: pmlua.WatchedSamples|pmlua.WatchedElements): boolean? false cancels the rule
---@param options? { name: string?, keep: integer? } in messages; samples that the series of a counter keeps
---@return pmlua.Watch
function M.add(event, every, fn, options)
  local wrong = M.wrong(event, every, fn, options)
  if wrong then error(wrong, 2) end
  options = options or {}
  local handle = assert(handle_of(event))
  last_id = last_id + 1
  local rule = setmetatable({
    id = last_id, event = handle:info().name, every_s = seconds(every), fn = fn, place = place(fn), handle = handle,
    keep = options.keep or KEEP, key = options.key, count = 0, strikes = 0, file = loading,
  }, Watch)
  rule.name = options.name or rule.place
  rules[#rules + 1] = rule
  return rule
end

--- Forget a rule.
---@param id integer
---@return boolean known
function M.cancel(id)
  for i, rule in ipairs(rules) do
    if rule.id == id then
      rule.cancelled = true
      table.remove(rules, i)
      rule.handle:close()
      gone[#gone + 1] = rule
      if #gone > GONE then table.remove(gone, 1) end
      return true
    end
  end
  return false
end

--- Stop watching.
function Watch:cancel() return M.cancel(self.id) end

--- How often the function ran.
---@return integer
function Watch:fired() return self.count end

--- The last error.
---@return string?
function Watch:error() return self.message end

--- The last value that the function was called with.
---@return number?
function Watch:last() return self.value end

local function failed(rule, message)
  rule.strikes = rule.strikes + 1
  message = tostring(message):gsub("%s*\n.*", "")
  if not message:find("^[^\n]-:%d+: ") then message = rule.place .. ": " .. message end
  if message ~= rule.message then say(rule, message) end
  rule.message = message
  if rule.strikes < STRIKES then return end
  say(rule, ("cancelled: it failed %d times in a row"):format(STRIKES))
  M.cancel(rule.id)
end

--- Sample by the event's current kind, because an event may be unregistered and registered again as another kind.
local function sample(rule, now_s)
  local kind = rule.handle:info().kind
  if kind ~= rule.kind then
    rule.kind, rule.series = kind, nil
    if kind == "recorder" then rule.series = history.of_recorder()
    elseif kind ~= "placeholder" then rule.series = history.of_samples(rule.keep) end
  end
  if not rule.series then return nil end
  return rule.series:sample(rule.handle, now_s)
end

--- A plugin's metric is -1, or NaN, until the plugin has measured it.
local function is_missing(rule, value)
  return value == nil or (value == -1 or value ~= value) and rule.event:find "^sde:::plugin::"
end

local function run(rule, now_s)
  local value, err = sample(rule, now_s)
  if err then error(err, 0) end
  if is_missing(rule, value) then return end
  rule.value, rule.count = value, rule.count + 1
  if rule.fn(value, rule.series) == false then M.cancel(rule.id) end
end

local function run_guarded(rule, now_s)
  running = rule
  local good, message = pcall(run, rule, now_s)
  running = nil
  if not good then return failed(rule, message) end
  rule.strikes = 0
end

--- Run the rules that are due.
---@param now_s number a monotonic clock
---@return number? seconds until the next is due; nil: no rules
function M.tick(now_s)
  if running then
    local rule = running
    running = nil
    failed(rule, "it exceeded the time or the memory of a rule")
  end
  for _, rule in ipairs(table.move(rules, 1, #rules, 1, {})) do
    if not rule.cancelled and now_s >= (rule.due or now_s) then
      rule.due = (rule.due or now_s) + rule.every_s
      if rule.due <= now_s then rule.due = now_s + rule.every_s end -- skip missed calls
      run_guarded(rule, now_s)
    end
  end
  local soonest
  for _, rule in ipairs(rules) do soonest = math.min(soonest or math.huge, rule.due or now_s) end
  return soonest and math.max(0, soonest - now_s)
end

local function state_of(rule)
  return {
    id = rule.id, key = rule.key, name = rule.name, event = rule.event, every_s = rule.every_s, fired = rule.count,
    error = rule.message or rule.cancelled and "cancelled" or nil, last = rule.value,
  }
end

--- Every rule, as reported to a client; then those cancelled lately.
---@return table[]
function M.list()
  local out = {}
  for _, rule in ipairs(rules) do out[#out + 1] = state_of(rule) end
  for _, rule in ipairs(gone) do out[#out + 1] = state_of(rule) end
  return out
end

--- Give a new rule the series of the rule with its name, else of any that watches the same event.
local function inherit(rule, before)
  for pass = 1, 2 do
    for _, old in ipairs(before) do
      local same = old.event == rule.event and old.keep == rule.keep and (pass == 2 or old.name == rule.name)
      if same and not old.heir then
        old.heir, rule.series, rule.kind = rule, old.series, old.kind
        return
      end
    end
  end
end

--- Run a file that watches something. It is the user's own: nothing is kept from it. Loaded again, its rules take the
--- place of those that it made before, with their series, unless it fails.
---@param path string
function M.load(path)
  M.scheduled = true
  local f = assert(loadfile(path, "t"))
  _G.pml = require "pmlua"
  local before = {}
  for _, rule in ipairs(rules) do
    if rule.file == path then before[#before + 1] = rule end
  end
  local first = last_id
  loading = path
  local good, message = pcall(f, path)
  loading = nil
  for _, rule in ipairs(good and rules or {}) do
    if rule.file == path and rule.id > first then inherit(rule, before) end
  end
  for _, rule in ipairs(good and before or table.move(rules, 1, #rules, 1, {})) do
    if good or rule.file == path and rule.id > first then M.cancel(rule.id) end
  end
  if not good then error(message, 0) end
  if #before > 0 then core.live.say(("rules: %s was edited: loaded again"):format(path)) end
end

--- The event that a rule which never ran was waiting for.
local function missed(rule)
  if rule.kind and rule.kind ~= "placeholder" then return ("%s never had a value"):format(rule.event) end
  local names, event = {}, rule.event:gsub("^sde:::", "")
  for _, info in ipairs(core.sde.select({ "*" }, 10000) or {}) do
    if info.kind ~= "placeholder" then names[#names + 1] = info.name:gsub("^sde:::", "") end
  end
  local near = require "pmlua.internal.nearest"(event, names)
  return ("no event %s%s"):format(event, near and ("; did you mean %s?"):format(near) or "")
end

--- The end: rules of files that never ran are named.
function M.finish()
  for _, rule in ipairs(rules) do
    if rule.count == 0 and rule.due and not rule.message then
      core.live.say(("rule %s never ran: %s"):format(rule.name, missed(rule)))
    end
  end
end

--- Add a rule of another state.
---@param text string a chunk that returns what M.add() takes
---@return integer id
function M.adopt(text)
  M.scheduled = true
  _G.pml = require "pmlua"
  return M.add(assert(load(text, "=rule", "t"))()).id
end

return M
