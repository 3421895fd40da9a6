-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/job.lua - a job of MPI: the summary that its ranks left at MPI_Finalize, and the logs of those
-- that are not in it.
--
-- Try:  mpirun -n 4 pmlua record -o out -- ./solver; pmlua report out

local core = require "pmlua.core"
local disk = require "pmlua.internal.file"
local lists = require "pmlua.internal.lists"
local ranks_in = require "pmlua.internal.record.logs".ranks
local refuse = core.failure.refuse

local M = {}

local FILE <const> = "job.pmlsum"
local MPI <const> = 11 -- definition of a process that called MPI_Init (docs/log.md)
local MOST <const> = 1 << 24 -- ranks that a log may claim

---@class pmlua.Job
---@field size integer ranks
---@field block integer ranks that one line of the matrix stands for
---@field late integer[] ranks that are not in the summary, but whose logs are here
---@field gone integer[] ranks of which nothing is here
---@field hosts table[] rows of core.summary, as the next two
---@field sections table[]
---@field calls table[]
---@field counters table[]
---@field recorders table[]
---@field time? table time in functions of MPI, except for Init and Finalize
---@field logs table<integer, string> of ranks
---@field sizes { sent: table, received: table } by the number of bits of a message's size: { messages, bytes, time }, ns
---@field collectives table[] { operation, calls, sent, received }
---@field files table[] { function, calls, bytes, most, most_rank }: what functions of MPI read or wrote
---@field paths table[] call paths with their spread over ranks, outer ones first
---@field waits pmlua.Wait[] by rank; empty without a trace
---@field pairs table[] { from, to, messages, bytes }, blocks of ranks
---@field damaged string[] files that cannot be read
---@field odd string[] what else a reader must know, as lines

local function mode(path) return require "lfs".attributes(path, "mode") end

--- The folder of a job and its summary, by what the user named.
local function place(path)
  if mode(path) == "directory" then return path, path .. "/" .. FILE end
  return path:match "^(.*)/[^/]*$" or ".", path
end

-- ---- logs ----

--- Logs by the rank that their names tell: rankN.HOST.PID.pmlog, or in rank-N.
local function logs_in(folder)
  local of = {}
  local function add(rank, path)
    of[rank] = of[rank] or {}
    table.insert(of[rank], path)
  end
  for _, entry in ipairs(disk.names(folder)) do
    local rank = entry:match "^rank(%d+)%..*%.pmlog$"
    if rank then add(math.tointeger(rank), folder .. "/" .. entry) end
  end
  for _, rank in ipairs(ranks_in(folder)) do
    local own = ("%s/rank-%d"):format(folder, rank)
    for _, name in ipairs(disk.names(own)) do
      if name:find "%.pmlog$" then add(rank, own .. "/" .. name) end
    end
  end
  for _, paths in pairs(of) do table.sort(paths) end
  return of
end

