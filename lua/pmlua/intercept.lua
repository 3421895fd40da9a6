-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/intercept.lua - the calls between the libraries of this process, for a script: how often, how long, each.
--
-- Try:  local calls <close> = pml.intercept { lib = "libm" }; for i = 1, 9 do math.exp(i) end
--       calls:drain(function(name, library, enter_ns, duration_ns) print(name, library, duration_ns) end)
--
-- Lua never runs inside a call: C stores the events of each thread in a ring of bounded size, and the script takes them
-- at any time. Events that find the ring full are dropped, in whole calls, and counted. Wrapped calls (pmlua wrap) are
-- included, once each. A process has at most one interception at a time.

local core = require "pmlua.core"
local fields = require "pmlua.internal.fields"

---@class pml.intercept
---@overload fun(options?: pmlua.intercept.options): pmlua.Interception?, string?, string?
local M = {}

---@class pmlua.Interception
---@field package installed table
---@field package profile table
---@field package buffer? table
---@field package keep string|fun(name: string, library: string): string|false
local Interception = {}
Interception.__index = Interception
Interception.__name = "pmlua.Interception"

-- --- which functions are kept ---

--- "events", "profile" or false, asked once per function.
local function decision(self, name, library)
  if type(self.keep) == "string" then return self.keep end
  local kept = self.keep(name, library)
  if kept ~= "events" and kept ~= "profile" and kept ~= false then
    error(("intercept: keep returned %s for %s; return 'events', 'profile' or false"):format(tostring(kept), name), 0)
  end
  return kept
end

--- A region that is a function has its library as the file and no line; others, such as sections, are not kept.
local function decide(self)
  for id = self.asked + 1, core.region.count() do
    local region = core.region.describe(id)
    local called = region.line == 0 and region.file ~= ""
    local kept = called and decision(self, region.name, region.file)
    self.kept[id] = kept and { name = region.name, library = region.file, events = kept == "events" } or false
    if self.buffer and kept ~= "events" then self.buffer:leave_out(id, true) end
    self.asked = id
  end
end

-- --- events ---

local function with_events(self)
  if not self.buffer then error("intercept: keep = 'profile' keeps no events", 3) end
end

--- Call f with the events so far, in batches. The arrays are valid during the call only.
---@param f fun(n: integer, time: integer[], region: integer[], kind: integer[], thread: integer[], values: table)
--- [1] to [n]: ns of CLOCK_MONOTONIC_RAW; a region, see name(); 1 an enter, -1 a leave, 0 a metric; the thread. For events
--- that carry values, `values` contains a table by "FUNCTION:VALUE"
---@return integer n events
function Interception:batches(f)
  with_events(self)
  decide(self)
  local b, till, all = self.batch, self.buffer:stats().events, 0
  while self.taken < till do
    local n = self.buffer:take(b.time, b.region, b.kind, b.thread, b.values)
    if n == 0 then break end
    self.taken, all = self.taken + n, all + n
    f(n, b.time, b.region, b.kind, b.thread, b.values)
  end
  return all
end

local function merged(a, b)
  if not a or not b then return a or b end
  for name, value in pairs(b) do a[name] = value end
  return a
end

--- The index of the open call that a leave of the region ends: normally the last. 0: none.
local function innermost(open, region)
  local i = #open
  while i > 0 and open[i].region ~= region do i = i - 1 end
  return i
end

