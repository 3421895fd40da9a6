-- SPDX-License-Identifier: BSD-3-Clause
--- `pmlua record -- CMD`: which library functions a program spends its time in, without changing it.
--
--     pmlua record -- sqlite3 :memory: 'select sqlite_version()'

local core = require "pmlua.core"
local preload = require "pmlua.preload"

local M = {
  summary = "run a program and tell which library functions it spends its time in",
  usage = "pmlua record [--lib GLOB] [--sym GLOB] [--not GLOB] [--trace] [--json] [-o DIR] [--] CMD [ARGS]",
  help = [[
CMD is run as it is, its children too; calls from the program to its libraries and between these are recorded: of every
library but libc, the loader and pmlua itself. Then a table of functions is printed on standard error, and CMD's exit
status is returned. Times are in ns; what is recorded inside a call is inclusive, but not exclusive. Recording takes time
itself: short functions look longer than they are.

  --lib GLOB   only functions of these libraries (libz, libstdc*); may be repeated, as may the next two
  --sym GLOB   only these functions
  --not GLOB   neither libraries nor functions with these names
  --trace      an OTF2 trace of each process, too: every enter and leave, with one thread more to write it
  --json       the table and every call path as JSON, on standard output
  -o DIR       the folder for the results; it is made, and must not hold results (default: pmlua-record-PID)

A process killed by a signal, and one that executes another program in its place, leaves no results.

    pmlua record -- python3 -c 'import json; print(json.dumps([1, 2]))'
    pmlua record --lib libz --trace -o zipped -- ./compress input]],
}

local LINES = 40 -- of the table that people read
local NOT_RUN = 126 -- as shells say it
local takes_value = { ["--lib"] = "LIB", ["--sym"] = "SYM", ["--not"] = "NOT", ["-o"] = "DIR" }

local function parse(args)
  local o, i = {}, 1
  while i <= #args and args[i]:find("^%-") do
    local name, value = args[i]:match("^(%-%-[%a]+)=(.*)$")
    name = name or args[i]
    i = i + 1
    if name == "--" then break end
    if name == "--trace" or name == "--json" then o[name:sub(3)] = true
    elseif not takes_value[name] then return nil, "no such option: " .. name
    else
      if not value then value, i = args[i], i + 1 end
      if not value or value == "" then return nil, name .. " needs a value" end
      local key = takes_value[name]
      o[key] = key ~= "DIR" and o[key] and o[key] .. ":" .. value or value
    end
  end
  o.words = { table.unpack(args, i) }
  if #o.words == 0 then return nil, "say what to run" end
  if o.words[1]:find("=", 1, true) then return nil, "a command with '=' in its name cannot be recorded" end
  return o
end

local function complain(text)
  io.stderr:write("pmlua record: ", text, "\n")
end

local function sentence(err)
  return (err:gsub("^[%w_.]+: E%w+: ", ""))
end

--- The folder, made, by its full path; nil and why.
local function folder(name)
  local lfs = require "lfs"
  local made, err = lfs.mkdir(name)
  if not made and lfs.attributes(name, "mode") ~= "directory" then return nil, name .. ": " .. err end
  for entry in lfs.dir(name) do
    if entry:find("%.calls$") or entry:find("^trace%-") then
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

--- How the command ended; nil and why.
local function run(o, path, library, dir)
  local words = { "env", "LD_PRELOAD=" .. preload.with(library), "PMLUA_RECORD_DIR=" .. dir }
  for _, name in ipairs { "LIB", "SYM", "NOT" } do
    words[#words + 1] = o[name] and ("PMLUA_RECORD_%s=%s"):format(name, o[name])
  end
  if o.trace then words[#words + 1] = "PMLUA_RECORD_TRACE=1" end
  words[#words + 1] = path
  table.move(o.words, 2, #o.words, #words + 1, words)
  local command <close>, err = core.command.spawn(words)
  if not command then return nil, sentence(err) end
  local started, refused = command:start()
  if not started then return nil, sentence(refused) end
  local ended, lost = command:wait()
  return ended, lost and sentence(lost)
end

local function print_table(calls, dir)
  local tabulate = require "pmlua.tabulate"
  local rows = {}
  for i, f in ipairs(calls.functions) do
    if i > LINES then break end
    rows[i] = { f.library, f.name, f.calls, f.inclusive_ns, f.exclusive_ns, f.min_ns, f.max_ns }
  end
  local names = { "library", "function", "calls", "inclusive [ns]", "exclusive [ns]", "min [ns]", "max [ns]" }
  io.stderr:write("\n", tabulate(names, rows), "\n")
  local more = #calls.functions - #rows
  if more > 0 then io.stderr:write(("and %d functions more; --json has all\n"):format(more)) end
  io.stderr:write(("%d %s; results in %s\n"):format(#calls.processes, #calls.processes == 1 and "process" or "processes", dir))
end

--- What is not in the table, a line each.
local function warn(calls)
  local deep, nested = 0, 0
  for _, p in ipairs(calls.processes) do
    deep, nested = deep + (p.deep or 0), nested + (p.nested or 0)
    if not p.whole then complain(("the results of process %s are not whole"):format(p.pid)) end
  end
  if deep > 0 then complain(("%d calls are not recorded: too many were under way"):format(deep)) end
  if nested > 0 then complain(("%d calls are not recorded: they interrupted the recording"):format(nested)) end
end

local function report(o, dir)
  local calls, err = require("pmlua.calls").read(dir)
  if not calls then return nil, err end
  if #calls.processes == 0 then return nil, "no process left results in " .. dir end
  warn(calls)
  if o.json then
    local json = require "pmlua.json"
    json.array(calls.functions)
    for _, p in ipairs(calls.processes) do json.array(p.paths) end
    print(json.encode(calls))
  else
    print_table(calls, dir)
  end
  return true
end

---@param args string[]
---@return integer status
function M.run(args)
  local o, misuse = parse(args)
  if not o then
    io.stderr:write("pmlua record: ", misuse, "; usage: ", M.usage, "\n")
    return 2
  end
  local library, missing = preload.library("record")
  if not library then
    complain(missing)
    return 1
  end
  local path, err, status = preload.locate(o.words[1])
  if not path then
    complain(err)
    return status
  end
  local why = preload.obstacle(path)
  if why then
    complain(why)
    return NOT_RUN
  end
  local dir, refused = folder(o.DIR or ("pmlua-record-%d"):format(core.sys.pid()))
  if not dir then
    complain(refused)
    return 1
  end
  local ended, lost = run(o, path, library, dir)
  if not ended then
    complain(lost)
    return NOT_RUN
  end
  local reported, failure = report(o, dir)
  if not reported then complain(failure) end
  return ended.signal and 128 + ended.signal or ended.status
end

return M
