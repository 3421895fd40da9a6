-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/simulation/left.lua - what the processes of a simulation left in its folder, read and added up.
--
-- Try:  PMLUA_SIM=$PWD/out ... leaves out/out.PID-THREAD (callgrind's), out/log.PID (valgrind's), out/HOST.PID.pmlog
--
-- The last is ours: docs/log.md.

local disk = require "pmlua.internal.file"
local callgrind = require "pmlua.internal.simulation.callgrind"
local core = require "pmlua.core"
local lists = require "pmlua.internal.lists"
local logs = require "pmlua.internal.record.logs"

local M = {}

M.events = { "Ir", "Dr", "Dw", "I1mr", "D1mr", "D1mw", "ILmr", "DLmr", "DLmw", "Bc", "Bcm", "Bi", "Bim" }

local MOST <const> = 10 ^ 18 -- largest count
local LOG_BYTES = 65536 -- of each end of a log

---@class pmlua.SimulatedProcess
---@field pid integer
---@field command string
---@field threads { number: integer, totals: integer[] }[]
---@field totals integer[]
---@field functions pmlua.CallgrindFunction[] by what they cost by themselves, of all threads together
---@field regions pmlua.SimulatedRegion[] sections and all other regions, by thread; empty: it has none, or left no file
---@field untold? string why what its regions cost is not told
---@field inherited? boolean a fork that could not set its counts to zero: they include those of its parent

---@class pmlua.SimulatedRegion
---@field name string
---@field thread integer valgrind's number of it
---@field calls integer
---@field open integer calls that were not left
---@field inclusive integer[] the whole of its outermost calls
---@field exclusive integer[] without regions inside; with all others and what is in none they add up to the thread's

