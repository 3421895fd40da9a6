-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/record/job.lua - one report of a parallel job: each rank leaves its messages in its folder, and the last
-- one to end prints the report.
--
-- Try:  mpirun -n 4 pmlua record -o out -- ./solver

local archive = require "pmlua.internal.record.archive"
local core = require "pmlua.core"
local disk = require "pmlua.internal.file"
local lists = require "pmlua.internal.lists"
local logs = require "pmlua.internal.record.logs"
local units = require "pmlua.internal.report.units"
local reader = require "pmlua.internal.report.job"
local report = require "pmlua.internal.record.report"
local timeout = require "pmlua.internal.record.timeout"

local M = {}

local CLAIM <const> = "/.reporting"
local LINES <const> = 20
local STEP_S <const> = 0.02
local FAILED <const> = "failed" -- written by a rank that could not write a requested output

local function exists(path) return require "lfs".attributes(path, "mode") ~= nil end

local function folder_of(job, rank) return ("%s/rank-%d"):format(job.dir, rank) end
local function mark_of(job, rank) return folder_of(job, rank) .. "/complete" end

-- ---- the logs of a rank ----

--- Whether a log has notes on a child that has no log.
local function notes_others(r) return lists.any(r.children or {}, function(c) return not c.has_log end) end

--- Whether the job's summary has all that is in a log, except for call paths.
local function is_summed(r)
  local p = r.process
  if not p or p.in_job ~= "1" or p.ended ~= "exit" or r.traced or r.flow then return false end
  return #p.sums == 0 and #p.values == 0 and #p.openmp == 0 and not notes_others(r)
end

--- Remove the logs that the job's summary makes superfluous.
local function remove_logs(dir, results)
  for _, r in ipairs(results) do
    if r.file and is_summed(r) then os.remove(dir .. "/" .. r.file) end
  end
end

-- ---- which ranks have ended ----

--- Leave the messages of this rank, below whether it failed, as the mark that it is complete.
local function leave(job, lines, failed)
  local mark = mark_of(job, job.rank)
  local done, err = disk.write(mark .. ".new", (failed and FAILED or "") .. "\n" .. table.concat(lines, "\n"))
  if done then done, err = os.rename(mark .. ".new", mark) end
  return done, err
end

local function are_complete(job, ranks) return lists.all(ranks, function(rank) return exists(mark_of(job, rank)) end) end

--- The recorded ranks, in order, by their folders: after MPI_Init each has one.
local function recorded(job)
  local list = logs.ranks(job.dir)
  while #list > 0 and list[#list] >= job.size do list[#list] = nil end
  return list
end

--- Wait, as the first of these ranks, for the others, which may have been killed with all their processes.
local function wait(job, ranks)
  local left, at = timeout.seconds(), 1
  while left > 0 and exists(mark_of(job, job.rank)) and not exists(job.dir .. CLAIM) do
    while ranks[at] and exists(mark_of(job, ranks[at])) do at = at + 1 end
    if not ranks[at] then return end
    core.sys.sleep(STEP_S)
    left = left - STEP_S
  end
end

-- ---- messages of ranks ----

