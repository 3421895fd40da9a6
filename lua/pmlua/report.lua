-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/report.lua - time and work of sections, over the processes and threads of a run.
--
-- Try:  pmlua report DIR --detail
--
-- This file computes the report; the files in report/ format it: text, csv, json, plot.

local countfile = require "pmlua.countfile"
local units = require "pmlua.internal.report.units"
local sections = require "pmlua.sections"
local job_summaries = require "pmlua.internal.report.job_summary"
local core = require "pmlua.core"
local lists = require "pmlua.internal.lists"
local refuse, summary = core.failure.refuse, core.summary

---@class pml.report
local M = {}

---@class pmlua.Report
---@field processes pmlua.SectionProcess[]
---@field sections table[] each with all: statistics of all threads, with share, rate and balance; see M.each()
---@field total_ns number what shares are of
---@field total_of string "exclusive", or "self" where no section is exclusive
---@field counters table[] software-defined events of all processes, each with the index of its process
---@field recorders table[]
---@field notes string[] missing data
---@field openmp pmlua.openmp.construct[] empty after build(); the caller adds them
---@field caches? table<integer, userdata|false> of the logs of processes, where they have many sections and room
---@field counted? string where the compiler counted: source, final, mixed or none

local LABEL_MAX = 48 -- characters

--- A text shortened to this many characters.
---@param text string UTF-8
---@param max integer?
---@return string
function M.short(text, max)
  max = max or LABEL_MAX
  if (utf8.len(text) or 0) <= max then return text end
  return text:sub(1, utf8.offset(text, max) - 1) .. "…"
end

local function rate(row) return row.work > 0 and row.total_ns > 0 and row.work / row.total_ns * 1e9 or nil end

-- --- sections, as their summary has them ---

local function gather(job_summary)
  local list, i = {}, 1
  local row = job_summary.summary:section(1)
  while row ~= nil do
    if row then
      local all, events = job_summaries.merged(row)
      list[#list + 1] = { label = row.label, interface = row.detail ~= "" and row.detail or nil,
        type = row.communication and "communication" or "calculation", exclusive = not row.inclusive, events = events,
        all = all, processes = row.processes,
        time = { min = row.time.min, max = row.time.max, most = row.time.most } }
    end
    i = i + 1
    row = job_summary.summary:section(i)
  end
  return list
end

--- The base of shares: all exclusive time, or, if no section is exclusive, all self time. Shares then add up to 100 %.
--- Beside exclusive sections an inclusive one has no share: it contains others and is not part of the sum.
local function total(list)
  local any = false
  for _, s in ipairs(list) do any = any or s.exclusive end
  local all = 0.0
  for _, s in ipairs(list) do
    all = all + (any and (s.exclusive and s.all.total_ns or 0.0) or not any and s.all.self_ns or 0.0)
  end
  return all, any and "exclusive" or "self"
end

local FLOPS = "sde:::BYFL::flop_count_I"

--- If the program set no workload for a calculation, use the operations that the compiler counted.
local function count_work(row)
  local flops = row.values[FLOPS]
  if flops and flops > 0 then row.work = flops end
end

local function share(row, of, whole)
  return whole > 0 and row[of == "exclusive" and "total_ns" or "self_ns"] / whole or nil
end

local function derive(s, job_summary, whole, of)
  local all, n = s.all, #job_summary.processes
  s.counted_work = s.type == "calculation" and all.work == 0 and (all.values[FLOPS] or 0) > 0
  if s.counted_work then count_work(all) end
  all.share, all.rate = share(all, of, (of == "self" or s.exclusive) and whole or 0.0), rate(all)
  all.time_ns, all.own_ns = all.total_ns / n, all.self_ns / n
  all.least_ns, all.most_ns = s.processes < n and 0.0 or s.time.min, s.time.max
  all.imbalance = all.time_ns > 0 and all.most_ns / all.time_ns or nil
  all.most = job_summary.index[s.time.most]
end

-- --- rows of processes and threads ---

--- The time that the shares of a section's rows in a process refer to; 0: it has none.
local function whole_of(r, process, section)
  if r.total_of == "exclusive" and not section.exclusive then return 0.0 end
  return process.totals[r.total_of == "exclusive" and "exclusive_ns" or "self_ns"]
end

local CACHED_SECTIONS <const> = 64
local CACHED_ROWS <const> = 1 << 20

--- A cache of the sections in a process's log; nil: the log is read again for each section. The report writes one section after
--- the other, so the time to read a log once per section grows with the square of their number. With very many processes, the
--- rows of all sections do not fit in memory.
local function cache_of(r, i)
  local process, caches = r.processes[i], r.caches
  if not caches then return nil end
  if caches[i] == nil then caches[i] = summary.cache(process.log) or false end
  return caches[i] or nil
end

local function caches_for(processes, list)
  if #list < CACHED_SECTIONS then return nil end
  local rows = 0
  for _, p in ipairs(processes) do rows = rows + p.totals.rows end
  return rows <= CACHED_ROWS and {} or nil
end

