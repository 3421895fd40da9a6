-- SPDX-License-Identifier: BSD-3-Clause
--- Metrics and events as JSON: perf's (perf list --json, and the files of its sources), Intel's perfmon and Arm's telemetry;
--- or as text that perf list prints.
--
-- perf: an array of { MetricName, MetricExpr, MetricGroup, ScaleUnit, ... } and of events.
-- perfmon: { Metrics = { { MetricName, Formula, Events = { { Name, Alias } }, ... } } }, { Events = { { EventName, ... } } }.
-- telemetry: { metrics = { NAME = { formula, units, ... } }, events = { NAME = { code } }, groups = { metrics = ... } }.

local json = require "pmlua.json"
local perf_text = require "pmlua.internal.groups.perf_text"

local M = {}

local function text(value) return type(value) == "string" and value or nil end
local function rows(value) return type(value) == "table" and value or {} end

local function sorted(t)
  local names = {}
  for name in pairs(t) do
    if type(name) == "string" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local Reader = {}
Reader.__index = Reader

function Reader:group(name, prose)
  local group = self.by_name[name]
  if not group then
    group = { name = name, prose = prose or "", metrics = {} }
    self.by_name[name] = group
    self.groups[#self.groups + 1] = group
  end
  return group
end

function Reader:metric(metric, groups)
  if self.metrics[metric.name] then return end
  self.metrics[metric.name] = metric
  local placed = false
  for name in (groups or ""):gmatch "[^;,]+" do
    name = name:match "^%s*(.-)%s*$"
    if name ~= "" then
      table.insert(self:group(name).metrics, metric)
      placed = true
    end
  end
  if not placed then table.insert(self:group("METRICS", "metrics of no group").metrics, metric) end
end

-- --- perf, and perfmon's files for perf ---

--- "100%" and "1MB/sec": a factor and a unit.
local function scale_unit(value)
  local factor, unit = (text(value) or ""):match "^([%d.eE+-]*)(.*)$"
  return tonumber(factor), unit or ""
end

function Reader:perf_metric(row)
  local factor, unit = scale_unit(row.ScaleUnit)
  local expression = text(row.MetricExpr)
  if not expression then return end
  if factor and factor ~= 1 then expression = ("%.17g * (%s)"):format(factor, expression) end
  self:metric({ name = row.MetricName, unit = unit, about = text(row.BriefDescription) or "", expression = expression },
    text(row.MetricGroup))
end

-- --- events and metrics as Intel describes them, and AMD's events as perf's sources do ---

local function integer(value)
  return math.tointeger(tonumber((text(value) or ""):match "^%s*(0?[xX]?%x+)"))
end

--- "0,1,2,3" or "Fixed counter 1".
local function counters(value)
  local fixed = (text(value) or ""):lower():match "fixed counter (%d+)"
  if fixed then return { fixed = math.tointeger(tonumber(fixed)) } end
  local list = {}
  for n in (text(value) or ""):gmatch "%d+" do
    n = math.tointeger(tonumber(n))
    if n and n < 16 then list[#list + 1] = n end
  end
  return #list > 0 and list or nil
end

-- Units of Intel's servers, and the PMUs that the kernel numbers for them. Others need filters or are not always there.
local UNITS <const> = { iMC = "uncore_imc", CHA = "uncore_cha", CBO = "uncore_cbox", HA = "uncore_ha", M2M = "uncore_m2m",
  ["UPI LL"] = "uncore_upi", ["QPI LL"] = "uncore_qpi" }
local FILTERS <const> = { "PortMask", "FCMask", "ELLC", "ExtSel", "FILTER_VALUE", "MSRValue" }

--- An event of all PMUs of a unit: the sum over them. iMC of desktops has other events, UNC_IMC_....
function Reader:uncore_event(row, code)
  local pmu, umask = UNITS[row.Unit], integer(row.UMask) or 0
  local beyond = integer(row.UMaskExt) or 0
  if not pmu or code > 0xff or umask > 0xff or beyond > 0xffffff or row.EventName:find "^UNC_IMC" then return end
  for _, filter in ipairs(FILTERS) do
    if (integer(row[filter]) or 0) ~= 0 then return end
  end
  self.events[row.EventName:upper()] = { sysfs = ("%s_*/event=0x%02x,umask=0x%02x/"):format(pmu, code, umask | beyond << 8),
    msr = 0 }
end

--- Codes of more than 8 bits are AMD's, whose upper bits are in a separate field. Events of an uncore PMU have a Unit.
function Reader:core_event(row)
  local code, umask = integer(row.EventCode), integer(row.UMask) or 0
  if not code or code > 0xfff or umask > 0xff then return end
  if not (text(row.Unit) or "cpu"):find "^cpu" then return self:uncore_event(row, code) end
  local event = { code = code & 0xff | umask << 8, counters = counters(row.Counter), msr = integer(row.MSRValue) or 0 }
  event.config = event.code | (code >> 8) << 32 | (integer(row.CounterMask) or 0) << 24 | (integer(row.Invert) or 0) << 23
    | (integer(row.EdgeDetect) or 0) << 18
  self.events[row.EventName:upper()] = event
end

--- As perf list --json prints the events of the running machine: "cpu/event=0xc3,period=0x186a3/".
function Reader:encoded_event(row)
  local name = row.Encoding:gsub(",?period=[%x]*x?%x+", ""):gsub("/,", "/")
  self.events[row.EventName:upper()] = { sysfs = name, msr = 0 }
end

function Reader:intel_metric(row)
  local alias = {}
  for _, list in ipairs { rows(row.Events), rows(row.Constants) } do
    for _, e in ipairs(list) do
      if type(e) == "table" and text(e.Name) and text(e.Alias) then alias[e.Alias] = e.Name end
    end
  end
  self:metric({ name = row.MetricName, unit = text(row.UnitOfMeasure) or "", about = text(row.BriefDescription) or "",
    expression = row.Formula, alias = alias }, text(row.MetricGroup) or text(row.Category))
end

-- --- Arm ---

function Reader:arm(data)
  for _, name in ipairs(sorted(rows(data.events))) do
    local code = integer(rows(data.events[name]).code)
    if code and code <= 0xffff then self.events[name:upper()] = { code = code, config = code, msr = 0 } end
  end
  local metrics, placed = rows(data.metrics), {}
  local function add(group, name)
    local m = metrics[name]
    if type(m) ~= "table" or not text(m.formula) then return end
    placed[name] = true
    local known = self.metrics[name] or { name = name, unit = text(m.units) or "", about = text(m.title) or "",
      expression = m.formula }
    self.metrics[name] = known
    table.insert(group.metrics, known)
  end
  local groups = rows(rows(data.groups).metrics)
  for _, name in ipairs(sorted(groups)) do
    local g = rows(groups[name])
    local group = self:group(name, text(g.title))
    for _, metric in ipairs(rows(g.metrics)) do add(group, metric) end
  end
  for _, name in ipairs(sorted(metrics)) do
    if not placed[name] then add(self:group("METRICS", "metrics of no group"), name) end
  end
end

-- --- all ---

function Reader:row(row)
  if type(row) ~= "table" then return end
  if text(row.MetricName) and text(row.MetricExpr) then self:perf_metric(row)
  elseif text(row.MetricName) and text(row.Formula) then self:intel_metric(row)
  elseif text(row.EventName) and text(row.EventCode) then self:core_event(row)
  elseif text(row.EventName) and text(row.Encoding) then self:encoded_event(row) end
end

function Reader:file(data)
  if type(data.metrics) == "table" or type(data.events) == "table" then self:arm(data) end
  for _, list in ipairs { data, rows(data.Metrics), rows(data.Events) } do
    for _, row in ipairs(list) do self:row(row) end
  end
end

--- Read files of a catalogue together: events of one are named by metrics of another.
---@param files { path: string, text: string }[]
---@return { groups: table[], events: table, metrics: table }? description, string? why "file: what"
function M.parse(files)
  local reader = setmetatable({ groups = {}, by_name = {}, metrics = {}, events = {} }, Reader)
  for _, file in ipairs(files) do
    local data, err
    if perf_text.is(file.text) then data = perf_text.rows(file.text) else data, err = json.decode(file.text) end
    if err then return nil, ("%s: malformed JSON: %s"):format(file.path, err.text) end
    if type(data) == "table" then reader:file(data) end
  end
  if not next(reader.metrics) then return nil, ("%s: contains no metrics with formulas"):format(files[1].path) end
  return { groups = reader.groups, events = reader.events, metrics = reader.metrics }
end

return M