--- Report one batch, starting at self.at, so that an error in f loses no other call.
local function tell_calls(self, f)
  local b, calls = self.batch, 0
  local time, regions, kinds, threads, values = b.time, b.region, b.kind, b.thread, b.values
  while self.at <= self.n do
    local i = self.at
    self.at = i + 1
    local region, thread = regions[i], threads[i]
    local kept = self.kept[region]
    local open = self.open[thread] or {}
    self.open[thread] = open
    if kept and kept.events and kinds[i] == 1 then
      open[#open + 1] = { region = region, enter = time[i], values = values[i] }
    elseif kept and kept.events and kinds[i] == -1 then
      local at = innermost(open, region)
      if at > 0 then
        local call = table.remove(open, at)
        calls = calls + 1
        f(kept.name, kept.library, call.enter, time[i] - call.enter, at - 1, thread, merged(call.values, values[i]))
      end
    end
  end
  return calls
end

--- Call f with every call that ended since the last drain, thread after thread, in the order of their ends.
---@param f fun(name: string, library: string, enter_ns: integer, duration_ns: integer, depth: integer, thread: integer,
--- values: table?)
---@return integer n calls
function Interception:drain(f)
  with_events(self)
  local calls = tell_calls(self, f) -- the rest of a batch that an error interrupted
  self:batches(function(n)
    self.n, self.at = n, 1
    calls = calls + tell_calls(self, f)
  end)
  return calls
end

--- The function that a batch calls by a number.
---@param region integer
---@return string? name nil: it was never stored
---@return string? library
function Interception:name(region)
  decide(self)
  local kept = self.kept[region]
  if kept then return kept.name, kept.library end
end

-- --- totals ---

local function new_function(kept)
  return { name = kept.name, library = kept.library, calls = 0, running = 0, inclusive_ns = 0, exclusive_ns = 0 }
end

local function add(f, node, outermost)
  f.calls, f.running = f.calls + node.count, f.running + node.running
  f.exclusive_ns = f.exclusive_ns + node.exclusive_ns
  if outermost then f.inclusive_ns = f.inclusive_ns + node.inclusive_ns end
  if node.count > 0 then
    f.min_ns, f.max_ns = math.min(f.min_ns or math.huge, node.min_ns), math.max(f.max_ns or 0, node.max_ns)
  end
end

---@class pmlua.InterceptedFunction
---@field name string as in the symbol table
---@field library string
---@field calls integer that ended
---@field running integer
---@field inclusive_ns number
---@field exclusive_ns number
---@field min_ns number? of a call; nil, as max_ns: none ended
---@field max_ns number?

--- The called functions by their exclusive time, longest first; the total time of a recursive function counts once.
---@return pmlua.InterceptedFunction[]?, string? err, string? code
function Interception:functions()
  decide(self)
  local nodes, err, code = self.profile:nodes()
  if not nodes then return nil, err, code end
  local found, list, above = {}, {}, {}
  for _, node in ipairs(nodes) do
    local outermost = true
    for depth = 0, node.depth - 1 do outermost = outermost and above[depth] ~= node.region end
    above[node.depth] = node.region
    local kept = self.kept[node.region]
    if kept then
      found[node.region] = found[node.region] or new_function(kept)
      add(found[node.region], node, outermost)
    end
  end
  for _, f in pairs(found) do list[#list + 1] = f end
  table.sort(list, require "pmlua.internal.order".by("-exclusive_ns", "library", "name"))
  return list
end

--- Counts of examined and of missed items: objects, scans (files whose slots were read, each once), slots, functions,
--- shared, nested, deep, unseen (look-ups of chosen functions by dlsym()), elsewhere (objects loaded by dlmopen());
--- for wrappers: wrapped, missing, unrecorded, texts, nameless (core/adapter/wrap/pml_wrap.h); for events:
--- threads, events, dropped, unmatched, refused.
---@return table<string, integer>
function Interception:stats()
  return merged(self.last or self.installed:stats(), self.buffer and self.buffer:stats())
end

-- --- life ---

--- Stop intercepting; recorded events can still be read.
function Interception:stop()
  if self.last then return end
  self.last = self.installed:stats()
  self.installed:close()
end

--- Stop, and discard all events.
function Interception:close()
  self:stop()
  self.profile:close()
  if self.buffer then self.buffer:close() end
end
Interception.__close = Interception.close

local function patterns(options, key)
  local value = options[key]
  if type(value) == "table" then value = table.concat(value, ":") end
  if value ~= nil and (type(value) ~= "string" or value == "") then
    error(("intercept: option '%s' must be a pattern or a list of patterns"):format(key), 4)
  end
  return value
end

local known = { lib = true, sym = true, func = true, ["not"] = true, keep = true, records = true, threads = true, dlsym = true }

local function checked(options)
  if options ~= nil and type(options) ~= "table" then error("intercept: options must be a table", 3) end
  options = options or {}
  for key in pairs(options) do
    if not known[key] then error(("intercept: unknown option '%s'%s"):format(tostring(key), fields.near(key, known)), 3) end
  end
  local keep = options.keep == nil and "events" or options.keep
  if keep ~= "events" and keep ~= "profile" and type(keep) ~= "function" then
    error("intercept: option 'keep' must be 'events', 'profile' or a function", 3)
  end
  if options.dlsym ~= nil and type(options.dlsym) ~= "boolean" then
    error("intercept: option 'dlsym' must be true or false", 3)
  end
  return keep, { lib = patterns(options, "lib"), sym = patterns(options, "sym"), func = patterns(options, "func"),
    ["not"] = patterns(options, "not"), dlsym = options.dlsym }, { records = options.records, threads = options.threads }
end

local function fresh(keep)
  return setmetatable({ keep = keep, kept = {}, asked = 0, open = {}, taken = 0, at = 1, n = 0,
    batch = { time = {}, region = {}, kind = {}, thread = {}, values = {} } }, Interception)
end

---@class pmlua.intercept.options
---@field lib? string|string[] whose functions; every library but libc, the loader and pmlua
---@field sym? string|string[] which functions; all
---@field func? string|string[] functions that were compiled for it, as by `pmlua cc --functions`; none
---@field ["not"]? string|string[] neither libraries nor functions of these names
---@field keep? "events"|"profile"|fun(name: string, library: string): string|false calls and totals, or totals alone, or a
--- function that decides for each function; false: neither
---@field records? integer of a thread's ring; 65536
---@field threads? integer that have a ring; 64
---@field dlsym? boolean also calls by pointers that dlsym() gives from now on, which then differ from the functions' addresses

--- Intercept calls of this process. Patterns are globs, several in a list or separated by ":".
---@param options? pmlua.intercept.options
---@return pmlua.Interception?, string? err, string? code
function M.open(options)
  local keep, chosen, sizes = checked(options)
  local self = fresh(keep)
  local err, code
  if keep ~= "profile" then
    self.buffer, err, code = core.buffer.open(sizes)
    if not self.buffer then return nil, err, code end
  end
  self.profile, err, code = core.profile.open()
  if self.profile then self.installed, err, code = core.intercept.install(chosen) end
  if self.installed then
    decide(self)
    return self
  end
  if self.profile then self.profile:close() end
  if self.buffer then self.buffer:close() end
  return nil, err, code
end

return setmetatable(M, { __call = function(_, options) return M.open(options) end })