local function zeros()
  local t = {}
  for i = 1, #M.events do t[i] = 0 end
  return t
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
  core.statistics.add(thread.totals, part.totals)
  core.statistics.add(process.totals, part.totals)
  for _, f in ipairs(part.functions) do
    local key = f.object .. "\0" .. f.name
    local whole = process.byname[key]
    if not whole then
      whole = { object = f.object, name = f.name, calls = 0, cost = zeros() }
      process.byname[key], process.functions[#process.functions + 1] = whole, whole
    end
    whole.calls = whole.calls + f.calls
    core.statistics.add(whole.cost, f.cost)
  end
end

--- A forked child has its parent's threads by name, though not one instruction of them.
local function without_idle(threads)
  return lists.filter(threads, function(t) return t.totals[1] > 0 end)
end

local function finish(process)
  process.byname, process.bythread = nil, nil
  process.threads = without_idle(process.threads)
  table.sort(process.threads, function(a, b) return a.number < b.number end)
  table.sort(process.functions, function(a, b)
    if a.cost[1] ~= b.cost[1] then return a.cost[1] > b.cost[1] end
    if a.object ~= b.object then return a.object < b.object end
    return a.name < b.name
  end)
end

--- The beginning and the end of a file: in between it may be long, and have holes.
local function ends_of(path)
  local f <close> = disk.open(path)
  if not f then return "" end
  local text = f:read(LOG_BYTES) or ""
  if f:seek("end") > 2 * LOG_BYTES then f:seek("end", -LOG_BYTES) else f:seek("set", #text) end
  return text .. (f:read("a") or "")
end

--- Read valgrind's messages on a process: whether it began by itself, and warnings for the user, without replies to
--- pmlua's requests.
local function read_log(dir, process, warnings)
  local path, began = ("%s/log.%d"):format(dir, process.pid), false
  for line in ends_of(path):gmatch("[^\n]+") do
    if line:find("^==%d+== For interactive control") then began = true end -- a fork does not print this again
    local said = line:match("^valgrind: (.+)$") or line:match("^==%d+== (.*[Uu]nrecognised instruction.*)$")
      or line:match("^==%d+== (Process terminating .+)$")
    if said then warnings[#warnings + 1] = ("process %d: %s"):format(process.pid, said) end
  end
  local zeroed = require("lfs").attributes(("%s/forked.%d"):format(dir, process.pid)) ~= nil
  process.inherited = not began and not zeroed or nil
end

-- --- regions ---

-- docs/log.md
local REGION <const>, SIMULATED <const> = 4, 7
local FIGURES = "=I4I4i8i8" .. ("i8"):rep(2 * #M.events)

local function take_region(byname, list, region)
  local key = region.thread .. "\0" .. region.name
  local known = byname[key]
  if not known then
    byname[key], list[#list + 1] = region, region
    return
  end
  known.calls, known.open = known.calls + region.calls, known.open + region.open
  core.statistics.add(known.inclusive, region.inclusive)
  core.statistics.add(known.exclusive, region.exclusive)
end

local function region_of(bytes, names)
  local figures = #bytes >= FIGURES:packsize() and { FIGURES:unpack(bytes) } or {}
  for _, v in ipairs(figures) do
    if v < 0 or v >= MOST then return nil end
  end
  local n, name = #M.events, names[figures[1]]
  return name and { name = name, thread = figures[2], calls = figures[3], open = figures[4],
    inclusive = table.move(figures, 5, 4 + n, 1, {}), exclusive = table.move(figures, 5 + n, 4 + 2 * n, 1, {}) }
end

--- A log's regions; nil and why not.
---@param log table core.log.read()
---@return pmlua.SimulatedRegion[]?, string? err
function M.regions(log)
  local list, byname, names = {}, {}, {}
  if not log.ended then return nil, "the log is cut short: the process did not end by exit()" end
  for _, bytes in ipairs(log.definitions[REGION] or {}) do
    if #bytes > 8 then names[("=I4"):unpack(bytes)] = bytes:match("^[^%z]*", 9) end
  end
  for i, bytes in ipairs(log.definitions[SIMULATED] or {}) do
    local region = region_of(bytes, names)
    if not region then return nil, ("region %d: the log is damaged"):format(i) end
    take_region(byname, list, region)
  end
  local broken = log.notes["simulation.broken"]
  return list, broken and ("of its thread %s not all counts could be read"):format(broken)
end

--- The exclusive counts of regions must add up to at most the thread's; the rest was counted outside all regions.
local function check_regions(process)
  local outside = {}
  for _, t in ipairs(process.threads) do
    outside[t.number] = { thread = t.number, counts = table.move(t.totals, 1, #t.totals, 1, {}) }
  end
  for _, r in ipairs(process.regions) do
    local o = outside[r.thread]
    for i, v in ipairs(r.exclusive) do
      if not o or o.counts[i] < v then return ("of thread %d they are more than was counted"):format(r.thread) end
      o.counts[i] = o.counts[i] - v
    end
  end
  process.outside = {}
  for _, t in ipairs(process.threads) do process.outside[#process.outside + 1] = outside[t.number] end
end

--- @path: of the log of the process's last program; nil: it left none.
local function read_regions(path, process)
  process.regions = {}
  local log, err = nil, nil
  if path then log, err = core.log.read(path) end
  if not log then
    process.untold = err and core.failure.sentence(err)
    return
  end
  local list
  list, process.untold = M.regions(log)
  process.regions = list or {}
  local wrong = check_regions(process)
  if wrong then process.regions, process.untold = {}, wrong end
end

-- --- all of it ---

local function in_order(dir)
  local names = {}
  for entry in require("lfs").dir(dir) do names[#names + 1] = entry end
  table.sort(names)
  return names
end

--- Everything that the processes of a run left in its folder.
---@return { processes: pmlua.SimulatedProcess[], totals: integer[], warnings: string[] }? all, string? err
function M.read(dir)
  local byid, log_of, out = {}, {}, { processes = {}, totals = zeros(), warnings = {} }
  for _, entry in ipairs(in_order(dir)) do
    local _, of, program = logs.parse(entry)
    if of and program >= (log_of[of] or { 0 })[1] then log_of[of] = { program, dir .. "/" .. entry } end
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
    read_log(dir, process, out.warnings)
    read_regions((log_of[process.pid] or {})[2], process)
    out.processes[#out.processes + 1] = process
    if not process.inherited then core.statistics.add(out.totals, process.totals) end
  end
  table.sort(out.processes, function(a, b) return a.pid < b.pid end)
  return out
end

return M
