-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/simulation.lua - running a program under valgrind's callgrind, and what was counted in it.
--
-- Try:  print(require("pmlua.simulation").count({ "true" }).processes[1].totals[1])
--
-- Callgrind executes every instruction of the program's user space itself and so counts exactly: instructions, data
-- reads and writes, branches; and, by a model of the caches and of branch prediction, what would miss. The model is the
-- same on every machine unless the caller says otherwise. Threads take turns on one cpu. What the kernel does is not
-- counted, nor what a process did before it executed another program.

local callgrind = require "pmlua.callgrind"
local child = require "pmlua.child"
local core = require "pmlua.core"
local preload = require "pmlua.preload"

local M = {}

local NOT_FOUND, FAILED = 127, 1 -- as shells say it

--- Events in callgrind's order, which is that of every array of counts here.
M.events = { "Ir", "Dr", "Dw", "I1mr", "D1mr", "D1mw", "ILmr", "DLmr", "DLmw", "Bc", "Bcm", "Bi", "Bim" }

--- Bytes, ways, bytes of a line: what most cores of the last decade have at the first level, and a modest last one.
M.caches = { I1 = "32768,8,64", D1 = "32768,8,64", LL = "8388608,16,64" }
M.levels = { "I1", "D1", "LL" }

local function power_of_two(n)
  return n and n > 0 and n & (n - 1) == 0
end

--- Whether valgrind can simulate such a cache; nil and why not.
---@param level string "I1", "D1" or "LL"
---@param text string "BYTES,WAYS,LINE"
function M.check_cache(level, text)
  local bytes, ways, line = text:match("^(%d+),(%d+),(%d+)$")
  bytes, ways, line = math.tointeger(tonumber(bytes)), math.tointeger(tonumber(ways)), math.tointeger(tonumber(line))
  if not bytes or not ways or not line then
    return nil, ("--%s: '%s' is not BYTES,WAYS,LINE, such as %s"):format(level, text, M.caches[level])
  end
  local sets = ways > 0 and line > 0 and bytes % (ways * line) == 0 and bytes // (ways * line)
  if not power_of_two(line) or line < 16 or not power_of_two(sets or 0) then
    return nil, ("--%s: %s is no cache: the line and BYTES / (WAYS * LINE) must be powers of two, the line of 16 bytes or more")
      :format(level, text)
  end
  return true
end

--- The caches that are simulated, for people and records.
---@param caches? table<string, string>
function M.model(caches)
  local parts = {}
  for i, level in ipairs(M.levels) do parts[i] = level .. "=" .. (caches and caches[level] or M.caches[level]) end
  return table.concat(parts, " ")
end

--- Where valgrind is and its version; nil and what to install.
---@return string?
---@return string version or what to install
function M.available()
  local path = preload.locate("valgrind")
  if not path then
    return nil, "valgrind is not installed; install Debian's package valgrind (or what your system calls it) and try again"
  end
  local p <close> = assert(io.popen("'" .. path:gsub("'", "'\\''") .. "' --version 2>/dev/null </dev/null"))
  local version = p:read("l")
  if not version then return nil, path .. " does not run; install valgrind anew" end
  return path, (version:gsub("^valgrind%-", ""))
end

--- Whether address randomisation can be switched off for a command here (some containers do not permit it).
local function can_fix_addresses()
  local found = preload.locate("setarch")
  return found and os.execute("setarch -R true >/dev/null 2>&1") == true
end

local function literally(path)
  return (path:gsub("%%", "%%%%"))
end