--- A query for core.rows, which returns the rows of M.of().
---@package
---@param text string[] texts that all rows of the process share
---@return table question
function M.question(r, s, i, threads, text)
  local process = r.processes[i]
  return { path = process.log, label = s.label, interface = s.interface, threads = threads, text = text,
    whole = whole_of(r, process, s), own = r.total_of ~= "exclusive", cache = cache_of(r, i),
    counted_work = s.counted_work and FLOPS or nil }
end

--- The rows of a process in a section; nil: it never entered the section.
---@param r pmlua.Report
---@param s table one of its sections
---@param i integer the process
---@param threads? boolean also the rows of each thread
---@return table? of { process, all, threads, quantiles }
function M.of(r, s, i, threads)
  local process = r.processes[i]
  local one = job_summaries.one(process, s, threads, cache_of(r, i))
  if not one then return nil end
  local whole = whole_of(r, process, s)
  local function complete(row)
    row.process = i
    if s.counted_work then count_work(row) end
    row.share, row.rate = share(row, r.total_of, whole), rate(row)
  end
  complete(one.all)
  for _, row in ipairs(one.threads) do complete(row) end
  one.process = i
  return one
end

--- Iterate over the rows of a section, in the order of processes. Logs are read again, so memory does not grow with them.
---@param r pmlua.Report
---@param s table one of its sections
---@param threads? boolean also the rows of each thread
---@return fun(): table? next { process, all, threads, quantiles }
function M.each(r, s, threads)
  local i = 0
  return function()
    while i < #r.processes do
      i = i + 1
      local one = M.of(r, s, i, threads)
      if one then return one end
    end
  end
end

local orders = {
  time = function(a, b) return a.all.total_ns > b.all.total_ns end,
  calls = function(a, b) return a.all.count > b.all.count end,
  label = function(a, b) return a.label < b.label end,
}
M.ORDERS = { "time", "calls", "label" }

local function sort(list, order)
  local less = orders[order]
  table.sort(list, function(a, b)
    if less(a, b) then return true elseif less(b, a) then return false end
    if a.label ~= b.label then return a.label < b.label end
    return (a.interface or "") < (b.interface or "")
  end)
end

local LISTED = 1 << 20

