-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/analysis/critical_path.lua - the critical path of an MPI job or an OpenMP process: the chain of work, messages and
-- barriers that determines its length, and its regions, ranks and threads.
--
-- Try:  local t = assert(pml.trace.open "out/traces.otf2")
--       for _, r in ipairs(assert(require("pmlua.analysis.critical_path").of(t)).regions) do print(r.region, r.path_s) end
--
-- It is found backwards, after D. Böhme, F. Wolf, B. R. de Supinski, M. Schulz, M. Geimer, Scalable Critical-Path Based
-- Performance Analysis (IPDPS 2012): from the last event of the job along its rank, and where that rank waited, along the rank
-- that it waited for, from the moment that ended the wait. pmlua.analysis.waits finds the waits. Shortening a region on the
-- path shortens the job, until another path is the longest; time off the path is waiting of some rank.
--
-- A thread of an OpenMP team continues the thread that forked the team. Without ranks the path belongs to the process of the
-- trace's last event. Waits of threads outside OpenMP teams are unknown.

local waits = require "pmlua.analysis.waits"

local M = {}

---@class pmlua.analysis.CriticalPath
---@field length_s number from the first event to the last: the sum of all parts
---@field regions { region: string, number: integer?, path_s: number, all_s: number, most_rank: integer?, most_s: number,
---  unknown: boolean }[] time on the path in each region itself (exclusive), the region's time on all ranks, the rank with most
---  of the path, and whether its waiting is not known; a region without a number is the time in no recorded call
---@field paths { path: string, path_s: number, all_s: number, most_rank: integer?, most_s: number }[] the same by call path
---@field ranks { process: integer, rank: integer?, path_s: number }[] time on the path by process, most first
---@field parts pmlua.analysis.CriticalPart[] in the order of time
---@field unknown_s number time on the path in calls of MPI that may wait, but of which the trace does not say for whom
---@field waits integer how often the path goes over to another rank or thread

---@class pmlua.analysis.CriticalPart
---@field process integer
---@field rank integer?
---@field location integer
---@field from_s number
---@field to_s number
---@field region string the one with most of the part
---@field region_s number how much
---@field path string the call path with most of the part
---@field path_s number
---@field after string? the kind of the wait that ended when the part began, because the part before was over
---@field waited_in string? its call path, of the part's own rank
---@field ended_by string? the call path of the part before that ended it

-- ---- the way back ----

