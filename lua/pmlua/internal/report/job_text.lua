-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/job_text.lua - a job of MPI as text, JSON and CSV.
--
-- Try:  mpirun -n 4 pmlua record -o out -- ./solver; pmlua report out

local csv = require "pmlua.internal.cli.csv"
local json = require "pmlua.json"
local numbers = require "pmlua.internal.report.numbers"
local sections = require "pmlua.sections"
local sorted = require "pmlua.internal.sorted"
local tables = require "pmlua.internal.report.job_tables"

local M = {}

local CONSTRUCTS <const> = 40 -- most OpenMP constructs in a table

-- ---- notes ----

--- Notes on data that is missing from a job's figures, one per line.
function M.notes(job)
  local list = {}
  if not job.whole then list[#list + 1] = "MPI_Finalize left no summary: this is from the logs of the ranks" end
  if job.whole and #job.late > 0 then
    list[#list + 1] = ("%s not in the job's summary, merged from logs: %s; messages of these ranks are not counted"):format(
      tables.plural(#job.late, "rank"), numbers.ranges(job.late))
  end
  if #job.gone > 0 then
    list[#list + 1] = ("%s missing, without a log that can be read: %s"):format(tables.plural(#job.gone, "rank"),
      numbers.ranges(job.gone))
  end
  for _, file in ipairs(job.damaged) do list[#list + 1] = file .. "; left out" end
  for _, line in ipairs(job.odd) do list[#list + 1] = line end
  return list
end

local function head(job)
  local parts = {}
  for i, host in ipairs(job.hosts) do
    if i <= 4 then parts[i] = ("%s (%d)"):format(sections.show(host.name), host.ranks) end
  end
  if #job.hosts > 4 then parts[5] = ("%d more"):format(#job.hosts - 4) end
  return ("%s on %s: %s\n"):format(tables.plural(job.size, "rank"), tables.plural(#job.hosts, "host"), table.concat(parts, ", "))
end

-- ---- all ----

local function text(job, o)
  local parts = { head(job), tables.text(job) }
  local constructs = require "pmlua.internal.record.openmp".text(job.openmp, CONSTRUCTS)
  if constructs then parts[3] = "\n" .. constructs end
  if o.detail or o.threads then parts[#parts + 1] = require "pmlua.internal.report.job_ranks".text(job, o.threads) end
  local list = M.notes(job)
  if #list > 0 then parts[#parts + 1] = "\n" .. table.concat(list, "\n") .. "\n" end
  return table.concat(parts)
end

local function value_of(name, v)
  return { name = name, sum = v.sum, least = v.spread.min, least_rank = v.spread.least, most = v.spread.max,
    most_rank = v.spread.most }
end

--- The events that a section counted; nil: none.
local function events_of(row)
  local list = json.array()
  for _, v in ipairs(row.values) do
    if tables.is_event(v) then list[#list + 1] = value_of(v.name, v) end
  end
  return #list > 0 and list or nil
end

local function counters_of(job)
  local list = json.array()
  for i, row in ipairs(job.counters) do
    list[i] = value_of(row.label, row.values[1])
    list[i].level, list[i].ranks = row.detail == "level" or nil, row.processes
  end
  return list
end

local quantile_names = { "min", "q1", "median", "q3", "p95", "p99", "max" }

local function recorders_of(job)
  local list = json.array()
  for i, row in ipairs(job.recorders) do
    local r = value_of(row.label, row.values[1])
    r.ranks, r.mean = row.processes, row.calls.mean
    for k, name in ipairs(row.quantiles and quantile_names or {}) do r[name] = row.quantiles[k] end
    if row.quantiles then r.min, r.max, r.min_rank, r.max_rank = row.calls.min, row.calls.max, row.calls.least, row.calls.most end
    list[i] = r
  end
  return list
end

local function durations_of(row)
  local q, of = row.quantiles, row.calls
  return q and { calls = row.quantiles_of, min_ns = of.min, min_rank = of.least, q1_ns = q[2], median_ns = q[3], q3_ns = q[4],
    p95_ns = q[5], p99_ns = q[6], max_ns = of.max, max_rank = of.most } or nil
end

--- A section or a function for programs.
---@param row table of core.summary
function M.row_of(row, job)
  return { name = row.label, library = row.detail ~= "" and row.detail or nil, ranks = row.processes, threads = row.threads,
    calls = row.calls.n, total_ns = row.time.sum, average_ns = tables.average(row, job),
    most_ns = row.time.max, most_rank = row.time.most, least_ns = row.time.min, least_rank = row.time.least,
    imbalance = tables.imbalance(row, job), waited_ns = tables.waited(row),
    durations = durations_of(row), events = events_of(row) }
end

local function rows_of(list, job)
  local rows = json.array()
  for i, row in ipairs(list) do rows[i] = M.row_of(row, job) end
  return rows
end

local function sizes_of(of)
  local list = json.array()
  for bits = 0, 64 do
    if of[bits] then
      list[#list + 1] = { least_bytes = bits > 0 and 1 << (bits - 1) or 0, messages = of[bits].messages, bytes = of[bits].bytes,
        time_ns = of[bits].time }
    end
  end
  return list
end

local function as_json(job, o)
  local ranks = (o.detail or o.threads) and require "pmlua.internal.report.job_ranks".data(job, o.threads) or nil
  return json.encode { ranks = ranks, size = job.size, hosts = json.array(job.hosts), sections = rows_of(job.sections, job),
    calls = rows_of(job.calls, job), mpi = job.time and M.row_of(job.time, job) or nil, counters = counters_of(job),
    recorders = recorders_of(job), sent = sizes_of(job.sizes.sent), received = sizes_of(job.sizes.received),
    collectives = json.array(job.collectives), files = json.array(job.files), pairs = json.array(job.pairs),
    ranks_of_a_pair = job.block,
    waits = json.array(job.waits), paths = json.array(job.paths),
    openmp = json.array(job.openmp),
    late = json.array(job.late), missing = json.array(job.gone), notes = json.array(M.notes(job)) }
end

local columns = { "kind", "name", "library", "ranks", "threads", "calls", "total_ns", "average_ns", "most_ns", "most_rank",
  "least_ns", "least_rank", "imbalance", "waited_ns" }

--- Sections and calls as a table, the longest first.
---@return string[] names, any[][] rows
function M.rows(job)
  local rows = {}
  for kind, list in sorted { section = job.sections, call = job.calls } do
    for _, row in ipairs(list) do
      local r = M.row_of(row, job)
      r.kind = kind
      local line = {}
      for i, name in ipairs(columns) do line[i] = r[name] end
      rows[#rows + 1] = line
    end
  end
  table.sort(rows, function(a, b)
    if a[1] ~= b[1] then return a[1] > b[1] end
    return a[7] > b[7] or a[7] == b[7] and a[2] < b[2]
  end)
  return columns, rows
end

--- A job as text, JSON or CSV.
---@param o { json: boolean?, csv: boolean?, detail: boolean?, threads: boolean? } detail: each rank; threads: each thread, too
---@return string text
function M.format(job, o)
  if o.json then return as_json(job, o) end
  return o.csv and csv.table(M.rows(job)) or text(job, o)
end

return M
