-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/watchpoint.lua - accesses to variables and calls of functions of an unmodified program.
--
-- Try:  pmlua -e 'print(pml.watchpoint.find("/bin/sh", "environ").address)'
--
-- The program runs with a preloaded library that sets hardware breakpoints on every thread. Each process leaves a file of
-- counts, times and contents per thread, which read() converts to tables. The functions of core.watchpoint
-- (available, find, plan, load) are available here as well.

local core = require "pmlua.core"
local preload = require "pmlua.internal.preload"
local refuse = core.failure.refuse

---@class pml.watchpoint
local M = setmetatable({}, { __index = core.watchpoint })

local NOT_FOUND, NOT_RUN, FAILED = 127, 126, 1 -- as shells say it


--- A failure of the core without its place.
local function reason(failure) return (select(2, refuse(failure))) end

--- Parse a point: "mem:SYMBOL[+OFFSET][:rwx]" or the symbol alone.
---@param text string
---@return {name: string, access: string}? point, pmlua.Failure? failure
function M.accesses(text)
  local rest = text:match "^mem:(.+)$" or text
  local name, access = rest:match "^(.-[^:]):([rwx]+)$"
  name = name or rest
  if name == "" or name:gsub("::", ""):find ":" or name:find "^%d" then
    return refuse("ESYNTAX", ("'%s' is not mem:SYMBOL[+OFFSET][:rwx]"):format(text))
  end
  return { name = name, access = access or "" }
end

