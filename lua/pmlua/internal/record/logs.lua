-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/record/logs.lua - the logs of recorded processes in a folder, and the files made from each: a flow,
-- plugins-NAME.dat.
--
-- A process leaves HOST.PID.pmlog, and HOST.PID.2.pmlog and so on for the programs that it executed later. NAME is the part
-- between the host and the extension. A forked child that made no recorded call is noted in its parent's log only.
--
-- Try:  for _, p in ipairs(require("pmlua.internal.record.logs").gather("pmlua-record-4711")) do print(p.name, p.ended) end

local core = require "pmlua.core"
local lists = require "pmlua.internal.lists"

local M = {}

local ROUNDS <const> = 3
local SHORTLY <const> = 0.05 -- seconds
local MOST <const> = 1 << 53 -- calls: more than any machine makes in a year

local sentence = core.failure.sentence

--- A whole number that can be one of calls.
local function is_count(v) return math.type(v) == "integer" and v >= 0 and v <= MOST end

--- Names are shown in tables.
local function shown(name) return (name:gsub("%c", " ")) end
local function function_name(name) return shown(core.region.demangle(name)) end

--- The file of a construct of OpenMP is its source; functions of MPI have none: each MPI has its own library.
local function library_of(region)
  if region.kind == "openmp" then return "OpenMP" end
  return region.file == "" and region.kind == "mpi" and "MPI" or shown(region.file)
end

local function kind_of(region) return region.kind ~= "" and region.kind or "unknown" end

-- ---- what a process says of itself ----

-- Its notes that are numbers.
local amounts = { "objects", "functions", "slots", "shared", "deep", "nested", "small", "unseen", "elsewhere", "scans", "threads",
  "unmatched", "dropped", "abandoned", "confined" }
local texts = { "program", "failure", "flow", "in_job" }

