-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/export/tables.lua - the exported tables: their columns, and their rows, log by log.
--
-- Try:  pmlua export DIR --columns

local columns_of = require "pmlua.internal.export.columns".of
local core = require "pmlua.core"
local functions = require "pmlua.internal.record.functions"
local job_text = require "pmlua.internal.report.job_text"
local logs = require "pmlua.internal.record.logs"
local openmp = require "pmlua.internal.record.openmp"
local rows_of = require "pmlua.internal.report.rows"
local sections = require "pmlua.sections"
local statistics = core.statistics
local refuse = core.failure.refuse

local M = {}

local of_logs, of_job = {}, {} -- the functions that write the rows of each table: of logs, and of the summary of a job

-- ---- sections, processes and events ----

-- The core's names for the columns of sections: fields of the process, of the section, and of each thread.
local FIELDS <const> = { section = { field = "section", which = 1 }, type = { field = "section", which = 2 },
  exclusive = { field = "section", which = 3 }, interface = { field = "section", which = 4 },
  rank = { field = "process", which = 1 }, host = { field = "process", which = 2 },
  pid = { field = "process", which = 3 }, calls = { field = "count" }, time_ns = { field = "total_ns" } }

--- The events that sections count, in the order of their first appearance.
---@return { name: string, type: string }[]
local function events_of(source)
  local list, seen = {}, {}
  for _, row in ipairs(source.job_summary and source.job_summary.summary:sections() or {}) do
    for _, v in ipairs(row.values) do
      if v.name:sub(1, 1) ~= " " then
        if not seen[v.name] then
          seen[v.name] = { name = v.name, type = "integer" }
          list[#list + 1] = seen[v.name]
        end
        if math.type(v.sum) == "float" then seen[v.name].type = "real" end
      end
    end
  end
  return list
end

local function kind_of(communication) return communication and "communication" or "calculation" end

--- The writer of rows that the core takes from logs.
local function opened(job_summary, sink, columns, events)
  local of, list, names = {}, {}, {}
  for i, event in ipairs(events) do names[i] = event.name end
  for i, c in ipairs(columns) do
    local event = events[i - (#columns - #events)]
    local field = event and { field = "event", text = event.name } or FIELDS[c.name] or { field = c.name }
    of[i] = { name = c.name, field = field.field, which = field.which, text = field.text }
  end
  for i, row in ipairs(job_summary.summary:sections()) do
    local interface = row.detail ~= "" and row.detail or nil
    list[i] = { label = row.label, interface = interface, events = names, values = { sections.show(row.label),
      kind_of(row.communication), not row.inclusive, row.detail } }
  end
  return rows_of.open(sink.form, of, list)
end

--- A row for each rank, thread and section.
---@param columns pmlua.export.Column[]
function of_logs.sections(source, sink, columns)
  local rows = opened(source.job_summary, sink, columns, events_of(source))
  for _, p in ipairs(source.job_summary.processes) do
    local texts = rows_of.texts(sink.form, { p.rank, sections.show(p.host), p.pid }, 3)
    local text, err = rows:log { path = p.log, text = texts, threads = true }
    if not text then return refuse(err) end
    sink.text(text)
  end
  return true
end

--- A row for each process.
function of_logs.processes(source, sink)
  for _, p in ipairs(source.job_summary.processes) do
    sink.row { p.rank, sections.show(p.host), p.pid, p.size, sections.show(p.command), p.started_ns, p.written_ns, p.ended,
      p.totals.threads, p.missing or 0 }
  end
  return true
end

--- A row for each software-defined counter and recorder of each process.
function of_logs.events(source, sink)
  for _, p in ipairs(source.job_summary.processes) do
    local host = sections.show(p.host)
    for _, c in ipairs(p.counters) do
      sink.row { p.rank, host, p.pid, sections.show(c.name), c.kind, c.value, c.as_of_ns }
    end
    for _, r in ipairs(p.recorders) do
      sink.row { p.rank, host, p.pid, sections.show(r.name), "recorder", r.count, nil, r.dropped,
        table.unpack(r.quantiles or {}, 1, 7) }
    end
  end
  return true
end

local SHARES <const> = { 0.25, 0.5, 0.75, 0.95, 0.99 }

local function process_cells(p) return { p.rank, sections.show(p.host), p.pid } end

--- A row of a process, of n cells behind its own.
local function put(sink, process, n, ...)
  sink.row(table.move({ ... }, 1, n, 4, { process[1], process[2], process[3] }))
end

-- ---- call paths ----

--- Names in a form, each looked up once.
local function namer(form)
  local known = {}
  return function(name, file, kind)
    local key = name .. "\0" .. file
    if not known[key] then
      local library, shown = logs.names { name = name, file = file, kind = kind }
      known[key] = rows_of.texts(form, { library, shown }, 2)
    end
    return known[key][1], known[key][2]
  end
end

--- A row for each call path of each thread.
function of_logs.calls(source, sink)
  local name = namer(sink.form)
  for _, p in ipairs(source.job_summary.processes) do
    local log <close>, err, code = core.recording.open(p.name)
    if not log and code ~= "ENODATA" and p.log then return refuse(err) end
    if log then
      local text, why = log:calls { form = sink.form, process = rows_of.texts(sink.form, process_cells(p), 3), name = name }
      if not text then return refuse(why) end
      sink.text(text)
    end
  end
  return true
end

-- ---- functions ----

--- The process of each log with recorded calls, by function.
local function each_process(source, f)
  for _, p in ipairs(source.job_summary.processes) do
    local process, err
    if p.log then process, err = logs.process(p.log) end
    if err then return refuse(err) end
    if process then f(process_cells(p), functions.of { { process = process } }, process) end
  end
  return true
end

--- Quantiles of the calls that returned, within their extremes.
local function quantiles_of(f)
  local list = {}
  for i, share in ipairs(f.min_ns and f.bucket and SHARES or {}) do
    local ticks = statistics.histogram_quantile(f.bucket, share)
    list[i] = ticks and math.max(f.min_ns, math.min(f.tick_ns * ticks, f.max_ns))
  end
  return list
end

--- A row for each function of each process.
function of_logs.functions(source, sink)
  return each_process(source, function(process, all)
    for _, f in ipairs(all.functions) do
      local q = quantiles_of(f)
      put(sink, process, 13, f.library, f.name, f.calls, f.unreturned, f.inclusive_ns, f.exclusive_ns, f.min_ns, q[1], q[2], q[3],
        q[4], q[5], f.min_ns and f.max_ns)
    end
  end)
end

local function sorted_names(of)
  local names = require "pmlua.internal.keys"(of or {})
  return names
end

--- A row for each event and each recorded argument or result of each function of each process.
function of_logs.values(source, sink)
  return each_process(source, function(process, all, of)
    for _, f in ipairs(all.functions) do
      for _, event in ipairs(sorted_names(f.events)) do
        local unit = of.units[event] or { scale = 1 }
        local sum = unit.scale == 1 and f.events[event] or f.events[event] * unit.scale
        put(sink, process, 7, f.library, f.name, "event", event, unit.unit ~= "" and unit.unit or nil, nil, sum)
      end
      for _, name in ipairs(sorted_names(f.values)) do
        local v = f.values[name]
        put(sink, process, 10, f.library, f.name, "value", name, nil, v.count, v.sum, v.mean, v.min, v.max)
      end
    end
  end)
end

-- ---- OpenMP ----

--- A row for each construct and number of a thread in its team, of each process.
function of_logs.openmp(source, sink)
  for _, p in ipairs(source.job_summary.processes) do
    local log <close> = p.log and core.recording.open(p.log, true)
    for _, o in ipairs(log and log:openmp() or {}) do
      put(sink, process_cells(p), 9, o.name, o.construct, openmp.runtime(o.runtime), o.index, o.threads, o.calls, o.count, o.ns,
        o.waited_ns)
    end
  end
  return true
end

-- ---- jobs ----

--- A row for each section and function, over all ranks.
function of_job.totals(source, sink)
  for _, of in ipairs { { "section", source.job.sections }, { "function", source.job.calls } } do
    for _, row in ipairs(of[2]) do
      local r = job_text.row_of(row, source.job)
      sink.row { of[1], sections.show(r.name), r.library and sections.show(r.library), r.ranks, r.threads, r.calls, r.total_ns,
        r.average_ns, r.least_ns, r.least_rank, r.most_ns, r.most_rank, r.imbalance, r.waited_ns }
    end
  end
  return true
end

--- A row for each class of sizes.
function of_job.messages(source, sink)
  for _, direction in ipairs { "sent", "received" } do
    for bits = 0, 64 do
      local of = source.job.sizes[direction][bits]
      if of then
        local most = bits < 64 and (1 << bits) - 1 or nil
        sink.row { direction, bits > 0 and 1 << (bits - 1) or 0, most, of.messages, of.bytes, of.time }
      end
    end
  end
  return true
end

--- A row for each pair of ranks, or of blocks of ranks, that sent messages.
function of_job.pairs(source, sink)
  local job = source.job
  local function first(block) return block * job.block end
  local function last(block) return math.min((block + 1) * job.block, job.size) - 1 end
  for _, p in ipairs(job.pairs) do
    sink.row { first(p.from), last(p.from), first(p.to), last(p.to), p.messages, p.bytes }
  end
  return true
end

--- A row for each collective operation.
function of_job.collectives(source, sink)
  for _, c in ipairs(source.job.collectives) do sink.row { c.operation, c.calls, c.sent, c.received } end
  return true
end

--- A row for each function of MPI that read or wrote a file.
function of_job.files(source, sink)
  for _, f in ipairs(source.job.files) do sink.row { f["function"], f.calls, f.bytes, f.most, f.most_rank } end
  return true
end

-- ---- tables ----

---@class pmlua.export.Table
---@field name string
---@field of_logs boolean its rows are from logs, not from the summary of a job
---@field columns pmlua.export.Column[]
---@field each fun(sink: pmlua.export.Sink): boolean?, pmlua.Failure? writes its rows, log by log; nil and why where a log went

--- A table of a source. It has no rows if the source has no such data.
---@param name string of columns.NAMES
---@return pmlua.export.Table
function M.of(source, name)
  local t = { name = name, columns = columns_of(name), of_logs = of_logs[name] ~= nil }
  for _, event in ipairs(name == "sections" and events_of(source) or {}) do
    table.insert(t.columns, { name = sections.show(event.name), type = event.type, unit = "", about = "sum of the event" })
  end
  local rows = of_logs[name] or of_job[name]
  function t.each(sink)
    local is_there = t.of_logs and source.job_summary or not t.of_logs and source.job
    return not is_there or rows(source, sink, t.columns)
  end
  return t
end

return M