--- The ends of waits of each location, by time: { at, to }: at that time location `to` ended the wait, or forked the team;
--- for a wait also its kind and the call paths of both locations.
local function ends_of_waits(reader)
  local of = {}
  local function add(location, at, to, kind, node, ended_by)
    local list = of[location] or {}
    of[location] = list
    list[#list + 1] = { at = at, order = #list, to = to, kind = kind, node = node, ended_by = ended_by }
  end
  local done, err = waits.each(reader, function(kind, call, _, _, last)
    if last.location ~= call.location then add(call.location, last.enter, last.location, kind, call.node, last.node) end
  end, add)
  if not done then return nil, err end
  for _, list in pairs(of) do table.sort(list, function(a, b) return a.at < b.at or a.at == b.at and a.order < b.order end) end
  return of, done
end

-- Functions of MPI that may wait for others.
local BLOCKS <const> = { "Wait", "M?[Pp]robe", "M?[Rr]ecv", "[SR]?s?[Ss]end", "Sendrecv", "Barrier", "Bcast", "Gather", "Scatter",
  "All", "Red", "Scan", "Exscan", "Neighbor", "Win_", "Comm_[dcsafij]", "Intercomm", "Cart_[cs]", "Graph_create", "Dist_graph_c",
  "File_[ocsrw]", "Init", "Finalize" }

local function may_block(region)
  for _, pattern in ipairs(BLOCKS) do if region:find("^MPI_" .. pattern) then return true end end
  return false
end

--- The last end of a wait at or before a time.
local function end_before(list, time)
  local low, high = 1, #list
  while low <= high do
    local middle = (low + high) // 2
    if list[middle].at <= time then low = middle + 1 else high = middle - 1 end
  end
  return list[high]
end

--- The first and last event of each location that has any.
local function spans_of(reader)
  local spans, last, ranks = {}, nil, reader:about().ranks > 0
  local done, err = reader:each(function(e)
    local s = spans[e.location]
    if not s then
      s = { first = e.time_s, process = e.process, rank = e.rank }
      spans[e.location] = s
    end
    s.last = e.time_s
  end, { where = { kinds = { "enter", "leave" } } })
  if not done then return nil, err end
  for location, s in pairs(spans) do
    local asked = s.rank or not ranks
    local later = asked and (not last or s.last > spans[last].last or s.last == spans[last].last and location < last)
    if later then last = location end
  end
  return spans, last
end

local function parts_of(spans, ends, location)
  local parts, time = {}, spans[location].last
  while true do
    local step = end_before(ends[location] or {}, time)
    local from = step and step.at or spans[location].first
    if time > from then
      parts[#parts + 1] = { process = spans[location].process, rank = spans[location].rank, location = location, from_s = from,
        to_s = time, region = waits.OUTSIDE, region_s = 0.0, path_s = 0.0, after = step and step.kind,
        waited_in = step and step.node and waits.path_of(step.node),
        ended_by = step and step.ended_by and waits.path_of(step.ended_by) }
    end
    -- two that end a wait for each other at one moment would lead back and forth
    if not step or not spans[step.to] or step.stepped then break end
    step.stepped = true
    location, time = step.to, from
  end
  for i = 1, #parts // 2 do parts[i], parts[#parts + 1 - i] = parts[#parts + 1 - i], parts[i] end
  return parts
end

--- Cut the parts of the path and the spans of locations to a window.
local function within(window, parts, spans)
  if not window then return parts end
  local list = {}
  for _, p in ipairs(parts) do
    p.from_s, p.to_s = math.max(p.from_s, window[1]), math.min(p.to_s, window[2])
    if p.to_s > p.from_s then list[#list + 1] = p end
  end
  for _, s in pairs(spans) do
    s.first = math.max(s.first, window[1])
    s.last = math.max(s.first, math.min(s.last, window[2]))
  end
  return list
end

-- ---- regions on the path ----

local Sums = {}
Sums.__index = Sums

local function new_sum(region) return { region = region, path_s = 0.0, all_s = 0.0, most_s = 0.0, of = {} } end

local function add_to(sum, process, rank, seconds)
  sum.path_s = sum.path_s + seconds
  sum.of[process] = (sum.of[process] or 0.0) + seconds
  if sum.of[process] > sum.most_s then sum.most_s, sum.most_rank = sum.of[process], rank end
end

--- Time of a call path on the critical path. @node: root of all where no call is open.
function Sums:add(node, process, rank, seconds)
  local region, path = self.by[node.number or 0], self.by_node[node]
  if not region then
    region = new_sum(node.region)
    region.number = node.number
    self.by[node.number or 0], self.list[#self.list + 1] = region, region
  end
  if not path then
    path = new_sum(nil)
    path.path = waits.path_of(node)
    self.by_node[node], self.paths[#self.paths + 1] = path, path
  end
  add_to(region, process, rank, seconds)
  add_to(path, process, rank, seconds)
end

--- The times of a part are known: it keeps the region and the path with most.
function Sums:finish(part)
  local regions = {}
  for _, node in ipairs(part.by or {}) do
    local seconds = part.by[node]
    self:add(node, part.process, part.rank, seconds)
    local of_region = (regions[node.region] or 0.0) + seconds
    regions[node.region] = of_region
    if of_region > part.region_s then part.region, part.region_s = node.region, of_region end
    if seconds > part.path_s then part.node, part.path_s = node, seconds end
  end
  part.by = nil
end

--- Add the time between two events, in the location's innermost call, to the parts of the path that contain it.
function Sums:between(list, from_s, to_s, node)
  while list.at <= #list and list[list.at].from_s < to_s do
    local part = list[list.at]
    local least, most = math.max(part.from_s, from_s), math.min(part.to_s, to_s)
    if most > least then
      local by = part.by or {}
      if not by[node] then by[#by + 1] = node end
      part.by, by[node] = by, (by[node] or 0.0) + most - least
    end
    if part.to_s > to_s then return end
    self:finish(part)
    list.at = list.at + 1
  end
end

--- The node of a call in another, or in the root.
local function inner(node, e)
  local child = node[e.number]
  if not child then
    child = { parent = node, region = e.region, number = e.number }
    node[e.number] = child
  end
  return child
end

local function sum_regions(reader, parts)
  local by_location = {}
  for _, p in ipairs(parts) do
    local list = by_location[p.location] or { at = 1 }
    by_location[p.location] = list
    list[#list + 1] = p
  end
  local sums = setmetatable({ by = {}, list = {}, by_node = {}, paths = {},
    root = { region = waits.OUTSIDE } }, Sums)
  local location, list, top, before = nil, nil, sums.root, 0.0
  local done, err = reader:each(function(e)
    if e.location ~= location then
      location, list, top, before = e.location, by_location[e.location], sums.root, e.time_s
    end
    local now = e.time_s
    if list then sums:between(list, before, now, top) end
    before = now
    if e.kind == "enter" then top = inner(top, e) else top = top.parent or top end
  end, { where = { kinds = { "enter", "leave" } } })
  if not done then return nil, err end
  for _, part in ipairs(parts) do sums:finish(part) end
  return sums
end

--- The time of each region and path on all locations, on the critical path or not.
local function add_all(reader, sums, spans, window)
  local outside, beside = sums.by[0], sums.by_node[sums.root]
  local all = 0.0
  for _, s in pairs(spans) do all = all + s.last - s.first end
  for _, row in ipairs((assert(reader:group { where = { window = window } }))) do
    local r = sums.by[row.number]
    if r then r.all_s = row.exclusive_s end
    all = all - row.exclusive_s
  end
  if outside then outside.all_s, beside.all_s = all, all end
  local nodes = {}
  for i, row in ipairs((assert(reader:paths { where = { window = window } }))) do
    local around = row.parent and nodes[row.parent] or not row.parent and sums.root
    nodes[i] = around and around[row.number]
    local p = nodes[i] and sums.by_node[nodes[i]]
    if p then p.all_s = row.exclusive_s end
  end
end

local function most_first(list, name)
  table.sort(list, require "pmlua.internal.order".by("-path_s", name))
  for _, r in ipairs(list) do r.of = nil end
end

local function add_ranks(parts)
  local by, list = {}, {}
  for _, p in ipairs(parts) do
    local r = by[p.process]
    if not r then
      r = { process = p.process, rank = p.rank, path_s = 0.0 }
      by[p.process], list[#list + 1] = r, r
    end
    r.path_s = r.path_s + p.to_s - p.from_s
  end
  table.sort(list, require "pmlua.internal.order".by("-path_s", "process"))
  return list
end

--- The critical path of a trace. Reads all events three times, once in the order of time, in all 1 to 2 µs each;
--- memory for waits and call paths, not for events.
---@param window? { [1]: number, [2]: number } seconds: only what of the whole run's path lies in it
---@return pmlua.analysis.CriticalPath? path, pmlua.Failure? failure
function M.of(reader, window)
  local spans, last = spans_of(reader)
  if not spans then return nil, last end
  if not last then return { length_s = 0.0, regions = {}, paths = {}, ranks = {}, parts = {}, waits = 0, unknown_s = 0.0 } end
  local ends, looked = ends_of_waits(reader)
  if not ends then return nil, looked end
  local parts = within(window, parts_of(spans, ends, last), spans)
  local sums, why = sum_regions(reader, parts)
  if not sums then return nil, why end
  add_all(reader, sums, spans, window)
  most_first(sums.list, "region")
  most_first(sums.paths, "path")
  for _, p in ipairs(parts) do
    p.path = p.node and waits.path_of(p.node) or waits.OUTSIDE
    p.node = nil
  end
  local length, over, unknown = 0.0, 0, 0.0
  for _, r in ipairs(sums.list) do
    r.unknown = r.number ~= nil and may_block(r.region) and not looked[r.number]
    if r.unknown then unknown = unknown + r.path_s end
  end
  for i, p in ipairs(parts) do
    length = length + p.to_s - p.from_s
    if i > 1 and p.location ~= parts[i - 1].location then over = over + 1 end
  end
  return { length_s = length, regions = sums.list, paths = sums.paths, ranks = add_ranks(parts), parts = parts, waits = over,
    unknown_s = unknown }
end

return M
