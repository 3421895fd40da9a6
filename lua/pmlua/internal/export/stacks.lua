-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/export/stacks.lua - call paths of traces, recorded processes, jobs and sections as one tree, for flame
-- graphs and profiles.
--
-- Try:  for _, n in ipairs(assert(require("pmlua.internal.export.stacks").read("out")).nodes) do print(n.name, n.own) end

local core = require "pmlua.core"
local disk = require "pmlua.internal.file"
local jobs = require "pmlua.internal.report.job"
local logs = require "pmlua.internal.record.logs"
local sections = require "pmlua.sections"
local sources = require "pmlua.internal.export.source"
local job_summaries = require "pmlua.internal.report.job_summary"
local try = require "pmlua.internal.try"
local refuse = core.failure.refuse

local M = {}

---@class pmlua.StackNode
---@field parent? integer its place in nodes, before its own; nil: outermost
---@field name string
---@field file? string source file or library
---@field line? integer
---@field calls integer
---@field own_ns number time in it and in none of its children
---@field own number what is asked for, likewise: own_ns, calls, or counts of a metric

---@class pmlua.Stacks
---@field nodes pmlua.StackNode[]
---@field value string "time", "calls", or the name of a metric
---@field unit string "ns", "calls", or the metric's
---@field notes string[] what is missing

---@class pmlua.StackQuestion
---@field value? string what a node's own is: "time" (the default), "calls", or a metric of a trace
---@field where? pmlua.TraceWhere of a trace
---@field kinds? table<string, boolean> of recorded calls (record/kind.lua)

-- ---- the tree ----

local Tree = {}
Tree.__index = Tree

local function new_tree(kinds) return setmetatable({ nodes = {}, at = {}, kinds = kinds }, Tree) end

--- The node of a name below another, made if it is new.
function Tree:child(parent, name, file, line)
  local key = ("%d\0%s\0%s"):format(parent or 0, name, file or "")
  local i = self.at[key]
  if not i then
    i = #self.nodes + 1
    self.nodes[i], self.at[key] = { parent = parent, name = name, file = file, line = line, calls = 0, own_ns = 0, own = 0 }, i
  end
  return i
end

--- Paths in depth-first order, each with its depth.
function Tree:add_paths(paths)
  local above = {}
  if self.kinds then paths = require "pmlua.internal.record.kind".keep(paths, self.kinds) end
  for _, p in ipairs(paths) do
    local i = self:child(above[p.depth], p.name, p.library)
    local n = self.nodes[i]
    n.calls, n.own_ns = n.calls + p.calls, n.own_ns + p.exclusive_ns
    above[p.depth + 1] = i
  end
end

local function finished(tree, value, unit, notes)
  for _, n in ipairs(tree.nodes) do
    if value == "time" then n.own = n.own_ns elseif value == "calls" then n.own = n.calls end
  end
  return { nodes = tree.nodes, value = value, unit = unit, notes = notes or {} }
end

-- ---- traces ----

local function of_paths(reader, where, tree)
  local paths, odd = try(reader:paths { where = where })
  local regions, place = reader:regions(), {}
  for i, p in ipairs(paths) do
    local r = regions[p.number]
    place[i] = tree:child(p.parent and place[p.parent], core.region.demangle(p.region), r.file, r.line)
    local n = tree.nodes[place[i]]
    n.calls, n.own_ns = n.calls + p.calls, n.own_ns + 1e9 * p.exclusive_s
  end
  return odd.unmatched
end

--- A metric's counts by call path. A record of its values may have the same time as an enter or leave: the count up to the first
--- record at an enter's time belongs to the previous path, not to the call that begins.
local Counting = {}
Counting.__index = Counting

function Counting:on_location(location)
  self.location, self.stack, self.before, self.entered = location, {}, nil, nil
end

