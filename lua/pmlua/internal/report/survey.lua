-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/survey.lua - job summary for a report: each log is read once into a summary, and again when its
-- rows are requested.
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

--- A log into the survey: its process, without sections and timeline.
local function add_file(survey, path, number)
  local process, err = survey.summary:log(path, number)
  if process then return process end
  return refuse(err)
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

--- The failure of the report because of a file; true: the report continues without the file.
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

--- Read the processes of files and folders for a report. Each log is read once, and the memory for it does not grow with
--- its threads and sections.
---@return pmlua.SectionSurvey? survey, pmlua.Failure? failure one line
function M.read(paths)
  local files, err = sections.files(paths)
  if not files then return nil, err end
  return add_files(new_survey(), files, in_folders(paths))
end

--- The same of the bytes of one log, which a running application sent.
---@param name string what the report calls it
---@param folder string where the log is kept while it is read
---@return pmlua.SectionSurvey? survey, pmlua.Failure? failure
function M.of(bytes, name, folder)
  local path = folder .. "/sections.pmlog"
  local done, err = require "pmlua.internal.file".write(path, bytes)
  if not done then return nil, err end
  local survey = new_survey()
  local process, why = add_file(survey, path, 1)
  if not process then return nil, why end
  process.name = name
  survey.processes:keep(1, process)
  return ordered(survey)
end

--- A number without a fraction is an integer.
local function exact(v) return math.tointeger(v) or v end

local nothing = setmetatable({}, { __newindex = function() error("a row without values is not to be changed", 2) end })

local own = { running = true, work = true, iterations = true, torn = true }

--- A row of a summary as numbers of Lua, and the names of its events.
---@param row table of core.summary
---@return table merged, string[] events
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

--- One section of a process of a survey, read again.
---@param threads? boolean each of them, too
---@param cache? userdata the log's sections: core.summary.cache
---@return { all: table, threads: table[], quantiles: number[]? }? section nil: the process was not in it, or its log is gone
function M.one(process, label, threads, cache)
  local one = core.summary.one(cache or process.log, label, threads)
  if one then one.all = M.merged(one.all) end
  return one
end

--- The rows of a process of a survey, section by section.
---@return { label: string, communication: boolean, inclusive: boolean, threads: table[] }[]? sections
---@return pmlua.Failure? failure its log is gone
function M.rows(process)
  local list, err = core.summary.all(process.log)
  if list then return list end
  return refuse(err)
end

return M
