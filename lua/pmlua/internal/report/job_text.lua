-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/job_text.lua - a job of MPI as text, JSON and CSV.
--
-- Try:  mpirun -n 4 pmlua record -o out -- ./solver; pmlua report out

local core = require "pmlua.core"
local csv = require "pmlua.internal.cli.csv"
local units = require "pmlua.internal.report.units"
local json = require "pmlua.json"
local lists = require "pmlua.internal.lists"
local sections = require "pmlua.sections"
local sorted = require "pmlua.internal.sorted"
local tables = require "pmlua.internal.report.job_tables"

local M = {}

-- --- each rank of a job of MPI by itself, and its threads, from its log ---

--- The rows in the log of a rank, by kind, label, a zero byte and detail; nil: no log that can be read.
local function read(job, rank)
  local summary, by = assert(core.summary.open()), {}
  if not job.logs[rank] or not summary:process(job.logs[rank], rank) then return nil end
  for _, kind in ipairs { "section", "call" } do
    for _, row in ipairs(summary:rows(kind)) do by[kind .. row.label .. "\0" .. row.detail] = row end
  end
  return by
end

--- The ranks with a log, in order, and those without.
local function read_all(job)
  local list, without = {}, {}
  for rank = 0, job.size - 1 do
    local by = read(job, rank)
    if by then list[#list + 1] = { rank = rank, by = by } else without[#without + 1] = rank end
  end
  return list, without
end

--- A line for each rank in each row of the job. @head: heads of the first columns; @of: gives their cells for a row.
local function lines_of(ranks, kind, list, head, of)
  local lines = { table.move({ "RANK", "THREADS", "CALLS", "TIME", "SELF", "MIN", "MAX" }, 1, 7, #head + 1, head) }
  for _, all in ipairs(list) do
    for _, r in ipairs(ranks) do
      local row = r.by[kind .. all.label .. "\0" .. all.detail]
      local line = row and of(all)
      if line then
        table.move({ ("%d"):format(r.rank), ("%d"):format(row.threads), ("%d"):format(row.calls.n), units.time(row.time.sum),
          units.time(row.self.sum), units.time(row.calls.min), units.time(row.calls.max) }, 1, 7, #line + 1, line)
        lines[#lines + 1] = line
      end
    end
  end
  return lines
end

local function name_of(row) return { sections.show(row.label) } end

--- Threads of sections, rank by rank.
local function threads_of(job, ranks)
  local by, lines = {}, { { "SECTION", "RANK", "THREAD", "CALLS", "TIME", "SELF", "MIN", "MAX" } }
  for _, r in ipairs(ranks) do
    for _, s in ipairs(core.summary.all(job.logs[r.rank]) or {}) do
      local key = s.label .. "\0" .. s.interface
      by[key] = by[key] or {}
      table.insert(by[key], { rank = r.rank, threads = s.threads })
    end
  end
  for _, all in ipairs(job.sections) do
    for _, of in ipairs(by[all.label .. "\0" .. all.detail] or by[all.label .. "\0"] or {}) do
      for _, t in ipairs(of.threads) do
        lines[#lines + 1] = { sections.show(all.label), ("%d"):format(of.rank), ("%d"):format(t.thread),
          ("%d"):format(t.count), units.time(t.total_ns), units.time(t.self_ns), units.time(t.min_ns), units.time(t.max_ns) }
      end
    end
  end
  return tables.lined_up("Sections of each thread", lines, 1)
end

--- Tables with a row for each rank, and one for each thread.
---@param threads? boolean
local function ranks_text(job, threads)
  local ranks, without = read_all(job)
  local mpi = lists.filter(job.calls, tables.is_mpi)
  local text = tables.lined_up("Sections of each rank", lines_of(ranks, "section", job.sections, { "SECTION" }, name_of), 1)
    .. (threads and threads_of(job, ranks) or "")
    .. tables.lined_up("MPI of each rank", lines_of(ranks, "call", mpi, { "FUNCTION" }, name_of), 1)
  if #without == 0 then return text end
  return ("%s\nthe logs of %s %s were removed; record with --detail ranks\n"):format(text,
    #without == 1 and "rank" or "ranks", units.ranges(without))
end

local function data_of(row)
  return { name = row.label, library = row.detail ~= "" and row.detail or nil, threads = row.threads, calls = row.calls.n,
    total_ns = row.time.sum, self_ns = row.self.sum, min_ns = row.calls.min, max_ns = row.calls.max }
end

local function add_threads(out, path)
  for _, s in ipairs(core.summary.all(path) or {}) do
    for _, of in ipairs(out) do
      if of.name == s.label and (of.library or "") == s.interface then of.of_threads = json.array(s.threads) end
    end
  end
end

--- The same for JSON.
---@param threads? boolean
local function ranks_data(job, threads)
  local list = json.array()
  for i, r in ipairs((read_all(job))) do
    local out = { rank = r.rank, sections = json.array(), calls = json.array() }
    for _, of in ipairs { { "section", job.sections, out.sections }, { "call", job.calls, out.calls } } do
      for _, all in ipairs(of[2]) do
        local row = r.by[of[1] .. all.label .. "\0" .. all.detail]
        if row then table.insert(of[3], data_of(row)) end
      end
    end
    if threads then add_threads(out.sections, job.logs[r.rank]) end
    list[i] = out
  end
  return list
end

local CONSTRUCTS <const> = 40 -- most OpenMP constructs in a table

-- ---- notes ----

--- Notes on data that is missing from a job's figures, one per line.
function M.notes(job)
  local list = {}
  if not job.whole then list[#list + 1] = "MPI_Finalize left no summary: this is from the logs of the ranks" end
  if job.whole and #job.late > 0 then
    list[#list + 1] = ("%s not in the job's summary, merged from logs: %s; messages of these ranks are not counted"):format(
      units.plural(#job.late, "rank"), units.ranges(job.late))
  end
  if #job.gone > 0 then
    list[#list + 1] = ("%s missing, without a log that can be read: %s"):format(units.plural(#job.gone, "rank"),
      units.ranges(job.gone))
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
  return ("%s on %s: %s\n"):format(units.plural(job.size, "rank"), units.plural(#job.hosts, "host"), table.concat(parts, ", "))
end

-- ---- all ----

local function text(job, o)
  local parts = { head(job), tables.text(job) }
  local constructs = require "pmlua.internal.record.openmp".text(job.openmp, CONSTRUCTS)
  if constructs then parts[3] = "\n" .. constructs end
  if o.detail or o.threads then parts[#parts + 1] = ranks_text(job, o.threads) end
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
  local ranks = (o.detail or o.threads) and ranks_data(job, o.threads) or nil
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
      local line = lists.map(columns, function(name) return r[name] end)
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
