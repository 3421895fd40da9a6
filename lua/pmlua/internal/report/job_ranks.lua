-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/job_ranks.lua - each rank of a job of MPI by itself, and its threads, from its log.
--
-- Try:  mpirun -n 4 pmlua record --detail ranks -o out -- ./solver; pmlua report out --detail

local core = require "pmlua.core"
local json = require "pmlua.json"
local numbers = require "pmlua.internal.report.numbers"
local sections = require "pmlua.sections"
local tables = require "pmlua.internal.report.job_tables"
local units = require "pmlua.internal.report.units"

local M = {}

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
      by[s.label] = by[s.label] or {}
      table.insert(by[s.label], { rank = r.rank, threads = s.threads })
    end
  end
  for _, all in ipairs(job.sections) do
    for _, of in ipairs(by[all.label] or {}) do
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
function M.text(job, threads)
  local ranks, without = read_all(job)
  local mpi = {}
  for _, row in ipairs(job.calls) do
    if tables.is_mpi(row) then mpi[#mpi + 1] = row end
  end
  local text = tables.lined_up("Sections of each rank", lines_of(ranks, "section", job.sections, { "SECTION" }, name_of), 1)
    .. (threads and threads_of(job, ranks) or "")
    .. tables.lined_up("MPI of each rank", lines_of(ranks, "call", mpi, { "FUNCTION" }, name_of), 1)
  if #without == 0 then return text end
  return ("%s\nno log of its own is left of %s %s; record with --detail ranks\n"):format(text,
    #without == 1 and "rank" or "ranks", numbers.ranges(without))
end

local function data_of(row)
  return { name = row.label, library = row.detail ~= "" and row.detail or nil, threads = row.threads, calls = row.calls.n,
    total_ns = row.time.sum, self_ns = row.self.sum, min_ns = row.calls.min, max_ns = row.calls.max }
end

local function add_threads(out, path)
  for _, s in ipairs(core.summary.all(path) or {}) do
    for _, of in ipairs(out) do
      if of.name == s.label then of.of_threads = json.array(s.threads) end
    end
  end
end

--- The same for JSON.
---@param threads? boolean
function M.data(job, threads)
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

return M