--- The words that run a command so; what they say is left in @dir.
local function words_of(dir, words, options)
  local line = { "env", "PMLUA_SIM=" .. dir }
  local library = preload.library("simulate")
  if library then line[#line + 1] = "LD_PRELOAD=" .. preload.with(library) end
  for _, v in ipairs(options.set or {}) do line[#line + 1] = v end
  if options.fixed then table.move({ "setarch", "-R" }, 1, 2, #line + 1, line) end
  local valgrind = {
    "valgrind", "--tool=callgrind", "--cache-sim=yes", "--branch-sim=yes", "--separate-threads=yes",
    "--trace-children=yes", "--sigill-diagnostics=no", "--error-limit=no",
    "--log-file=" .. literally(dir) .. "/log.%p", "--callgrind-out-file=" .. literally(dir) .. "/out.%p",
  }
  for _, level in ipairs(M.levels) do
    valgrind[#valgrind + 1] = ("--%s=%s"):format(level, options.caches and options.caches[level] or M.caches[level])
  end
  table.move(valgrind, 1, #valgrind, #line + 1, line)
  return table.move(words, 1, #words, #line + 1, line)
end

--- A new folder of our own for what a run leaves; its name is as long as any other, as the environment's size is seen.
local function folder()
  local lfs = require "lfs"
  local base, why = os.getenv("TMPDIR") or "/tmp", nil
  for i = 0, 99 do
    local path = ("%s/pmlua-sim-%010d-%02d"):format(base, core.sys.pid(), i)
    local made, err = lfs.mkdir(path)
    if made then return core.sys.realpath(path) end
    why = err
  end
  return nil, ("%s: %s"):format(base, why)
end

function M.remove(dir)
  local lfs = require "lfs"
  for entry in lfs.dir(dir) do
    if entry ~= "." and entry ~= ".." then os.remove(dir .. "/" .. entry) end
  end
  lfs.rmdir(dir)
end

---@class pmlua.SimulationOptions
---@field caches? table<string, string>
---@field set? string[] more of the environment

--- Run a command.
---@param words string[]
---@param options? pmlua.SimulationOptions
---@return table? ended as command:wait() says it
---@return string? folder that holds what it left, or why it was not run
---@return integer|boolean status for the caller's own end, or whether addresses were the same as in any other run
function M.run(words, options)
  local valgrind, missing = M.available()
  if not valgrind then return nil, missing, FAILED end
  local path, err, status = preload.locate(words[1])
  if not path then return nil, err, status or NOT_FOUND end
  local dir, refused = folder()
  if not dir then return nil, refused, FAILED end
  local fixed = can_fix_addresses()
  local o = { caches = options and options.caches, set = options and options.set, fixed = fixed }
  local ended, lost = child.run(words_of(dir, words, o))
  if not ended then
    M.remove(dir)
    return nil, lost, FAILED
  end
  return ended, dir, fixed
end

-- --- what a run left ---

---@class pmlua.SimulatedProcess
---@field pid integer
---@field command string
---@field threads { number: integer, totals: integer[] }[]
---@field totals integer[]
---@field functions pmlua.CallgrindFunction[] by what they cost by themselves, of all threads together
---@field sections? pmlua.SimulatedSection[]
---@field inherited? boolean a fork that could not set its counts to zero: they include those of its parent

local function zeros()
  local t = {}
  for i = 1, #M.events do t[i] = 0 end
  return t
end

local function add(into, counts)
  for i, v in ipairs(counts) do into[i] = into[i] + v end
end

local function same_events(events)
  if #events ~= #M.events then return false end
  for i, name in ipairs(M.events) do
    if events[i] ~= name then return false end
  end
  return true
end

local function process_of(byid, pid)
  byid[pid] = byid[pid] or { pid = pid, threads = {}, bythread = {}, totals = zeros(), functions = {}, byname = {} }
  return byid[pid]
end

local function absorb(process, part)
  process.command = process.command or part.command
  local thread = process.bythread[part.thread]
  if not thread then
    thread = { number = part.thread, totals = zeros() }
    process.bythread[part.thread], process.threads[#process.threads + 1] = thread, thread
  end
  add(thread.totals, part.totals)
  add(process.totals, part.totals)
  for _, f in ipairs(part.functions) do
    local key = f.object .. "\0" .. f.name
    local whole = process.byname[key]
    if not whole then
      whole = { object = f.object, name = f.name, calls = 0, cost = zeros() }
      process.byname[key], process.functions[#process.functions + 1] = whole, whole
    end
    whole.calls = whole.calls + f.calls
    add(whole.cost, f.cost)
  end
end

local function finish(process)
  process.byname, process.bythread = nil, nil
  table.sort(process.threads, function(a, b) return a.number < b.number end)
  table.sort(process.functions, function(a, b)
    if a.cost[1] ~= b.cost[1] then return a.cost[1] > b.cost[1] end
    if a.object ~= b.object then return a.object < b.object end
    return a.name < b.name
  end)
end

--- What valgrind said of a process: whether it began by itself, whether a fork was told of, and words for people. Its
--- answers to our own questions are no such words.
local function read_log(path, process, warnings)
  local f <close> = io.open(path, "rb")
  if not f then return end
  local began = false
  for line in f:lines() do
    if line:find("^==%d+== Command: ") then began = true end
    if line:find("^%*%*%d+%*%* pmlua: forked") then process.forked = true end
    local said = line:match("^valgrind: (.+)$") or line:match("^==%d+== (.*[Uu]nrecognised instruction.*)$")
      or line:match("^==%d+== (Process terminating .+)$")
    if said then warnings[#warnings + 1] = ("process %d: %s"):format(process.pid, said) end
  end
  process.inherited = not began and not process.forked or nil
end

local function in_order(dir)
  local names = {}
  for entry in require("lfs").dir(dir) do names[#names + 1] = entry end
  table.sort(names)
  return names
end

--- Everything that the processes of a run left in its folder.
---@param dir string
---@return { processes: pmlua.SimulatedProcess[], totals: integer[], warnings: string[] }? all
---@return string? err
function M.read(dir)
  local byid, out = {}, { processes = {}, totals = zeros(), warnings = {} }
  for _, entry in ipairs(in_order(dir)) do
    local pid = math.tointeger(tonumber(entry:match("^out%.(%d+)[.%d]*%-%d+$")))
    if pid then
      local part, err = callgrind.read(dir .. "/" .. entry)
      if not part then return nil, err end
      if not same_events(part.events) then return nil, entry .. ": other events than were asked for" end
      absorb(process_of(byid, pid), part)
    end
  end
  for _, process in pairs(byid) do
    finish(process)
    read_log(("%s/log.%d"):format(dir, process.pid), process, out.warnings)
    process.sections = nil
    out.processes[#out.processes + 1] = process
    if not process.inherited then add(out.totals, process.totals) end
  end
  table.sort(out.processes, function(a, b) return a.pid < b.pid end)
  return out
end

--- Run a command and tell what was counted in it.
---@param words string[]
---@param options? pmlua.SimulationOptions
---@return table? all as read() gives it, with ended, model and fixed
---@return string? err
---@return integer? status
function M.count(words, options)
  local ended, dir, third = M.run(words, options)
  if not ended then return nil, dir, third end
  local all, err = M.read(dir)
  M.remove(dir)
  if not all then return nil, err, FAILED end
  all.ended, all.model, all.fixed = ended, M.model(options and options.caches), third
  return all
end

return M
