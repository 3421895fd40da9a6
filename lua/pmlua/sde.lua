-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/sde.lua - software-defined events: the functions of core.sde, and rules that watch events.
--
-- Try:  pml.sde.watch("sde:::DEMO::steps", "100ms", function(steps) if steps > 5 then pml.live.stop_run "enough" end end)
--
-- The script itself is busy measuring, so a rule runs on a separate thread, in a separate Lua state. Its function is copied there
-- as a chunk of code with copies of its upvalues: numbers, strings, booleans, modules. Its changes stay in that state, whose
-- globals it uses. In a file of rules, or in a state that runs its rules itself, the function is called directly.

local core = require "pmlua.core"

---@class pml.sde
local M = {}
for name, value in pairs(core.sde) do M[name] = value end

-- --- a rule that runs elsewhere ---

---@class pmlua.Shipped
local Shipped = {}
Shipped.__index = Shipped

local shipped = 0

--- The newest report on the rule by the other state.
local function state_of(self)
  local text = core.live.rules()
  for _, rule in ipairs(text and require("pmlua.json").decode(text) or {}) do
    if rule.key == self.key then self.known = rule end
  end
  return self.known
end

--- JSON knows no integers.
local function whole(v) return v and math.tointeger(v) or v end

--- Stop watching; a run of the function that is under way ends first.
---@return true? done, string? err, string? code
function Shipped:cancel() return core.live.cancel(self.id) end

--- How often the function ran.
---@return integer
function Shipped:fired() return whole(state_of(self).fired or 0) end

--- The last error.
---@return string?
function Shipped:error() return state_of(self).error end

--- The last value that the function was called with.
---@return number?
function Shipped:last() return whole(state_of(self).last) end

local function send(event, every, fn, options)
  local rules = require "pmlua.internal.live.rules"
  local wrong = rules.wrong(event, every, fn, options)
  if wrong then error(wrong, 3) end
  shipped = shipped + 1
  local key = ("%d.%p"):format(shipped, fn)
  local good, text = pcall(require("pmlua.internal.live.source").of, fn)
  if not good then error(text, 3) end
  local name, keep = options and options.name, options and options.keep
  text = ("return %q, %q, (function()\n%s\nend)(), { key = %q, name = %q, keep = %q }"):format(event, every, text, key, name,
    keep)
  local started, err = core.live.start { unasked = true }
  if not started then error(err, 3) end
  local id, refused = core.live.rule(text)
  if not id then error(refused, 3) end
  return setmetatable({ id = id, key = key, known = {} }, Shipped)
end

--- Call a function with an event's value periodically. It may write events (pml.sde.find(name):write(v)), call
--- functions of the application (pml.live.call), stop the run (pml.live.stop_run), and cancel itself by
--- returning false. Its errors are printed on stderr; ten in a row cancel it. A forked child does not inherit the rule.
---@param event string "LIB::EVENT"; the rule waits for an event that is not registered yet, and for the first
--- value of a plugin's metric
---@param every number|string seconds, or "100ms", "1s", "2m"
---@param fn fun(value: number, series: pmlua.WatchedSamples|pmlua.WatchedElements): boolean? false cancels the rule
---@param options? { name: string?, keep: integer? }
---@return pmlua.Watch|pmlua.Shipped
function M.watch(event, every, fn, options)
  local here = package.loaded["pmlua.internal.live.rules"]
  if here and here.scheduled then return here.add(event, every, fn, options) end
  return send(event, every, fn, options)
end

return M