function Counting:enter(e)
  local r = self.regions[e.number]
  self.stack[#self.stack + 1] = self.tree:child(self.stack[#self.stack], core.region.demangle(e.region), r.file, r.line)
  self.entered = e.time_s
end

function Counting:leave(e)
  while #self.stack > 0 do
    local n = self.tree.nodes[table.remove(self.stack)]
    if n.name == core.region.demangle(e.region) then break end
  end
  self.entered = nil
end

function Counting:metric(e)
  if e.number ~= self.number then return end
  local last, begins = self.before, self.entered == e.time_s
  self.before, self.entered = e.value, nil
  if not last then return end
  local i = self.stack[#self.stack - (begins and 1 or 0)]
  if not i then
    self.outside = self.outside + (e.value - last)
    return
  end
  local n = self.tree.nodes[i]
  n.own = n.own + (e.value - last)
end

--- The number of a metric that counts up; nil and why.
local function metric_number(reader, name)
  local names, what = {}, "the trace has no counter '%s'"
  for i, m in ipairs(reader:metrics()) do
    if m.name == name and m.accumulated then return i, m end
    if m.name == name then what = "values of '%s' do not count up, so that calls have no part of them" end
    names[#names + 1] = m.accumulated and m.name or nil
  end
  return refuse("ENOENT", what:format(name),
    "choose time, calls" .. (#names > 0 and ", " .. table.concat(names, ", ") or ""))
end

local function of_metric(reader, where, tree, name)
  local number, metric = try(metric_number(reader, name))
  local counting = setmetatable({ tree = tree, number = number, regions = reader:regions(), outside = 0 }, Counting)
  local asked = { kinds = { "enter", "leave", "metric" } }
  for key, v in pairs(where or {}) do asked[key] = v end
  local done, err = reader:each(function(e)
    if e.location ~= counting.location then counting:on_location(e.location) end
    counting[e.kind](counting, e)
  end, { where = asked })
  if not done then return nil, err end
  for _, n in ipairs(tree.nodes) do n.own = n.own * metric.scale end
  return metric
end

local function of_trace(path, question)
  local reader <close> = try(core.trace.open(path))
  local tree, value = new_tree(), question.value or "time"
  local where = { kind = require "pmlua.internal.record.kind".list(question.kinds) }
  for key, v in pairs(question.where or {}) do where[key] = v end
  local unmatched = try(of_paths(reader, where, tree))
  local notes = unmatched > 0 and { ("%d enters and leaves of the trace have no partner"):format(unmatched) } or {}
  if value == "time" or value == "calls" then return finished(tree, value, value == "time" and "ns" or "calls", notes) end
  local metric = try(of_metric(reader, where, tree, value))
  return finished(tree, value, metric.unit or "#", notes)
end

-- ---- logs ----

local function add_logs(tree, job_summary)
  for _, p in ipairs(job_summary and job_summary.processes or {}) do
    local process, err = logs.process(p.log)
    if err then return refuse(err) end
    if process then tree:add_paths(process.paths) end
  end
  return true
end

--- Add sections, which have no call path: each is a bar of its self time.
local function add_sections(tree, job_summary)
  for _, p in ipairs(job_summary and job_summary.processes or {}) do
    for _, s in ipairs(job_summaries.rows(p)) do
      local n = tree.nodes[tree:child(nil, sections.show(s.label))]
      for _, row in ipairs(s.threads) do n.calls, n.own_ns = n.calls + row.count, n.own_ns + row.self_ns end
    end
  end
end

local function of_logs(path, question)
  local value = question.value or "time"
  local source = try(sources.read { path })
  local tree = new_tree(question.kinds)
  if source.job and #source.job.paths > 0 then
    tree:add_paths(source.job.paths)
  else
    try(add_logs(tree, source.job_summary))
  end
  if #tree.nodes == 0 then add_sections(tree, source.job_summary) end
  return finished(tree, value, value == "time" and "ns" or "calls", source.notes)
end

-- ---- named sources ----

--- The trace that a path names: itself, or the one in a folder. nil: there is no trace.
---@return string?
function M.trace_of(path)
  if path:find "%.otf2$" then return path end
  local inside = path .. "/traces.otf2"
  return require "lfs".attributes(inside, "mode") == "file" and inside or nil
end

local function has_logs(path)
  if jobs.is_one(path) or path:find "%.pmlog$" or path:find "%.txt$" then return true end
  for _, name in ipairs(disk.names(path)) do
    if name:find "%.pmlog$" or name == "job.pmlsum" or name:find "^rank%-%d+$" or name:find "^sections%..*%.txt$" then
      return true
    end
  end
  return false
end

--- The call paths of a trace, or of the folder of recorded processes, of sections or of an experiment.
---@param path string FILE.otf2, a folder, or a log
---@param question? pmlua.StackQuestion
---@return pmlua.Stacks? stacks, string|pmlua.Failure? failure
M.read = try.catching(function(path, question)
  question = question or {}
  local value, trace = question.value or "time", M.trace_of(path)
  local of_trace_alone = question.where or value ~= "time" and value ~= "calls"
  if of_trace_alone and not trace then
    return refuse("ENOENT", path .. ": no trace, which --window, --where and counters need",
      "use pmlua record --trace, or pmlua trace DIR")
  end
  local logged = has_logs(path)
  if not trace and not logged then
    return refuse("ENOENT", path .. ": no recorded calls, no sections and no trace", "pmlua record -o DIR -- CMD")
  end
  local from_trace = trace and (trace == path or of_trace_alone or not logged)
  local stacks = (from_trace and of_trace or of_logs)(from_trace and trace or path, question)
  if #stacks.nodes == 0 then return refuse("ENODATA", path .. ": no call was recorded") end
  return stacks
end)

return M
