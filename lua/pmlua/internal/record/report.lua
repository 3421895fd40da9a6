-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/record/report.lua - the report of a recording: the table of functions, and all that is not in it.
--
-- Try:  require("pmlua.internal.record.report").report({}, "pmlua-record-4711", print)

local core = require "pmlua.core"
local calls = require "pmlua.internal.record.functions"
local disk = require "pmlua.internal.file"
local lists = require "pmlua.internal.lists"
local logs = require "pmlua.internal.record.logs"
local printable = require "pmlua.internal.printable"

local M = {}

-- Report a line; the second argument is true if a requested output could not be written.
---@alias pmlua.record.complain fun(text: string, failed?: boolean)

local LINES = 40     -- most rows of the table
local NAME = 64      -- most bytes of a function's name
local PROCESSES = 5  -- most processes that are named individually
local NAMES = 4      -- most functions in a sentence
local REASON = 1024  -- most bytes of a line, PML_REASONS_LINE of core/record/pml_reasons.h

--- The counted events, in the order of the request.
local function events_of(all)
  for _, p in ipairs(all.processes) do
    if #p.events > 0 then return p.events end
  end
  return {}
end

--- An event as the head of a column: a plugin's metric has a unit, and its values a scale.
local function heading(all, event)
  for _, p in ipairs(all.processes) do
    local u = p.units[event]
    if u then return ("%s%s"):format(event:gsub("^plugin::", ""), u.unit ~= "" and (" [%s]"):format(u.unit) or ""), u.scale end
  end
  return event, 1
end

--- C++ names may be longer than a screen is wide.
local function shortened(name) return #name <= NAME and name or name:sub(1, NAME - 3) .. "..." end

--- The counters of the events, and their stage: one line.
local function counters_text(counters)
  if #counters == 0 then return nil end
  local names = lists.map(counters, function(c) return c.event end)
  return ("%s: counted by the %s\n"):format(table.concat(names, ", "), require("pmlua.countfile").label(counters[1].stage))
end

local value_heads = { "library", "function", "value", "calls", "sum", "mean", "min", "max" }

