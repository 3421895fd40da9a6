-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/serve/openmetrics.lua - events and sections of programs as text that Prometheus reads.
--
-- Try:  pmlua query SOLVER --openmetrics
--
-- Two forms: OpenMetrics 1.0, and the older text format 0.0.4, which node_exporter's textfile collector needs. An event
-- LIB::NAME is the family sde_LIB_NAME, whose letters are restricted; its label `event` has the full name, so two events that
-- differ in other letters only are two series of one family. A value that is missing has no sample; families that start with
-- pmlua_ count these.
--
-- A value is a number, or a place among the values that a program sends (pmlua.core.metrics): lines are prepared once for the
-- names that programs have, and C writes them with each reading's values.

local core = require "pmlua.core"
local show = require "pmlua.sections".show

local M = {}

M.content_type = {
  openmetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8",
  text = "text/plain; version=0.0.4; charset=utf-8",
}

local units = { seconds = true, bytes = true, watts = true, joules = true, hertz = true, celsius = true }

--- Suffixes that belong to samples of other types than the family's.
local reserved = { "_total", "_count", "_sum", "_bucket", "_created", "_info" }

---@class pmlua.Families families of metrics, and their samples
local Families = {}
Families.__index = Families

--- Families without samples, which extend other families. The others do not change.
---@param others pmlua.Families?
function M.new(others)
  local self = { by_name = {}, mine = {}, others = others, lines = {}, answers = {},
    list = others and table.move(others.list, 1, #others.list, 1, {}) or {} }
  --- Look up the value of a sample with a place in the last reading.
  self.placed = { __index = function(sample, key)
    local answer = key == "value" and self.answers[sample.place.program]
    return answer and core.metrics.value(answer, sample.place.word) or nil
  end }
  return setmetatable(self, Families)
end

--- A place among the values of a program, instead of a value. Changes and returns the table.
---@param place { program: integer, word: integer } program: position in Families.answers
local Place = {}
function M.place(place) return setmetatable(place, Place) end

local escapes = { ["\\"] = "\\\\", ["\n"] = "\\n", ['"'] = '\\"' }

--- Labels as text, from pairs of names and values; a pair without a value is omitted.
---@param pairs_of table { name, value, ... }
---@return string
local function labels(pairs_of)
  local out = {}
  for i = 1, #pairs_of, 2 do
    local value = pairs_of[i + 1]
    if value then out[#out + 1] = ('%s="%s"'):format(pairs_of[i], tostring(value):gsub('[\\\n"]', escapes)) end
  end
  return table.concat(out, ",")
end

local function number(v)
  if math.type(v) == "integer" then return ("%d"):format(v) end
  if type(v) == "string" then return v:match "^%-?%d+$" or "NaN" end -- an integer that JSON cannot carry
  if v ~= v then return "NaN" end
  if v == math.huge then return "+Inf" end
  return v == -math.huge and "-Inf" or ("%.17g"):format(v)
end

--- The name of an event's family: letters, digits and underscores.
local function family_name(event, kind)
  local name = "sde_" .. event:gsub("[^%w_]+", "_")
  if kind == "counter" then return (name:gsub("_total$", "")) end
  for _, suffix in ipairs(reserved) do
    if name:sub(-#suffix) == suffix then return name .. "_value" end
  end
  return name
end

--- The family of that name and type. A second type of the same name gets the type as suffix.
---@param name string
---@param kind "counter"|"gauge"|"summary"|"info"|"unknown"
---@param help? string
---@param unit? string
function Families:family(name, kind, help, unit)
  local family = self.by_name[name]
  if family and family.kind ~= kind then return self:family(name .. "_" .. kind, kind, help, unit) end
  if not family then
    family = { name = name, kind = kind, help = help, unit = unit, samples = {}, placed = self.placed }
    self.by_name[name], self.list[#self.list + 1], self.mine[#self.mine + 1] = family, family, family
  end
  return family
end

--- @since_s: OpenMetrics also has a sample with this time.
local function add(family, suffix, label_text, value, since_s)
  local sample = { suffix = suffix, labels = label_text, since_s = since_s }
  if getmetatable(value) == Place then
    sample.place = value
    setmetatable(sample, family.placed)
  else sample.value = value end
  family.samples[#family.samples + 1] = sample
end

local function with(label_text, name, value)
  return (label_text ~= "" and label_text .. "," or "") .. labels { name, value }
end

--- A sample of one value, and since when it counts.
local function add_value(family, label_text, value, since_s)
  if family.kind ~= "counter" then return add(family, "", label_text, value) end
  add(family, "_total", label_text, value, since_s)
end

--- A distribution: its number, sum and quantiles; each may be missing.
---@param d { count: number|string, sum: number?, quantiles: table<string, number> }
local function add_summary(family, label_text, d, since_s)
  for _, q in ipairs { "0", "0.25", "0.5", "0.75", "0.95", "0.99", "1" } do
    if d.quantiles[q] then add(family, "", with(label_text, "quantile", q), d.quantiles[q]) end
  end
  if d.sum then add(family, "_sum", label_text, d.sum) end
  add(family, "_count", label_text, d.count, since_s)
end

--- Kinds of events whose value may decrease: sizes, quantiles, and sums over members that come and go or are levels.
local levels = { count = true, quantile = true, set = true, group = true }

--- A software-defined event as the live service reports it.
---@param program string[] labels of the program, as pairs
---@param row table its values may be places; falls: it was seen to be negative, or no number
---@param since_s number? the program's start
---@return boolean known it has a value
function Families:event(program, row, since_s)
  local event = show((row.name:gsub("^sde:::", "")))
  local label_text, help = with(labels(program), "event", event), row.description or "software-defined event"
  local r = row.recorder
  if r then
    add_summary(self:family(family_name(event, "summary"), "summary", help), label_text, { count = r.count,
      quantiles = { ["0"] = r.min, ["0.25"] = r.q1, ["0.5"] = r.median, ["0.75"] = r.q3, ["1"] = r.max } }, since_s)
    add_value(self:family("pmlua_recorder_dropped", "counter", "values that recorders dropped"), label_text, r.dropped)
    return true
  end
  if row.value == nil then return false end
  local real = row.type == "double" or row.type == "float" or math.type(row.value) == "float"
  local kind = (row.instant or levels[row.kind] or real) and "gauge" or
    row.instant == nil and "unknown" or "counter"
  local text = getmetatable(row.value) ~= Place and number(row.value)
  if kind == "counter" and (row.falls or text and text:find "^[-N]") then kind = "gauge" end
  add_value(self:family(family_name(event, kind), kind, help), label_text, row.value, since_s)
  return true
end

local percents = { "0", "0.25", "0.5", "0.75", "0.95", "0.99", "1" } -- the quantiles of reports, in order

local function by_percent(values, scale)
  local out = {}
  for i, v in ipairs(values or {}) do out[percents[i]] = v / scale end
  return out
end

local function add_section(self, program, r, s, since_s)
  local all, label_text = s.all, with(labels(program), "section", show(s.label))
  if s.interface then label_text = with(label_text, "interface", s.interface) end
  local one = #r.processes == 1 and require "pmlua.report".each(r, s)()
  add_summary(self:family("pmlua_section_seconds", "summary", "time between start and stop of a section", "seconds"), label_text,
    { count = all.count, sum = all.total_ns / 1e9, quantiles = by_percent(one and one.quantiles, 1e9) }, since_s)
  if all.work > 0 then
    add_value(self:family("pmlua_section_work", "counter", "operations, or bytes of communication, that the program stated"),
      label_text, all.work, since_s)
  end
  for _, event in ipairs(s.events) do
    if all.values[event] then
      add_value(self:family("pmlua_section_events", "counter", "counts of events inside sections"),
        with(label_text, "event", show(event)), all.values[event], since_s)
    end
  end
end

--- The sections of a report, summed over its threads and processes.
---@param program string[] labels, as pairs
---@param r pmlua.Report
---@param since_s number?
function Families:sections(program, r, since_s)
  for _, s in ipairs(r.sections) do add_section(self, program, r, s, since_s) end
end

--- The counters and recorders that processes left in their logs.
---@param r pmlua.Report
---@param program_of fun(process: integer): string[] labels, as pairs
function Families:left(r, program_of)
  for _, c in ipairs(r.counters) do
    self:event(program_of(c.process), { name = c.name, kind = c.kind, instant = c.instant, value = c.value })
  end
  for _, e in ipairs(r.recorders) do
    local q = by_percent(e.quantiles, 1)
    self:event(program_of(e.process), { name = e.name, kind = "recorder", recorder = { count = e.count, dropped = e.dropped,
      min = q["0"], q1 = q["0.25"], median = q["0.5"], q3 = q["0.75"], max = q["1"] } })
  end
end

--- A gauge or counter of pmlua itself.
---@param name string
---@param kind string
---@param help string
---@param pairs_of table labels
---@param value number
function Families:own(name, kind, help, pairs_of, value)
  local unit = name:match "_(%l+)$"
  add_value(self:family("pmlua_" .. name, kind, help, units[unit] and unit), labels(pairs_of), value)
end

--- Constant labels of a program.
function Families:info(pairs_of)
  add(self:family("pmlua_program", "info", "programs that answer questions"), "_info", labels(pairs_of), 1)
end

local text_types = { info = "gauge", unknown = "untyped" }

--- The name that the TYPE line has: in the old format it is the sample's.
local function heading(family, form)
  if form == "openmetrics" then return family.name, family.kind end
  local suffix = ({ counter = "_total", info = "_info" })[family.kind] or ""
  return family.name .. suffix, text_types[family.kind] or family.kind
end

local function escape_help(help, form)
  return (show(help):gsub(form == "openmetrics" and '[\\\n"]' or "[\\\n]", escapes))
end

local function by_name(a, b) return a.name < b.name end

--- All families by name.
---@return table[]
function Families:sorted()
  table.sort(self.list, by_name)
  return self.list
end

local function header_of(family, form)
  local name, kind = heading(family, form)
  local text = ("# TYPE %s %s\n"):format(name, kind)
  if form == "openmetrics" and family.unit then text = text .. ("# UNIT %s %s\n"):format(name, family.unit) end
  if not family.help or family.help == "" then return text end
  return text .. ("# HELP %s %s\n"):format(name, escape_help(family.help, form))
end

--- The lines of all own families, and their places.
local function lines_of(self, form)
  if self.lines[form] then return self.lines[form] end
  local lines, places, n = core.metrics.lines(), {}, 0
  local function line(...)
    n = n + 1
    assert(lines:add(...))
  end
  table.sort(self.mine, by_name)
  for _, family in ipairs(self.mine) do
    line(header_of(family, form))
    for _, s in ipairs(family.samples) do
      local label_text, place = s.labels ~= "" and "{" .. s.labels .. "} " or " ", s.place
      local text = family.name .. s.suffix .. label_text
      if place then
        line(text, place.program, place.word, family.kind == "counter")
        places[n] = place
      else line(text .. number(s.value) .. "\n") end
      if s.since_s and form == "openmetrics" then line(family.name .. "_created" .. label_text .. number(s.since_s) .. "\n") end
    end
  end
  self.lines[form] = { lines = lines, places = places }
  return self.lines[form]
end

--- The rows whose counters are negative or no numbers: no counter may be so.
---@return table[] rows
function Families:fallen()
  local of, rows = lines_of(self, "openmetrics"), {}
  for i, n in ipairs(of.lines:fallen(self.answers)) do rows[i] = of.places[n] end
  return rows
end

--- All families as text.
---@param form "openmetrics"|"text"
---@param behind string? more lines
---@return string
function Families:text(form, behind)
  local text = lines_of(self, form).lines:text(self.answers, behind or form == "openmetrics" and "# EOF\n" or "")
  return self.others and self.others:text(form, text) or text
end

return M
