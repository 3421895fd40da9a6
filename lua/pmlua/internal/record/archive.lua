-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/record/archive.lua - one OTF2 archive, DIR/traces.otf2, of all logs in a folder and in its folders
-- rank-N, which ranks of a parallel job have.
--
-- Try:  print(require("pmlua.internal.record.archive").make("pmlua-record-4711", "pmlua-record-4711").events)

local core = require "pmlua.core"
local disk = require "pmlua.internal.file"
local logs = require "pmlua.internal.record.logs"
local units = require "pmlua.internal.report.units"

local M = {}

local sentence = core.failure.sentence

-- ---- what there is ----

--- The folder, and the folders of ranks in it, by rank.
local function folders(dir)
  local list = { dir }
  for i, rank in ipairs(logs.ranks(dir)) do list[i + 1] = ("%s/rank-%d"):format(dir, rank) end
  return list
end

local function add_series(log, path)
  if core.sys.realpath(path) then table.insert(log.series, path) end
end

--- Metrics that pmlua measured beside the command are in a separate log, PID.metrics.pmlog.
local function logs_of(dir, list)
  local first
  for _, file in ipairs(logs.files(dir)) do
    local name, pid = logs.parse(file)
    local log = { path = dir .. "/" .. file, series = {} }
    list[#list + 1] = log
    first = first or log
    if name == tostring(pid) then add_series(log, ("%s/%d.metrics.pmlog"):format(dir, pid)) end
  end
  return list
end

--- Whether a log has recorded events, and why some are missing; nil and why it cannot be read.
local function is_traced(path)
  local log <close>, err, code = core.recording.open(path)
  if log then
    local story = log:story()
    local is = story.traced and log:note "flow" ~= "only"
    return is, is and story.missing > 0 and path .. ": the log is cut short; events are missing" or nil
  end
  if code == "ENODATA" then return false end
  return nil, sentence(err)
end

--- The logs that contain events, also of ranks. @tell: called with the reason for each log that cannot be read.
---@param tell fun(line: string)
---@return { path: string, series: string[] }[]
local function traced(dir, tell)
  local all, list = {}, {}
  for _, folder in ipairs(folders(dir)) do logs_of(folder, all) end
  for _, log in ipairs(all) do
    local is, why = is_traced(log.path)
    if why then tell(why) end
    if is then list[#list + 1] = log end
  end
  return list, #all
end

--- Whether a process recorded events, in the folder or in the folders of ranks.
function M.is_wanted(dir)
  for _, folder in ipairs(folders(dir)) do
    for _, log in ipairs(logs_of(folder, {})) do
      if is_traced(log.path) then return true end
    end
  end
  return false
end

-- ---- processes that may still run ----

-- A file beside a trace that is in the folder of its logs, if some process had not ended: the state of each log.
local UNENDED <const> = "traces.unended"

--- The state of a log, which changes when the process ends, or its file grows or is written; nil: there is no such log.
local function state_of(path)
  local log <close> = core.recording.open(path)
  local a = log and require "lfs".attributes(path)
  if not a then return nil end
  return log:story().ended == "running" and ("%d %d"):format(a.size, a.modification) or "ended"
end

--- The logs that a trace in their folder is made of; nil: all their processes have ended.
local function states_of(dir, list)
  local lines, any = {}, false
  for i, log in ipairs(list) do
    local state = state_of(log.path) or "gone"
    lines[i], any = ("%s\t%s\n"):format(state, log.path:sub(#dir + 2)), any or state ~= "ended"
  end
  return any and table.concat(lines) or nil
end

local function note_states(dir, states)
  if states then disk.write(dir .. "/" .. UNENDED, states) else os.remove(dir .. "/" .. UNENDED) end
end

local function remove_archive(dir)
  for _, name in ipairs(disk.names(dir .. "/traces")) do os.remove(dir .. "/traces/" .. name) end
  require "lfs".rmdir(dir .. "/traces")
  for _, name in ipairs { "traces.def", "traces.otf2", UNENDED } do os.remove(dir .. "/" .. name) end
end

--- Whether a folder of logs has its trace. A trace of processes that ran on since is removed, if all its logs still exist.
function M.is_there(dir)
  if not core.sys.realpath(dir .. "/traces.otf2") then return false end
  local went_on = false
  for line in (disk.read(dir .. "/" .. UNENDED) or ""):gmatch "[^\n]+" do
    local state, file = line:match "^([^\t]*)\t(.*)$"
    local now = file and logs.parse(file) and state_of(dir .. "/" .. file)
    if not now then return true end -- the trace contains data of a log that no longer exists
    went_on = went_on or now ~= state
  end
  if went_on then remove_archive(dir) end
  return not went_on
end

-- ---- remarks on the archive ----

--- The ranks of a job without a log, if folders of logs are named by rank; @list has the others.
local function missing(list, story)
  local here, n, gone = {}, 0, {}
  for _, log in ipairs(list) do
    local rank = math.tointeger(tonumber(log.path:match "/rank%-(%d+)/[^/]*$"))
    if rank and not here[rank] then here[rank], n = true, n + 1 end
  end
  for rank = 0, story.ranks + story.missing - 1 do
    if not here[rank] then gone[#gone + 1] = rank end
  end
  return n == story.ranks and #gone == story.missing and story.jobs == 1 and gone or {}
end

--- Remarks for the archive's user, one per line.
function M.notes(story)
  local lines = {}
  local function say(n, text, ...)
    if n > 0 then lines[#lines + 1] = text:format(...) end
  end
  say(story.jobs > 1 and story.jobs or 0, "the logs come from %d MPI jobs, whose ranks are numbered one after the other",
    story.jobs)
  say(story.missing, "%d of %d ranks have no log%s; the trace has them without events", story.missing,
    story.ranks + story.missing, #story.gone > 0 and ": " .. units.ranges(story.gone) or "")
  say(story.early, "%d of %d messages arrived before they were sent, by the clocks of their ranks; in the trace, %d do",
    story.early, story.messages, story.still_early)
  say(story.elsewhere, "%d messages are to or from ranks of another job (MPI_Comm_spawn, MPI_Comm_connect): they have no partner",
    story.elsewhere)
  say(story.unmatched, "%d messages have no partner: one side is not recorded", story.unmatched)
  return lines
end

--- Why no trace can be made of the folder of an experiment; nil: another folder.
local function experiment(dir)
  if not require "pmlua.internal.report.run".is_one(dir) then return nil end
  if core.sys.realpath(dir .. "/traces.otf2") then return ("%s: this run has its trace: %s/traces.otf2"):format(dir, dir) end
  return dir .. ": an experiment writes its trace itself, and this one did not end or had none; "
    .. "its samples have no times (pmlua report shows them)"
end

---@param dir string of logs
---@param out string a folder that is there, for the archive
---@param o? { progress?: fun(done: integer, all: integer), tell?: fun(line: string) }
-- progress: is called while it is written; tell: gets a line for each log that cannot be read
---@return table? story what is in it
---@return string? err, string? code EBUSY: another process makes it; EEXIST: it exists
function M.make(dir, out, o)
  o = o or {}
  local _, unreadable = disk.names(dir)
  if unreadable then return nil, tostring(unreadable) end
  local list, n = traced(dir, o.tell or function() end)
  if n == 0 then return nil, experiment(dir) or dir .. ": no logs of recorded processes (*.pmlog)" end
  if #list == 0 then return nil, dir .. ": no process recorded events; record with --trace" end
  local beside = out == dir
  if beside then M.is_there(dir) end -- removes an outdated trace, which would be in the way
  local states = beside and states_of(dir, list) -- before reading the logs: later data may be missing from the archive
  local story, err, code = core.recording.archive(out, list, o.progress)
  if not story then return nil, sentence(err), code end
  if beside then note_states(dir, states) end
  story.gone = missing(list, story)
  local left, why = require("pmlua.internal.report.waits").write(out, story.waits)
  if not left and o.tell then o.tell(why) end
  return story
end

return M
