-- SPDX-License-Identifier: BSD-3-Clause
--- Event groups: events that belong together, and the formulas that turn their counts into metrics.
--
-- FLOPS, BANDWIDTH, VECTOR, CACHE, CYCLE, LOADSTORE, USER and what a processor has besides (TOPDOWN, TLB, ...) are data in
-- groups/, a file per family of PMUs; PAPI's presets are data in presets/. A metric may use events of its group or file,
-- constants of its file (`revisions` overrides some for certain cores), inputs, `time` (seconds), and metrics above it.
-- part/metrics.lua of each folder contains the parts that metrics of the same name share, so that there is only one `ipc`.
-- A metric is a table, or without thresholds a text: "flop_rate [flop/s] = flop / time; of all cores".
--
--     pmlua -e 'for name, group in pairs(pml.groups.of("skx")) do print(name, #group.metrics) end'

local lists = require "pmlua.internal.lists"
local literal = require "pmlua.internal.literal"
local formula = require "pmlua.formula"
local overlay = require "pmlua.internal.overlay"
local processor = require "pmlua.internal.processor"
local sorted = require "pmlua.internal.sorted"
local refuse = require "pmlua.core".failure.refuse

---@class pml.groups
local M = {}

--- The groups that every file has, in the order they are listed.
M.NAMES = { "FLOPS", "BANDWIDTH", "VECTOR", "CACHE", "CYCLE", "LOADSTORE", "USER" }

---@class pmlua.Metric
---@field name string
---@field group string of its group, or "PAPI" for a preset
---@field unit string
---@field about string
---@field formula pmlua.Formula
---@field events table<string, string> all it needs, of the metrics it names too: key -> event
---@field parts string[] the metrics it names
---@field thresholds { [1]: string, [2]: string }[]

---@class pmlua.Group
---@field name string
---@field prose string
---@field source string
---@field events table<string, string>
---@field inputs table<string, string>
---@field metrics pmlua.Metric[]
---@field by_name table<string, pmlua.Metric>
---@field constants table<string, number>

-- --- checking: every error has the file and the line ---

local Reader = {}
Reader.__index = Reader

function Reader:fail(near, what)
  error({ text = ("%s:%d: %s"):format(self.path, literal.line_of(self.text, near), what) }, 0)
end

function Reader:strings(t, where)
  for k, v in sorted(t) do
    if type(k) ~= "string" or type(v) ~= "string" then self:fail(where, where .. ": must be a table of strings by name") end
  end
  return t
end

local function is_revision(r)
  local before = type(r) == "table" and (r.before or { 0, 0 })
  return type(before) == "table" and math.type(before[1]) == "integer" and math.type(before[2]) == "integer"
    and math.type(r.implementer) == "integer" and math.type(r.part) == "integer"
end

--- The constants of the file, overridden by the constants of this core's revision.
function Reader:constants(data)
  local values, dimensions = {}, { time = { s = 1 } }
  local function take(constants)
    if type(constants or {}) ~= "table" then self:fail("constants", "constants: must be a table") end
    for name, pair in sorted(constants or {}) do
      if type(pair) ~= "table" or type(pair[1]) ~= "number" or type(pair[2]) ~= "string" then
        self:fail(name, ("constant %s: must have a number and a unit"):format(name))
      end
      values[name], dimensions[name] = pair[1], formula.unit_dimension(pair[2])
    end
  end
  take(data.constants)
  if type(data.revisions or {}) ~= "table" then self:fail("revisions", "revisions: must be a list") end
  for _, revision in ipairs(data.revisions or {}) do
    if not is_revision(revision) then
      self:fail("revisions", "revisions: write { implementer = 0x41, part = 0xd49, before = { 0, 3 }, constants = {} }")
    end
    if processor.has_core(processor.here(), revision) then take(revision.constants) end
  end
  return values, dimensions
end

local operators = { ["<"] = true, ["<="] = true, [">"] = true, [">="] = true }

function Reader:thresholds(m)
  for _, t in ipairs(m.thresholds or {}) do
    local operator, number = tostring(t[1]):match("^([<>]=?) *(-?[%d.]+)$")
    if not operators[operator] or not tonumber(number) or type(t[2]) ~= "string" then
      self:fail(m.name, ("metric %s: write a threshold as { \"< 0.5\", \"what it means\" }"):format(m.name))
    end
  end
  return m.thresholds or {}
end

