-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua export DIR|TRACE`: the rows of logs as tables, and traces and profiles in the forms of other programs.
--
--     pmlua export out --to csv >sections.csv; pmlua export out/traces.otf2 --to perfetto --out out.pftrace

local columns = require "pmlua.internal.export.columns"
local common = require "pmlua.internal.cli.common"
local lists = require "pmlua.internal.lists"
local windows = require "pmlua.internal.trace.window"
local try = require "pmlua.internal.try"

-- Forms of tables, and of call paths.
local TABLES <const> = { csv = true, jsonl = true, sqlite = true }
local PROFILES <const> = { pprof = true, folded = true }

local M = {
  summary = "convert logs, traces and profiles to the formats of other programs",
  arguments = { { name = "DIR|FILE", key = "paths", kind = "file", many = true,
    missing = "name what to export: a folder with logs, logs, or a trace (*.otf2)" } },
  about = [[
Tables: csv and jsonl write one table of a run's logs. sqlite writes all tables, and a table named columns that describes each
column. csv of a trace has a row for each record.

Timelines of a trace: perfetto (ui.perfetto.dev) and speedscope (speedscope.app). Ranks and threads become tracks, metrics become
counters, messages become arrows; speedscope shows calls only. A call without a leave ends with the last event of its thread.

Profiles: pprof (go tool pprof), folded (a line for each call path, the input of flame graph tools) and speedscope, made from
recorded calls, from sections, or from a trace with --value. They add up all processes and threads.

DIR is a folder with the logs of a run (PMLUA_REPORT=DIR, pmlua record -o DIR). Each column has one type, and its name ends in
its unit. These tables exist for each run:

  sections     a row for each rank, thread and section, with a column for each event that sections counted
  processes    a row for each process
  events       software-defined counters and recorders

For recorded calls:

  calls        each call path of each thread
  functions    each function of each process, with quantiles
  values       events, arguments and results of functions
  openmp       OpenMP constructs of each thread

For an MPI job:

  totals       sections and functions over all ranks
  messages, pairs, collectives
               what ranks sent to each other
  files        what MPI functions read and wrote

Events and logs are read one at a time, so memory does not grow with their number.]],
  options = {
    { name = "to", kind = "choice", choices = { "csv", "jsonl", "sqlite", "perfetto", "speedscope", "pprof", "folded" },
      shown = "csv", help = "output format" },
    { name = "table", kind = "choice", choices = columns.NAMES, shown = "sections",
      help = "table that csv and jsonl write" },
    { name = "columns", help = "instead, describe the columns of the table, with types and units, as CSV" },
    { name = "value", kind = "text", value = "WHAT", help = "value of a profile: time, calls, or a counter of the trace" },
    windows.option "export only this window of the trace, in seconds since its beginning; FROM or TO may be omitted",
    { name = "where", kind = "glob", value = "PATTERN",
      help = "export only regions of the trace whose name matches, such as MPI_*" },
    common.with("out", { help = "write into FILE; sqlite needs a new file" }),
  },
  exclusive = { { "columns", "out" } },
  notes = [[
MPI messages with the same sender, receiver, communicator and tag do not overtake each other, so an arrow joins the n-th send with
the n-th receive. If several threads of a rank send with the same tag, an arrow may join the wrong pair.]],
  examples = {
    { "pmlua export out --to csv --out sections.csv" },
    { "pmlua export trace/traces.otf2 --to perfetto --out trace.pftrace" },
    { "pmlua export out --to pprof --out out.pb.gz" },
    { "pmlua export out --to sqlite --out run.db", needs = { "sqlite3" } },
  },
}

--- Whether the path names a trace, which is exported as a single table.
local function is_trace(o) return #o.paths == 1 and o.paths[1]:find "%.otf2$" ~= nil end

local function wrong_table(o)
  local form = o.to or "csv"
  if not TABLES[form] and (o.table or o.columns) then return "--table and --columns are of csv, jsonl and sqlite" end
  if is_trace(o) and o.table then return "a trace is one table; omit --table" end
  if is_trace(o) and TABLES[form] and form ~= "csv" then
    return ("--to %s takes logs; a trace is exported --to csv"):format(form)
  end
  if form == "sqlite" and not o.out and not o.columns then return "--to sqlite needs --out FILE" end
  if form == "sqlite" and o.table then return "--to sqlite writes all tables; omit --table" end
end

function M.check(o)
  local form = o.to or "csv"
  if not TABLES[form] and #o.paths > 1 then return ("--to %s takes one folder or trace"):format(form) end
  if o.value and not PROFILES[form] and form ~= "speedscope" then return "--value is of pprof, folded and speedscope" end
  if (o.window or o.where) and TABLES[form] and not is_trace(o) then return "--window and --where are of traces" end
  return wrong_table(o)
end

local function columns_of(t)
  local rows = lists.map(t.columns, function(c) return { c.name, c.type, c.unit, c.about } end)
  return require "pmlua.internal.cli.csv".table({ "column", "type", "unit", "meaning" }, rows)
end

--- Let a function write into the file that --out names, which is there when it is whole, or to standard output.
local function to_file(o, write)
  if not o.out then return write(io.stdout) end
  local file = try(require "pmlua.internal.file".output(o.out))
  try(write(file))
  return file:close()
end

local function write_table(o, t)
  local write = require "pmlua.internal.export.write"[o.to or "csv"]
  return to_file(o, function(file) return write(t, function(...) file:write(...) end) end)
end

local complain = require "pmlua.internal.cli.complain" "export"
local function note(text) complain("note: " .. tostring(text)) end

-- ---- traces and profiles ----

local function question_of(o)
  return (o.window or o.where) and { window = o.window, region = o.where } or nil
end

local function note_counts(n)
  if n.unmatched > 0 then note(("%d enters and leaves have no partner"):format(n.unmatched)) end
  if n.unlinked > 0 then note(("%d sends and receives have no arrow: their other end is unknown"):format(n.unlinked)) end
end

local function export_trace(o, path)
  local form = o.to or "csv"
  if o.columns then return io.write(columns_of { columns = columns.of "trace" }) end
  local reader <close> = try(require "pmlua.core".trace.open(path))
  return to_file(o, function(file)
    if form == "csv" then file:write(require "pmlua.internal.export.write".head(columns.of "trace")) end
    note_counts(try(reader:export(form, file, { where = question_of(o) })))
    return true
  end)
end

local function export_profile(o)
  local path = o.paths[1]
  local stacks = try(require("pmlua.internal.export.stacks").read(path, { value = o.value, where = question_of(o) }))
  for _, text in ipairs(stacks.notes) do note(text) end
  local write = require "pmlua.internal.export.profiles"[o.to]
  return to_file(o, function(file)
    write(stacks, function(text) file:write(text) end, path)
    return true
  end)
end

--- The trace that a form without --value is made of; nil: none is there, or none is wanted.
local function trace_of(o)
  local form = o.to or "csv"
  if TABLES[form] then return is_trace(o) and o.paths[1] or nil end
  return not PROFILES[form] and not o.value and require("pmlua.internal.export.stacks").trace_of(o.paths[1]) or nil
end

-- ---- logs ----

local function export_logs(o)
  local source = try(require "pmlua.internal.export.source".read(o.paths))
  for _, text in ipairs(source.notes) do note(text) end
  local tables = require "pmlua.internal.export.tables"
  local one = tables.of(source, o.table or "sections")
  if o.columns then return io.write(columns_of(one)) end
  if source.merged and one.of_logs then note(source.merged) end
  if o.to ~= "sqlite" then return write_table(o, one) end
  local all = lists.map(columns.NAMES, function(name) return tables.of(source, name) end)
  return require "pmlua.internal.export.write".sqlite(all, o.out)
end

---@return integer? status, any failure
function M.run(o)
  local trace = trace_of(o)
  if trace then try(export_trace(o, trace))
  elseif TABLES[o.to or "csv"] then try(export_logs(o))
  elseif o.to ~= "perfetto" then try(export_profile(o))
  else return nil, o.paths[1] .. ": no trace, which --to perfetto needs; use pmlua record --trace, or pmlua trace DIR" end
  return 0
end

return M
