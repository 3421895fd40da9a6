-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/record/archive.lua - one OTF2 archive, DIR/traces.otf2, of all logs in a folder and in its folders
-- rank-N, which ranks of a parallel job have.
--
-- Try:  print(require("pmlua.internal.record.archive").make("pmlua-record-4711", "pmlua-record-4711").events)

local core = require "pmlua.core"
local disk = require "pmlua.internal.file"
local logs = require "pmlua.internal.record.logs"

local M = {}

local sentence = core.failure.sentence

-- ---- what there is ----

--- The folder, and those of ranks in it, by rank.
local function folders(dir)
  local lfs = require "lfs"
  local list = {}
  for _, entry in ipairs(disk.names(dir)) do
    local rank = math.tointeger(tonumber(entry:match "^rank%-(%d+)$"))
    if rank and lfs.attributes(dir .. "/" .. entry, "mode") == "directory" then list[#list + 1] = rank end
  end
  table.sort(list)
  for i, rank in ipairs(list) do list[i] = ("%s/rank-%d"):format(dir, rank) end
  table.insert(list, 1, dir)
  return list
end

local function add_series(log, path)
  if core.sys.realpath(path) then table.insert(log.series, path) end
end

--- What was measured beside the command is in a log of its own, PID.metrics.pmlog.
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

--- Logs with events, ranks' too. @tell: called with the reason for each log that cannot be read.
---@param dir string
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

-- ---- what is made of it ----

--- What its reader must know: a line each.
---@param story table
---@return string[]
function M.notes(story)
  local lines = {}
  local function say(n, text, ...)
    if n > 0 then lines[#lines + 1] = text:format(...) end
  end
  say(story.missing, "%d of %d ranks have no log", story.missing, story.ranks + story.missing)
  say(story.early, "%d of %d messages arrived before they were sent, by the clocks of their ranks; in the trace, %d do",
    story.early, story.messages, story.still_early)
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
---@return string? err
---@return string? code EBUSY: another process makes it; EEXIST: it exists
function M.make(dir, out, o)
  o = o or {}
  local _, unreadable = disk.names(dir)
  if unreadable then return nil, tostring(unreadable) end
  local list, n = traced(dir, o.tell or function() end)
  if n == 0 then return nil, experiment(dir) or dir .. ": no logs of recorded processes (*.pmlog)" end
  if #list == 0 then return nil, dir .. ": no process recorded events; record with --trace" end
  local story, err, code = core.recording.archive(out, list, o.progress)
  if not story then return nil, sentence(err), code end
  local left, why = require("pmlua.internal.report.waits").write(out, story.waits)
  if not left and o.tell then o.tell(why) end
  return story
end

-- ---- of a job ----

local NEAR_S <const> = 1 -- within which ranks end together

--- Write the trace of all ranks when a rank ends: the last one leads, and ranks that end shortly before it help. A rank
--- that ends much earlier does not wait.
---@param dir string the job's
---@param last boolean? whether all other ranks are complete
---@param o? table as of M.make
---@return table? story of the rank that led
---@return string? err
function M.of_job(dir, last, o)
  if core.sys.realpath(dir .. "/traces.otf2") then return nil end
  local story, why, code
  if last then story, why, code = M.make(dir, dir, o) end
  if story or (last and code ~= "EBUSY" and code ~= "EEXIST") then return story, why end
  core.recording.archive_help(dir, NEAR_S)
  return nil
end

return M
