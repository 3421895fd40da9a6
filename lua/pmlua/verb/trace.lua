-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua trace DIR`: merge the logs of recorded processes into an OTF2 trace. `pmlua trace FILE.otf2`: summarise a trace.
--
--     pmlua trace pmlua-record-4711; pmlua trace pmlua-record-4711/traces.otf2

local common = require "pmlua.internal.cli.common"
local core = require "pmlua.core"
local printable = require "pmlua.internal.printable"
local windows = require "pmlua.internal.trace.window"

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
  summary = "show what is in an OTF2 trace, or write one of what recorded processes left",
  usage = { "[OPTIONS] FILE.otf2", "--show [OPTIONS] DIR", "[-o DIR] [-q] DIR" },
  arguments = { { name = "TRACE", key = "dir", kind = "file", missing = "no trace and no folder given" } },
  about = [[
FILE.otf2 is a trace of pmlua or of another tool. The first lines say what it is: processes, threads, length, events by kind,
corrections of clocks, and of a job of MPI the balance of its ranks. Tables have the time of each region and how it is spread over
processes, the messages between ranks, and metrics. What is odd or missing stands at the end. --show prints the same of a folder
of pmlua record, whether its trace is written yet or not.

DIR is the folder of pmlua record --trace. All processes are in one archive: each is a location group, its threads are
locations, hosts are nodes. Ranks of MPI come first, with their messages, collective operations and communicators.

pmlua record writes this trace itself when the command ends. Use pmlua trace if it could not: pmlua or the job was killed, or
processes were still running. Processes that still run are in the trace with what they recorded so far.]],
  options = {
    common.with("folder", { shown = "DIR", help = "the folder for traces.otf2, traces.def and traces/; it is created" }),
    common.with "quiet",
    { name = "show", help = "show what is in the trace of the folder DIR, and write nothing" },
    common.with("json", { help = "what is in the trace as JSON, with all digits" }),
    common.with("csv", { help = "one of its tables as CSV: its regions, or what --table names" }),
    { name = "table", kind = "choice", choices = { "regions", "paths", "messages", "metrics", "kinds", "waits", "causes",
      "critical-path", "critical-call-paths" }, shown = "regions",
      help = "with --csv: what it is of" },
    { name = "paths", help = "also a table of call paths" },
    { name = "plot", kind = "text", value = "KIND[=FILE]", many = true, key = "figures", read = read_figure,
      help = "draw a timeline of locations, a profile of regions, the matrix of messages or the metrics: KIND is timeline, "
      .. "profile, matrix or metrics; FILE ends in .svg or .png and is KIND.svg if not given" },
    { name = "waits", help = "also how long ranks of MPI and threads of OpenMP waited for each other, in which call path, for "
      .. "whom, and what that one was in meanwhile: every event is read in the order of time" },
    { name = "critical-path", help = "also the chain of work and waits that the run's length is made of: the time on it by "
      .. "region, call path and rank, and its longest parts; every event is read three times" },
    windows.option("count only what lies in this window, in seconds since the beginning; one of both may be left out; of "
      .. "waits and of the critical path, the parts in it"),
    { name = "where", kind = "glob", value = "PATTERN", help = "only regions with such names, as MPI_*" },
    { name = "top", kind = "integer", min = 1, default = 20, help = "how many regions the table has" },
  },
  exclusive = { { "json", "csv" }, { "json", "plot" }, { "csv", "plot" } },
  notes = [[
Clocks of several hosts differ. Where ranks measured the differences, all times are those of rank 0; what remains is corrected
so that no message arrives before it was sent. A note states how many messages did so before and after the correction.
Of ranks, a table lists how long they waited for others: for late senders, from entering a receive to entering its send, and in
barriers and other collective operations, from entering one until the last rank enters. waits.json beside the trace has all
ranks. --waits also lists late receivers, waits at windows and for their locks, probes and calls that make communicators, and of
OpenMP how long threads waited in barriers, also at the end of loops and of parallel regions, until the last thread of the team
entered. Tasks that a thread executes there are work.
Under mpirun, rank 0 writes the trace and the other ranks end at once.]],
  examples = { "pmlua trace pmlua-record-4711 -o trace",
    "pmlua trace trace/traces.otf2 --top 5", "pmlua trace trace/traces.otf2 --waits",
    "pmlua trace trace/traces.otf2 --critical-path",
    "pmlua trace trace/traces.otf2 --csv --table paths",
    { "pmlua trace trace/traces.otf2 --plot timeline=run.svg --window 0:1", needs = { "gnuplot" } } },
}

--- Options that show a trace need none to be written.
function M.check(o)
  if o.table and not o.csv then return "--table is of --csv" end
  o.show = o.show or o.json or o.csv or o.paths or o.figures or o.waits or o.critical_path or o.window or o.where
end

local complain = require "pmlua.internal.cli.complain" "trace"

--- The folder for the archive, made if it is not there; nil and why.
local function folder(name)
  local lfs = require "lfs"
  local mode = lfs.attributes(name, "mode")
  if mode == "directory" then return name end
  if mode then return nil, name .. ": not a folder; name another with -o" end
  local made, err = lfs.mkdir(name)
  if not made then return nil, ("%s: %s"):format(name, err) end
  return name
end

local function drawn(reader, o)
  local figures = require "pmlua.internal.trace.figures"
  for _, figure in ipairs(o.figures) do
    local ok, err = figures[figure.kind](reader, { window = o.window, region = o.where }, o.dir, figure.file)
    if not ok then return nil, err end
    print(printable(figure.file))
  end
  return true
end

--- Print a summary of a trace.
local function tell(o)
  if o.out then
    return complain("-o is for a trace that is made; name a figure's file by --plot KIND=FILE, and send tables where you like "
      .. "with >")
  end
  local reader <close>, err = require("pmlua.trace").open(o.dir)
  local ok
  if reader and reader:about().locations == 0 then
    err = o.dir .. ": no location is defined: nothing was recorded, or its definitions are damaged"
  elseif reader and o.figures then ok, err = drawn(reader, o)
  elseif reader then
    ok, err = require("pmlua.internal.trace.report").write(reader, { json = o.json, csv = o.csv, table = o.table, waits = o.waits,
      critical_path = o.critical_path, paths = o.paths, top = o.top, where = { window = o.window, region = o.where } }, io.write)
  end
  if not ok then complain(core.failure.sentence(err)) end
  return ok and 0 or 1
end

---@param o table
---@return integer status
function M.run(o)
  if o.show or o.dir:find "%.otf2$" then return tell(o) end
  if (require("pmlua.internal.job").rank() or 0) > 0 then return 0 end
  local archive = require "pmlua.internal.record.archive"
  local mode = require("lfs").attributes(o.dir, "mode")
  if mode ~= "directory" then
    return complain(("%s: %s"):format(o.dir, mode and "neither a folder nor a trace (*.otf2)" or "no such folder"))
  end
  local out, story
  local show, clear = require("pmlua.internal.record.report").progress(o.quiet)
  local dir, err = folder(o.out or o.dir)
  if dir then
    out = dir .. "/traces.otf2"
    story, err = archive.make(o.dir, dir, { progress = show, tell = complain })
  end
  clear()
  if not story then return complain(err) end
  for _, line in ipairs(o.quiet and {} or archive.notes(story)) do complain(line) end
  if not o.quiet then io.stderr:write((require("pmlua.internal.report.waits").text(story.waits):gsub("^\n", ""))) end
  print(printable(out))
  return 0
end

return M
