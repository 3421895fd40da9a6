-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua report`: time and work of the sections of a run, merged over its processes and threads.
--
--     PMLUA_REPORT=out mpirun -n 4 ./solver; pmlua report out

local common = require "pmlua.internal.cli.common"
local try = require "pmlua.internal.try"

local levels = { "basic", "detail", "threads", "events" }

local M = {
  summary = "report the time in the sections of a program, over processes and threads",
  arguments = { { name = "DIR|FILE|PID|NAME", key = "paths", kind = "file", many = true,
    missing = "name what to report: a folder, logs, or the pid or name of a running program" } },
  about = [[
DIR is a folder with the logs of a run. A process that uses sections, software-defined counters or recorders writes a log if it
runs with PMLUA_REPORT=DIR in its environment, or under pmlua live --report DIR; the log survives however the process ends. FILE
is one log. PID or NAME is a running application (pmlua query lists them).

FILE may also contain the counts of a program that was compiled by pmlua cc --count and ran with PMLUA_COUNT=FILE. The report then
adds the counts of other processes, which are in FILE.PID; --detail prints each process.

DIR may also be the folder of an experiment, complete or not, or of an MPI job under pmlua record. The report of a job shows the
load balance of sections, MPI functions and library calls over the ranks, and the messages between them.

Under mpirun, rank 0 prints and the other ranks end at once.]],
  options = {
    { name = "basic", help = "print a row per section (the default); (*) marks inclusive sections" },
    { name = "detail", help = "print a row per section and process; for an MPI job also per MPI function" },
    { name = "threads", help = "print a row per section and thread" },
    { name = "events", help = "print a row per software-defined event, counter or recorder" },
    { name = "history", help = "print a row per software-defined event with its values over time, which pmlua live --report "
      .. "keeps: one per second of the last hour, one per minute of the last month; --csv prints each" },
    common.with("event", { kind = "text", key = "event", many = false, needs = "history",
      help = "only events with this name or glob" }),
    { name = "outliers", kind = "text", value = "NAME", help = "compare the slow calls of the section or function NAME in the "
      .. "trace DIR with its other calls, and print what distinguishes them: calls inside, arguments, events, other threads" },
    { name = "legend", help = "explain the columns, events and metrics" },
    { name = "sort", kind = "choice", choices = { "time", "calls", "label" }, shown = "time",
      help = "order of the sections" },
    common.with("json", { help = "print the whole report as JSON" }),
    common.with("csv", { help = "print the selected table as CSV" }), common.with "openmetrics",
    common.with("html", { help = "also write a page for a browser into FILE: figures, and the tables of sections and events" }),
    common.with "out",
    common.with("plot", { help = "draw a bar for each section, or the messages between MPI ranks, into FILE (.svg or .png)" }),
    { name = "timeline", kind = "picture",
      help = "draw the sections of each thread over time (.svg or .png); the program must have run with "
        .. "PMLUA_REPORT_TIMELINE=on" },
    require "pmlua.internal.record.kind".option("report only sections of these kinds, such as section,kokkos; also openmp"),
    { name = "pmu", kind = "name",
      help = "compute metrics by the formulas of this PMU's event groups, such as skx" },
    common.with "patience", common.with "quiet",
  },
  exclusive = { { "json", "csv", "openmetrics" }, { "history", "json" }, { "history", "openmetrics" }, { "history", "html" },
    { "outliers", "history" }, { "outliers", "csv" }, { "outliers", "openmetrics" }, { "outliers", "html" },
    { "outliers", "plot" } },
  output = true,
  examples = {
    { "PMLUA_REPORT=out mpirun -n 4 ./solver", needs = { "mpirun" } },
    "pmlua report out --openmetrics=text --out solver.prom",
    "pmlua report recorded --outliers sweep",
    { "pmlua report out --detail --plot sections.svg", needs = { "gnuplot" } },
  },
}

function M.check(o)
  local tables = 0
  for _, name in ipairs(levels) do tables = tables + (o[name] and 1 or 0) end
  if o.csv and tables > 1 then
    return "--csv is one table: --basic, --detail, --threads or --events"
  end
  if o.outliers and #o.paths > 1 then return "--outliers is about one trace" end
  if o.history and tables > 0 then return "--history is a separate table; omit the other" end
end

-- --- whose ---

--- The log that a running application sends, which is kept until the report is written.
local function ask(which, o)
  local directory = require "pmlua.internal.live.directory"
  local app, err = directory.find(which)
  if not app then return nil, ("%s: no such file or folder, and %s"):format(which, (err:gsub("^[^:]*: ", ""))) end
  local link <close> = try(directory.connect(app))
  local bytes, why = directory.ask(app, link, "sections", "", o.patience)
  if not bytes then return nil, ("%s (%d): %s"):format(app.name, app.pid, why) end
  o.folder = try(require "pmlua.internal.temporary".folder "report")
  local job_summary = try(require "pmlua.internal.report.job_summary".of(bytes, ("%s (%d)"):format(app.name, app.pid), o.folder))
  job_summary.asked = app.name
  return job_summary
end

local CONSTRUCTS <const> = 40 -- most OpenMP constructs in a table

local function is_program(path)
  local f <close> = require("pmlua.internal.file").open(path)
  local first = f and f:read(4)
  return first and (first == "\127ELF" or first:sub(1, 2) == "#!")
end

--- The running program of this name, if the file or folder of the name is not a report: often it is the program itself.
local function live_instead(path, err, o)
  if not path:find("/", 1, true) then
    local job_summary = try.catch(ask, path, o)
    if job_summary then return job_summary end
  end
  if not is_program(path) then return nil, err end
  return nil, ("%s is a program, not a report, and no running program of this name answers questions; start it "
    .. "with pmlua live -- ./%s, or name a process id"):format(path, path:match "[^/]*$")
end

local function job_summary_of(o)
  local lfs, missing = require "lfs", nil
  for _, path in ipairs(o.paths) do
    if not lfs.attributes(path, "mode") then missing = missing or path end
  end
  if not missing then
    local job_summary, err = require "pmlua.internal.report.job_summary".read(o.paths)
    if job_summary or #o.paths > 1 then return job_summary, err end
    return live_instead(o.paths[1], err, o)
  end
  if #o.paths == 1 then return ask(missing, o) end
  return nil, missing .. ": no such file or folder"
end

local function draw(o, report, pictures)
  for _, name in ipairs { "plot", "timeline" } do
    if o[name] then
      try(require("pmlua.internal.report." .. pictures[name]).draw(report, o[name]))
      if not o.quiet then io.stderr:write("pmlua report: ", require "pmlua.internal.printable"(o[name]), "\n") end
    end
  end
end

local function save_page(o, page) try(require "pmlua.internal.page".save(o.html, page)) end

--- The sections with their shortest, mean and longest call, and the tables that CSV has.
local function page_of(o, report)
  local data, page, rows = require "pmlua.internal.report.data", require "pmlua.internal.page", {}
  local units = require "pmlua.internal.report.units"
  for i, section in ipairs(report.sections) do
    local of, label = section.all, require "pmlua.sections".show(section.label)
    local text = ("%s: %d calls, %s to %s, mean %s"):format(label, of.count, units.time(of.min_ns or 0),
      units.time(of.max_ns or 0), units.time(of.mean_ns or 0))
    rows[i] = { label = label, marks = of.count > 0 and { { style = "whiskers", from = of.min_ns / 1e9, to = of.max_ns / 1e9,
      text = text }, { style = "median", at = of.mean_ns / 1e9, text = text } } or nil }
  end
  local parts = { page.drawn("Time", function(path) return require "pmlua.internal.report.bars".draw(report, path) end) }
  if #rows > 0 then
    parts[2] = { heading = "Calls", figure = { rows = rows, unit = "s",
      about = "Shortest, mean and longest call, on a %s axis. Rest the mouse on a mark to read it." } }
  end
  for _, level in ipairs { { "basic", "Sections" }, { "events", "Events" } } do
    local names, list = data.rows(report, level[1])
    if #list > 0 then parts[#parts + 1] = { heading = level[2], names = names, rows = list } end
  end
  return { title = table.concat(o.paths, " "), about = "processes: " .. #report.processes, warnings = report.notes,
    parts = parts }
end

local sections_only = { "basic", "threads", "events", "legend", "sort", "kind", "plot", "timeline", "pmu", "openmetrics" }

--- Raise an option that only reports of sections have.
local function refuse_options(o, names, text)
  for _, name in ipairs(names) do try(not o[name], text:format(name, o.paths[1])) end
end

--- Files of counts: true if it is those. Both kinds in one table would mean nothing.
local function tell_counts(o)
  local counts, n = require "pmlua.internal.report.counts", 0
  for _, path in ipairs(o.paths) do n = n + (counts.is_one(path) and 1 or 0) end
  if n == 0 then return false end
  try(not o.html, "--html works with sections, jobs and runs only; " .. o.paths[1] .. " has counts")
  try(n == #o.paths, "report files of counts (PMLUA_COUNT) and of sections (PMLUA_REPORT) separately")
  refuse_options(o, sections_only, "--%s works with sections only; %s has counts")
  io.write((try(counts.format(o.paths, o))))
  return true
end

--- The folder of an experiment: true if it is one.
local function tell_run(o)
  local run = require "pmlua.internal.report.run"
  if not run.is_one(o.paths[1]) then return false end
  try(#o.paths == 1, "one run is reported; pmlua compare takes several")
  refuse_options(o, sections_only, "--%s is for reports of sections; %s is the folder of a run")
  io.write((try(run.format(o.paths[1], o))))
  if o.html then save_page(o, require "pmlua.internal.experiment.page".of(require "pmlua.results".open(o.paths[1]))) end
  return true
end

local job_only = { "basic", "events", "legend", "sort", "kind", "timeline", "pmu", "openmetrics" }

--- A job of MPI that pmlua record recorded: true if it is one.
local function tell_job(o)
  local reader = require "pmlua.internal.report.job"
  if not reader.is_one(o.paths[1]) then return false end
  try(#o.paths == 1, "report one job of MPI at a time")
  refuse_options(o, job_only, "--%s is for reports of sections; %s has a job of MPI")
  local job = try(reader.read(o.paths[1]))
  local texts, page = require "pmlua.internal.report.job_text", require "pmlua.internal.page"
  io.write(texts.format(job, o))
  draw(o, job, { plot = "traffic" })
  if o.html then
    local names, rows = texts.rows(job)
    save_page(o, { title = o.paths[1], about = ("%d ranks"):format(job.size), warnings = texts.notes(job), parts = {
      page.drawn("Messages", function(path) return require "pmlua.internal.report.traffic".draw(job, path) end),
      page.flame(o.paths[1]), { heading = "Sections and calls", names = names, rows = rows } } })
  end
  return true
end

--- The one table that CSV has.
local function level_of(o, report)
  for _, name in ipairs(levels) do
    if o[name] then return name end
  end
  return #report.sections > 0 and "basic" or "events"
end

local function table_of(constructs)
  local text = require "pmlua.internal.record.openmp".text(constructs, CONSTRUCTS)
  return text and "\n" .. text or ""
end

local function constructs_of(processes)
  local logs = {}
  for i, p in ipairs(processes) do logs[i] = p.name end
  return require "pmlua.internal.record.openmp".read(logs)
end

--- Report the OpenMP constructs of processes without sections.
local function tell_constructs(o, constructs)
  try(not o.csv, "the processes have no sections; --json has their OpenMP constructs")
  local json = require "pmlua.json"
  io.write(o.json and json.encode { openmp = json.array(constructs) } or table_of(constructs))
end

--- The sections, counters and recorders for Prometheus.
local function metrics_of(r, form)
  local families, show = require "pmlua.internal.serve.openmetrics".new(), require "pmlua.sections".show
  local function program(i) return { "program", show(r.processes[i].command:match "[^/ ]*%f[ \0]" or ""), "host",
    show(r.processes[i].host) } end
  local function process(i)
    local labels = program(i)
    labels[#labels + 1], labels[#labels + 2] = "process", require "pmlua.report".process_name(r, i)
    return labels
  end
  families:sections(#r.processes == 1 and process(1) or program(1), r)
  families:left(r, process)
  return families:text(form == true and "openmetrics" or form)
end

--- Values over time.
local function tell_history(o)
  local history = require "pmlua.internal.report.history"
  local list = try(history.read(o.paths, o.event))
  history.write(list, o.csv, io.write)
  if o.plot then try(history.draw(list, o.plot)) end
end

--- Why the slow calls of a region in a trace were slow.
local function tell_outliers(o)
  local reader <close>, err = require "pmlua.trace".open(o.paths[1])
  try(reader, err and require "pmlua.core".failure.sentence(err))
  local found = try(require "pmlua.analysis.outliers".of(reader, o.outliers))
  local json = require "pmlua.json"
  found.causes, found.where = json.array(found.causes), json.array(found.where)
  io.write(o.json and json.encode(found) or require "pmlua.internal.report.outliers".text(found, o.outliers))
end

local function tell(o)
  if o.outliers then return tell_outliers(o) end
  if o.history then return tell_history(o) end
  if tell_counts(o) or tell_run(o) or tell_job(o) then return end
  local job_summary = try(job_summary_of(o))
  local constructs = (not o.kind or o.kind.openmp) and constructs_of(job_summary.processes) or {}
  local report, why = require "pmlua.report".build(job_summary, o.sort, o.kind)
  if not report and #constructs > 0 then return tell_constructs(o, constructs) end
  try(report, why)
  report.openmp = constructs
  try(require "pmlua.internal.report.metrics".add(report, o.pmu))
  local data = require "pmlua.internal.report.data"
  if o.openmetrics then
    io.write(metrics_of(report, o.openmetrics))
  elseif o.json or o.csv then
    if o.json then try(data.json(report, io.write)) else try(data.csv(report, level_of(o, report), io.write)) end
  else
    io.write(try(require "pmlua.internal.report.text".format(report, o)), table_of(constructs))
  end
  draw(o, report, { plot = "bars", timeline = "timeline" })
  if o.html then save_page(o, page_of(o, report)) end
end

---@return integer status
function M.run(o)
  if (require "pmlua.internal.job".rank() or 0) > 0 then return 0 end
  local _ <close> = setmetatable({}, { __close = function()
    if o.folder then require "pmlua.internal.temporary".remove(o.folder) end
  end })
  tell(o)
  return 0
end

return M
