-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua record -- CMD`: which library functions a program spends its time in, without changing it.
--
--     pmlua record -- sqlite3 :memory: 'select sqlite_version()'

local child = require "pmlua.child"
local commandline = require "pmlua.commandline"
local core = require "pmlua.core"
local preload = require "pmlua.preload"
local recording = require "pmlua.recording"

local M = {
  summary = "run a program and tell which library functions it spends its time in",
  usage = "pmlua record [--lib GLOB] [--sym GLOB] [--not GLOB] [--event NAME] [--trace|--profile] [OPTIONS] [--] CMD [ARGS]",
  help = [[
CMD is run as it is, its children too; calls from the program to its libraries and between these are recorded: of every
library but libc, the loader and pmlua itself. Then a table of functions is printed on standard error, and CMD's exit
status is returned. Times are in ns; what is recorded inside a call is inclusive, but not exclusive. Recording takes time
itself: short functions look longer than they are.

  --lib GLOB   only functions of these libraries (libz, libstdc*); may be repeated, as may the next two
  --sym GLOB   only these functions
  --not GLOB   neither libraries nor functions with these names
  --filter FILE   a filter file as Score-P reads them, in addition
  --event NAME    what each function's own calls add to this event (pmlua events), not what calls inside them add; may be
               repeated. Each call then reads it twice; a program that closes all descriptors must not be counted
  --trace      an OTF2 trace of each process, too: every enter and leave
  --profile    no trace, which is the default
  --json       the table and every call path as JSON, on standard output
  -o DIR       the folder for the results; it is made, and must not hold results (default: pmlua-record-PID)
  --finish DIR    runs nothing: has the results of processes that were still running, or of a recording cut short

What keeps a trace small; the table has all calls, and what is left out of the trace is told:

  --max-depth N        no calls inside N others
  --max-calls N        no more than N calls of each function of a process
  --min-duration TIME  no calls shorter than that (10us, 1ms; ns if there is no unit) that recorded none inside

However a process ends, by a signal or by executing another program, what it has recorded is there.

    pmlua record -- python3 -c 'import json; print(json.dumps([1, 2]))'
    pmlua record --lib libz --trace -o zipped -- ./compress input]],
}

local NOT_RUN = 126 -- as shells say it
local EVENTS = 16 -- pml_intercept_events.h
local BITS = { ["--max-depth"] = 31, ["--max-calls"] = 31, ["--min-duration"] = 60 }
local takes_value = {
  ["--lib"] = "LIB", ["--sym"] = "SYM", ["--not"] = "NOT", ["--filter"] = "FILTER", ["--event"] = "EVENTS",
  ["-o"] = "DIR", ["--finish"] = "FINISH",
  ["--max-depth"] = "MAX_DEPTH", ["--max-calls"] = "MAX_CALLS", ["--min-duration"] = "MIN_NS",
}
local repeats = { LIB = ":", SYM = ":", NOT = ":", EVENTS = "\n" }
local of_a_trace = { "MAX_DEPTH", "MAX_CALLS", "MIN_NS" }
local unit_ns = { [""] = 1, ns = 1, us = 1e3, ms = 1e6, s = 1e9 }

--- A whole number from 1 on, of ns if it is a time; nil: it is none.
local function limit(name, text)
  local digits, unit = text:match("^([%d.]+)(%a*)$")
  local v = tonumber(digits)
  if not v or not unit_ns[unit] or (unit ~= "" and name ~= "--min-duration") then return nil end
  v = math.tointeger(v * unit_ns[unit])
  return v and v >= 1 and v < 1 << BITS[name] and v or nil
end

--- Takes the value of an option; what is wrong with it.
local function take(o, name, value)
  local key = takes_value[name]
  if BITS[name] then
    o[key] = limit(name, value)
    local what = key == "MIN_NS" and "duration; say 10us or 1ms" or "number from 1 on"
    return not o[key] and ("%s: '%s' is no %s"):format(name, value, what)
  end
  o[key] = repeats[key] and o[key] and o[key] .. repeats[key] .. value or value
end

local function check(o)
  if o.FINISH then return (#o.words > 0 or o.DIR) and "--finish runs nothing and takes its folder itself" or nil end
  if #o.words == 0 then return "say what to run" end
  if o.trace and o.profile then return "either --trace or --profile" end
  if o.words[1]:find("=", 1, true) then return "a command with '=' in its name cannot be recorded" end
  for _, key in ipairs(of_a_trace) do
    if o[key] and not o.trace then return "--max-depth, --max-calls and --min-duration are of a trace; add --trace" end
  end
end

local line = { flags = { ["--trace"] = "trace", ["--json"] = "json", ["--profile"] = "profile" }, values = takes_value,
  take = take, check = check }

local function complain(text)
  io.stderr:write("pmlua record: ", text, "\n")
end

local sentence = child.sentence

--- The folder, made, by its full path; nil and why.
local function folder(name)
  local lfs = require "lfs"
  local made, err = lfs.mkdir(name)
  if not made and lfs.attributes(name, "mode") ~= "directory" then return nil, name .. ": " .. err end
  for entry in lfs.dir(name) do
    if entry:find("%.calls$") or entry:find("%.spool$") or entry:find("^trace%-") then
      return nil, name .. " has results of another recording; remove them, or name another folder with -o"
    end
  end
  local probe = name .. "/.probe"
  local f, refused = io.open(probe, "w")
  if not f then return nil, refused:gsub("/%.probe", "") end
  f:close()
  os.remove(probe)
  local real, gone = core.sys.realpath(name)
  if not real then return nil, sentence(gone) end
  return real
end

--- The filter file by its full path, readable; nil and why.
local function filter(name)
  local f <close>, err = io.open(name, "r")
  if not f then return nil, err end
  local _, unreadable = f:read(0)
  if unreadable then return nil, name .. ": " .. unreadable end
  return core.sys.realpath(name)
end

--- Whether these events, a line each, can be counted here; nil and why.
local function can_count(events)
  local names = {}
  for name in events:gmatch("[^\n]+") do names[#names + 1] = name end
  if #names > EVENTS then return nil, ("--event: a call takes at most %d events"):format(EVENTS) end
  local set <close>, err = core.eventset.open(names)
  if not set then return nil, "--event: " .. sentence(err) end
  return true
end

local variables = { "LIB", "SYM", "NOT", "FILTER", "EVENTS", "MAX_DEPTH", "MAX_CALLS", "MIN_NS" }

--- How the command ended; nil and why.
local function run(o, library, dir)
  local words = { "env", "LD_PRELOAD=" .. preload.with(library), "PMLUA_RECORD_DIR=" .. dir, preload.clock() }
  for _, name in ipairs(variables) do
    words[#words + 1] = o[name] and ("PMLUA_RECORD_%s=%s"):format(name, o[name])
  end
  if o.trace then words[#words + 1] = "PMLUA_RECORD_TRACE=1" end
  return child.run(table.move(o.words, 1, #o.words, #words + 1, words))
end

--- What the options name is there; nil and why not.
local function prepare(o)
  local err
  if o.FILTER then
    o.FILTER, err = filter(o.FILTER)
    if not o.FILTER then return nil, err end
  end
  if o.EVENTS then return can_count(o.EVENTS) end
  return true
end

---@param args string[]
---@return integer status
function M.run(args)
  local o, misuse = commandline.parse(args, line)
  if not o then
    io.stderr:write("pmlua record: ", misuse, "; usage: ", M.usage, "\n")
    return 2
  end
  if o.FINISH then return recording.report(o, o.FINISH, complain) and 0 or 1 end
  local library, err, status = preload.ready("record", o.words[1])
  if not library then
    complain(err)
    return status
  end
  local possible, unclear = prepare(o)
  if not possible then
    complain(unclear)
    return 1
  end
  local dir, refused = folder(o.DIR or ("pmlua-record-%d"):format(core.sys.pid()))
  if not dir then
    complain(refused)
    return 1
  end
  local ended, lost = run(o, library, dir)
  if not ended then
    complain(lost)
    return NOT_RUN
  end
  recording.report(o, dir, complain)
  return child.status(ended)
end

return M
