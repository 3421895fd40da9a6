-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/export/source.lua - the data source of an export: the logs of a run, and the summary of an MPI job.
--
-- Try:  for _, note in ipairs(require("pmlua.internal.export.source").read({ "out" }).notes) do print(note) end

local disk = require "pmlua.internal.file"
local job_text = require "pmlua.internal.report.job_text"
local jobs = require "pmlua.internal.report.job"
local lists = require "pmlua.internal.lists"
local units = require "pmlua.internal.report.units"
local report = require "pmlua.report"
local job_summaries = require "pmlua.internal.report.job_summary"

local M = {}

---@class pmlua.export.Source
---@field job_summary? pmlua.JobSummary of its logs; nil: no log is left
---@field job? pmlua.Job nil: no job of MPI
---@field notes string[] what is missing
---@field merged? string which ranks are in tables of a job only, as their logs were merged

local function mode(path) return require "lfs".attributes(path, "mode") end

local function has_logs(folder) return lists.any(disk.names(folder), function(name) return name:find "%.pmlog$" end) end

--- The folders that contain logs: a folder and its subfolders of ranks.
local function places(folder)
  local list = { has_logs(folder) and folder or nil }
  for _, entry in ipairs(disk.names(folder)) do
    local path = folder .. "/" .. entry
    if entry:find "^rank%-%d+$" and mode(path) == "directory" and has_logs(path) then list[#list + 1] = path end
  end
  return list
end

--- Is it a job's folder or summary, so that it may have rows without logs?
local function is_job(path) return jobs.is_one(path) or mode(path .. "/job.pmlsum") == "file" end

--- Ranks without a log.
local function without_logs(job)
  local list = {}
  for rank = 0, job.size - 1 do
    if not job.logs[rank] then list[#list + 1] = rank end
  end
  return list
end

--- The job says itself which ranks are missing.
local function notes_of(source)
  local notes = {}
  for _, note in ipairs(source.job_summary and report.notes(source.job_summary) or {}) do
    if not source.job or not note:find "^ranks without a file" then notes[#notes + 1] = note end
  end
  local of_job = source.job and job_text.notes(source.job) or {}
  return table.move(of_job, 1, #of_job, #notes + 1, notes)
end

local function merged(job)
  local without = job.whole and without_logs(job) or {}
  if #without == 0 then return nil end
  return ("rank%s %s left no logs: the table totals contains their measurements; pmlua record --detail ranks keeps logs"):format(
    #without == 1 and "" or "s", units.ranges(without))
end

--- Read the named source: files, folders, or one job.
---@return pmlua.export.Source? source, string|pmlua.Failure? err
function M.read(paths)
  local source, logs, err = {}, paths, nil
  if #paths == 1 and is_job(paths[1]) then
    source.job, err = jobs.read(paths[1])
    if not source.job then return nil, err end
    logs = mode(paths[1]) == "directory" and places(paths[1]) or {}
  end
  if #logs > 0 then source.job_summary, err = job_summaries.read(logs) end
  if err then return nil, err end
  source.notes, source.merged = notes_of(source), source.job and merged(source.job)
  return source
end

return M