local function lines_of(log, key)
  local lines = {}
  for line in (log:note(key) or ""):gmatch "[^\n]+" do lines[#lines + 1] = line end
  return lines
end

--- "lib<TAB>libnone<TAB><TAB>libz,libm": a pattern that matched nothing, and names near to it.
--- "sym<TAB>malloc<TAB>libc.so.6<TAB>": a library that was not chosen has the function.
local function unmatched(line)
  local option, pattern, library, nearest = line:match "^([a-z]+)\t([^\t]*)\t([^\t]*)\t(.*)$"
  return option and { option = option, pattern = pattern, nearest = nearest, library = library ~= "" and library or nil }
end

--- "crc32<TAB>libz.so.1<TAB>pointers": a function of which calls may be missing, and which.
local function left(line)
  local name, library, what = line:match "^([^\t]*)\t([^\t]*)\t(%l+)$"
  return name and { name = function_name(name), library = shown(library), missing = what }
end

--- The program by its notes.
local function notes_of(log)
  local p = { units = {}, absent = {}, unmatched_patterns = {}, left_functions = {}, dropped_functions = {} }
  for _, key in ipairs(amounts) do
    local n = math.tointeger(tonumber(log:note(key)))
    p[key] = is_count(n) and n or nil
  end
  for _, key in ipairs(texts) do p[key] = log:note(key) end
  p.events, p.troubles = lines_of(log, "events"), lines_of(log, "troubles")
  for _, name in ipairs(lines_of(log, "absent")) do p.absent[name] = true end
  for _, line in ipairs(lines_of(log, "unmatched_patterns")) do table.insert(p.unmatched_patterns, unmatched(line)) end
  for _, line in ipairs(lines_of(log, "left_functions")) do table.insert(p.left_functions, left(line)) end
  for _, line in ipairs(lines_of(log, "dropped_functions")) do
    local name, library = line:match "^([^\t]*)\t([^\t]*)$"
    if name then table.insert(p.dropped_functions, { name = function_name(name), library = shown(library) }) end
  end
  for _, line in ipairs(lines_of(log, "units")) do
    local event, scale, unit = line:match "^([^\t]*)\t([^\t]*)\t%d+\t%d\t%-?%d+\t%w+\t(.*)$"
    if event then p.units[event] = { scale = tonumber(scale) or 1, unit = unit } end
  end
  return p
end

-- ---- what its calls add up to ----

--- The reason why these figures cannot come from calls; nil: they can.
local function implausible(p)
  for _, what in ipairs { "calls", "unreturned", "threads" } do
    if not is_count(p[what]) then return what .. " is not a count" end
  end
  if p.unreturned > p.calls then return "more calls did not return than began" end
  -- times are rounded to whole ns, each by itself
  if p.min_ns > p.max_ns or p.max_ns > p.inclusive_ns + 1 then return "a call took longer than all of them" end
  if p.exclusive_ns > p.inclusive_ns + 1 then return "a part of the time is longer than the whole" end
end

local function round(ns) return math.floor(ns + 0.5) end

local function paths_of(profile)
  local paths = {}
  for i, n in ipairs(profile:nodes()) do
    paths[i] = { depth = n.depth, library = library_of(n), name = function_name(n.name), kind = kind_of(n),
      calls = n.count + n.running, unreturned = n.running, threads = n.threads, inclusive_ns = round(n.inclusive_ns),
      exclusive_ns = round(n.exclusive_ns), min_ns = round(n.min_ns), max_ns = round(n.max_ns) }
    local why = implausible(paths[i])
    if why then return nil, "damaged: " .. why end
  end
  return paths
end

local function durations_of(profile)
  local durations = {}
  for i, f in ipairs(profile:functions()) do
    durations[i] = { library = library_of(f), name = function_name(f.name), bucket = f.bucket }
  end
  return durations
end

--- The counts of each event in a function's exclusive time.
local function sums_of(sums, events)
  local list = {}
  for _, of in pairs(sums) do
    local by_event = {}
    for i, v in ipairs(of) do by_event[events[i] or i] = v end
    list[#list + 1] = { library = library_of(of), name = function_name(of.name), events = by_event }
  end
  return list
end

local function values_of(values)
  for _, of in ipairs(values) do
    of.library, of.name, of.value, of.file, of.kind = library_of(of), function_name(of.name), shown(of.value), nil, nil
  end
  return values
end

local function add_figures(p, log)
  local profile <close>, err = log:profile()
  local sums, values
  if profile then p.paths, err = paths_of(profile) end
  if p.paths then sums, err = log:sums() end
  if sums then values, err = log:values() end
  if values then p.openmp, err = log:openmp() end
  if not p.openmp then return nil, err end
  p.durations, p.sums, p.values = durations_of(profile), sums_of(sums, p.events), values_of(values)
  return true
end

-- ---- a process ----

---@class pmlua.logs.process one process, as its log has it
---@field pid integer
---@field parent integer
---@field program string
---@field ended string how: exit, _exit, exec, cut (short), running, away (cut short, or running, on another host), failed
---@field host string
---@field paths table[] call paths
---@field durations table[] calls of functions by duration
---@field sums table[] what functions' own calls added to events
---@field values table[] arguments and results
---@field openmp table[] constructs of OpenMP, by threads
---@field noted? boolean it made no call, and has no log: its parent's log has what is known

local function process_of(log, story, ended)
  local p = notes_of(log)
  p.pid, p.parent, p.host, p.ended, p.untraced = story.pid, story.parent, story.host, ended, story.dropped
  p.status, p.signal, p.end_known = story.status, story.signal, story.end_known
  p.tick_ns = log:tick_ns()
  for _, what in ipairs { "lost_children", "deep", "brief", "often", "older" } do p["left_" .. what] = story[what] end
  for _, why in ipairs { "refused", "uncounted" } do p[why] = story[why] ~= "" and story[why] or nil end
  p.counted = story.counted ~= "none" and story.counted or nil
  local done, err = add_figures(p, log)
  return done and p, err
end

--- NAME, the process's number, and the number of its program; nil if the file is not a log.
function M.parse(file)
  local pid, program = file:match "%.(%d+)%.(%d+)%.pmlog$"
  if not pid then pid, program = file:match "%.(%d+)%.pmlog$", 1 end
  return pid and (program == 1 and pid or pid .. "." .. program), math.tointeger(tonumber(pid)), math.tointeger(program)
end

--- The command of a recording ended now: its log has that, and how, where the process could not say it itself.
---@param ended { pid: integer, status?: integer, signal?: integer } as child.run() returns it
function M.waited(dir, ended)
  local last, newest = 0, nil
  for _, file in ipairs(require "pmlua.internal.file".names(dir)) do
    local _, pid, program = M.parse(file)
    if pid == ended.pid and program > last then last, newest = program, file end
  end
  -- If this cannot be written, the end is unknown, as for other processes.
  if newest then core.recording.waited(dir .. "/" .. newest, ended.status, ended.signal, core.clock.realtime_ns()) end
end

--- Whether processes of that host can be checked from here.
local function is_here(host) return host == core.sys.uname().nodename end

--- Whether the process is there and has the file mapped: its number may be another's by now.
local function is_running(path, pid)
  local maps = require "pmlua.internal.file".text(("/proc/%d/maps"):format(pid))
  return maps ~= nil and maps:find(path, 1, true) ~= nil
end

--- How the process ended, as far as it can be told: who is killed cannot say so.
local function ending(file, story, running, known)
  if story.ended ~= "running" then return story.ended end
  if running then return "running" end
  local _, pid, program = M.parse(file)
  local later = file:gsub("%." .. pid .. "%..*$", (".%d.%d.pmlog"):format(pid, program + 1))
  return known[later] and "exec" or is_here(story.host) and "cut" or "away"
end

-- ---- children without a log ----

-- Fields that a forked child inherits from its parent, and fields that are zero or empty for it.
local inherited = { "program", "objects", "functions", "slots", "shared", "left_functions", "scans", "events", "units", "flow",
  "counted", "tick_ns", "host" }
local none = { "deep", "nested", "small", "unseen", "elsewhere", "threads", "unmatched", "dropped", "abandoned", "untraced",
  "left_lost_children", "left_deep", "left_brief", "left_often", "left_older" }
local empty = { "troubles", "absent", "unmatched_patterns", "dropped_functions", "paths", "durations", "sums", "values",
  "openmp" }

--- The children that a process noted, read again after checking which of them still run.
local function children_of(log, path)
  local running, children = {}, log:children()
  if not children or #children == 0 then return {} end
  for _, c in ipairs(children) do
    if not c.has_log and c.ended == "running" then running[c.pid] = is_running(path, c.pid) end
  end
  if next(running) then children = log:children() or {} end -- a child that has ended by now has noted its end before this read
  for _, c in ipairs(children) do c.running = c.ended == "running" and running[c.pid] end
  return children
end

--- How a child without a log ended; nil: it has a log by now, or none is missing. @later: a log of its number is there.
local function ending_of_child(c, later)
  if c.has_log then return nil end
  if c.refused then return "failed" end
  if c.ended ~= "running" then return c.ended end
  if c.running then return not later and "running" or nil end
  return later and "exec" or "cut"
end

--- A child as a process without calls.
local function noted(parent, c, ended)
  local p = { pid = c.pid, parent = c.parent, ended = ended, noted = true }
  for _, key in ipairs(inherited) do p[key] = parent[key] end
  for _, key in ipairs(none) do p[key] = 0 end
  for _, key in ipairs(empty) do p[key] = {} end
  if c.refused then p.failure = ("no log could be made at its first recorded call: %s"):format(c.refused) end
  return { name = tostring(c.pid), ended = ended, process = p }
end

--- Add the children that have no logs to the processes that noted them.
local function add_children(list, known)
  for i = 1, #list do
    local r = list[i]
    for _, c in ipairs(r.process and r.children or {}) do
      local host = r.file:match "^(.*%.)%d+%.%d+%.pmlog$" or r.file:match "^(.*%.)%d+%.pmlog$"
      local ended = ending_of_child(c, known[host .. c.pid .. ".pmlog"])
      if ended then list[#list + 1] = noted(r.process, c, ended) end
    end
  end
end

--- The process of one log; nil: no recorded calls, or, with a reason, it cannot be read.
---@return pmlua.logs.process? process, string|pmlua.Failure? err
function M.process(path)
  local log <close>, err, code = core.recording.open(path)
  if code == "ENODATA" then return nil end
  if not log then return nil, err end
  local story = log:story()
  return process_of(log, story, story.ended)
end

--- The library and the function of a region, as tables show them.
---@param region { name: string, file: string }
---@return string library, string name
function M.names(region) return library_of(region), function_name(region.name) end

-- ---- files made from a log ----

--- Write the series of asynchronous plugins as a table plugins-NAME.dat, plotted if gnuplot is installed. It is written once, as
--- a trace is; for a process that may still run it is written again.
local function write_series(path, dir, name, again)
  local stem = ("%s/plugins-%s"):format(dir, name)
  if not again and core.sys.realpath(stem .. ".dat") then return true end
  local series = core.plugin.read(path)
  if series and #series == 0 then return true end -- as of most processes
  local n, err = require("pmlua.plugin").tabulate(path, stem)
  return n and true, err
end

local function make_flow(r, log, o)
  local flow <close>, refused = log:flow(o.progress)
  if flow then r.flow = require("pmlua.internal.flow.graph").of(flow) else r.err = sentence(refused) end
end

--- A process that has just begun has made the file, but may have nothing in it yet.
local function open(path)
  local log, err, code = core.recording.open(path)
  if log or code ~= "EFORMAT" then return log, err, code end
  core.sys.sleep(SHORTLY)
  return core.recording.open(path)
end

---@class pmlua.logs.result
---@field name string
---@field file? string its log
---@field ended string as of the process
---@field process? pmlua.logs.process nil: it could not be read
---@field err? string why it has no results, or not all
---@field flow? pmlua.Flow if it was asked for
---@field traced? boolean its events are for a trace
---@field children? table[] what it noted of forked children

--- @o: nil: write no files. Nil for a log without recorded calls.
local function results(dir, file, known, o)
  local path, name, pid = dir .. "/" .. file, M.parse(file)
  local running = is_running(path, pid) -- before reading the log: if the process has ended, the log then contains its end
  local log <close>, err, code = open(path)
  if code == "ENODATA" then return nil end
  if not log then return { name = name, ended = "cut", err = sentence(err) } end
  local story = log:story()
  local r = { name = name, file = file, ended = ending(file, story, running, known) }
  r.children = children_of(log, path)
  local process, lost = process_of(log, story, r.ended)
  r.process, r.err = process, not process and ("%s: %s"):format(path, sentence(lost)) or nil
  if not process or not o or r.ended == "running" then return r end
  if story.traced and process.flow then make_flow(r, log, o) end
  r.traced = story.traced and process.flow ~= "only"
  if not r.err then
    local _
    _, r.err = write_series(path, dir, name, r.ended == "away")
  end
  return r
end

--- The names of the logs in a folder, sorted.
function M.files(dir)
  local files = lists.filter(require "pmlua.internal.file".names(dir), M.parse)
  table.sort(files)
  return files
end

--- The ranks that have a folder rank-N in a folder of a job, in order.
function M.ranks(dir)
  local list = {}
  for _, entry in ipairs(require "pmlua.internal.file".names(dir)) do
    list[#list + 1] = math.tointeger(tonumber(entry:match "^rank%-(%d+)$"))
  end
  table.sort(list)
  return list
end

--- Logs of a folder that are not among the known ones, which they become.
local function new_files(dir, known)
  local files = {}
  for _, file in ipairs(M.files(dir)) do
    if not known[file] then files[#files + 1] = file end
    known[file] = true
  end
  return files
end

local function all(dir, o)
  local real, known, list = core.sys.realpath(dir) or dir, {}, {}
  for _ = 1, ROUNDS do -- children that began meanwhile
    local files = new_files(real, known)
    for _, file in ipairs(files) do list[#list + 1] = results(real, file, known, o) end
    if #files == 0 then break end
  end
  add_children(list, known)
  return list
end

--- How the processes of a folder's logs ended, and where they were.
---@return { ended: string, host: string }[]
function M.endings(dir)
  local known, list = {}, {}
  local files = new_files(dir, known)
  for _, file in ipairs(files) do
    local path, _, pid = dir .. "/" .. file, M.parse(file)
    local running = is_running(core.sys.realpath(path) or path, pid)
    local log <close> = core.recording.open(path)
    local story = log and log:story()
    if story then list[#list + 1] = { ended = ending(file, story, running, known), host = story.host } end
  end
  return list
end

--- Whether any of these still writes to its log.
---@param list { ended: string }[]
function M.running(list) return lists.any(list, function(r) return r.ended == "running" end) end

--- Read all logs of a folder, and write the missing files of those whose processes ended.
---@param o? { progress?: fun(done: integer, all: integer) } called while a flow is made
---@return pmlua.logs.result[]
function M.gather(dir, o) return all(dir, o or {}) end

--- Read all logs of a folder, and write no files.
---@return pmlua.logs.result[]
function M.read(dir) return all(dir) end

return M
