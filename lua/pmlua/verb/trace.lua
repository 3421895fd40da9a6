-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua trace DIR`: one OTF2 trace of what recorded processes left. `pmlua trace FILE.otf2`: what is in a trace.
--
--     pmlua trace pmlua-record-4711; pmlua trace pmlua-record-4711/traces.otf2

local common = require "pmlua.internal.cli.common"
local core = require "pmlua.core"
local printable = require "pmlua.internal.printable"

--- Two times of a window, in seconds; nil and what is wrong.
local function read_window(text)
  local from, to = text:match "^([%d.eE+-]*):([%d.eE+-]*)$"
  local least, most = from == "" and 0 or tonumber(from), to == "" and math.huge or tonumber(to)
  if not least or not most or least > most then return nil, "two times in seconds, such as 1.5:2 or :3" end
  return { least, most }
end

local M = {
  summary = "show what is in an OTF2 trace, or write one of what recorded processes left",
  usage = { "[OPTIONS] FILE.otf2", "[-o DIR] [-j N] [-q] DIR" },
  arguments = { { name = "TRACE", key = "dir", kind = "file", missing = "no trace and no folder given" } },
  about = [[
FILE.otf2 is a trace of pmlua or of another tool. A table has the time of each region, and how it is spread over processes; of a
job of MPI a second one has the messages between ranks.

DIR is the folder of pmlua record --trace. All processes are in one archive: each is a location group, its threads are
locations, hosts are nodes. Ranks of MPI come first, with their messages, collective operations and communicators.

pmlua record writes this trace itself when the command ends. Use pmlua trace if it could not: pmlua or the job was killed, or
processes were still running. Processes that still run are in the trace with what they recorded so far.]],
  options = {
    common.with("folder", { shown = "DIR", help = "the folder for traces.otf2, traces.def and traces/; it is created" }),
    { name = "jobs", short = "j", kind = "integer", min = 1, max = 1024, default = 1,
      help = "let N processes on this machine write, each the events of some processes" },
    common.with "quiet",
    common.with("json", { help = "what is in the trace as JSON, with all digits" }),
    common.with("csv", { help = "its regions as CSV" }),
    { name = "waits", help = "also how long ranks waited for each other, in which call and for whom: every event is read in the "
      .. "order of time" },
    { name = "window", kind = "text", value = "FROM:TO", read = read_window, help = "count only what lies in this window, in "
      .. "seconds since the beginning; one of both may be left out" },
    { name = "where", kind = "glob", value = "PATTERN", help = "only regions with such names, as MPI_*" },
    { name = "top", kind = "integer", min = 1, default = 20, help = "how many regions the table has" },
  },
  exclusive = { { "json", "csv" } },
  notes = [[
Clocks of several hosts differ. Where ranks measured the differences, all times are those of rank 0; what remains is corrected
so that no message arrives before it was sent. A note states how many messages did so before and after the correction.
Of ranks, a table lists how long they waited for others: for late senders, from entering a receive to entering its send, and in
barriers and other collective operations, from entering one until the last rank enters. waits.json beside the trace has all ranks.
Under mpirun, on one machine or several that share DIR, all ranks write events, and rank 0 does what a rank leaves undone. The
trace is the same whatever the number of processes.]],
  examples = { "pmlua trace pmlua-record-4711 -o trace", "pmlua trace -j 4 pmlua-record-4711 -o together",
    "pmlua trace trace/traces.otf2 --top 5", "pmlua trace trace/traces.otf2 --waits" },
}

local function complain(text) io.stderr:write("pmlua trace: ", printable(text), "\n") end

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

-- ---- helpers ----

local PATIENCE_S <const> = 10 -- for the process that leads

--- Write events as another rank than the first, which writes what fails here, or says why it cannot.
local function help(o)
  local out = o.out or o.dir
  if require("lfs").attributes(o.dir, "mode") ~= "directory" or core.sys.realpath(out .. "/traces.otf2") then return 0 end
  core.recording.archive_help(out, PATIENCE_S)
  return 0
end

--- Start this command again as further ranks of a job. A helper that cannot be started is not missed.
local function start_helpers(o, out)
  local helpers = {}
  for i = 1, o.jobs - 1 do
    local words = { core.sys.realpath "/proc/self/exe", "trace", "-o", out, "--", o.dir }
    local variables = { "OMPI_COMM_WORLD_RANK=" .. i, "OMPI_COMM_WORLD_SIZE=" .. o.jobs }
    local helper = core.command.spawn(words, { environment = variables })
    if helper and helper:start() then helpers[#helpers + 1] = helper end
  end
  return helpers
end

--- Print what is in a trace.
local function tell(o)
  local text, err = require("pmlua.internal.trace.told").text(o.dir, { json = o.json, csv = o.csv, waits = o.waits, top = o.top,
    where = { window = o.window, region = o.where } })
  if text then io.write(text) else complain(core.failure.sentence(err)) end
  return text and 0 or 1
end

---@param o table
---@return integer status
function M.run(o)
  if o.dir:find "%.otf2$" then return tell(o) end
  if (require("pmlua.internal.job").rank() or 0) > 0 then return help(o) end
  local archive = require "pmlua.internal.record.archive"
  local mode = require("lfs").attributes(o.dir, "mode")
  if mode ~= "directory" then
    complain(("%s: %s"):format(o.dir, mode and "neither a folder nor a trace (*.otf2)" or "no such folder"))
    return 1
  end
  local out, story
  local show, clear = require("pmlua.internal.record.report").progress(o.quiet)
  local dir, err = folder(o.out or o.dir)
  if dir then
    local helpers = start_helpers(o, dir)
    out = dir .. "/traces.otf2"
    story, err = archive.make(o.dir, dir, { progress = show, tell = complain })
    for _, helper in ipairs(helpers) do helper:close() end -- all is written
  end
  clear()
  if not story then
    complain(err)
    return 1
  end
  for _, line in ipairs(o.quiet and {} or archive.notes(story)) do complain(line) end
  if not o.quiet then io.stderr:write((require("pmlua.internal.report.waits").text(story.waits):gsub("^\n", ""))) end
  print(printable(out))
  return 0
end

return M
