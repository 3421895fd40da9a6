-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/record/openmp.lua - constructs of OpenMP in recorded processes: threads, time, imbalance, waiting.
--
-- Try:  for _, c in ipairs(require("pmlua.internal.record.openmp").of(results)) do print(c.name, c.imbalance) end

local M = {}

-- The sources of events (core/adapter/openmp/pml_openmp.h).
local RUNTIMES = { "OMPT", "calls of libgomp" }

--- The source of events, by its number in a log.
function M.runtime(number) return RUNTIMES[number] or "?" end

-- Constructs that a runtime does not report, for the head of the table.
local BLIND <const> = { ["calls of libgomp"] = " (static loops make none)" }

---@class pmlua.openmp.construct
---@field name string
---@field construct string parallel, for, critical, ...
---@field runtime string OMPT, or calls of libgomp
---@field threads integer most of a team
---@field calls integer
---@field count integer iterations, sections, or tasks created; 0: not counted for this construct
---@field ns integer of all threads
---@field waited_ns integer a part of it: at barriers, for tasks, for locks
---@field imbalance? number of the threads' time without waiting, the most over the average; nil: one thread
---@field by_thread { calls: integer, ns: integer, waited_ns: integer }[] by the number in the team, from 1 on: thread 0

local function new(o)
  local construct = o.construct == "task creation" and "task" or o.construct
  return { name = o.name, construct = construct, runtime = M.runtime(o.runtime), threads = 0, calls = 0, count = 0,
    ns = 0, waited_ns = 0, by_thread = {} }
end

local function add(c, o)
  c.calls, c.count, c.ns, c.waited_ns = c.calls + o.calls, c.count + o.count, c.ns + o.ns, c.waited_ns + o.waited_ns
  c.threads = math.max(c.threads, o.threads)
  for i = #c.by_thread + 1, o.index + 1 do c.by_thread[i] = { calls = 0, ns = 0, waited_ns = 0 } end
  local t = c.by_thread[o.index + 1]
  t.calls, t.ns, t.waited_ns = t.calls + o.calls, t.ns + o.ns, t.waited_ns + o.waited_ns
end

-- Constructs that all threads of a team share; others belong to one thread, or are waiting.
local SHARED <const> = { ["implicit task"] = true, ["for"] = true, sections = true, workshare = true, distribute = true,
  taskloop = true, scope = true, task = true }

--- Add the work of each thread of a process to the work of the construct's threads.
local function add_work(works, o)
  local work = works[#works]
  work.threads = math.max(work.threads, o.threads, o.index + 1)
  work[o.index] = (work[o.index] or 0) + o.ns - o.waited_ns
end

--- In each process, the most over the average of its threads' work; a thread of the team that never came there did none.
local function imbalance(c, works)
  if not SHARED[c.construct] or c.threads < 2 then return nil end
  local most, sum = 0, 0
  for _, work in ipairs(works) do
    local longest = 0
    for i = 0, work.threads - 1 do longest, sum = math.max(longest, work[i] or 0), sum + (work[i] or 0) end
    most = most + longest * work.threads
  end
  return sum > 0 and most / sum or nil
end

--- The parallel region has the work of its implicit tasks.
local function adopt(parallel, implicit)
  if not implicit then return end
  parallel.threads, parallel.waited_ns, parallel.imbalance = implicit.threads, implicit.waited_ns, implicit.imbalance
  parallel.by_thread = implicit.by_thread
end

--- The constructs of all processes, those that took longest first. Tasks created and executed are one.
---@param results pmlua.logs.result[]
---@return pmlua.openmp.construct[]
function M.of(results)
  local list, known, works = {}, {}, {}
  for n, r in ipairs(results) do
    for _, o in ipairs(r.process and r.process.openmp or {}) do
      local key = o.name
      if not known[key] then
        known[key], works[key] = new(o), {}
        list[#list + 1] = known[key]
      end
      add(known[key], o)
      local of = works[key]
      if #of == 0 or of[#of].process ~= n then of[#of + 1] = { process = n, threads = 0 } end
      add_work(of, o)
    end
  end
  for _, c in ipairs(list) do c.imbalance = imbalance(c, works[c.name]) end
  for _, c in ipairs(list) do
    if c.construct == "parallel" then adopt(c, known[(c.name:gsub("^omp parallel", "omp implicit task"))]) end
  end
  table.sort(list, require "pmlua.internal.order".by("-ns", "name", "construct"))
  return list
end

--- The constructs in logs of recorded calls or of sections; unreadable logs are skipped.
---@return pmlua.openmp.construct[]
function M.read(paths)
  local recording, results = require("pmlua.core").recording, {}
  for i, path in ipairs(paths) do
    local log <close> = recording.open(path, true)
    results[i] = { process = { openmp = log and log:openmp() or nil } }
  end
  return M.of(results)
end

local HEADS <const> = { "construct", "threads", "calls", "count", "time [ns]", "waited [ns]", "imbalance" }

local FIELDS <const> = { "name", "construct", "runtime", "threads", "calls", "count", "ns", "waited_ns", "imbalance" }

--- A row for each construct.
---@param list pmlua.openmp.construct[]
function M.csv(list)
  local rows = {}
  for i, c in ipairs(list) do
    rows[i] = {}
    for k, field in ipairs(FIELDS) do rows[i][k] = c[field] end
  end
  return require "pmlua.internal.cli.csv".table(FIELDS, rows)
end

local function row_of(c)
  return { c.name, c.threads, c.calls, c.count > 0 and c.count or "-", c.ns, c.waited_ns,
    c.imbalance and ("%.2f"):format(c.imbalance) or "-" }
end

--- The table, with a line that says what it is from; nil: there are no constructs.
---@param list pmlua.openmp.construct[]
---@param most integer rows
---@return string?
function M.text(list, most)
  if #list == 0 then return nil end
  local rows, runtimes, seen = {}, {}, {}
  local more = 0
  for _, c in ipairs(list) do
    local shown = c.construct ~= "implicit task" and #rows < most
    if shown then
      rows[#rows + 1] = row_of(c)
    elseif c.construct ~= "implicit task" then
      more = more + 1
    end
    if not seen[c.runtime] then runtimes[#runtimes + 1] = c.runtime .. (BLIND[c.runtime] or "") end
    seen[c.runtime] = true
  end
  more = more > 0 and ("and %d more constructs; --json lists all\n"):format(more) or ""
  return ("%s\n%sOpenMP by %s; imbalance is the longest work of a thread over the average\n"):format(
    require "pmlua.tabulate"(HEADS, rows, 1), more, table.concat(runtimes, " and "))
end

return M
