-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/plugin.lua - metric plugins: the functions of core.plugin, and plugins written in Lua.
--
-- Try:  pml.plugin.define { name = "host", every = "100ms", events = { { name = "load" } },
--         collect = function() return { load = tonumber(io.open "/proc/loadavg":read "n") } end }
--       local set = assert(pml.eventset { "plugin::host::load" })
--
-- A plugin in Lua runs in a separate Lua state. `read(name)` is called when an event set is read, under a lock, and
-- returns a number, or nil if there is no new value. A separate thread calls `collect()` periodically; it returns a table
-- of numbers by name, from which series are made. Functions are copied into that state as chunks of code, with copies of their
-- upvalues: numbers, strings, booleans, modules. A `file` or `code` is loaded there unchanged and returns the table.

local core = require "pmlua.core"
local fields = require "pmlua.internal.fields"
local disk = require "pmlua.internal.file"
local lists = require "pmlua.internal.lists"
local refuse = core.failure.refuse

---@class pml.plugin
local M = {}
for name, value in pairs(core.plugin) do M[name] = value end
M.provide = nil

--- Call the core's function; misuse is raised with the line of the script. Callers must use a tail call, so that level 2 is
--- the script.
local function of_core(what, options)
  local good, p, err, code = pcall(core.plugin[what == "load" and "load" or "provide"], options)
  if not good then error(("plugin.%s: %s"):format(what, p:match "%((.*)%)$" or p), 2) end
  return p, err, code
end

--- Load a plugin: of those that come with pmlua, or a library; without options, those that the environment names.
---@param options? { name: string, path?: string, metrics?: string[], every?: number|string, root?: string, pid?: integer }
---@return pmlua.Plugin|boolean? plugin, pmlua.Failure? failure, string? code
function M.load(options)
  local own = require "pmlua.internal.own_plugins"
  if options == nil then own.environment()
  elseif type(options) == "table" and options.path == nil and own.has(options.name) then return own.load(options) end
  return of_core("load", options)
end

local units = { us = 1e-6, ms = 1e-3, s = 1, m = 60 }

--- Seconds of a number, or of "100ms"; nil if it is neither, or longer than any run.
---@param every any
---@return number?
function M.seconds(every)
  local s = type(every) == "number" and every or nil
  if not s then
    local n, unit = tostring(every):match("^([%d.]+)(%a+)$")
    s = tonumber(n) and units[unit] and tonumber(n) * units[unit]
  end
  return s and s > 0 and s < 1e6 and s or nil
end

--- The error in a definition, as a sentence; nil: it is valid.
local function wrong(t)
  if type(t.events) ~= "table" then return "a plugin needs a table of events" end
  if (t.read == nil) == (t.collect == nil) then return "a plugin must have either read or collect" end
  if type(t.read or t.collect) ~= "function" then return "read and collect must be functions" end
  if t.collect and not M.seconds(t.every) then return "a plugin with collect must have every, such as \"100ms\"" end
  if t.read and t.every ~= nil then return "every goes with collect only" end
  local known = { name = 1, scope = 1, every = 1, events = 1, read = 1, collect = 1 }
  for key in pairs(t) do
    if not known[key] then return ("unknown option '%s'%s"):format(tostring(key), fields.near(key, known)) end
  end
end

local function from_code(kind, text)
  local chunk, err
  if kind == "file" then
    local code = assert(disk.read(text))
    chunk, err = load((code:gsub("^#[^\n]*", "")), "@" .. text, "t")
  else chunk, err = load(text, "=plugin", "t") end
  if not chunk then error(err, 0) end
  local t = chunk()
  if type(t) ~= "table" then error("the code of a plugin must return a table", 0) end
  return t
end