--- Arguments and results that wrappers record, of the functions in the table.
local function value_rows(all)
  local rows = {}
  for i, f in ipairs(all.functions) do
    if i > LINES then break end
    local names = require "pmlua.internal.keys"(f.values or {})
    for _, name in ipairs(names) do
      local v = f.values[name]
      rows[#rows + 1] = { f.library, shortened(f.name), shortened(name), v.count, v.sum, v.mean, v.min, v.max }
    end
  end
  return rows
end

--- Kinds of functions whose library shows the kind: a table of these alone has no column of kinds.
local ORDINARY <const> = { library = true, ["function"] = true, mpi = true, openmp = true }

--- Print the table in a single write, because other processes may print as well.
local function print_table(all, dir)
  local rows, events, heads, scales = {}, events_of(all), {}, {}
  for k, event in ipairs(events) do heads[k], scales[k] = heading(all, event) end
  local unreturned, mixed = 0, false
  for _, f in ipairs(all.functions) do unreturned = unreturned + f.unreturned end
  for i, f in ipairs(all.functions) do
    if i > LINES then break end
    rows[i] = { f.library, shortened(f.name), f.calls, f.inclusive_ns, f.exclusive_ns, f.min_ns, f.median_ns, f.max_ns }
    for k, event in ipairs(events) do
      local v = f.events and f.events[event] or (0 / 0)
      rows[i][7 + k + 1] = scales[k] == 1 and v or v * scales[k]
    end
    if unreturned > 0 then table.insert(rows[i], 4, f.unreturned) end
    mixed = mixed or not ORDINARY[f.kind]
  end
  local names = { "library", "function", "calls", "inclusive [ns]", "exclusive [ns]", "min [ns]", "median [ns]", "max [ns]" }
  table.move(heads, 1, #heads, #names + 1, names)
  if unreturned > 0 then table.insert(names, 4, "did not return") end
  if mixed then
    names[#names + 1] = "kind"
    for i, row in ipairs(rows) do row[#names] = all.functions[i].kind end
  end
  local more, text, values = #all.functions - #rows, {}, value_rows(all)
  if #rows > 0 then text[1] = "\n" .. require "pmlua.tabulate"(names, rows, 2) .. "\n" end
  text[#text + 1] = #rows > 0 and counters_text(all.counters) or nil
  if #values > 0 then text[#text + 1] = "\n" .. require "pmlua.tabulate"(value_heads, values, 2) .. "\n" end
  local constructs = #all.openmp > 0 and require "pmlua.internal.record.openmp".text(all.openmp, LINES)
  text[#text + 1] = constructs and "\n" .. constructs or nil
  if more > 0 then text[#text + 1] = ("and %d more functions; --json lists all\n"):format(more) end
  text[#text + 1] = ("%d %s; results in %s\n"):format(#all.processes, #all.processes == 1 and "process" or "processes", dir)
  io.stderr:write(table.concat(text))
end

--- JSON's objects have strings as keys.
local function names_of(bucket)
  local named = {}
  for i, n in pairs(bucket or {}) do named[tostring(i)] = n end
  return named
end

local function print_json(all)
  local json = require "pmlua.json"
  for _, f in ipairs(all.functions) do f.bucket = names_of(f.bucket) end
  json.array(all.functions)
  json.array(all.counters)
  json.array(all.openmp)
  for _, p in ipairs(all.processes) do
    json.array(p.paths)
    json.array(p.unmatched_patterns)
    json.array(p.troubles)
    json.array(p.left_functions)
    json.array(p.dropped_functions)
    json.array(p.events)
    p.durations, p.sums, p.values, p.openmp = nil, nil, nil, nil -- the functions have all
  end
  print(json.encode(all))
end

local csv_fields = { "library", "name", "kind", "calls", "unreturned", "inclusive_ns", "exclusive_ns", "min_ns", "median_ns",
  "max_ns" }

--- A row for every function; a column for each event, in its unit.
local function csv_rows(all)
  local events, rows, names = events_of(all), {}, table.move(csv_fields, 1, #csv_fields, 1, {})
  names[2] = "function"
  local scales = {}
  for k, event in ipairs(events) do names[#csv_fields + k], scales[k] = heading(all, event) end
  for i, f in ipairs(all.functions) do
    rows[i] = {}
    for k, field in ipairs(csv_fields) do rows[i][k] = f[field] end
    for k, event in ipairs(events) do
      local v = f.events and f.events[event] -- nil: not counted
      rows[i][#csv_fields + k] = v and scales[k] ~= 1 and v * scales[k] or v
    end
  end
  return names, rows
end

--- The functions, the values that wrappers recorded, and the flame graph, as a page.
local function write_page(all, o, dir, complain)
  local page = require "pmlua.internal.page"
  local names, rows = csv_rows(all)
  local parts = { page.flame(dir), #rows > 0 and { heading = "Functions", names = names, rows = rows } or {} }
  local values = value_rows(all)
  if #values > 0 then parts[#parts + 1] = { heading = "Values", names = value_heads, rows = values } end
  local ok, err = page.save(o.html, { title = dir, parts = parts, about = "processes: " .. #all.processes })
  if not ok then complain(tostring(err), true) end
end

--- All constructs of OpenMP, beside the logs.
local function write_constructs(all, dir, complain)
  if #all.openmp == 0 then return end
  local done, err = disk.write(dir .. "/openmp.csv", require "pmlua.internal.record.openmp".csv(all.openmp))
  if not done then complain(err, true) end
end

--- A bar for each function: its inclusive time, of all threads and processes.
local function draw(all, o, complain)
  local units, bars = require "pmlua.internal.report.units", {}
  for i, f in ipairs(all.functions) do
    local said = ("%s, %d call%s"):format(units.time(f.inclusive_ns), f.calls, f.calls == 1 and "" or "s")
    bars[i] = { label = shortened(f.name), total_ns = f.inclusive_ns, own_ns = f.exclusive_ns, least_ns = f.inclusive_ns,
      most_ns = f.inclusive_ns, said = said }
  end
  local of = o.command and table.concat(o.command, " ") or all.processes[1].program
  local title = "Time in library functions: " .. require "pmlua.report".short((of:gsub("^%S*/", "")), 48)
  local ok, err = require("pmlua.internal.report.bars").bars(bars, { title = title, what = "functions", several = false }, o.plot)
  if not ok then return complain("--plot: " .. err, true) end
  if not o.quiet then complain(o.plot) end
end

local function total(all, field)
  local n = 0
  for _, p in ipairs(all.processes) do n = n + (p[field] or 0) end
  return n
end

local function name_of(p) return ("process %s (%s)"):format(p.pid, tostring(p.program):match("[^/]*$")) end

--- Report the first few of these processes, one per line.
local function name_some(all, complain, of_them, what)
  local n = 0
  for _, p in ipairs(all.processes) do
    if of_them(p) then
      n = n + 1
      if n <= PROCESSES then complain(name_of(p) .. " " .. what(p)) end
    end
  end
  if n > PROCESSES then complain(("and %d more processes likewise"):format(n - PROCESSES)) end
end

-- Remedies for errors whose text does not suggest one.
local remedies = {
  ["File too large"] = " (a limit on file sizes: ulimit -f)",
  ["Bad file descriptor"] = " (the program closed the counters' descriptors)",
}

local function explained(text) return text .. (remedies[text:match("[^:]*$"):gsub("^ ", "")] or "") end

--- Why processes and programs are not recorded, each once (core/record/pml_reasons.h). Anybody may have written it.
---@return { pid: string?, program: string, why: string }[]
local function read_reasons(dir)
  local f <close> = disk.open(dir .. "/reasons")
  local list, seen = {}, {}
  for text in function() return f and f:read(REASON) end do
    if text:byte() == 0 then break end -- lines are taken in their order
    local line = text:match "^ ([^%z]+)"
    local pid, program, why = (line or ""):match("^(%d*)\t([^\t]*)\t(.+)$")
    if pid and not seen[line] then
      list[#list + 1] = { pid = pid ~= "" and pid or nil, program = printable(program), why = printable(why) }
      seen[line] = true
    end
  end
  return list
end

--- The reason why a process is not recorded; for a program into which libraries cannot be preloaded, the loader it requests.
local function reason_text(p)
  local loader = not p.pid and p.why:match("/([^/]*)$")
  return ("%s is not recorded: %s"):format(p.pid and name_of(p) or p.program,
    loader and ("its loader is %s, not glibc's"):format(loader) or explained(p.why))
end

local function report_reasons(reasons, complain)
  for i = 1, math.min(#reasons, PROCESSES) do complain(reason_text(reasons[i])) end
  if #reasons > PROCESSES then complain(("%d more are not recorded"):format(#reasons - PROCESSES)) end
end

--- Describe the end of a process that could not log it. The status, signal and time are known for pmlua's children only.
local function cut_short(p)
  if p.status then
    return ("ended with status %d without exit handlers (quick_exit, or the system call exit_group); calls until then are "
      .. "included"):format(p.status)
  end
  if p.signal then return ("was cut short by signal %d; calls until then are included"):format(p.signal) end
  return "was cut short by a signal, a system call that ends it, or an unrecorded program; calls until then are included, "
    .. "open ones until the last began"
end

local function report_endings(all, dir, complain)
  local function fail(text) complain(text, true) end
  name_some(all, fail, function(p) return p.refused end, function(p)
    return "is recorded in part: its file could not grow: " .. explained(p.refused)
  end)
  name_some(all, complain, function(p) return p.uncounted end, function(p)
    return "stopped counting events before its end; their values are too low: " .. explained(p.uncounted)
  end)
  name_some(all, complain, function(p) return p.ended == "failed" and not p.refused end,
    function(p) return "is not recorded: " .. explained(tostring(p.failure)) end)
  name_some(all, complain, function(p) return p.ended == "cut" end, cut_short)
  name_some(all, complain, function(p) return p.ended == "away" end, function(p)
    return ("has not ended as far as its log says: it was cut short, or still runs on %s; calls until now are included, "
      .. "and pmlua record --finish %s includes later ones"):format(p.host, dir)
  end)
  name_some(all, complain, function(p) return p.confined == 1 end, function()
    return "gave up system calls (seccomp); later calls are recorded only while there is room"
  end)
  name_some(all, complain, function(p) return p.ended == "running" end, function()
    return "is still running; report the rest later with pmlua record --finish " .. dir
  end)
end

--- Events that this machine counts wrong, where all processes ran on it.
local function report_wrong(all, complain)
  local events, here = events_of(all), core.sys.uname().nodename
  if #events == 0 then return end
  for _, p in ipairs(all.processes) do
    if p.host ~= here then return end
  end
  for _, text in ipairs(require "pmlua.internal.verify".remarks(events)) do complain(text) end
end

--- Software-defined events without a counter in a process that made calls: their 0 is not a count.
local function report_absent(all, complain)
  local called, missing, names = 0, {}, {}
  for _, p in ipairs(all.processes) do
    if #p.paths > 0 then
      called = called + 1
      for name in pairs(p.absent) do
        if not missing[name] then names[#names + 1] = name end
        missing[name] = (missing[name] or 0) + 1
      end
    end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local why = name:find("^sde:::BYFL::") and "the program was not compiled by pmlua cc --count"
      or "no loaded library registers it"
    local where = missing[name] < called and (" in %d of %d processes"):format(missing[name], called) or ""
    complain(("%s was not counted%s (%s); 0 means unknown there"):format(name, where, why))
  end
end

--- Report problems with plugins; a line that several processes share is printed once.
local function report_troubles(all, complain)
  local said = {}
  for _, p in ipairs(all.processes) do
    for _, text in ipairs(p.troubles) do
      if not said[text] then complain(text) end
      said[text] = true
    end
  end
end

local function report_missing(all, complain)
  local function say(field, text)
    local n = total(all, field)
    if n > 0 then complain(text:format(n)) end
  end
  say("deep", "%d calls were not recorded: more than 32768 calls were open, or calls came from more than 65536 places")
  say("nested", "%d calls were not recorded: they interrupted the recording")
  say("small", "%d functions have less code than --min-size, and were not recorded")
  say("dropped", "%d calls were not recorded: no room for their call paths")
  say("left_lost_children", "children not recorded because no file could be created: %d")
  say("unseen", "selected functions looked up by dlsym: %d; calls by these pointers are recorded only with --dlsym")
  say("elsewhere", "libraries opened by dlmopen in another namespace: %d; calls there are not recorded")
  say("untraced", "%d calls are not in the traces: no room")
  say("left_deep", "%d calls are not in the traces, as you asked with --max-depth")
  say("left_often", "%d calls are not in the traces, as you asked with --max-calls")
  say("left_brief", "%d calls are not in the traces, as you asked with --min-duration")
  local older = total(all, "left_older") / (1 << 20)
  if older > 0 then complain(("%.1f MiB of older events are not in the traces, as you asked with --last"):format(older)) end
end

--- Functions of all processes of which calls may be missing: those called through pointers, or also by name.
---@param missing "pointers"|"calls"
---@return string[] names
local function left_of(all, missing)
  local names, seen = {}, {}
  for _, p in ipairs(all.processes) do
    for _, f in ipairs(p.left_functions or {}) do
      if f.missing == missing and not seen[f.name] then names[#names + 1] = shortened(f.name) end
      seen[f.name] = true
    end
  end
  return names
end

local function listed(names)
  local first = table.concat(names, ", ", 1, math.min(#names, NAMES))
  return #names > NAMES and ("%s and %d more"):format(first, #names - NAMES) or first
end

--- Calls that cannot be seen, by the functions' names.
local function report_left(all, complain)
  local pointers, named = left_of(all, "pointers"), left_of(all, "calls")
  if #pointers > 0 then
    complain("calls through pointers are not recorded; code or data contain the address of " .. listed(pointers))
  end
  if #named > 0 then complain("calls are missing, as code could not be changed to record them: " .. listed(named)) end
end

--- Functions that --overhead stopped recording, with the calls before.
local function report_dropped(all, complain)
  local counts, names, seen = {}, {}, {}
  for _, f in ipairs(all.functions) do counts[f.library .. "\0" .. f.name] = f.calls end
  for _, p in ipairs(all.processes) do
    for _, f in ipairs(p.dropped_functions or {}) do
      local key = f.library .. "\0" .. f.name
      if not seen[key] then names[#names + 1] = ("%s after %d calls"):format(shortened(f.name), counts[key] or 0) end
      seen[key] = true
    end
  end
  if #names > 0 then complain("not recorded any more, as --overhead allows no more cost: " .. listed(names)) end
end

local NO <const> = { lib = "library", func = "function that is compiled for recording, as by pmlua cc --functions" }

--- Report patterns that matched in no process, one per line, with similar names. A process logs them when it exits.
local function report_unmatched(all, complain)
  local processes, count, near, has, order = 0, {}, {}, {}, {}
  for _, p in ipairs(all.processes) do
    if p.ended == "exit" and not p.noted then processes = processes + 1
    elseif #p.paths > 0 then
      return -- it may have matched, and could not say so
    end
    for _, u in ipairs(p.unmatched_patterns) do
      local key = u.option .. "\0" .. u.pattern
      if not count[key] then order[#order + 1] = u end
      count[key] = (count[key] or 0) + 1
      near[key], has[key] = near[key] or (u.nearest ~= "" and u.nearest), has[key] or u.library
    end
  end
  if total(all, "elsewhere") > 0 then return end -- it may have matched there
  for _, u in ipairs(order) do
    local key = u.option .. "\0" .. u.pattern
    local nearest = near[key] and ("; similar: " .. near[key]:gsub(",", ", ")) or ""
    if count[key] == processes and has[key] then
      complain(("--sym '%s' is a function of %s, which is not among the chosen libraries; add --lib '%s'"):format(u.pattern,
        has[key], has[key]:gsub("%.so.*", "*")))
    elseif count[key] == processes then
      local kind = NO[u.option] or "function"
      if u.option == "func" and u.pattern:find "@" then kind = kind .. "; source files are known where -g was used" end
      complain(("--%s '%s' matches no %s%s"):format(u.option, u.pattern, kind, nearest))
    end
  end
end

--- Whether a file contains a text; reads a block at a time.
local function has(path, text)
  local f <close> = io.open(path or "", "rb")
  local rest = ""
  for block in function() return f and f:read(1 << 20) end do
    if (rest .. block):find(text, 1, true) then return true end
    rest = block:sub(-#text)
  end
  return false
end

--- A statically linked MPI cannot be intercepted. The first rank reports this for all.
local function report_static_mpi(all, complain)
  if require("pmlua.internal.job").rank() ~= 0 then return end
  for _, f in ipairs(all.functions) do
    if f.kind == "mpi" then return end
  end
  for i = 1, math.min(#all.processes, PROCESSES) do
    local program = all.processes[i].program
    if has(program, "\0PMPI_Init\0") then
      complain(program .. " is linked with a static library of MPI, whose calls are not recorded; link it with the shared one")
      return
    end
  end
end

--- Why the table is empty.
local function report_nothing(all, o, reasons, complain)
  if #all.functions > 0 then return end
  for _, p in ipairs(reasons) do
    if p.pid then return end -- that is why
  end
  for _, p in ipairs(all.processes) do
    if p.ended == "failed" or p.refused then return end -- that is why
  end
  if total(all, "elsewhere") > 0 then return end -- that may be why
  local functions, how = total(all, "functions"), ""
  if total(all, "unseen") > 0 or total(all, "shared") > 0 then how = "; calls through pointers are not seen" end
  if functions > 0 then
    complain(("no call of the %d selected library functions was recorded%s"):format(functions, how))
  else
    if not (o.lib or o.sym) then how = "; --lib libc selects the C library" .. how end
    complain("no call was recorded: no call through the dynamic linker leads to a selected function" .. how)
  end
end

local function report_failures(results, complain)
  for _, r in ipairs(results) do
    if r.err then complain(("process %s: %s"):format(r.name, r.err), true) end
  end
end

--- How far a flow or a trace is, on a terminal, as soon as it takes a while.
---@param quiet? boolean
---@return fun(done: integer, all: integer)?
---@return fun() clear
function M.progress(quiet)
  if quiet or not core.sys.isatty(2) then return nil, function() end end
  local began, shown = os.time(), false
  local function show(done, all)
    if os.time() - began < 1 then return end
    shown = true
    io.stderr:write(("\rreading events: %3d %% "):format(100 * done // math.max(all, 1)))
  end
  return show, function()
    if shown then io.stderr:write("\r", (" "):rep(40), "\r") end
  end
end

--- Write DIR/traces.otf2, unless it is there. One of processes that went on is made anew.
---@param o { quiet?: boolean }
function M.write_trace(o, dir, complain)
  local archive = require "pmlua.internal.record.archive"
  if archive.is_there(dir) then return end
  local show, clear = M.progress(o.quiet)
  local story, err = archive.make(dir, dir, { progress = show })
  clear()
  if err then complain(err, true) end
  for _, line in ipairs(story and archive.notes(story) or {}) do complain(line) end
end

--- Does a folder need a trace: none of its processes runs, some recorded events, and no trace of a job has them?
local function needs_trace(results, dir)
  local traced = false
  for _, r in ipairs(results) do traced = traced or r.traced end
  local job = (core.sys.realpath(dir) or dir):match "^(.*)/rank%-%d+$"
  return traced and not logs.running(results) and not (job and core.sys.realpath(job .. "/traces.otf2"))
end

--- Report missing data in the results of a folder, one line each. Returns all processes; nil: no results.
local function check(results, o, dir, complain)
  report_failures(results, complain)
  local reasons = read_reasons(dir)
  report_reasons(reasons, complain)
  if not logs.running(results) then os.remove(dir .. "/reasons") end
  local all = calls.of(results)
  if #all.processes == 0 and (#reasons > 0 or #results > 0) then return nil end
  if #all.processes == 0 then
    complain(("no process left results in %s: none could load the library, create a file there, or get memory"):format(dir))
    return nil
  end
  report_endings(all, dir, complain)
  report_troubles(all, complain)
  if not o.quiet then
    report_wrong(all, complain)
    report_absent(all, complain)
    report_missing(all, complain)
    report_left(all, complain)
    report_dropped(all, complain)
  end
  report_unmatched(all, complain)
  report_static_mpi(all, complain)
  report_nothing(all, o, reasons, complain)
  return all
end

local function has_flow(results) return lists.any(results, function(r) return r.flow end) end

local function gather(o, dir)
  local show, clear = M.progress(o.quiet)
  local results = logs.gather(dir, { progress = show })
  clear()
  return results
end

local function print_all(all, o, dir, complain)
  if o.kind or o.depth then
    local missing
    all, missing = require "pmlua.internal.record.kind".narrow(all, o.kind, o.depth)
    if missing then complain(missing) end
  end
  if o.json then print_json(all)
  elseif o.csv then io.write(require "pmlua.internal.cli.csv".table(csv_rows(all)))
  else print_table(all, dir) end
  if o.plot and #all.functions > 0 then draw(all, o, complain) end
  if o.html then write_page(all, o, dir, complain) end
end

--- Print the table of results whose gaps were already reported.
---@param results pmlua.logs.result[]
---@param dir string that has them
function M.show(o, results, dir, complain) print_all(calls.of(results), o, dir, complain) end

--- Read the results of one rank of a job and report missing data, one line each. The table of all ranks is the job's.
---@return pmlua.logs.result[]
function M.of_rank(o, dir, complain)
  local results = gather(o, dir)
  local all = check(results, o, dir, complain)
  if all then write_constructs(all, dir, complain) end
  if logs.running(results) then return results end
  local done, err = require "pmlua.internal.record.parts".leave(results, dir)
  if not done then complain(err, true) end
  return results
end

--- The flow and the call paths of all ranks of a job that ended.
---@param dir string the job's
---@return boolean whether there are any
function M.of_ranks(o, dir, complain)
  local job, err = require "pmlua.internal.record.parts".finish(dir, complain)
  if err then complain(err, true) end
  if job and job.flow then require("pmlua.internal.flow.files").report_job(job, dir, o, complain) end
  return job ~= nil
end

--- Convert the logs of a folder to results, print them, and report missing data, one line each.
---@param o { json?: boolean, csv?: boolean, quiet?: boolean, plot?: string, flow_file?: string, color?: string }
---@return boolean whether there are results
function M.report(o, dir, complain)
  local kind = disk.kind(dir)
  if kind ~= "directory" then
    complain(dir .. (kind and ": not a folder" or ": no such folder; name the folder of a recording"))
    return false
  end
  local _, unreadable = require "pmlua.internal.file".names(dir)
  if unreadable then
    complain(tostring(unreadable))
    return false
  end
  local results = gather(o, dir)
  if #results == 0 and M.of_ranks(o, dir, complain) then return true end
  if needs_trace(results, dir) then M.write_trace(o, dir, complain) end
  local all = check(results, o, dir, complain)
  if not all then return false end
  print_all(all, o, dir, complain)
  write_constructs(all, dir, complain)
  if has_flow(results) then require("pmlua.internal.flow.files").report(results, dir, o, complain) end
  return true
end

return M