--- The shared objects that the loader would bring into a program.
local function objects_of(path)
  local list = {}
  local quoted = require("pmlua.internal.quote").shell(path)
  local p <close> = assert(io.popen("LD_TRACE_LOADED_OBJECTS=1 " .. quoted .. " 2>/dev/null </dev/null"))
  for line in p:lines() do list[#list + 1] = line:match "=> (/.-) %(0x" or line:match "^%s+(/.-) %(0x" end
  return list
end

-- Look the point up in the program, then in its libraries; a failure is the program's.
local function place(point, program, objects)
  local found, err, code = core.watchpoint.find(program, point.name, point.content)
  if found then return program end
  if code == "ENOSYMBOL" then
    for _, object in ipairs(objects()) do
      found = core.watchpoint.find(object, point.name, point.content)
      if found then return object end
    end
  end
  if code == "EFORMAT" then
    return refuse(code, program .. " is not a program (a script?)", "name the file that has the symbols with --in FILE")
  end
  return refuse(err)
end

--- Write the plan: which addresses of which objects.
---@param dir string
---@param program string path of the ELF file that has the points, or whose libraries have them
---@param points {name: string, access: string?, content: boolean?}[]
---@param values integer accesses to keep
---@return boolean? ok, pmlua.Failure? failure
local function plan(dir, program, points, values)
  local known, list = nil, {}
  local function objects()
    known = known or (not preload.obstacle(program) and objects_of(program) or {})
    return known
  end
  for i, p in ipairs(points) do
    local path, err = place(p, program, objects)
    if not path then return nil, err end
    list[i] = { path = path, name = p.name, access = p.access, content = p.content }
  end
  local ok, err = core.watchpoint.plan(dir .. "/plan", list, values)
  if not ok then return refuse(err) end
  return ok
end

--- Run a program with watchpoints.
---@param words string[] the command
---@param points {name: string, access: string?, content: boolean?}[] content: also store the written values
---@param options {dir: string, values: integer, object: string?, set: string[]?} the folder, by its full path, must exist and
---have no plan; how many accesses to keep; the file that has the symbols, if not the command's; more of the environment
---@return table? ended the result of command:wait()
---@return pmlua.Failure? failure, integer? status for the caller's own end
function M.run(words, points, options)
  local library, missing = preload.library "watchpoint"
  if not library then return nil, missing, FAILED end
  local path, err, status = preload.locate(words[1])
  if not path then return nil, err, status or NOT_FOUND end
  local why = preload.obstacle(path)
  if why then return nil, why, NOT_RUN end
  local possible, impossible = core.watchpoint.available()
  if not possible then return nil, reason(impossible), FAILED end
  local planned
  planned, err = plan(options.dir, options.object or path, points, options.values)
  if not planned then return nil, err, FAILED end
  local line = { "env", "LD_PRELOAD=" .. preload.with(library), "ASAN_OPTIONS=" .. preload.asan(),
    "PMLUA_WATCHPOINT_DIR=" .. options.dir }
  table.move(options.set or {}, 1, #(options.set or {}), #line + 1, line)
  line[#line + 1] = path
  table.move(words, 2, #words, #line + 1, line)
  local command <close>, refused = core.command.spawn(line)
  if not command then return nil, reason(refused), NOT_RUN end
  local started
  started, refused = command:start()
  if not started then return nil, reason(refused), NOT_RUN end
  local ended, lost = command:wait()
  if not ended then return nil, reason(lost), NOT_RUN end
  return ended
end

---@class pmlua.watchpoint.Lane what one thread did to one point
---@field tid integer
---@field thread integer from 0, in the order in which the process made them
---@field point integer
---@field accesses integer
---@field late integer
---@field dropped integer
---@field first_ns number? since the start of the watch
---@field last_ns number?
---@field ns number[] times of the stored accesses
---@field ticks integer[] the same, by the clock
---@field value number[] the variable's values; 0 without content

---@class pmlua.watchpoint.Process
---@field pid integer
---@field program string
---@field points table[] name, type, access, content, hits
---@field lanes pmlua.watchpoint.Lane[] by point, then thread
---@field closed boolean it closed the watchpoints' descriptors: accesses from then on are missing
---@field lost integer accesses of threads that could not be stored
---@field unexplained integer debug exceptions that came without their breakpoint, as a hypervisor that loses debug registers
---causes them: accesses are missing, those or more
---@field missed integer? accesses that the kernel counted but no handler saw; nil: the process did not come to its end

local function read_lanes(store, s)
  local lanes, tids, number = {}, {}, {}
  for i = 1, s.lanes do
    local lane = store:lane(i)
    local ticks, value = store:values(i)
    lane.ticks, lane.value, lane.ns = ticks, value, {}
    for k, t in ipairs(ticks) do lane.ns[k] = (t - s.start_ticks) * 1e9 / s.ticks_per_second end
    lane.first_ns, lane.last_ns = lane.ns[1], lane.ns[#ticks]
    lanes[i] = lane
    if not number[lane.tid] then tids[#tids + 1], number[lane.tid] = lane.tid, 0 end
  end
  table.sort(tids)
  for i, tid in ipairs(tids) do number[tid] = i - 1 end
  for _, lane in ipairs(lanes) do lane.thread = number[lane.tid] end
  table.sort(lanes, require "pmlua.internal.order".by("point", "thread"))
  return lanes
end

local function missed(s, lanes)
  local n = 0
  for _, p in ipairs(s.points) do
    if not p.hits then return nil end
    n = n + p.hits
  end
  for _, lane in ipairs(lanes) do n = n - lane.accesses end
  return math.max(0, n - s.lost)
end

--- Read the files that the processes of a run left.
---@param dir string
---@return pmlua.watchpoint.Process[]? processes by pid
---@return pmlua.Failure? failure
function M.read(dir)
  local names, unreadable = require "pmlua.internal.file".names(dir)
  if unreadable then return nil, unreadable end
  local list = {}
  for _, entry in ipairs(names) do
    if entry:find "^%d+%.pmlog$" or entry:find "^%d+%.%d+%.pmlog$" then
      local store <close>, err = core.watchpoint.load(dir .. "/" .. entry)
      if not store then return refuse(err) end
      local s = store:summary()
      s.lanes = read_lanes(store, s)
      s.missed = missed(s, s.lanes)
      list[#list + 1] = s
    end
  end
  table.sort(list, function(a, b) return a.pid < b.pid end)
  return list
end

-- The metric type of a point in a trace. An unsigned number above the largest Lua integer is read as a float.
local type_of = { float = "float", unsigned = "unsigned" }

--- One point of a process as an OTF2 trace: a location for each thread, a metric that is the content at each write, or
--- the count at each access.
---@param process pmlua.watchpoint.Process
---@param number integer of the point
---@param dir string is made, if need be
---@return boolean? ok, pmlua.Failure? failure
function M.write_trace(process, number, dir)
  local point, lanes = process.points[number], {}
  for _, lane in ipairs(process.lanes) do if lane.point == number then lanes[#lanes + 1] = lane end end
  local content = point.content ~= "none"
  require("lfs").mkdir(dir)
  local archive, err = core.trace.create(dir, { metrics = { {
    name = point.name, mode = content and "absolute_next" or "accumulated_start",
    type = content and type_of[point.content] or "integer",
    description = content and "what was written" or "accesses so far", unit = content and "" or "#",
  } } })
  if not archive then return nil, err end
  for _, lane in ipairs(lanes) do
    local location
    location, err = archive:location("thread " .. lane.thread)
    if not location then return nil, err end
    for k, ticks in ipairs(lane.ticks) do location:metric({ content and lane.value[k] or k }, ticks) end
  end
  return archive:close()
end

return M