--- Create the function that a plugin's state calls for values; runs in that state.
---@param kind "file"|"code"
---@param text string
---@return fun(i?: integer): ...
function M.serve(kind, text)
  local t = from_code(kind, text)
  local names, known = {}, {}
  for i, event in ipairs(t.events) do
    names[i] = type(event) == "table" and event.name or event
    known[names[i]] = true
  end
  if t.read then return function(i) return (t.read(names[i])) end end
  return function()
    local got, values = t.collect(), {}
    if type(got) ~= "table" then error("collect returned a " .. type(got) .. ", not a table", 0) end
    for name in pairs(got) do
      if not known[name] then error(("collect returned a value for '%s', which is not one of its events"):format(name), 0) end
    end
    for i, name in ipairs(names) do values[i] = got[name] end
    return table.unpack(values, 1, #names)
  end
end

--- Events by name alone stand for numbers.
local function events_of(t)
  local events = {}
  for i, event in ipairs(t.events) do events[i] = type(event) == "string" and { name = event } or event end
  return events
end

--- The code of a plugin whose function is in this state.
local function text_of(t)
  local names = lists.map(events_of(t), function(event) return ("%q"):format(event.name) end)
  return ("return { events = { %s }, %s = (function()\n%s\nend)() }"):format(table.concat(names, ", "),
    t.read and "read" or "collect", require("pmlua.internal.live.source").of(t.read or t.collect))
end

--- Provide a plugin in Lua: a table, or { name = ..., file = PATH } or { name = ..., code = TEXT } that return one.
---@param t pmlua.PluginDefinition
---@return pmlua.Plugin? plugin, pmlua.Failure? failure, string? code
function M.define(t)
  if type(t) ~= "table" then error("plugin.define: a table expected", 2) end
  local kind = t.file and "file" or "code"
  local text, def = t[kind], t
  if t.file or t.code then
    if type(text) ~= "string" then error(("plugin.define: option '%s' must be a string"):format(kind), 2) end
    local good, got = pcall(from_code, kind, text)
    if not good then return refuse("ESCRIPT", "plugin.define: " .. tostring(got)) end
    def = got
  end
  local misuse = wrong(def)
  if misuse then error("plugin.define: " .. misuse, 2) end
  if def == t then
    local good
    good, text = pcall(text_of, t)
    if not good then error("plugin.define: " .. text, 2) end
  end
  return of_core("define", { name = t.name or def.name, kind = kind, text = text, scope = def.scope,
    every = def.collect and M.seconds(def.every) or nil, events = events_of(def) })
end

-- --- beside a run ---

---@class pmlua.PluginFollower
local Follower = {}
Follower.__index = Follower

--- A follower of these plugins, which have begun.
---@param handles pmlua.Plugin[]
---@return pmlua.PluginFollower
function M.follower(handles)
  local plugins = lists.map(handles, function(p) return { handle = p } end)
  return setmetatable({ plugins = plugins, since = core.clock.ticks(), since_ns = core.clock.ns() }, Follower)
end

--- Start all asynchronous plugins, including those loaded by the environment; nil without such plugins.
---@return pmlua.PluginFollower?
function M.follow()
  local self = M.follower {}
  for _, info in ipairs(core.plugin.list()) do
    local p = info.sync:find "^async" and (info.state == "loaded" or info.state == "running") and core.plugin.find(info.name)
    if p and p:start() then self.plugins[#self.plugins + 1] = { handle = p, ends = info.sync == "async" } end
  end
  return #self.plugins > 0 and self or nil
end

local columns = { { "event", "text", "metric of a plugin" }, { "thread", "", "that measured it; 0: the process or more" },
  { "time", "s", "since the run began" }, { "value", "", "in the unit beside it" }, { "unit", "text", "" },
  { "mode", "text", "what the value is, and of what time" } }

--- Append a series from `since_ns` on; `false` separates it from earlier rows.
local function add_rows(rows, series, since_ns)
  local old = #rows
  for i, ns in ipairs(series.ns) do
    if ns >= since_ns then
      if old > 0 and #rows == old then rows[#rows + 1] = false end
      rows[#rows + 1] = { series.event, series.thread or 0, (ns - since_ns) * 1e-9, series.value[i] * series.scale,
        series.unit ~= "#" and series.unit or "", series.mode }
    end
  end
end

--- Collect the values of the plugins into a trace and a table; plugins that deliver values only at their end are stopped.
---@param archive? pmlua.Trace
---@return { columns: table, rows: table }? table, pmlua.Failure? failure
function Follower:finish(archive)
  local rows, err = {}, nil
  for _, p in ipairs(self.plugins) do
    local done, why = p.handle[p.ends and "stop" or "collect"](p.handle)
    if done and archive then done, why = archive:plugin(p.handle, self.since) end
    err = err or not done and why or nil
    for _, series in ipairs(p.handle:series() or {}) do add_rows(rows, series, self.since_ns) end
  end
  return #rows > 0 and { title = "what plugins measured in their own time; an index for each metric and place", rows = rows,
    columns = columns } or nil, err
end

-- --- of a recorded process ---

--- A series' name, its thread, and its unit, for people.
local function label(series)
  return ("%s%s%s"):format(series.event:gsub("^plugin::", ""), series.thread and (" of thread %d"):format(series.thread) or "",
    series.unit ~= "" and (" [%s]"):format(series.unit) or "")
end

local function draw(all, rows, path)
  local picture = require "pmlua.internal.picture"
  local names, lines = {}, {}
  for i, series in ipairs(all) do names[i] = label(series) end
  for i, row in ipairs(rows) do lines[i] = row and ("%.9g %.17g"):format(row[3], row[4]) or "\n" end
  return picture.draw("plugins", { ["series.dat"] = table.concat(lines, "\n") .. "\n",
    ["run.gp"] = picture.run_gp("What plugins measured in their own time", { "series_n = " .. #all,
      picture.array("series_name", names) }) }, path)
end

--- Write the plugins' series of a recorded process as a table STEM.dat and a plot STEM.svg; without series, write nothing.
---@param path string the process's log
---@param stem string
---@return integer? n how many series there are
---@return pmlua.Failure? failure
function M.tabulate(path, stem)
  local all, err = core.plugin.read(path)
  if not all then return refuse(err) end
  if #all == 0 then return 0 end
  local since, rows = math.huge, {}
  for _, series in ipairs(all) do since = math.min(since, series.ns[1] or since) end
  for _, series in ipairs(all) do add_rows(rows, series, since) end
  local ok
  ok, err = require("pmlua.internal.picture").write(stem .. ".dat", require("pmlua.internal.dat").format {
    title = "what plugins measured in their own time; an index for each metric and place", columns = columns, rows = rows })
  if not ok then return nil, err end
  draw(all, rows, stem .. ".svg") -- the table is what counts: without gnuplot there is no picture
  return #all
end

return M
