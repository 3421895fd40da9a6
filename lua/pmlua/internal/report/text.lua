-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/text.lua - a report as tables of text.
--
-- Try:  pmlua report DIR --detail --legend

local report = require "pmlua.report"
local sections = require "pmlua.sections"
local units = require "pmlua.internal.report.units"
local statistics = require "pmlua.core".statistics
local view = require "pmlua.internal.live.view"

local M = {}

local COMMAND_MAX = 100 -- most characters of a command
local MANY = 64 -- most processes for which tables have a row each by default; more are summed
local ROWS_MAX = 200000 -- most rows of a table

local short, label_of = report.short, report.label

--- A section in a sentence.
local function named(s) return (s.interface and s.interface .. ": " or "") .. label_of(s) end

local function integer(v) return math.type(v) == "integer" and ("%d"):format(v) or ("%.6g"):format(v) end

-- --- the head ---

local function distinct(list, key)
  local seen, n = {}, 0
  for _, item in ipairs(list) do
    if not seen[item[key]] then seen[item[key]], n = true, n + 1 end
  end
  return n
end

local function head(r)
  local first, nthreads = r.processes[1], 0
  for _, p in ipairs(r.processes) do nthreads = nthreads + p.totals.threads end
  local ranks = first.rank and r.processes[#r.processes].rank and (" (ranks %d to %d)"):format(first.rank,
    r.processes[#r.processes].rank) or ""
  if #r.processes == 1 then ranks = first.rank and (" (rank %d)"):format(first.rank) or "" end
  return ("%s%s on %s%s: %s\n"):format(units.plural(#r.processes, "process", "processes"), ranks,
    units.plural(distinct(r.processes, "host"), "host"),
    nthreads > 0 and ", " .. units.plural(nthreads, "thread") or "",
    short(sections.show(first.command), COMMAND_MAX))
end

-- --- tables of times ---

local names = { "CALLS", "TIME", "%", "SELF", "MEAN", "MIN", "MAX", "SIGMA", "WORK", "RATE" }

--- A + marks what the program did not say itself.
local function work_of(section, row)
  return units.work(row.work, section.type) .. (section.counted_work and row.work > 0 and "+" or "")
end

local function figures(section, row, time_ns, own_ns)
  return { integer(row.count), units.time(time_ns), units.percent(row.share), units.time(own_ns), units.time(row.mean_ns),
    units.time(row.min_ns), units.time(row.max_ns), units.time(row.stddev_ns), work_of(section, row),
    units.rate(row.rate, section.type) }
end

local function lined_up(rows, left)
  local right = {}
  for i = 1, #rows[1] do right[i] = i > left end
  return view.plain(rows, right)
end

--- A table of sections with a column for the interfaces that named them, if there are any: in front of column @at.
local function with_interfaces(r, rows, interfaces, at)
  for i, row in ipairs(report.has_interfaces(r) and rows or {}) do
    table.insert(row, at, i == 1 and "INTERFACE" or interfaces[i] or "-")
  end
  return lined_up(rows, report.has_interfaces(r) and at or at - 1)
end

local function basic(r)
  local rows, several, interfaces = { { "SECTION", table.unpack(names) } }, #r.processes > 1, {}
  local ranks = several and r.processes[1].rank ~= nil
  if several then table.insert(rows[1], "MAX/AVG") end
  if ranks then table.insert(rows[1], "OF RANK") end
  for _, s in ipairs(r.sections) do
    local row = { label_of(s), table.unpack(figures(s, s.all, s.all.time_ns, s.all.own_ns)) }
    if several then row[#row + 1] = s.all.imbalance and ("%.3f"):format(s.all.imbalance) or "-" end
    if ranks then row[#row + 1] = s.all.imbalance and integer(r.processes[s.all.most].rank or -1) or "-" end
    rows[#rows + 1] = row
    interfaces[#rows] = s.interface
  end
  return with_interfaces(r, rows, interfaces, 2)
end

local function detail(r)
  local rows, interfaces = { { "SECTION", "PROCESS", table.unpack(names) } }, {}
  for _, s in ipairs(r.sections) do
    local label = label_of(s)
    for of in report.each(r, s) do
      rows[#rows + 1] = { label, report.process_name(r, of.process),
        table.unpack(figures(s, of.all, of.all.total_ns, of.all.self_ns)) }
      label, interfaces[#rows] = "", s.interface
    end
  end
  return with_interfaces(r, rows, interfaces, 3)
end

local function threads(r)
  local rows, interfaces = { { "SECTION", "PROCESS", "THREAD", table.unpack(names) } }, {}
  for _, s in ipairs(r.sections) do
    local label = label_of(s)
    for of in report.each(r, s, true) do
      for _, row in ipairs(of.threads) do
        rows[#rows + 1] = { label, report.process_name(r, of.process), row.thread == 0 and "earlier" or integer(row.thread),
          table.unpack(figures(s, row, row.total_ns, row.self_ns)) }
        label, interfaces[#rows] = "", s.interface
      end
    end
  end
  return with_interfaces(r, rows, interfaces, 3)
end

-- --- what else is known ---

local function quantiles(r)
  if #r.processes > MANY then
    return report.has_quantiles(r) and ("\ndurations of calls: --json lists the quantiles of %d processes\n"):format(#r.processes)
      or ""
  end
  local rows = { { "SECTION", "PROCESS", "MIN", "Q1", "MEDIAN", "Q3", "95 %", "99 %", "MAX" } }
  for _, s in ipairs(report.has_quantiles(r) and r.sections or {}) do
    for of in report.each(r, s) do
      if of.quantiles then
        local row = { label_of(s), report.process_name(r, of.process) }
        for _, ns in ipairs(of.quantiles) do row[#row + 1] = units.time(ns) end
        rows[#rows + 1] = row
      end
    end
  end
  return #rows > 1 and "\ndurations of calls\n" .. lined_up(rows, 2) or ""
end

local function events(r)
  local rows = { { "SECTION", "EVENT", "SUM", "PER CALL", "PER SECOND" } }
  for _, s in ipairs(r.sections) do
    for i, name in ipairs(s.events) do
      local v = s.all.values[name]
      local per_call, per_s = v and s.all.count > 0 and v / s.all.count, v and s.all.total_ns > 0 and v / s.all.total_ns * 1e9
      rows[#rows + 1] = { i == 1 and label_of(s) or "",
    short(sections.show(name)), v and integer(v) or "-",
        per_call and ("%.6g"):format(per_call) or "-", (units.scaled(per_s or nil, ""):gsub(" $", "")) }
    end
  end
  return #rows > 1 and "\nevents\n" .. lined_up(rows, 2) or ""
end

--- With a column for the process, where there are several.
local function with_process(r, rows)
  if #r.processes > 1 then return lined_up(rows, 2) end
  for _, row in ipairs(rows) do table.remove(row, 2) end
  return lined_up(rows, 1)
end

--- When a value was read that is in the program's memory: processes that ended by exit say when that was.
local function as_of(process, counter)
  if not counter.as_of_ns then return "the end" end
  if process.ended ~= "exit" then return units.time(counter.as_of_ns) .. " after the start" end
  return units.time(math.max(process.written_ns - process.started_ns - counter.as_of_ns, 0)) .. " before the end"
end

--- Counters of many processes: the sum, and the process with the largest value. Levels have no sum.
local function counters_added_up(r)
  local rows, of = { { "COUNTER", "PROCESSES", "SUM", "MIN", "MAX", "OF", "KIND" } }, {}
  for _, c in ipairs(r.counters) do
    local row = of[c.name]
    if not row then
      row = { n = 0, sum = 0, least = c.value, most = c, kind = c.kind, name = c.name }
      of[c.name], of[#of + 1] = row, row
    end
    row.n, row.sum = row.n + 1, not c.instant and row.sum and statistics.plus(row.sum, c.value) or nil
    row.least = math.min(row.least, c.value)
    if c.value > row.most.value then row.most = c end
  end
  for _, row in ipairs(of) do
    rows[#rows + 1] = { short(sections.show(row.name)), integer(row.n), row.sum and integer(row.sum) or "-", integer(row.least),
      integer(row.most.value), report.process_name(r, row.most.process), row.kind }
  end
  return #rows > 1 and "\ncounters\n" .. lined_up(rows, 1) or ""
end

local function counters(r)
  if #r.processes > MANY then return counters_added_up(r) end
  local rows = { { "COUNTER", "PROCESS", "VALUE", "KIND", "AS OF" } }
  for i, c in ipairs(r.counters) do
    rows[#rows + 1] = { i > 1 and r.counters[i - 1].name == c.name and "" or short(sections.show(c.name)),
      report.process_name(r, c.process), integer(c.value), c.kind, as_of(r.processes[c.process], c) }
  end
  return #rows > 1 and "\ncounters\n" .. with_process(r, rows) or ""
end

local function recorders(r)
  if #r.processes > MANY then
    return #r.recorders > 0 and ("\nrecorders: --json lists those of %d processes\n"):format(#r.processes) or ""
  end
  local rows = { { "RECORDER", "PROCESS", "COUNT", "MIN", "Q1", "MEDIAN", "Q3", "95 %", "99 %", "MAX" } }
  for i, rec in ipairs(r.recorders) do
    local row = { i > 1 and r.recorders[i - 1].name == rec.name and "" or short(sections.show(rec.name)),
      report.process_name(r, rec.process), integer(rec.count) }
    for k = 1, 7 do row[3 + k] = rec.quantiles and ("%.6g"):format(rec.quantiles[k]) or "-" end
    rows[#rows + 1] = row
  end
  return #rows > 1 and "\nrecorders\n" .. with_process(r, rows) or ""
end

local function metrics(r)
  local rows = { { "SECTION", "GROUP", "METRIC", "VALUE", "COUNTED BY", "" } }
  for _, s in ipairs(r.sections) do
    for i, m in ipairs(s.metrics or {}) do
      rows[#rows + 1] = { i == 1 and label_of(s) or "", m.group, m.name, m.reason and "-" or units.metric(m.value, m.unit),
        m.source, m.reason or m.says or "" }
    end
  end
  if #rows == 1 then return "" end
  return "\nmetrics" .. (r.pmu and " of " .. r.pmu or "") .. "\n" .. view.plain(rows, { false, false, false, true, false, false })
end

local function remarks(r)
  local lines, misuses = {}, require "pmlua.core".summary.misuses()
  for _, s in ipairs(r.sections) do
    local kinds = require "pmlua.internal.keys"(s.all.misuse)
    for _, name in ipairs(kinds) do
      lines[#lines + 1] = ("misuse: %s: %s, %s: %s"):format(named(s), name, units.plural(s.all.misuse[name], "time"),
        misuses[name] or name)
    end
    if s.all.running > 0 then
      lines[#lines + 1] = ("open: %s: %s had not stopped; not included"):format(named(s),
        units.plural(s.all.running, "call"))
    end
    if s.all.torn > 0 then
      lines[#lines + 1] = ("torn: %s: a stop was in progress on %s; its times may lack that call"):format(named(s),
        units.plural(s.all.torn, "thread"))
    end
  end
  for _, note in ipairs(r.notes) do lines[#lines + 1] = "note: " .. require "pmlua.internal.printable"(note) end
  return #lines > 0 and "\n" .. table.concat(lines, "\n") .. "\n" or ""
end

local legend = [[

(*)      inclusive: the section may contain others. Without it, it contains none, and its time adds up with others'
CALLS    calls that ended, of all processes and threads
TIME     time in the section, threads added; in the first table the average over processes
%%        %s
SELF     time in the section and in none started inside it
MEAN ..  of single calls of all processes and threads; SIGMA is the standard deviation of the sample (n - 1)
WORK     what the program said when it stopped the section: operations (FLOP), of a communication bytes (B). With a +:
         it said nothing, and the compiler counted the operations (pmlua cc --count)
RATE     WORK by time: of one thread, on average. FLOPS are FLOP per second
COUNTER  a software-defined event; its value is exact, whatever ended the process, or as of when it was last read
MAX/AVG  time of the process that took longest by the average: 1 is balanced; OF RANK says which process that is
]]

local of = {
  exclusive = "share of the time of all exclusive sections, which add up to 100; inclusive ones (*) have none",
  self = "share of the self time of all sections, which add up to 100: none is exclusive",
}

local function legend_of(r)
  local lines, seen = { legend:format(of[r.total_of]) }, {}
  for _, s in ipairs(r.sections) do
    for _, m in ipairs(s.metrics or {}) do
      if not seen[m.group .. m.name] then
        seen[m.group .. m.name] = true
        lines[#lines + 1] = ("%s %s: %s\n"):format(m.group, m.name, table.concat({ m.unit ~= "" and "in " .. m.unit or "a ratio",
          m.about ~= "" and m.about or nil }, "; "))
      end
    end
    for _, name in ipairs(s.events) do
      if not seen[name] then
        seen[name] = true
        local found, core = pcall(require, "pmlua.core")
        local rows = found and core.event.list(name)
        local about = rows and rows[1] and rows[1].description
        lines[#lines + 1] = ("%s: %s\n"):format(sections.show(name), about or "an event unknown on this machine")
      end
    end
  end
  return table.concat(lines)
end

--- A table that is too long to be read, and to be held.
local function too_long(r, options)
  local rows = 0
  for _, s in ipairs(r.sections) do
    rows = rows + (options.threads and s.all.threads or 0) + (options.detail and s.processes or 0)
  end
  if rows <= ROWS_MAX then return nil end
  return ("%s rows are too many for a table; use --csv, --json or pmlua export"):format(integer(rows))
end

--- A report as text.
---@param r pmlua.Report
---@param options { basic: boolean?, detail: boolean?, threads: boolean?, events: boolean?, legend: boolean? }
---@return string? text, string? err
function M.format(r, options)
  local why = too_long(r, options)
  if why then return nil, why end
  local parts = { head(r) }
  local only = not (options.basic or options.detail or options.threads or options.events)
  if options.basic or only then
    for _, part in ipairs(#r.sections > 0 and { basic, quantiles, events, metrics } or {}) do
      parts[#parts + 1] = (part == basic and "\n" or "") .. part(r)
    end
  end
  if options.events or only then
    parts[#parts + 1] = counters(r)
    parts[#parts + 1] = recorders(r)
  end
  if options.detail then parts[#parts + 1] = "\nper process\n" .. detail(r) end
  if options.threads then parts[#parts + 1] = "\nper thread\n" .. threads(r) end
  parts[#parts + 1] = remarks(r)
  if options.legend then parts[#parts + 1] = legend_of(r) end
  return table.concat(parts)
end

return M
