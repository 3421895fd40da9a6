-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/survey.lua - many processes for one report: each log is read once into a summary, and again
-- where rows are asked for.
--
-- Try:  print(#require("pmlua.internal.report.survey").read({ "out" }).processes)

local core = require "pmlua.core"
local processes_of = require "pmlua.internal.report.processes"
local sections = require "pmlua.sections"
local refuse = core.failure.refuse

local M = {}

---@class pmlua.SectionSurvey
---@field processes pmlua.SectionProcess[] in order; of a log without sections and timeline
---@field summary userdata the sections of all of them, added up by name: core.summary
---@field left_out pmlua.Failure[] files in folders that could not be read
---@field index table<integer, integer> a process's place by its number

--- What a section adds to a summary, of all threads of a process.
local function summed(section, merged)
  local row = { label = section.label, communication = section.type == "communication", inclusive = not section.exclusive,
    values = {} }
  for _, name in ipairs { "count", "total_ns", "self_ns", "min_ns", "max_ns", "mean_ns", "stddev_ns", "threads" } do
    row[name] = merged[name]
  end
  local function add(name, v) row.values[#row.values + 1] = { name, v } end
  for _, e in ipairs(section.events) do
    if merged.values[e.name] then add(e.name, merged.values[e.name]) end
  end
  for _, name in ipairs { "running", "work", "iterations", "torn" } do
    if merged[name] ~= 0 then add(" " .. name, merged[name]) end
  end
  for name, n in pairs(merged.misuse) do add(" misuse " .. name, n) end
  return row
end

--- A process that is in memory, into the summary.
local function add_process(survey, process, number)
  local brief, threads = { threads = 0, rows = 0, exclusive_ns = 0.0, self_ns = 0.0 }, {}
  for _, section in ipairs(process.sections) do
    local merged = sections.merge(section.rows)
    local ok, err = survey.summary:add(number, summed(section, merged))
    if not ok then return nil, err end
    for _, row in ipairs(section.rows) do
      brief.threads = brief.threads + (threads[row.thread] and 0 or 1)
      threads[row.thread] = true
    end
    brief.rows = brief.rows + #section.rows
    brief.exclusive_ns = brief.exclusive_ns + (section.exclusive and merged.total_ns or 0)
    brief.self_ns = brief.self_ns + merged.self_ns
    brief.recorded = brief.recorded or section.quantiles ~= nil
    brief.sketch = brief.sketch or section.record == "sketch"
  end
  process.brief = brief
  return process
end

--- The process of a log, without sections and timeline.
local function add_log(survey, path, number)
  local text, brief = survey.summary:log(path, number)
  if not text then return refuse(brief) end
  local process, err = sections.parse(text, path)
  if not process then return nil, err end
  process.log, process.brief = path, brief
  return process
end

--- Which section of a file contradicts those that were there before.
local function contradiction(survey, process, names, err)
  local known = {}
  for _, row in ipairs(survey.summary:sections()) do known[row.label] = row end
  for _, s in ipairs(process.sections) do
    local row = known[s.label]
    local other = row and (row.communication ~= (s.type == "communication") and "type"
      or row.inclusive == s.exclusive and "exclusiveness")
    if other then
      return refuse("EINVAL", ("%s: section %s has another %s than in %s"):format(process.name,
        sections.show(s.label):sub(1, 60), other, names[row.first]), "report different programs one by one")
    end
  end
  return nil, err
end

local function add_file(survey, path, number)
  local log, err = sections.is_log(path)
  if log == nil then return nil, err end
  if log then return add_log(survey, path, number) end
  local process
  process, err = sections.read(path)
  if not process then return nil, err end
  return add_process(survey, process, number)
end

local function new_survey()
  return { processes = processes_of.new(), left_out = {}, summary = assert(core.summary.open()) }
end

--- In order, with each process's number leading to its place.
local function ordered(survey)
  survey.index = survey.processes:sort(sections.before)
  local ok, err = sections.check_ranks(survey.processes)
  if not ok then return nil, err end
  return survey
end

--- Why the report fails because of a file; true: it goes on without this file.
local function left_out(survey, path, files, folders, err)
  if err.code == "EINVAL" then
    local process = sections.read(path)
    if process then return select(2, contradiction(survey, process, files, err)) end
  end
  if not folders or err.code ~= "EFORMAT" then return err end
  survey.left_out[#survey.left_out + 1] = err
  return true
end

--- Add files to the survey. Damaged files in `folders` are left out, unless all are damaged.
local function add_files(survey, files, folders)
  local n = 0
  for i, path in ipairs(files) do
    local process, err = add_file(survey, path, i)
    local why = err and left_out(survey, path, files, folders, err)
    if why and why ~= true then return nil, why end
    if process then survey.processes:keep(i, process) end
    n = n + (why and 0 or 1)
  end
  if n == 0 then return nil, survey.left_out[1] end
  return ordered(survey)
end

local function in_folders(paths)
  for _, path in ipairs(paths) do
    if require "lfs".attributes(path, "mode") ~= "directory" then return false end
  end
  return true
end

--- The processes of files and folders for a report: each is read once, and what is kept of a log does not grow with
--- its threads and sections.
---@param paths string[]
---@return pmlua.SectionSurvey? survey
---@return pmlua.Failure? failure one line
function M.read(paths)
  local files, err = sections.files(paths)
  if not files then return nil, err end
  return add_files(new_survey(), files, in_folders(paths))
end

--- The same of processes that are in memory.
---@param processes pmlua.SectionProcess[]
---@return pmlua.SectionSurvey? survey
---@return pmlua.Failure? failure
function M.of(processes)
  local survey, names = new_survey(), {}
  for i, process in ipairs(processes) do
    names[i] = process.name
    local ok, err = add_process(survey, process, i)
    if not ok then return contradiction(survey, process, names, err) end
    survey.processes:keep(i, process)
  end
  return ordered(survey)
end

--- A number without a fraction is an integer.
local function exact(v) return math.tointeger(v) or v end

local nothing = setmetatable({}, { __newindex = function() error("a row without values is not to be changed", 2) end })

local own = { running = true, work = true, iterations = true, torn = true }

--- A row of a summary as merge() has it, and the names of its events.
---@param row table of core.summary
---@return table merged
---@return string[] events
function M.merged(row)
  local calls = row.calls
  local all = { count = exact(calls.n), running = 0, total_ns = row.time.sum, self_ns = row.self.sum, min_ns = calls.min,
    max_ns = calls.max, mean_ns = calls.mean, stddev_ns = calls.deviation, work = 0, iterations = 0, values = nothing,
    misuse = nothing, threads = row.threads, torn = 0 }
  if #row.values == 0 then return all, nothing end -- as most: a table for each would be a third of a report's memory
  local events = {}
  all.values, all.misuse = {}, {}
  for _, v in ipairs(row.values) do
    local name = v.name:match "^ (.*)"
    if not name then
      events[#events + 1], all.values[v.name] = v.name, v.sum
    elseif own[name] then all[name] = exact(v.sum)
    else all.misuse[name:match "^misuse (.*)" or name] = v.sum end
  end
  return all, events
end

--- One section of a process of a survey, read again where it is in a log.
---@param process pmlua.SectionProcess
---@param label string
---@param threads? boolean each of them, too
---@param cache? userdata the log's sections: core.summary.cache
---@return { all: table, threads: table[], quantiles: number[]? }? section nil: the process was not in it, or its log is gone
function M.one(process, label, threads, cache)
  if process.log then
    local one = core.summary.one(cache or process.log, label, threads)
    if one then one.all = M.merged(one.all) end
    return one
  end
  for _, section in ipairs(process.sections) do
    if section.label == label and #section.rows > 0 then
      return { all = sections.merge(section.rows), threads = section.rows, quantiles = section.quantiles }
    end
  end
end

--- The rows of a process of a survey, section by section.
---@param process pmlua.SectionProcess
---@return { label: string, communication: boolean, inclusive: boolean, threads: table[] }[]? sections
---@return pmlua.Failure? failure its log is gone
function M.rows(process)
  if process.log then
    local list, err = core.summary.all(process.log)
    if list then return list end
    return refuse(err)
  end
  local list = {}
  for i, s in ipairs(process.sections) do
    list[i] = { label = s.label, communication = s.type == "communication", inclusive = not s.exclusive, threads = s.rows }
  end
  return list
end

--- All of a process of a survey.
---@param process pmlua.SectionProcess
---@return pmlua.SectionProcess process
function M.whole(process)
  return process.log and sections.read(process.log) or process
end

return M
