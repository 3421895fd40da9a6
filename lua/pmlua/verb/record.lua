-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua record -- CMD`: which library functions a program spends its time in, without changing it.
--
--     pmlua record -- sqlite3 :memory: 'select sqlite_version()'

local child = require "pmlua.internal.child"
local common = require "pmlua.internal.cli.common"
local core = require "pmlua.core"
local disk = require "pmlua.internal.file"
local kinds = require "pmlua.internal.cli.kinds"
local preload = require "pmlua.internal.preload"
local try = require "pmlua.internal.try"
local refuse = core.failure.refuse

--- The module that reports. It is loaded while the command runs, because loading takes as long as starting a small command.
local function recording() return require "pmlua.internal.record.report" end

local function metric(o, text)
  o.wanted = o.wanted or {}
  return require("pmlua.internal.host.beside").take(o.wanted, text)
end

local function flow_of(text)
  local format, wrong = require("pmlua.internal.flow.graph").format(text)
  return format and text, wrong
end


local function nanoseconds(text)
  local s = kinds.duration.read(text, { unit = "ns" })
  local ns = s and math.tointeger(math.floor(s * 1e9 + 0.5))
  if ns and ns >= 1 then return ns end
  return nil, ("'%s' is not a duration; write one such as 10us or 1ms"):format(text)
end

local CALLS = (1 << 31) - 1

local M = {
  summary = "run a program and report in which library functions it spends its time",
  usage = { "[OPTIONS] [--] CMD [ARGS]", "--finish DIR [--json|--csv] [--html FILE] [--plot FILE] [--flow[=FILE]]" },
  about = [[
Runs CMD and its children unchanged and records calls from the program to its libraries and between libraries, except libc,
the loader and pmlua itself. Then it prints a table of functions on standard error and returns CMD's exit status, or 1 if CMD
succeeded and a result could not be written; in a job with -o, the rank that prints the table returns this 1. Times are in ns;
inclusive time contains recorded calls inside a call, exclusive time does not. Recording takes time itself: short functions look
longer than they are.]],
  options = {
    { name = "lib", kind = "glob", many = true, help = "record only functions of these libraries (libz, libstdc*)" },
    { name = "sym", kind = "glob", many = true, help = "record only these functions" },
    { name = "func", kind = "glob", value = "NAME[@PLACE]", many = true, help = "record these functions of the program and its "
      .. "libraries, at PLACE: in this library or program, or compiled from this source file with -g ('*@solver.c'). They "
      .. "were compiled by pmlua cc --functions, or with -fpatchable-function-entry=5, -pg -mfentry -mrecord-mcount or "
      .. "clang's -fxray-instrument. Functions compiled with -finstrument-functions are also recorded without --func" },
    { name = "min-size", kind = "size", such = "64", help = "record only functions of the program with at least this "
      .. "many bytes of code" },
    { name = "python", help = "also record the functions of Python programs (tried with 3.9 to 3.13) as functions of a library "
      .. "Python: module.qualname (file:line). --func chooses among them. Not for python3 -I, -E and -S" },
    { name = "lua", help = "also record the functions of Lua 5.4, in interpreters and in programs that link its library, as "
      .. "functions of a library Lua: module.function (file:line). --func chooses among them. Not for lua -E" },
    { name = "not", kind = "glob", many = true, help = "exclude libraries and functions with these names" },
    { name = "filter", kind = "file", help = "also apply a filter file, in Score-P's format" },
    { name = "dlsym", help = "also record calls through pointers from dlsym. The pointers then differ from the functions' "
      .. "addresses: a program that compares them or asks dladdr, as Ruby does, may fail" },
    common.with("event", { help = "count this event in each function itself, without the calls inside it (pmlua events). Each "
      .. "call reads it twice; does not work for programs that close all descriptors" }),
    { name = "plugin", kind = "name", value = "NAME[:METRICS]", many = true, help = "load Score-P's metric plugin libNAME.so "
      .. "into the program (and those of SCOREP_METRIC_PLUGINS), with METRICS, separated by commas, as SCOREP_METRIC_NAME. "
      .. "Synchronous metrics are events of each call. Asynchronous metrics go into the trace and the table plugins-PID.dat, "
      .. "and are drawn if gnuplot is installed; if a process does not exit normally, values that the plugin has not yet "
      .. "delivered are lost" },
    { name = "substrate", kind = "name", many = true, help = "load Score-P's substrate plugin libscorep_substrate_NAME.so into "
      .. "the program, beside the plugins that SCOREP_SUBSTRATE_PLUGINS names. It gets an enter and a leave per call and "
      .. "writes into DIR/substrates-PID, or SCOREP_EXPERIMENT_DIRECTORY, when the program exits. Forked children do not use it. "
      .. "A process that ends by a signal, _exit or exec writes nothing" },
    { name = "metric", kind = "event", value = "NAME", take = metric, help = "record a metric of the host or the process "
      .. "over time, such as host::memory_used, 'host::network_*' or process::resident (pmlua events plugin:: lists them), "
      .. "in the table metrics.dat and the trace; may be repeated" },
    { name = "every", kind = "duration", shown = "100ms", such = "20ms", help = "time between two values of a metric" },
    { name = "trace", help = "also write an OTF2 trace, DIR/traces.otf2, with every enter and leave of all processes" },
    { name = "profile", help = "write no trace (the default)" },
    { name = "flow", kind = "file", optional = true, read = flow_of, help = "write event flow graphs of each process, which show "
      .. "the order of calls: for Graphviz, as a picture, and as a C program with the same flow. FILE names the "
      .. "picture (.svg, .png, .pdf, .dot or .json)" },
    { name = "color", kind = "name", value = "A/B", needs = "flow", help = "colour nodes of these graphs from pale blue to "
      .. "orange by the ratio of two of time, self (both in ns), calls and events" },
    require "pmlua.internal.record.kind".option("print only calls of these kinds, separated by commas: function, library, "
      .. "section, python, lua, mpi, openmp. The time of others is their callers'"),
    { name = "depth", kind = "integer", min = 1, max = CALLS, help = "print only calls inside fewer than N others. The time of "
      .. "deeper ones is their callers'" },
    common.with("json", { help = "print the table and all call paths as JSON on standard output" }),
    common.with("csv", { help = "print all functions as CSV on standard output" }),
    common.with("html", { help = "also write a page for a browser into FILE: flame graph, functions and values" }),
    common.with("plot", { help = "draw a bar for each function of the table into FILE (.svg or .png)" }),
    common.with("folder", { shown = "pmlua-record-PID", help = "folder for the results; it is created, and must not contain "
      .. "results. Each rank of a parallel job (mpirun -n 4 pmlua record -o DIR CMD) uses DIR/rank-N; the last one to end "
      .. "prints one table of all, as pmlua report DIR does, and writes the trace" }),
    { name = "detail", kind = "choice", choices = { "job", "ranks", "threads" }, shown = "job",
      help = "data of an MPI job with -o: "
      .. "job keeps a summary, job.pmlsum, with at most 8 KB for each rank, and the logs that contain more; ranks keeps all "
      .. "functions and logs, and adds a row for each rank to the tables; threads also adds a row for each thread" },
    common.with("quiet", { help = "print no progress and no notes; failures are still reported" }),
    { name = "finish", kind = "dir",
      help = "run nothing; finish a recording that was interrupted, or whose processes were still running" },
    { name = "overhead", kind = "percent", max = 100, help = "stop recording the most frequent functions once "
      .. "recording them costs more than this part of the program's processor time; the report names them. Sections, OpenMP "
      .. "and MPI stay recorded" },
    { name = "max-depth", kind = "integer", min = 1, max = CALLS,
      help = "omit calls nested deeper than N from the trace or flow" },
    { name = "max-calls", kind = "integer", min = 1, max = CALLS,
      help = "keep at most N calls of each function of a process in the trace or flow" },
    { name = "min-duration", kind = "duration", read = nanoseconds,
      help = "omit calls shorter than this that contain no recorded calls (10us, 1ms; ns without a unit)" },
    { name = "last", kind = "size", min = 1 << 20, such = "100M or 2G", help = "keep at most SIZE of events of each process in a "
      .. "trace or flow: the newest events, or the oldest events of an MPI rank" },
  },
  exclusive = { { "trace", "profile" }, { "json", "csv" } },
  command = { optional = true },
  notes = [[
The table has all calls; --max-depth, --max-calls, --min-duration and --last shorten only the trace, and a note says by how much.
Calls recorded before a process ends, by a signal or by executing another program, are kept.
A call counts when it begins. "did not return" counts calls left by a longjmp or an exception, or during which the thread or
the process ended; minimum, median and maximum are of calls that returned. Python's greenlet copies stacks away and back: the
table contains the whole time of calls on them, a trace the time until another stack replaced theirs.
Arguments and results that wrappers record (pmlua wrap init --record) have their own table: sum, mean, min and max.
Constructs of OpenMP are functions "omp parallel", "omp for", ... of a library "OpenMP", with their own table (openmp.csv has
all): threads, time, time that threads waited, imbalance. They come from OMPT, or from the calls of gcc's libgomp.]],
  examples = {
    { "pmlua record -- python3 -c 'import json; print(json.dumps([1, 2]))'", needs = { "python3" } },
    { "pmlua cc --functions -- gcc -O2 app.c -lz -o app && pmlua record --func '*' -- ./app" },
    "pmlua record --lib libz --trace -o zipped -- ./compress input",
    "pmlua record --trace --metric 'host::cpus_*' --metric process::resident --every 20ms -- ./solver",
  },
}

-- Options that select what to record, and the keys of those whose parsed value has another name.
local OF_A_RECORDING <const> = { "lib", "sym", "func", "min-size", "python", "lua", "not", "filter", "dlsym", "event", "plugin",
  "substrate", "metric", "every", "trace", "profile", "overhead", "max-depth", "max-calls", "min-duration", "last" }
local KEYS <const> = { event = "events", metric = "wanted" }

local function check_finish(o)
  if o.command or o.out then return "--finish DIR runs no command and takes no other folder" end
  for _, name in ipairs(OF_A_RECORDING) do
    local key = KEYS[name] or name:gsub("-", "_")
    if o[key] then return ("--finish DIR does not change the recording; --%s is for new recordings"):format(name) end
  end
end

function M.check(o)
  if type(o.flow) == "string" then o.flow_file = o.flow end
  if o.finish then return check_finish(o) end
  if #(o.command or {}) == 0 then return "no command given" end
  if o.every and not o.wanted then return "--every works with --metric only" end
  if (o.max_depth or o.max_calls or o.min_duration or o.last) and not (o.trace or o.flow) then
    return "--max-depth, --max-calls, --min-duration and --last limit a trace; add --trace"
  end
  local _, wrong
  if o.color then _, wrong = require("pmlua.internal.flow.graph").ratio(o.color, o.events or {}) end
  return wrong and "--color: " .. wrong
end

local MISUSED, NOT_RUN = 2, 126 -- as shells say it
local EVENTS = 16 -- pml_intercept_events.h

local whose = "" -- "rank 1 of 4: ", in a parallel job

local failed = false -- a requested output could not be written

--- Print in a single write, because other ranks print as well.
---@param is_failure? boolean
local function complain(text, is_failure)
  failed = failed or is_failure == true
  io.stderr:write(("pmlua record: %s%s\n"):format(whose, require "pmlua.internal.printable"(text)))
end

--- Print a failure of the verb.
---@param status? integer
---@return integer status
function M.complain(text, status)
  complain(text)
  return status or 1
end

local sentence = core.failure.sentence

--- Whether a folder contains results of a recording, or the remains of an MPI job's results.
local function is_used(name)
  for _, entry in ipairs(disk.names(name)) do
    if entry:find "%.pmlog$" or entry:find "^traces%." or entry:find "^job.*%.pmlsum$" or entry == "paths.json" then
      return true
    end
  end
  return false
end

--- Make a folder for results, or take one without any; nil and why.
local function make(name)
  local ok, err = disk.results(name)
  if not ok or not is_used(name) then return ok, err end
  return nil, name .. " already has results of a recording; remove them, or name another folder with -o"
end

--- Resolve its path and create the file to which every process can write errors: if this fails, no output can be written.
local function tried(name)
  local real, gone = core.sys.realpath(name)
  if not real then return refuse(gone) end
  os.remove(real .. "/reasons") -- left by an earlier recording without results
  local ready, unready = core.recording.reasons(real)
  if not ready then return refuse(unready) end
  return real
end

--- Create the folder and return its full path; nil and the reason. Ranks of a job share the named folder, each with a subfolder.
local function folder(name, rank)
  local made, err = make(name)
  if made and rank then
    name = ("%s/rank-%d"):format(name, rank)
    made, err = make(name)
  end
  if not made then return nil, err end
  local real, why = tried(name)
  if real then return real end
  if rank then -- as if it were not there
    os.remove(name .. "/reasons")
    require "lfs".rmdir(name)
  end
  return nil, why
end

--- Whether these events can be counted here; nil and why.
local function can_count(names)
  if #names > EVENTS then return nil, ("--event: a call takes at most %d events"):format(EVENTS) end
  local set <close>, err = core.eventset.open(names)
  if not set then return refuse(err, "--event") end
  return true
end

local function misuse(text, ...) try(nil, text:format(...), MISUSED) end

--- Raise if the loader would not find a library of that name in the program either.
local function check_library(option, library)
  local _, why = package.loadlib(library, "*")
  local ours = require "pmlua".paths.plugins
  if not why or not why:find("cannot open shared object file", 1, true) then return end
  if option == "plugin" and ours and disk.kind(ours .. "/" .. library) then return end
  misuse("--%s: the loader finds no %s; set LD_LIBRARY_PATH", option, library)
end

--- The plugin variables of the environment, extended by --plugin.
local function plugin_variables(list)
  local separator = os.getenv "SCOREP_METRIC_PLUGINS_SEP" or ","
  local names, words = { os.getenv "SCOREP_METRIC_PLUGINS" }, {}
  for _, said in ipairs(list) do
    local name, colon, metrics = said:match("^([%w_]+)(:?)(.*)$")
    if not name or (colon == "") ~= (metrics == "") then
      misuse("--plugin: '%s' is not NAME or NAME:METRICS, where the library is libNAME.so", said)
    end
    if require("pmlua.internal.own_plugins").has(name) then
      misuse("--plugin: %s belongs to pmlua and measures outside the program; use --metric %s::NAME", name, name)
    end
    check_library("plugin", "lib" .. name .. ".so")
    names[#names + 1] = name
    if metrics ~= "" then words[#words + 1] = ("SCOREP_METRIC_%s=%s"):format(name:upper(), metrics) end
  end
  words[#words + 1] = "SCOREP_METRIC_PLUGINS=" .. table.concat(names, separator:sub(1, 1))
  return words
end

--- The substrate plugin variable of the environment, extended by --substrate.
local function substrate_variable(list)
  local separator = os.getenv "SCOREP_SUBSTRATE_PLUGINS_SEP" or ","
  local names = { os.getenv "SCOREP_SUBSTRATE_PLUGINS" }
  for _, name in ipairs(list) do
    if not name:find "^[%w_]+$" then
      misuse("--substrate: '%s' is not a NAME, where the library is libscorep_substrate_NAME.so", name)
    end
    check_library("substrate", "libscorep_substrate_" .. name .. ".so")
    names[#names + 1] = name
  end
  return "SCOREP_SUBSTRATE_PLUGINS=" .. table.concat(names, separator ~= "" and separator:sub(1, 1) or ",")
end

--- The variables that the preloaded library reads: name, field of the options, and the separator of a list.
local variables = { { "LIB", "lib", ":" }, { "SYM", "sym", ":" }, { "FUNC", "func", ":" }, { "NOT", "not", ":" },
  { "FILTER", "filter" }, { "EVENTS", "events", "\n" }, { "OVERHEAD", "overhead" }, { "LEAST", "min_size" },
  { "MAX_DEPTH", "max_depth" }, { "MAX_CALLS", "max_calls" },
  { "MIN_NS", "min_duration" }, { "LAST", "last" } }

--- Known defects of events on this machine, for the metrics of the trace; nil: none.
local function remarks(events)
  local lines = {}
  for _, event in ipairs(events) do
    local remark = require "pmlua.internal.verify".remark(event)
    for _, name in ipairs(remark and { event, event .. ":u" } or {}) do lines[#lines + 1] = name .. "\t" .. remark end
  end
  return #lines > 0 and "PMLUA_RECORD_REMARKS=" .. table.concat(lines, "\n") or nil
end

--- Python's search path, with the folder of the module that records functions in front (core/preload/python.c).
local function python_path()
  local own, before = require "pmlua".paths.preload .. "/python", os.getenv "PYTHONPATH"
  return own .. (before and before ~= "" and ":" .. before or "")
end

--- The code that Lua's interpreter runs at its start: it sets the library's hook, then runs the user's own code.
local function lua_init(library)
  local text = ("local start = package.loadlib(%q, 'pmlua_record_lua') if start then start() end"):format(library)
  local own = os.getenv "LUA_INIT_5_4" or os.getenv "LUA_INIT" or ""
  if own:sub(1, 1) == "@" then own = ("dofile(%q)"):format(own:sub(2)) end
  return text .. " " .. own
end

local function environment_of(o, library, dir)
  local preloaded = preload.with(library)
  if o.lua then preloaded = preloaded .. ":" .. o.lua_library end
  local words = { "LD_PRELOAD=" .. preloaded, "ASAN_OPTIONS=" .. preload.asan(), "PMLUA_RECORD_DIR=" .. dir,
    preload.clock() }
  for _, v in ipairs(variables) do
    local value = o[v[2]]
    if type(value) == "table" then value = table.concat(value, v[3]) end
    words[#words + 1] = value and ("PMLUA_RECORD_%s=%s"):format(v[1], value)
  end
  for _, word in ipairs(preload.annotations(library)) do words[#words + 1] = word end
  local program = preload.locate(o.command[1])
  if preload.strings(program):find("libcaliper", 1, true) then
    words[#words + 1] = require("pmlua.internal.record.stand_in").variable(program, library:match "^(.*)/")
  end
  local scans = require "pmlua.internal.record.scans".folder()
  words[#words + 1] = scans and "PMLUA_RECORD_SCANS=" .. scans
  words[#words + 1] = o.job and "PMLUA_RECORD_JOB=" .. o.job
  words[#words + 1] = (o.detail or "job") ~= "job" and "PMLUA_RECORD_WHOLE=1" or nil
  words[#words + 1] = remarks(o.events or {})
  if o.python then words[#words + 1] = "PYTHONPATH=" .. python_path() end
  if o.lua then words[#words + 1] = "LUA_INIT_5_4=" .. lua_init(o.lua_library) end
  if o.dlsym then words[#words + 1] = "PMLUA_RECORD_DLSYM=1" end
  if o.trace then words[#words + 1] = "PMLUA_RECORD_TRACE=1" end
  if o.flow then words[#words + 1] = "PMLUA_RECORD_FLOW=1" end
  if o.plugins then table.move(o.plugins, 1, #o.plugins, #words + 1, words) end
  words[#words + 1] = o.substrates
  return words
end

--- The metrics that are wanted, measured from now on; nil and why.
local function measure(o, pid)
  local metrics, err = require("pmlua.internal.host.beside").load(o.wanted, o.every, pid)
  local started
  if metrics then started, err = metrics:start() end
  if not started then return refuse(err, "--metric") end
  return metrics
end

--- Run the command and return how it ended; nil and the reason. Host metrics measured meanwhile are stored in o.metrics.
local function run(o, library, dir)
  local ended, err = child.run(o.command, o.wanted and function(pid)
    local why
    o.metrics, why = measure(o, pid)
    return o.metrics ~= nil, why
  end, { environment = environment_of(o, library, dir), bound = o.bound, meanwhile = recording })
  if ended then require("pmlua.internal.record.logs").waited(dir, ended) end
  if not o.metrics then return ended, err end
  local kept, why = o.metrics:finish(dir, o.trace)
  if not kept then complain("--metric: " .. sentence(why), why.code ~= "ENODATA") end -- it was too brief
  return ended, err
end

--- Run a command and leave the logs of its processes in an empty folder, for another verb.
---@param o table command, lib, sym, events: as the options
---@return table? ended, pmlua.Failure? failure
function M.leave(o, dir)
  local library, err = preload.ready("record", o.command[1])
  local fine, real = library ~= nil, nil
  if fine and o.events then fine, err = can_count(o.events) end
  if fine then real, err = tried(dir) end
  if not real then return refuse(err) end
  return run(o, library, real)
end

--- Is the disk full? Then some ranks of a job may have found room, and wait in MPI_Init for those that have not.
local function is_full(why)
  local text = tostring(why)
  return text:find("No space left on device", 1, true) ~= nil or text:find("Disk quota exceeded", 1, true) ~= nil
end

--- A command that nothing can be preloaded into, or whose results have no room.
local function run_alone(words, bound)
  local ended, err = child.run(words, nil, { bound = bound })
  return ended and child.status(ended) or M.complain(err, NOT_RUN)
end

--- Resolve the filter, plugins and events of the options.
local function prepare(o)
  if o.filter then
    try(disk.read(o.filter))
    o.filter = core.sys.realpath(o.filter)
  end
  if o.plugin then o.plugins = plugin_variables(o.plugin) end
  if o.substrate then o.substrates = substrate_variable(o.substrate) end
  if o.lua then o.lua_library = try(preload.library "lua") end
  if o.events then try(can_count(o.events)) end
end

--- The status of the command; 1 if it succeeded but a requested output could not be written.
local function status_of(ended)
  local status = child.status(ended)
  return status == 0 and failed and 1 or status
end

--- Report an earlier recording (--finish).
local function finish(o)
  local job = require "pmlua.internal.record.job"
  local report = job.is_job(o.finish) and job.finish_later or recording().report
  return report(o, o.finish, complain) and not failed and 0 or 1
end

---@return integer status
function M.run(o)
  if o.finish then return finish(o) end
  local library, err, status, kind = preload.ready("record", o.command[1])
  if not library then
    complain(err .. (kind == "other" and "; it runs without, and is not recorded" or ""))
    return kind == "other" and run_alone(o.command, require("pmlua.internal.job").rank() ~= nil) or status
  end
  prepare(o)
  local rank, size = require("pmlua.internal.job").rank()
  if rank then whose = ("rank %d of %d: "):format(rank, size) end
  o.bound = rank ~= nil -- a launcher that kills this process means the rank
  local dir, refused = folder(o.out or ("pmlua-record-%d"):format(core.sys.pid()), o.out and rank)
  if not dir and o.out and rank and is_full(refused) then
    complain(sentence(refused) .. "; this rank runs, and is not recorded")
    local alone = run_alone(o.command, o.bound)
    require "pmlua.internal.record.job".await_report(o.out)
    return alone == 0 and 1 or alone
  end
  try(dir, refused)
  if o.out and rank then o.job = dir:match "^(.*)/" end
  local ended, lost = run(o, library, dir)
  try(ended, lost, NOT_RUN)
  require "pmlua.internal.record.scans".prune()
  if o.job then
    whose = "" -- from here on, messages are of all ranks
    failed = require "pmlua.internal.record.job".finish(o, { dir = o.job, rank = rank, size = size }, complain)
    return status_of(ended)
  end
  recording().report(o, dir, complain)
  if o.metrics and not (o.json or o.csv) then io.stderr:write("\n", o.metrics:summary(), "\n") end
  return status_of(ended)
end

return M