--- The size and number of a log's MPI job; nil: its process did not call MPI_Init.
local function job_of(log)
  local mpi = log.definitions[MPI]
  return mpi and string.unpack("=i4", mpi[1], 5), mpi and (string.unpack("=I4", mpi[#mpi], 13))
end

--- The logs of a rank's processes that called MPI_Init; the folder also has logs of launchers and children. If messages could
--- not be recorded, no log has this information, and the first log counts. A log of a job with another size than @job_size is
--- skipped, because a job that was started by this one may have its logs here.
---@return { path: string, size: integer, job: integer }[] size 0, job 0: not known
---@return pmlua.Failure? why one cannot be read
local function logs_of(paths, job_size)
  local list, first, unreadable = {}, nil, nil
  for _, path in ipairs(paths) do
    local log, why = core.log.read(path)
    local size, job
    if log then size, job = job_of(log) end
    if size and (not job_size or size == job_size) then list[#list + 1] = { path = path, size = size, job = job } end
    first = first or log and not size and path
    unreadable = unreadable or why
  end
  if #list == 0 and first then list[1] = { path = first, size = 0, job = 0 } end
  return list, #list == 0 and unreadable or nil
end

--- Did a process of a rank call MPI_Init?
---@param folder string of the job
---@param rank? integer nil: of any
function M.has_mpi(folder, rank)
  if mode(folder .. "/" .. FILE) == "file" then return true end
  for number, paths in pairs(logs_in(folder)) do
    local list = logs_of(paths)
    if list[1] and list[1].size > 0 and (rank == nil or rank == number) then return true end
  end
  return false
end

-- ---- which job ----

--- Whether a path is a recorded job's folder or a summary. Sections whose logs are all present have a separate report.
function M.is_one(path)
  if mode(path) ~= "directory" then return mode(path) == "file" and path:find "%.pmlsum$" ~= nil end
  if #ranks_in(path) > 0 then return true end
  if mode(path .. "/" .. FILE) ~= "file" then return false end
  local job = M.read(path)
  if not job then return true end -- M.read reports the error
  local logs = logs_in(path)
  for rank = 0, job.size - 1 do
    if not logs[rank] then return true end
  end
  return false
end

-- ---- rows ----

local DAMAGED <const> = {} -- raised where a summary says what cannot be

--- Read a row; a damaged row is skipped with a note, without affecting the rest of the job.
local function tolerant(job, row, read, ...)
  local sound, why = pcall(read, ...)
  if not sound and why ~= DAMAGED then error(why, 0) end
  if not sound then
    job.odd[#job.odd + 1] = ("%s: its part about %s is damaged, and omitted"):format(FILE,
      require "pmlua.internal.printable"((row.label .. " " .. row.detail):sub(1, 60):gsub(" $", "")))
  end
  return sound
end

--- An integer from least to most; raises DAMAGED if v is another value.
local function whole(v, least, most)
  v = math.tointeger(tonumber(v))
  if not v or v < least or v > (most or math.maxinteger) then error(DAMAGED) end
  return v
end

local function value_of(row, name)
  for _, v in ipairs(row.values) do
    if v.name == name then return whole(v.sum, 0) end
  end
  return 0
end

local function read_size(sizes, what, v)
  local bits, n = whole(v.name, 0, 64), whole(v.sum, 0)
  sizes[bits] = sizes[bits] or { messages = 0, bytes = 0 }
  sizes[bits][what] = n
end

local function read_pair(job, index, what, row, v)
  local from, to, n = whole(row.detail, 0, job.size - 1), whole(v.name, 0, job.size - 1), whole(v.sum, 0)
  local key = row.detail .. ">" .. v.name
  if not index[key] then
    index[key] = { from = from, to = to, messages = 0, bytes = 0 }
    table.insert(job.pairs, index[key])
  end
  index[key][what] = n
end

local function read_file(job, row)
  local moved = row.values[2]
  if not moved or moved.name ~= "bytes" then error(DAMAGED) end
  table.insert(job.files, { ["function"] = row.detail, calls = value_of(row, "calls"), bytes = value_of(row, "bytes"),
    most = whole(moved.spread.max, 0), most_rank = moved.spread.most })
end

local function read_collective(job, row)
  table.insert(job.collectives, { operation = row.detail, calls = value_of(row, "calls"), sent = value_of(row, "sent"),
    received = value_of(row, "received") })
end

--- Note the functions that did not fit in the summary.
local function report_left_out(job, row)
  job.odd[#job.odd + 1] = ("%d functions with the least time, %s in all, are left out of %s, which has 8 KB for each rank; "
    .. "pmlua record --detail ranks keeps them"):format(value_of(row, "functions"),
    require "pmlua.internal.report.units".time(row.self.sum), FILE)
end

local function read_traffic(job)
  local index = {}
  for _, row in ipairs(job.summary:rows "mpi") do
    local what, rest = row.label:match "^(%l+) (%l+)$"
    if rest == "to" or job.sizes[rest] then
      for _, v in ipairs(row.values) do
        if rest == "to" then tolerant(job, row, read_pair, job, index, what, row, v)
        else tolerant(job, row, read_size, job.sizes[rest], what, v) end
      end
    elseif row.label == "time" then job.time = row
    elseif row.label == "left out" then tolerant(job, row, report_left_out, job, row)
    elseif row.label == "file" then tolerant(job, row, read_file, job, row)
    elseif row.label == "collective" then tolerant(job, row, read_collective, job, row)
    end
  end
  table.sort(job.pairs, function(a, b) return a.from < b.from or a.from == b.from and a.to < b.to end)
end

--- Sections of one name, but of several types.
local function report_types(job)
  for _, row in ipairs(job.sections) do
    if row.detail ~= "" then
      local name = require "pmlua.sections".show(row.label):sub(1, 60)
      job.odd[#job.odd + 1] = ("ranks disagree about the type of section %s, which is %s in rank %d: each type has a row"):format(
        name, row.detail, row.first)
    end
  end
end

--- A section is also a region of the profile, with a source file. MPI_Finalize is left out, because the summary is made inside
--- it, so that only late ranks have a time for it.
local function calls_of(job)
  local is_section, calls = {}, {}
  for _, row in ipairs(job.sections) do is_section[row.label] = true end
  for _, row in ipairs(job.summary:rows "call") do
    local is_cut = job.whole and row.label == "MPI_Finalize"
    if not is_cut and (not is_section[row.label] or row.detail:find "%.so") then calls[#calls + 1] = row end
  end
  return calls
end

local function by_time(a, b)
  if a.time.sum ~= b.time.sum then return a.time.sum > b.time.sum end
  return a.detail .. "\0" .. a.label < b.detail .. "\0" .. b.label
end

-- ---- reading ----

local function summary_of(path)
  if mode(path) ~= "file" then return core.summary.open() end
  local text, err = disk.read(path)
  if not text then return nil, err end
  local summary, why = core.summary.unpack(text)
  if not summary then return refuse(why, path, "remove it to report the logs of the ranks") end
  return summary
end

local function shape_of(summary)
  for _, row in ipairs(summary:rows "mpi") do
    if row.label == "job" then return whole(value_of(row, "size"), 1, MOST), whole(value_of(row, "block"), 1) end
  end
  return 0, 1
end

--- Counters and recorders: each has a value, of recorders a whole number of elements.
local function check_event(row, kind)
  local v = row.values[1]
  if not v then error(DAMAGED) end
  if kind == "recorder" then v.sum = whole(v.sum, 0) end
end

local function events_of(job, kind)
  local rows = {}
  for _, row in ipairs(job.summary:rows(kind)) do
    if tolerant(job, row, check_event, row, kind) then rows[#rows + 1] = row end
  end
  return rows
end

local function missing(job)
  local here, list = {}, {}
  for _, range in ipairs(job.summary:numbers()) do
    for rank = math.max(range[1], 0), math.min(range[2], job.size - 1) do here[rank] = true end
  end
  for rank = 0, job.size - 1 do
    if not here[rank] then list[#list + 1] = rank end
  end
  return list
end

local function is_cut(path)
  local log = core.log.read(path)
  return log ~= nil and log.missing > 0
end

--- The job of which most ranks have a log; 0: not known.
local function job_of_most(of)
  local n, most = {}, 0
  for _, list in pairs(of) do
    local seen = {}
    for _, log in ipairs(list) do
      if log.job ~= 0 and not seen[log.job] then n[log.job] = (n[log.job] or 0) + 1 end
      seen[log.job] = true
    end
  end
  for job, ranks in pairs(n) do
    if most == 0 or ranks > n[most] or ranks == n[most] and job < most then most = job end
  end
  return most
end

--- The log of a rank that is of the job, if there is one.
local function choose(list, job) return lists.find(list, function(log) return log.job == job end) or list[1] end

--- Note ranks whose logs belong to another job than most, and ranks that also have logs of other jobs.
local function report_jobs(job, of, most, is_needed)
  local others, beside = {}, {}
  for rank, list in pairs(of) do
    local chosen = choose(list, most)
    local n = 0
    for _, log in ipairs(list) do n = n + (log.job ~= chosen.job and log.job ~= 0 and 1 or 0) end
    if chosen.job ~= 0 and chosen.job ~= most and is_needed[rank] then others[#others + 1] = rank end
    if n > 0 then beside[#beside + 1] = rank end
  end
  local ranges = require "pmlua.internal.report.units".ranges
  table.sort(others)
  table.sort(beside)
  if #others > 0 then
    job.odd[#job.odd + 1] = ("logs of another job than that of the other ranks: %s; name the files of one job"):format(
      ranges(others))
  end
  if #beside > 0 then
    job.odd[#job.odd + 1] = ("another job has logs of its ranks %s here; they are omitted"):format(ranges(beside))
  end
end

--- Add the logs of ranks that are not in the summary. A rank whose log cannot be read is gone.
local function add_logs(job, folder)
  local list, job_size, of = {}, job.size > 0 and job.size or nil, {}
  for rank, paths in pairs(logs_in(folder)) do
    local why
    of[rank], why = logs_of(paths, job_size)
    if why then job.damaged[#job.damaged + 1] = core.failure.sentence(why) end
    if #of[rank] == 0 then of[rank] = nil end
  end
  local most = job_of_most(of)
  for rank, logs in pairs(of) do
    local log = choose(logs, most)
    job.logs[rank] = log.path
    list[#list + 1] = log.path
    job.size = math.max(job.size, math.min(math.max(log.size, rank + 1), MOST))
  end
  job.openmp = require "pmlua.internal.record.openmp".read(list)
  local is_needed = {}
  for _, rank in ipairs(missing(job)) do
    is_needed[rank] = true
    local path = job.logs[rank]
    local is_here = path and job.summary:process(path, rank)
    table.insert(is_here and job.late or job.gone, rank)
    if is_here and is_cut(path) then
      job.odd[#job.odd + 1] = ("%s: the log is cut short; not all of what rank %d measured is here"):format(path, rank)
    end
  end
  report_jobs(job, of, most, is_needed)
end

--- How many ranks each host had.
local function hosts_of(job)
  local list = {}
  for _, row in ipairs(job.summary:rows "host") do
    list[#list + 1] = { name = row.label, ranks = row.processes }
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

--- The rows of the summary, and of logs that are not in it. Raises DAMAGED.
local function read_rows(job, folder)
  local summary = job.summary
  job.size, job.block = shape_of(summary)
  add_logs(job, folder)
  job.hosts, job.sections = hosts_of(job), summary:sections()
  job.calls, job.counters, job.recorders = calls_of(job), events_of(job, "counter"), events_of(job, "recorder")
  table.sort(job.sections, by_time)
  report_types(job)
  table.sort(job.calls, by_time)
  read_traffic(job)
end

--- Read the wait states and call paths that were written beside the summary.
local function read_files(job, folder)
  local waits, no_waits = require "pmlua.internal.report.waits".read(folder)
  local paths, no_paths = require "pmlua.internal.record.parts".paths(folder)
  job.waits, job.paths = waits or {}, paths or {}
  job.damaged[#job.damaged + 1] = no_waits
  job.damaged[#job.damaged + 1] = no_paths
end

--- All of a job.
---@param path string its folder or its summary
---@return pmlua.Job? job, string|pmlua.Failure? err
function M.read(path)
  local folder, file = place(path)
  local summary, err = summary_of(file)
  if not summary then return nil, err end
  local job = { summary = summary, late = {}, gone = {}, sizes = { sent = {}, received = {} }, collectives = {},
    files = {}, pairs = {}, logs = {}, damaged = {}, odd = {}, whole = mode(file) == "file" }
  local sound, why = pcall(read_rows, job, folder)
  if why == DAMAGED then
    return refuse("EFORMAT", file .. ": damaged: its rows contradict each other", "remove it to report the logs of the ranks")
  elseif not sound then
    error(why, 0)
  end
  if job.size == 0 then return refuse("ENODATA", path .. ": no rank has a log that can be read") end
  read_files(job, folder)
  return job
end

return M