--- Each message once, with its ranks; the ranks that have not ended; those that are not recorded; whether a rank failed.
local function lines_of(job)
  local list, ranks, open, absent, failed = {}, {}, {}, {}, false
  for rank = 0, job.size - 1 do
    local text = disk.read(mark_of(job, rank))
    if not exists(folder_of(job, rank)) then absent[#absent + 1] = rank elseif not text then open[#open + 1] = rank end
    local state, lines = (text or "\n"):match "^([^\n]*)\n(.*)$"
    failed = failed or state == FAILED
    for line in (lines or ""):gmatch "[^\n]+" do
      if not ranks[line] then list[#list + 1], ranks[line] = line, {} end
      table.insert(ranks[line], rank)
    end
  end
  return list, ranks, open, absent, failed
end

local function who(list, size)
  if #list == size then return "" end
  return ("rank%s %s: "):format(#list == 1 and "" or "s", units.ranges(list))
end

--- @over: what ranks that have not ended are was said.
local function report_lines(job, complain, over)
  local list, ranks, open, absent, failed = lines_of(job)
  for i = 1, math.min(#list, LINES) do complain(who(ranks[list[i]], job.size) .. list[i]) end
  if #list > LINES then complain(("%d more lines like these"):format(#list - LINES)) end
  if #absent > 0 then complain(who(absent, 0) .. "not recorded") end
  if #open > 0 and not over then
    complain(who(open, 0) .. "not ended yet, or killed; the table contains their measurements so far")
  end
  return failed
end

-- ---- the report ----

local function draw(o, data, complain)
  local ok, err = require "pmlua.internal.report.traffic".draw(data, o.plot)
  if not ok then complain("--plot: " .. core.failure.sentence(err), true) elseif not o.quiet then complain(o.plot) end
end

--- Report all processes of a job without MPI.
local function report_processes(o, job, complain)
  local results = {}
  for rank = 0, job.size - 1 do
    local dir = folder_of(job, rank)
    for _, r in ipairs(exists(dir) and logs.read(dir) or {}) do results[#results + 1] = r end
  end
  report.show(o, results, job.dir, complain)
end

local function report_results(o, job, complain)
  if not reader.has_mpi(job.dir) then return report_processes(o, job, complain) end
  local data, err = reader.read(job.dir)
  if not data then return complain(core.failure.sentence(err), true) end
  local text = require "pmlua.internal.report.job_text".format(data,
    { json = o.json, csv = o.csv, detail = o.detail == "ranks", threads = o.detail == "threads" })
  if o.json or o.csv then io.write(text)
  else io.stderr:write("\n", text, "\nresults in ", job.dir, "\n") end
  if o.plot then draw(o, data, complain) end
end

--- Whether this process reports the job. A reporter removes the marks before its claim: without a mark, another one did.
local function claim(job)
  local lfs = require "lfs"
  if not lfs.mkdir(job.dir .. CLAIM) then return false end
  if exists(mark_of(job, job.rank)) then return true end
  lfs.rmdir(job.dir .. CLAIM)
  return false
end

--- Remove files that are only needed until all ranks have ended.
local function clean(job)
  local lfs = require "lfs"
  for rank = 0, job.size - 1 do
    os.remove(mark_of(job, rank))
    lfs.rmdir(folder_of(job, rank)) -- if nothing else is in it
  end
  lfs.rmdir(job.dir .. CLAIM)
end

--- Report the whole job. Returns whether a rank could not write a requested output.
local function report_job(o, job, ended, complain)
  local failed = report_lines(job, complain)
  if ended then report.of_ranks(o, job.dir, complain) end
  report_results(o, job, complain)
  if ended then clean(job) end
  return failed
end

--- Wait, as a rank without a folder, for the report of the others: launchers end all ranks when one fails.
---@param dir string the job's
function M.await_report(dir)
  local left, seen = timeout.seconds(), false
  while left > 0 and not (seen and not exists(dir .. CLAIM)) do
    seen = seen or exists(dir .. CLAIM)
    core.sys.sleep(STEP_S)
    left = left - STEP_S
  end
end

-- ---- a job that could not report itself ----

--- Ranks without a mark that have a running process, ranks that may run on another host, and these hosts.
local function under_way(job, ranks)
  local running, away, hosts = {}, {}, {}
  for _, rank in ipairs(ranks) do
    local endings = exists(mark_of(job, rank)) and {} or logs.endings(folder_of(job, rank))
    local is_away = false
    for _, e in ipairs(endings) do
      if e.ended == "away" then is_away, hosts[e.host] = true, true end
    end
    if logs.running(endings) then running[#running + 1] = rank elseif is_away then away[#away + 1] = rank end
  end
  local names = require "pmlua.internal.keys"(hosts)
  return running, away, table.concat(names, ", ")
end

--- Its call paths, its flow and its trace, as the last rank would have made them.
local function complete(o, job, ranks, complain)
  local lines = 0
  for _, rank in ipairs(ranks) do
    local folder = folder_of(job, rank)
    local known = exists(mark_of(job, rank)) -- and what it had to say
    if not exists(folder .. "/part.json") then
      report.of_rank(o, folder, function(line, is_failure)
        lines = known and lines or lines + 1
        if not known and lines <= LINES then complain(who({ rank }, 0) .. line, is_failure) end
      end)
    end
  end
  if lines > LINES then complain(("%d more lines like these"):format(lines - LINES)) end
  report_lines(job, complain, true)
  report.of_ranks(o, job.dir, complain)
  if archive.is_wanted(job.dir) then report.write_trace(o, job.dir, complain) end
end

--- Whether the folder is one of a job, with a folder for each rank.
function M.is_job(dir) return #logs.ranks(dir) > 0 end

local function has_logs(job, ranks) return lists.any(ranks, function(rank) return #logs.files(folder_of(job, rank)) > 0 end) end

--- Report a job that could not be reported at its end, for example because its launcher was killed. A job with ranks
--- that run, or may run on another host, is not completed, because its ranks report it when they end.
---@param o table options of pmlua record
---@return boolean whether there are results
function M.finish_later(o, dir, complain)
  local job = { dir = dir }
  local ranks = logs.ranks(dir)
  job.size = ranks[#ranks] + 1
  if not has_logs(job, ranks) and not reader.has_mpi(dir) then
    complain(("no rank left results in %s"):format(dir))
    return false
  end
  local running, away, hosts = under_way(job, ranks)
  if #running > 0 then complain(who(running, 0) .. "still running; the table contains the measurements so far") end
  if #away > 0 then
    complain(("%snot ended as far as the logs say: killed, or still running on %s; the table contains the measurements so far, "
      .. "and pmlua trace -o FOLDER %s makes a trace of it"):format(who(away, 0), hosts, dir))
  end
  if #running == 0 and #away == 0 then complete(o, job, ranks, complain) end
  report_results(o, job, complain)
  return true
end

--- Report a rank whose command has ended, and, if it is the last one, the whole job.
---@param o table options of pmlua record
---@param job { dir: string, rank: integer, size: integer }
---@return boolean failed what was asked for could not be written; only the rank that reports the job says so for others,
-- as launchers end all ranks when one fails
function M.finish(o, job, complain)
  local dir, lines, failed = folder_of(job, job.rank), {}, false
  local results = report.of_rank(o, dir, function(line, is_failure)
    lines[#lines + 1], failed = line, failed or is_failure == true
  end)
  lines[#lines + 1] = select(2, timeout.seconds())
  local is_mpi = reader.has_mpi(job.dir, job.rank)
  if (o.detail or "job") == "job" then remove_logs(dir, results) end
  local done, err = leave(job, lines, failed)
  if not done then
    complain(err, true)
    return true
  end
  local ranks = recorded(job)
  local is_first = is_mpi and ranks[1] == job.rank
  if is_first then wait(job, ranks) end
  local ended, of_all = are_complete(job, ranks), false
  local function report_failure(line, is_failure)
    of_all = of_all or is_failure == true
    complain(line)
  end
  -- MPI_Init returns when all ranks have started: a rank without a folder by then is not recorded.
  local all = ended and (is_mpi or #ranks == job.size)
  if not (all or is_first) or not claim(job) then return of_all end
  if o.trace and all then report.write_trace(o, job.dir, report_failure) end
  return report_job(o, job, ended, report_failure) or of_all
end

return M
