-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/experiment/runlog.lua - samples.pmlog: the data that is in no table yet, in case the run is killed.
--
-- Try:  pmlua SCRIPT & sleep 1; kill -KILL $!; pmlua report results/NAME/latest
--
-- Samples are stored there while a visit takes them (core/record/pml_samples_log.h). The other results of measure, and the
-- experiment's columns, which only its script can compute, are stored as text (docs/log.md, definition 12).

local core = require "pmlua.core"
local datasets = require "pmlua.internal.experiment.datasets"

local M = {}

local TOLD <const> = 12
local PAUSE_NS <const>, SHARE <const> = 50000000, 50 -- columns are computed in a fiftieth of the time at most

---@class pmlua.RunLog
---@field took fun(value: number) keep a sample of a visit that gives them one by one
---@field kept fun() the samples of the visit are elsewhere
---@field close fun() the run ends; the file goes
local RunLog = {}
RunLog.__index = RunLog
for _, name in ipairs { "took", "kept", "close" } do RunLog[name] = core.samples_log[name] end

--- The log of a run in its folder; there is one at a time (EALREADY).
---@return pmlua.RunLog? log, pmlua.Failure? failure
function M.open(folder)
  local opened, err = core.samples_log.open(folder)
  if not opened then return nil, err end
  return setmetatable({ due = 0 }, RunLog)
end

--- Samples are of this cell and round from now on.
function RunLog:visit(cell, round, planned)
  self.cell, self.round = cell, round
  core.samples_log.visit(cell, round, planned)
end

local function tell(cell, round, n, name, value)
  if value == nil then return end
  local text = math.type(value) == "float" and ("%.17g"):format(value):gsub("[^%w+-]+", ".") or tostring(value)
  core.samples_log.tell(cell, round, n, name, text)
end

--- Log the values that measure returned beside the samples of this visit.
---@param metrics pmlua.Metric[]
function RunLog:tell_metrics(metrics, extra)
  for _, m in ipairs(metrics) do tell(self.cell, self.round, 0, m.name, datasets.metric({ extra = extra }, m.name)) end
end

--- Log the experiment's columns for a cell that has just got samples; skipped at times, if this takes long.
function RunLog:tell_columns(run, cell)
  if #run.exp.columns == 0 or run.core.clock.ns() < self.due then return end
  local begun = os.clock() -- processor time, so that other processes do not count as cost
  for _, c in ipairs(run.cells) do -- a column may compare cells
    if not c.tally then c.summary = datasets.summarise(run, c) end
  end
  run:derive(cell)
  for k, c in ipairs(run.exp.columns) do tell(cell.index, 0, cell.summary.n, c.name, cell.derived[k]) end
  self.due = run.core.clock.ns() + math.max(PAUSE_NS, SHARE * (os.clock() - begun) * 1e9)
end

---@class pmlua.RunLogLeft
---@field visit { cell: integer, round: integer, values: number[] } in which the run was killed
---@field metrics table<integer, table<integer, table<string, number>>> by cell, round and name
---@field columns table<integer, { n: integer, value: table<string, string> }> by cell: after n samples

local function entry(t, key)
  t[key] = t[key] or {}
  return t[key]
end

--- Whether the run was killed while it created its log, before any sample: the head is written last.
local function is_headless(path)
  local file <close> = require "pmlua.internal.file".open(path)
  return file ~= nil and (file:read(8) or ""):find "^%z*$" ~= nil
end

--- Read the log of a killed run.
---@return pmlua.RunLogLeft? left, pmlua.Failure? failure
function M.left(path)
  if is_headless(path) then return { visit = { values = {} }, metrics = {}, columns = {} } end
  local visit, err = core.samples_log.left(path)
  local log
  if visit then log, err = core.log.read(path) end
  if not log then return nil, err end
  local left = { visit = visit, metrics = {}, columns = {} }
  for _, d in ipairs(log.definitions[TOLD] or {}) do
    local good, cell, round, n, name, value = pcall(string.unpack, "=I4I4I8zz", d)
    if good and round > 0 then
      entry(entry(left.metrics, cell), round)[name] = tonumber(value)
    elseif good then
      local c = left.columns[cell]
      if not c or c.n ~= n then c = { n = n, value = {} } end
      left.columns[cell], c.value[name] = c, value
    end
  end
  return left
end

return M