--- A name in a formula: an event, a metric above, a constant, an input or time. An event of the file becomes the group's.
function Reader:resolve(group, metric, name)
  local other = group.by_name[name]
  if not other then group.events[name] = group.events[name] or self.events[name] end
  if group.events[name] then
    metric.events[name] = group.events[name]
  elseif other then
    metric.parts[#metric.parts + 1] = name
    for k, event in pairs(other.events) do metric.events[k] = event end
  elseif name ~= "time" and not group.constants[name] and not group.inputs[name] then
    local known = { "time" }
    for _, t in ipairs { group.events, self.events, group.by_name, group.constants, group.inputs } do
      for k in pairs(t) do known[#known + 1] = k end
    end
    table.sort(known)
    local nearest = require "pmlua.internal.nearest"(name, known)
    self:fail(metric.name, ("metric %s: unknown event or metric %s%s"):format(metric.name, name,
      nearest and "; did you mean " .. nearest .. "?" or ""))
  end
end

--- A metric as text: "name [unit] = formula; about; < 1: meaning". Only the name is required.
local function of_text(text)
  local head, notes = text:match "^([^;]*)(.*)$"
  local name, unit, expression = head:match "^([%w_]+)(.-) = (.*)$"
  if not name then name, unit = head:match "^([%w_]+)( %[.*%])$" end
  local m = { name = name or head, unit = unit and unit:match "%[(.*)%]", formula = expression }
  for note in notes:gmatch "; ([^;]*)" do
    local when, meaning = note:match "^([<>]=? *%-?[%d.]+): (.*)$"
    if when then
      m.thresholds = m.thresholds or {}
      table.insert(m.thresholds, { when, meaning })
    elseif m.thresholds then
      local last = m.thresholds[#m.thresholds]
      last[2] = last[2] .. "; " .. note
    else
      m.about = m.about and m.about .. "; " .. note or note
    end
  end
  return m
end

local known = {} -- folder -> name -> what the metrics of this name have in common

local function known_of(folder)
  if not known[folder] then
    known[folder] = {}
    for _, m in ipairs(assert(literal.read(literal.shipped(folder .. "/part/metrics.lua"))).metrics) do
      m = type(m) == "string" and of_text(m) or m
      known[folder][m.name] = m
    end
  end
  return known[folder]
end

--- Complete a metric from the common definition of its name; a bare name uses all of it.
function Reader:whole(group, m)
  local own, all = type(m) == "string" and of_text(m) or m, known_of(group.name == "PAPI" and "presets" or "groups")
  local base = type(own) == "table" and type(own.name) == "string" and all[own.name]
  if base then return setmetatable(own, { __index = base }) end
  if own == m or own.formula then return own end
  local names = require "pmlua.internal.keys"(all)
  local nearest = require "pmlua.internal.nearest"(m, names)
  self:fail(m, ("group %s: pmlua has no formula for a metric called %s%s"):format(group.name, m,
    nearest and "; did you mean " .. nearest .. "?" or ""))
end

function Reader:metric(group, m)
  m = self:whole(group, m)
  if type(m) ~= "table" or type(m.name) ~= "string" or type(m.formula) ~= "string" then
    self:fail(group.name, ("group %s: a metric needs a name and a formula"):format(group.name))
  end
  local compiled, err = formula.compile(m.formula)
  if not compiled then self:fail(m.name, ("metric %s: formula: %s"):format(m.name, err)) end
  ---@cast compiled pmlua.Formula
  if group.by_name[m.name] or group.events[m.name] then
    self:fail(m.name, ("metric %s: group %s already has this name"):format(m.name, group.name))
  end
  local metric = { name = m.name, group = group.name, unit = m.unit or "", about = m.about or "", formula = compiled,
    events = {}, parts = {}, thresholds = self:thresholds(m) }
  for _, name in ipairs(compiled.names) do self:resolve(group, metric, name) end
  local ok, why = compiled:check_unit(metric.unit, group.dimensions)
  if not ok then self:fail(m.name, ("metric %s: formula: %s"):format(m.name, why)) end
  group.dimensions[m.name] = formula.unit_dimension(metric.unit)
  group.metrics[#group.metrics + 1], group.by_name[m.name] = metric, metric
end

function Reader:group(data, name, g)
  local metrics = type(g) == "table" and (g.metrics or #g > 0 and g)
  if type(metrics) ~= "table" or type(g.events or {}) ~= "table" then
    self:fail(name, ("group %s: events or metrics are missing"):format(name))
  end
  local constants, dimensions = self:constants(data)
  local group = { name = name, prose = g.prose or "", source = data.source or "", metrics = {}, by_name = {},
    events = self:strings(g.events or {}, name), inputs = self:strings(g.inputs or {}, name), constants = constants,
    dimensions = dimensions }
  for _, m in ipairs(metrics) do self:metric(group, m) end
  return group
end

--- Presets are metrics; each forms a separate group.
function Reader:presets(data)
  local groups = {}
  for _, p in ipairs(data.presets) do
    local own = type(p) == "string" and of_text(p) or p
    if type(own) ~= "table" or type(own.name) ~= "string" or type(own.events or {}) ~= "table" then
      self:fail("presets", "a preset must have a name, a formula and events")
    end
    local group = { name = "PAPI", prose = "", source = data.source or "", metrics = {}, by_name = {}, inputs = {},
      events = self:strings(own.events or {}, own.name), constants = {}, dimensions = {} }
    self:metric(group, p)
    groups[own.name] = group
  end
  return groups
end

function Reader:all(data)
  if type(data.pmus) ~= "table" or #data.pmus == 0 then self:fail("return", "pmus, the list of its PMUs, is missing") end
  self.events = self:strings(type(data.events or {}) == "table" and data.events or {}, "events")
  if type(data.presets) == "table" then return self:presets(data) end
  if type(data.groups) ~= "table" then self:fail("return", "groups are missing") end
  local groups = {}
  local names = {}
  for name in pairs(data.groups) do names[#names + 1] = tostring(name) end
  table.sort(names) -- the first error is the same in every run
  for _, name in ipairs(names) do groups[name] = self:group(data, name, data.groups[name]) end
  return groups
end

--- Check the text of a file of groups or presets.
---@param text string
---@param path string for errors
---@return { pmus: string[], groups: table<string, pmlua.Group> }? file, pmlua.Failure? failure "file:line: what"
function M.parse(text, path)
  local data, err = literal.parse(text, path)
  if not data then return nil, err end
  data, err = overlay.whole(data, text, path)
  if not data then return nil, err end
  local done, groups = pcall(Reader.all, setmetatable({ text = text, path = path }, Reader), data)
  if done then return { pmus = data.pmus, groups = groups, text = text, path = path } end
  if type(groups) ~= "table" then error(groups, 0) end
  return refuse("EFORMAT", groups.text)
end

--- Check a file of groups or presets.
---@param path string
---@return { pmus: string[], groups: table<string, pmlua.Group> }? file, pmlua.Failure? failure
function M.read(path)
  local text, err = require("pmlua.internal.file").read(path)
  if not text then return nil, err end
  return M.parse(text, path)
end

-- --- the files that ship ---

local shipped = {} -- folder -> files

local function files_of(folder)
  if shipped[folder] then return shipped[folder] end
  local files = {}
  for _, file in ipairs(literal.list(folder)) do
    local read = assert(M.read(file.path))
    files[#files + 1] = read
  end
  shipped[folder] = files
  return files
end

local function of(folder, pmu)
  for _, file in ipairs(files_of(folder)) do
    for _, name in ipairs(file.pmus) do
      if name == pmu then return file.groups end
    end
  end
  return {}
end

--- The groups of a PMU, by name.
---@param pmu string libpfm4's name of it, or "generic"
---@return table<string, pmlua.Group>
function M.of(pmu) return of("groups", pmu) end

--- Group names in listing order: first the common ones, then the others by name.
---@param groups table<string, pmlua.Group>
---@return string[]
function M.order(groups)
  local names = lists.filter(M.NAMES, function(name) return groups[name] end)
  for name in sorted(groups) do
    if not lists.any(M.NAMES, function(common) return common == name end) then names[#names + 1] = name end
  end
  return names
end

--- PAPI's presets of a PMU, by name, each as a group of one metric.
---@param pmu string
---@return table<string, pmlua.Group>
function M.presets(pmu) return of("presets", pmu) end

--- The groups of counts that need no PMU, by name: counted by the "compiler" or by a "simulation".
---@param way string
---@return table<string, pmlua.Group>
function M.counted(way) return of("without_pmu", way) end

--- Groups of another tool: LIKWID's files, or the JSON of perf, Intel or Arm, with event names from libpfm4 or the PMU's facts.
---@param path string "likwid" (installed), "perf" (the running machine's), a file or a folder
---@param pmu? string this machine's
---@return table<string, pmlua.Group>? groups
---@return { group: string, metric: string, why: string }[]|pmlua.Failure? refused metrics that cannot be computed; or the failure
function M.foreign(path, pmu)
  local chooser, err = require "pmlua.chooser".open { pmu = pmu, groups = path }
  if not chooser then return nil, err end
  return chooser.groups, chooser.refused
end

--- The PMUs that have groups, sorted; without those that neither facts nor this libpfm4 knows, which has one architecture.
---@return string[]
function M.pmus()
  local names, pmus = {}, require "pmlua.pmus"
  for _, file in ipairs(files_of("groups")) do
    for _, name in ipairs(file.pmus) do names[#names + 1] = pmus.get(name) and name or nil end
  end
  table.sort(names)
  return names
end

-- --- evaluation ---

--- Evaluate a metric's thresholds for a value.
---@param metric pmlua.Metric
---@param value number
---@return string? says
function M.judge(metric, value)
  for _, t in ipairs(metric.thresholds) do
    local operator, limit = t[1]:match("^([<>]=?) *(.*)$")
    limit = tonumber(limit)
    local holds = operator == "<" and value < limit or operator == "<=" and value <= limit
      or operator == ">" and value > limit or operator == ">=" and value >= limit
    if holds then return t[2] end
  end
end

--- The value of a metric from counts.
---@param group pmlua.Group
---@param metric pmlua.Metric
---@param counts table<string, number> by key of the group's events; also time and inputs
---@return number value NaN where it cannot be calculated
---@return string? reason
function M.value(group, metric, counts)
  local values = setmetatable({}, { __index = function(_, name)
    return group.constants[name] or counts[name]
  end })
  for _, part in ipairs(metric.parts) do
    local v, why = M.value(group, group.by_name[part], counts)
    if why then return v, why end
    rawset(values, part, v)
  end
  return metric.formula:value(values)
end

return M
