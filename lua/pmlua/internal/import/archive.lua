-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/import/archive.lua - an OTF2 archive of another tool's measurements: calls with times, samples of call
-- stacks, or sums of them.
--
-- Try:  pmlua import perf.txt -o imported; pmlua flame imported --out flame.svg
--
-- A thread's samples become calls: a stack is open from its sample to the next one, and the frames that two consecutive samples
-- share stay open. A metric counts the value of each sample (a period, a weight) exactly: its sums by call path equal the sums
-- of the samples, regardless of the times that the calls got.

local core = require "pmlua.core"
local lfs = require "lfs"
local try = require "pmlua.internal.try"
local refuse = core.failure.refuse

local M = {}

local DEEPEST <const> = 4096
local LATEST <const> = 1 << 62 -- ns

---@class pmlua.import.Frame
---@field name string
---@field file? string
---@field line? integer

local Archive = {}
Archive.__index = Archive

-- Begin an archive in a folder, which is made if it is not there.
local function open(dir, process, metrics, began_ns)
  local is_new = lfs.attributes(dir, "mode") ~= "directory"
  if is_new then
    local made, err = lfs.mkdir(dir)
    if not made then return refuse("EACCES", ("%s: %s"):format(dir, err)) end
  end
  local trace, err = core.trace.create(dir, { metrics = metrics, process = process, began_ns = began_ns or 0 })
  if not trace then
    if is_new then lfs.rmdir(dir) end
    return nil, err
  end
  return setmetatable({ trace = trace, process = process, threads = {}, order = {}, regions = {},
    nmetrics = #metrics, calls = 0, samples = 0, odd = 0, remarks = {}, is_folder_new = is_new, dir = dir,
    path = dir .. "/traces.otf2" }, Archive)
end

--- Something to say about the import; with a number, which the text has as %d, only if it is not 0.
---@param n? integer
function Archive:remark(text, n)
  if n ~= 0 then self.remarks[#self.remarks + 1] = n and text:format(n) or text end
end

-- A name as the core takes it, or nil: not empty, without NUL.
local function plain(name) return name and name ~= "" and name:gsub("%z", " ") or nil end

--- The number of a region; one without a name is "?".
function Archive:region(frame)
  local key = ("%s\0%s\0%d"):format(frame.name, frame.file or "", frame.line or 0)
  if not self.regions[key] then
    self.regions[key] = try(core.region.intern(plain(frame.name) or "?", plain(frame.file), frame.line))
  end
  return self.regions[key]
end

--- Find or create a thread by its name and its process's name.
---@param process? string nil: not known
---@return table thread
function Archive:thread(name, process)
  name, process = plain(name) or "?", plain(process)
  local key = ("%s\0%s"):format(process or "", name)
  local t = self.threads[key]
  if not t then
    local sums = {}
    for i = 1, self.nmetrics do sums[i] = 0 end
    t = { location = try(self.trace:location(name, process or self.process)), stack = {}, now = 0, sums = sums }
    self.threads[key], self.order[#self.order + 1] = t, t
  end
  return t
end

-- Times of a thread do not go back: one before the last is that one, and counted.
function Archive:time(thread, ns)
  if ns < thread.now then
    self.odd = self.odd + 1
    return thread.now
  end
  thread.now = ns
  return ns
end

--- A call begins.
function Archive:enter(thread, ns, frame)
  if #thread.stack >= DEEPEST then
    self.odd = self.odd + 1
    return
  end
  ns = self:time(thread, ns)
  thread.stack[#thread.stack + 1] = self:region(frame)
  thread.location:enter(thread.stack[#thread.stack], ns)
  self.calls = self.calls + 1
end

--- The innermost call ends; without one it is counted as odd.
function Archive:leave(thread, ns)
  local region = table.remove(thread.stack)
  if not region then
    self.odd = self.odd + 1
    return
  end
  thread.location:leave(region, self:time(thread, ns))
end

--- End calls from the innermost on until n are open.
function Archive:leave_to(thread, ns, n)
  while #thread.stack > n do self:leave(thread, ns) end
end

--- How many of the open calls are the outermost ones of a stack.
function Archive:common(thread, stack)
  local n = 0
  while n < #stack and n < #thread.stack and thread.stack[n + 1] == self:region(stack[n + 1]) do n = n + 1 end
  return n
end

function Archive:out_of_range(what) try(refuse("ERANGE", ("%s: %s"):format(self.process, what))) end

function Archive:sum(a, b)
  local sum = a + b
  if (a ~ sum) & (b ~ sum) < 0 then self:out_of_range "its values add up to 2^63 or more" end
  return sum
end

--- A stack that lasts from one time to another, and what it counts by each metric.
---@param stack pmlua.import.Frame[] outermost first
function Archive:sample(thread, from_ns, to_ns, stack, values)
  if to_ns < 0 or to_ns > LATEST then self:out_of_range "it lasts more than 100 years" end
  if thread.until_ns ~= from_ns then self:leave_to(thread, thread.until_ns or from_ns, 0) end
  from_ns = self:time(thread, from_ns)
  self:leave_to(thread, from_ns, self:common(thread, stack))
  for i = #thread.stack + 1, math.min(#stack, DEEPEST) do self:enter(thread, from_ns, stack[i]) end
  if self.nmetrics > 0 then
    thread.location:metric(thread.sums, from_ns)
    for i = 1, self.nmetrics do thread.sums[i] = self:sum(thread.sums[i], values[i]) end
    thread.location:metric(thread.sums, self:time(thread, to_ns))
  end
  thread.until_ns, self.samples = to_ns, self.samples + 1
end

-- Remove the partial archive of a refused file.
local function drop(archive, dir)
  pcall(archive.trace.close, archive.trace)
  if lfs.attributes(dir .. "/traces") then
    for name in lfs.dir(dir .. "/traces") do os.remove(("%s/traces/%s"):format(dir, name)) end
  end
  for _, name in ipairs { "/traces", "/traces.def", "/traces.otf2" } do os.remove(dir .. name) end
  if not archive.is_folder_new then return end
  for name in lfs.dir(dir) do os.remove(dir .. "/" .. name) end -- a log that was not closed
  lfs.rmdir(dir)
end

--- Fill a new archive by a function; nothing is left of it if that fails.
---@param process string what the events are of
---@param metrics { name: string, unit: string }[] counters that samples have
---@param began_ns? integer CLOCK_REALTIME of ns 0
---@param fill fun(archive: table) ends the import by try()
---@return table? archive to be closed
---@return pmlua.Failure? failure
function M.fill(dir, process, metrics, began_ns, fill)
  local archive, err = open(dir, process, metrics, began_ns)
  if not archive then return nil, err end
  local fine, raised, why = pcall(try.catch, fill, archive)
  if fine and not why then return archive end
  drop(archive, dir)
  if fine then return nil, why end
  error(raised, 0)
end

--- Write the remaining data and close the archive. Open calls end with their thread.
---@return boolean? ok nil: nothing of it is left
---@return pmlua.Failure? failure
function Archive:close()
  for _, t in ipairs(self.order) do self:leave_to(t, t.until_ns or t.now, 0) end
  self:remark("%d times went back, calls were too deep or ends have no beginning; they are changed or left out", self.odd)
  local closed, err = self.trace:close()
  if closed then return true end
  drop(self, self.dir)
  return nil, err
end

return M
