-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua trace DIR`: merge the logs of recorded processes into an OTF2 trace. `pmlua trace FILE.otf2`: summarise a trace.
--
--     pmlua trace pmlua-record-4711; pmlua trace pmlua-record-4711/traces.otf2

local common = require "pmlua.internal.cli.common"
local core = require "pmlua.core"
local printable = require "pmlua.internal.printable"
local windows = require "pmlua.internal.trace.window"
local try = require "pmlua.internal.try"

--- Parse KIND or KIND=FILE; nil and the expected form.
local function read_figure(text)
  local kind, file = text:match "^(%l+)=(.+)$"
  kind = kind or text
  for _, known in ipairs { "timeline", "profile", "matrix", "metrics" } do
    if kind == known and (not file or file:find "%.svg$" or file:find "%.png$") then
      return { kind = kind, file = file or kind .. ".svg" }
    end
  end
  return nil, "timeline, profile, matrix or metrics, and perhaps a file, as timeline=run.png"
end

local M = {
  summary = "summarize an OTF2 trace, or write the trace of recorded processes",
  usage = { "[OPTIONS] FILE.otf2", "--show [OPTIONS] DIR", "[-o DIR] [-q] DIR" },
  arguments = { { name = "TRACE", key = "dir", kind = "file", missing = "no trace and no folder given" } },
  about = [[
FILE.otf2 is a trace of pmlua or of another tool. The first lines state its processes, threads, length, events by kind, clock
corrections and, for an MPI job, the load balance of the ranks. Tables list the time of each region and its distribution over
processes, the messages between ranks, and the metrics. The last lines list problems of the trace. --show prints the same for a
folder of pmlua record, even if its trace is not written yet.

DIR is the folder of pmlua record --trace. One archive contains all processes: a process is a location group, a thread is a
location, and a host is a node. MPI ranks come first, with their messages, collective operations and communicators.

pmlua record writes this trace itself when the command ends. Use pmlua trace if it could not, because pmlua or the job was killed
or processes were still running. The trace contains the events that running processes have recorded so far.]],
  options = {
    common.with("folder", { shown = "DIR", help = "folder for traces.otf2, traces.def and traces/, created if it is missing" }),
    common.with "quiet",
    { name = "show", help = "summarize the trace of the folder DIR, and write nothing" },
    common.with("json", { help = "print the summary as JSON, with all digits" }),
    common.with("csv", { help = "print one table as CSV: the regions, or the table that --table names" }),
    common.with("html", { help = "also write a page for a browser into FILE: timeline, matrix of messages, flame graph, waits, "
      .. "critical path and tables; this reads every event three times" }),
    { name = "table", kind = "choice", choices = { "regions", "paths", "messages", "metrics", "kinds", "waits", "causes",
      "critical-path", "critical-call-paths" }, shown = "regions",
      help = "table that --csv prints" },
    { name = "paths", help = "also print a table of call paths" },
    { name = "plot", kind = "text", value = "KIND[=FILE]", many = true, key = "figures", read = read_figure,
      help = "draw a timeline of locations, a profile of regions, the matrix of messages or the metrics: KIND is timeline, "
      .. "profile, matrix or metrics; FILE ends in .svg or .png (default: KIND.svg)" },
    { name = "waits", help = "also print how long MPI ranks and OpenMP threads waited for each other: in which call path, for "
      .. "which rank or thread, and in which region that one was meanwhile; this reads every event in order of time" },
    { name = "critical-path", help = "also print the chain of work and waits that determines the length of the run: its time by "
      .. "region, call path and rank, and its longest parts; this reads every event three times" },
    windows.option("count only this window, in seconds since the beginning; FROM or TO may be omitted; waits and the "
      .. "critical path are cut at its ends"),
    { name = "where", kind = "glob", value = "PATTERN", help = "only regions whose name matches, such as MPI_*" },
    require "pmlua.internal.record.kind".option("only regions of these kinds, such as library,mpi; in traces of other "
      .. "tools a kind is a paradigm of OTF2, such as compiler"),
    { name = "top", kind = "integer", min = 1, default = 20, help = "number of regions in the table" },
  },
  exclusive = { { "json", "csv" }, { "json", "plot" }, { "csv", "plot" }, { "html", "plot" } },
  notes = [[
Clocks of different hosts differ. If the ranks measured the differences, all times are converted to the clock of rank 0; the
remaining error is corrected so that no message arrives before it was sent. A note states how many messages arrived early, before
and after the correction.
A table lists how long ranks waited for others: for late senders, from entering a receive until the sender entered the send; in
barriers and other collective operations, from entering one until the last rank entered. waits.json beside the trace lists all
ranks. --waits also lists late receivers, waits at windows and for their locks, probes, and calls that create communicators. For
OpenMP it lists how long threads waited in barriers, including those at the end of loops and parallel regions, until the last
thread of the team entered. Tasks that a thread executes there count as work.
Under mpirun, rank 0 writes the trace and the other ranks end at once.]],
  examples = { "pmlua trace pmlua-record-4711 -o trace",
    "pmlua trace trace/traces.otf2 --top 5", "pmlua trace trace/traces.otf2 --waits",
    "pmlua trace trace/traces.otf2 --critical-path",
    "pmlua trace trace/traces.otf2 --html trace.html",
    "pmlua trace trace/traces.otf2 --csv --table paths",
    { "pmlua trace trace/traces.otf2 --plot timeline=run.svg --window 0:1", needs = { "gnuplot" } } },
}

--- Options that show a trace need none to be written.
function M.check(o)
  if o.table and not o.csv then return "--table is of --csv" end
  o.show = o.show or o.json or o.csv or o.paths or o.figures or o.waits or o.critical_path or o.window or o.where or o.kind
    or o.html
end

local complain = require "pmlua.internal.cli.complain" "trace"

local function where_of(o)
  return { window = o.window, region = o.where, kind = require "pmlua.internal.record.kind".list(o.kind) }
end

local function draw(reader, o)
  local figures = require "pmlua.internal.trace.figures"
  for _, figure in ipairs(o.figures) do
    try(figures[figure.kind](reader, where_of(o), o.dir, figure.file))
    print(printable(figure.file))
  end
end

--- Print a summary of a trace.
local function tell(o)
  try(not o.out, "-o is for a trace that is made; name a figure's file by --plot KIND=FILE, and send tables where you like "
    .. "with >")
  local reader <close> = try(require("pmlua.trace").open(o.dir))
  try(reader:about().locations > 0, o.dir .. ": no location is defined: nothing was recorded, or its definitions are damaged")
  local report = require "pmlua.internal.trace.report"
  if o.figures then draw(reader, o)
  else
    try(report.write(reader, { json = o.json, csv = o.csv, table = o.table, waits = o.waits,
      critical_path = o.critical_path, paths = o.paths, top = o.top, where = where_of(o) }, io.write))
  end
  if o.html then
    local page = try(report.page(reader, { dir = o.dir, where = where_of(o) }))
    try(require "pmlua.internal.page".save(o.html, page))
  end
  return 0
end

---@return integer status
function M.run(o)
  if o.show or o.dir:find "%.otf2$" then
    local status, err = try.catch(tell, o)
    return status, core.failure.sentence(err)
  end
  if (require("pmlua.internal.job").rank() or 0) > 0 then return 0 end
  local archive = require "pmlua.internal.record.archive"
  local mode = require("lfs").attributes(o.dir, "mode")
  try(mode == "directory", o.dir .. (mode and ": neither a folder nor a trace (*.otf2)"
    or ": no such folder; name a folder of pmlua record, or a trace (*.otf2)"))
  local out, story
  local show, clear = require("pmlua.internal.record.report").progress(o.quiet)
  local dir = o.out or o.dir
  local made, err = require "pmlua.internal.file".results(dir)
  if made then
    out = dir .. "/traces.otf2"
    story, err = archive.make(o.dir, dir, { progress = show, tell = complain })
  end
  clear()
  try(story, err)
  for _, line in ipairs(o.quiet and {} or archive.notes(story)) do complain(line) end
  if not o.quiet then io.stderr:write((require("pmlua.internal.report.waits").text(story.waits):gsub("^\n", ""))) end
  print(printable(out))
  return 0
end

return M
