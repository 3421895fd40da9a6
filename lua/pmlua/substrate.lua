-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/substrate.lua - consumers of events: Lua functions, Score-P substrate plugins, and all others.
--
-- Functions get events in batches, from buffers that each thread fills in C: Lua never runs where events are raised, and
-- an event costs as much as the buffer, about 40 instructions. drain() handles 5 to 10 million events a second. With
-- synchronous = true they are called at each event, on the thread that raised it, in a separate Lua state: an event
-- then costs about 60 ns, six times as much, threads wait for each other, and the functions share no data with
-- the script.
--
-- Try:  local s <close> = pml.substrate { enter = function(region) print(pml.region.describe(region).name) end }
--       pml.section.start "a"; pml.section.stop "a"; s:drain()

local core = require "pmlua.core"
local fields = require "pmlua.internal.fields"

---@class pml.substrate
---@overload fun(options: pmlua.substrate.options): pmlua.substrate?, string?, string?
local M = {}
for name, f in pairs(core.substrate) do M[name] = f end

---@alias pmlua.substrate.function fun(region: integer, ns: integer, thread: integer, values?: table<string, number>)

---@class pmlua.substrate.options
---@field enter? pmlua.substrate.function a region, see pml.region.describe; when, by pml.clock.ns; on which thread
---@field leave? pmlua.substrate.function
---@field metric? pmlua.substrate.function the region may be 0
---@field flush? fun(n: integer): ... after each drain, with the number of its events; synchronous: its results are drain's
---@field synchronous? boolean
---@field records? integer of each thread's buffer; an event takes one
---@field threads? integer that have a buffer

---@class pmlua.substrate
---@field package buffer? table
---@field package functions? table
local substrate = {}
substrate.__index = substrate

local known = { enter = "function", leave = "function", metric = "function", flush = "function", synchronous = "boolean",
  records = "number", threads = "number" }

local function check(options)
  if type(options) ~= "table" then error("substrate: must be a table with functions enter, leave or metric", 3) end
  for key, value in pairs(options) do
    if not known[key] then error(("substrate: unknown option '%s'%s"):format(tostring(key), fields.near(key, known)), 3) end
    if type(value) ~= known[key] then
      error(("substrate: option '%s' must be a %s"):format(key, known[key]), 3)
    end
  end
  if not (options.enter or options.leave or options.metric) then
    error("substrate: enter, leave or metric is missing", 3)
  end
  if options.synchronous and (options.records or options.threads) then
    error("substrate: a synchronous substrate has no buffers", 3)
  end
end

--- Take events from now on.
---@param options pmlua.substrate.options
---@return pmlua.substrate? substrate, string? err, string? code
function M.new(options)
  check(options)
  local self = setmetatable({}, substrate)
  if options.synchronous then
    local good, functions, err, code = pcall(core.substrate.each, { enter = options.enter, leave = options.leave,
      metric = options.metric, flush = options.flush })
    if not good then error("substrate: " .. (functions:match "%((.*)%)$" or functions), 2) end
    if not functions then return nil, err, code end
    self.functions = functions
    return self
  end
  local buffer, err, code = core.buffer.open { records = options.records, threads = options.threads }
  if not buffer then return nil, err, code end
  self.buffer = buffer
  self.of = { [1] = options.enter or false, [-1] = options.leave or false, [0] = options.metric or false }
  self.flush = options.flush
  self.batch = { time = {}, region = {}, kind = {}, thread = {}, values = {} }
  return self
end

--- Hand a batch on. If a function raises, the rest of the batch is handed on by the next drain.
local function hand_on(self)
  local b, of = self.batch, self.of
  local time, region, kind, thread, values = b.time, b.region, b.kind, b.thread, b.values
  local first, n = b.at or 1, b.n
  for i = first, n do
    local f = of[kind[i]]
    if f then
      b.at = i + 1
      f(region[i], time[i], thread[i], values[i])
    end
  end
  b.at, b.n = nil, nil
  return n - first + 1
end

--- Call the functions for all events that were raised before.
---@return integer n how many; synchronous: what flush returns
function substrate:drain()
  if self.functions then return self.functions:flush() end
  if not self.buffer then error("substrate: closed", 2) end
  if self.draining then error("substrate: drain is already running", 2) end
  local draining <close> = setmetatable({}, { __close = function() self.draining = nil end })
  self.draining = draining
  local b, all = self.batch, 0
  if b.n then all = hand_on(self) end
  local till = self.buffer:stats().events
  self.taken = self.taken or 0
  while self.taken < till do
    b.n = self.buffer:take(b.time, b.region, b.kind, b.thread, b.values)
    if b.n == 0 then break end
    self.taken = self.taken + b.n
    all = all + hand_on(self)
  end
  if self.flush then self.flush(all) end
  return all
end

--- Counts of events: of buffers as in pml.buffer; with synchronous = true, the number of events and the first error.
---@return table
function substrate:stats()
  local of = self.functions or self.buffer or error("substrate: closed", 2)
  return of:stats()
end

--- Deliver the remaining events and stop.
function substrate:close()
  if self.functions then
    local functions <close> = self.functions
    self.functions = nil
    return functions:flush()
  end
  if not self.buffer then return end
  if self.draining then error("substrate: drain is already running", 2) end
  local buffer <close> = self.buffer
  self:drain()
  self.buffer = buffer:close()
end

substrate.__close = substrate.close

--- Print the messages about plugins since the last call on stderr.
local said = 0
local function tell()
  local lines = core.substrate.lines()
  for i = said + 1, #lines do io.stderr:write("pmlua: ", require "pmlua.internal.printable"(lines[i]), "\n") end
  said = #lines
end

local environment

--- Load the substrate plugins of $SCOREP_SUBSTRATE_PLUGINS, between $SCOREP_SUBSTRATE_PLUGINS_SEP or commas; once. They
-- end with the Lua state. Plugins that fail to load and unsupported requests of plugins are reported on stderr.
---@return integer n that are open
function M.environment()
  if environment then return #environment end
  local names, separator = os.getenv "SCOREP_SUBSTRATE_PLUGINS" or "", os.getenv "SCOREP_SUBSTRATE_PLUGINS_SEP" or ","
  if separator == "" then separator = "," end
  environment = setmetatable({}, { __gc = function(plugins)
    for i = #plugins, 1, -1 do plugins[i]:close() end
    tell()
  end })
  for name in names:gmatch("[^" .. separator:gsub("%W", "%%%0") .. "]+") do
    local plugin, err, code = core.substrate.load(name)
    environment[#environment + 1] = plugin
    -- Another Lua state of this process has it.
    if err and code ~= "EEXIST" then io.stderr:write("pmlua: ", require "pmlua.internal.printable"(err), "\n") end
  end
  tell()
  return #environment
end

--- This process raises no events: the plugins of $SCOREP_SUBSTRATE_PLUGINS are for the program that it runs.
function M.leave_environment()
  environment = environment or {}
end

return setmetatable(M, { __call = function(_, options) return M.new(options) end })