local function missing_ranks(processes)
  local here, size, missing = {}, 0, {}
  for _, p in ipairs(processes) do
    if p.rank then here[p.rank] = true end
    size = math.max(size, p.size or 0)
  end
  if next(here) == nil then return nil end
  for rank = 0, math.min(size, LISTED) - 1 do
    if not here[rank] then missing[#missing + 1] = rank end
  end
  if #missing == 0 then return nil end
  return ("ranks without a file, of %d: %s"):format(size, units.ranges(missing))
end

--- Where the compiler counted, of all processes; nil: nowhere.
local function counted_of(processes)
  local at
  for _, p in ipairs(processes) do
    if p.counted then at = (at == nil or at == p.counted) and p.counted or "mixed" end
  end
  return at
end

local stages = { source = "as written in the source, before optimisation", final = "as it was executed, after optimisation",
  mixed = "of some modules before, of others after optimisation", none = "of no module" }

local function counted_note(list, at)
  for _, s in ipairs(list) do
    if s.counted_work then
      return ("WORK marked (+) was not stated by the program: flop counted by the compiler, %s"):format(stages[at or "none"])
    end
  end
end

--- A note on code that the compiler could not count, if any section has such counts.
local function left_out_note(list, processes)
  local any = false
  for _, s in ipairs(list) do
    for _, name in ipairs(s.events) do any = any or name:find("^sde:::BYFL::") ~= nil end
  end
  local texts = any and countfile.left_out(processes) or {}
  return #texts > 0 and "not counted by the compiler: " .. table.concat(texts, "; ") or nil
end

--- Why events are called NAME:u, if the kernel refused to count itself and a section has such.
local function permission_note(list, processes)
  local any = false
  for _, s in ipairs(list) do
    for _, name in ipairs(s.events) do any = any or name:find(":u$") ~= nil end
  end
  for _, p in ipairs(any and processes or {}) do
    if p.permission then return sections.show(p.permission) end
  end
end

local function name_of(p) return p.rank and ("rank %d"):format(p.rank) or ("%s:%d"):format(sections.show(p.host), p.pid) end

--- Notes on the state of the logs: one process by name, and the number of the others.
local function log_notes(processes, notes)
  local unended, refused, short, used, sketch = {}, {}, {}, "", ""
  for _, p in ipairs(processes) do
    if p.ended == "unknown" then
      unended[#unended + 1] = p
      if p.totals.rows > 0 then used = ": figures up to the last stop" end
      if p.totals.sketch then sketch = "; sections that keep a sketch have no quantiles" end
    end
    if p.refused then refused[#refused + 1] = p end
    if p.missing then short[#short + 1] = p end
  end
  local function several(list)
    return name_of(list[1]) .. (#list > 1 and (" and %d more"):format(#list - 1) or "")
  end
  if #unended > 0 then notes[#notes + 1] = several(unended) .. " did not end by exit()" .. used .. sketch end
  if #short > 0 then notes[#notes + 1] = several(short) .. ": the log is cut short; threads or sections are missing" end
  if #refused > 0 then
    notes[#notes + 1] = ("%s: the log could not grow: %s; threads or sections are missing"):format(several(refused),
      sections.show(refused[1].refused))
  end
end

--- The items that processes left in the field `what`, in the order of names, then of processes.
local function left(processes, what)
  local list = {}
  for i, process in ipairs(processes) do
    for _, one in ipairs(process[what]) do
      one.process = i
      list[#list + 1] = one
    end
  end
  table.sort(list, require "pmlua.internal.order".by("name", "process"))
  return list
end

local function recorder_note(recorders)
  local dropped, cut
  for _, r in ipairs(recorders) do
    if r.dropped > 0 then dropped = dropped or r end
    if r.cut then cut = cut or r end
  end
  local function of(r, text) return r and ("recorder %s: %s"):format(sections.show(r.name), text) end
  return of(dropped, dropped and ("%d elements found no room and were dropped"):format(dropped.dropped)),
    of(cut, "the log could not grow: its later elements are missing")
end

--- Why the first unreadable file is left out, and how many more are.
local function left_out_files(files)
  if #files == 0 then return nil end
  local first = files[1]
  local others = #files > 1 and (" (and %d files more)"):format(#files - 1) or ""
  return first.text .. (first.remedy and "; " .. first.remedy or "") .. others .. "; left out"
end

--- Notes on missing data in the report.
---@param job_summary pmlua.JobSummary
---@return string[] notes
function M.notes(job_summary)
  local processes = job_summary.processes
  local notes = { left_out_files(job_summary.left_out) }
  notes[#notes + 1] = missing_ranks(processes)
  log_notes(processes, notes)
  local first = processes[1].command
  for _, p in ipairs(processes) do
    if p.command ~= first then
      notes[#notes + 1] = ("these are different programs: %s and %s"):format(M.short(sections.show(first)),
        M.short(sections.show(p.command)))
      break
    end
  end
  return notes
end

local function nothing(processes, asked)
  for _, p in ipairs(processes) do
    if (p.missing or 0) > 0 then return refuse("EFORMAT", p.name .. ": the log is cut short; all its sections are lost") end
    if p.refused then
      local text = ("%s: the log could not grow: %s; its sections are missing"):format(p.name, sections.show(p.refused))
      return refuse("ENOSPC", text, "make room there, and run the program again")
    end
  end
  local name = processes[1].name
  if asked then
    return refuse("ENODATA", name .. ": no section was used yet", ("its events: pmlua query %s"):format(sections.show(asked)))
  end
  local log <close> = core.recording.open(name)
  local remedy = log and ("its calls are recorded: pmlua record --finish %s prints them"):format(name:match "^(.*)/" or ".")
  return refuse("ENODATA", name .. ": no section, counter or recorder was used", remedy)
end

--- A report over processes.
---@param job_summary pmlua.JobSummary
---@param order string? time, calls or label
---@param kinds table<string, boolean>? of sections (record/kind.lua); nil: all
---@return pmlua.Report? report, pmlua.Failure? failure one line
function M.build(job_summary, order, kinds)
  local processes, list = job_summary.processes, gather(job_summary)
  if kinds then
    local kind, all = require "pmlua.internal.record.kind", list
    list = lists.filter(all, function(s) return kinds[kind.of_section(s)] end)
    if #list == 0 and #all > 0 then return refuse("ENOENT", "--kind: no section is of kind " .. kind.list(kinds)) end
  end
  local counters, recorders = left(processes, "counters"), left(processes, "recorders")
  if #list + #counters + #recorders == 0 then return nothing(processes, job_summary.asked) end
  local whole, of = total(list)
  for _, s in ipairs(list) do derive(s, job_summary, whole, of) end
  sort(list, order or "time")
  local counted, notes = counted_of(processes), M.notes(job_summary)
  local dropped, cut = recorder_note(recorders)
  notes[#notes + 1] = dropped
  notes[#notes + 1] = cut
  notes[#notes + 1] = counted_note(list, counted)
  notes[#notes + 1] = left_out_note(list, processes)
  notes[#notes + 1] = permission_note(list, processes)
  return { processes = processes, sections = list, counters = counters, recorders = recorders,
    total_ns = whole, total_of = of, notes = notes, counted = counted, openmp = {},
    caches = caches_for(processes, list) }
end

--- Did annotations for other tools name any section?
---@param r pmlua.Report
---@return boolean
function M.has_interfaces(r) return lists.any(r.sections, function(s) return s.interface ~= nil end) end

--- Are there durations of calls in any process?
---@param r pmlua.Report
---@return boolean
function M.has_quantiles(r) return lists.any(r.processes, function(p) return p.totals.recorded end) end

--- The display name of a process in tables.
---@param report pmlua.Report
---@param i integer
---@return string
function M.process_name(report, i) return name_of(report.processes[i]) end

--- A section's label as tables and plots show it: (*) says that it is inclusive.
---@param section { label: string, exclusive: boolean }
---@return string
function M.label(section)
  return M.short(sections.show(section.label)) .. (section.exclusive and "" or " (*)")
end

return M
