-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/record/parts.lua - the parts that ranks of a job leave when they end, united by the last one: one event
-- flow, and one tree of call paths with the spread over ranks.
--
-- Try:  mpirun -n 4 pmlua record --flow -o out -- ./solver; ls out/flow.svg out/paths.json
--
-- Each rank leaves DIR/rank-N/part.json. Ranks with the same flow are one graph, and ranks with the same call path are one
-- node, so that the results do not grow with the number of equal ranks.

local disk = require "pmlua.internal.file"
local flowgraph = require "pmlua.internal.flow.graph"
local json = require "pmlua.json"
local lists = require "pmlua.internal.lists"

local M = {}

local PART <const>, PATHS <const> = "part.json", "paths.json"

---@class pmlua.job.spread
---@field ranks integer that have it
---@field least_ns number
---@field least_rank integer
---@field mean_ns number
---@field most_ns number
---@field most_rank integer

--- Add a rank to a spread. Ranks come in order.
---@param s pmlua.job.spread? nil: the first rank
---@return pmlua.job.spread
local function spread(s, rank, ns)
  s = s or { ranks = 0, least_ns = ns, least_rank = rank, mean_ns = 0.0, most_ns = ns, most_rank = rank }
  if ns < s.least_ns then s.least_ns, s.least_rank = ns, rank end
  if ns > s.most_ns then s.most_ns, s.most_rank = ns, rank end
  s.mean_ns = (s.mean_ns * s.ranks + ns) / (s.ranks + 1)
  s.ranks = s.ranks + 1
  return s
end

-- ---- flows ----

--- Add the nodes of a graph to the nodes of another graph with the same flow.
local function add_nodes(to, graph)
  for i, node in ipairs(graph.nodes) do
    local sum = to.nodes[i]
    sum.count, sum.inclusive_ns = sum.count + node.count, sum.inclusive_ns + node.inclusive_ns
    sum.exclusive_ns = sum.exclusive_ns + node.exclusive_ns
    for name, v in pairs(node.metrics) do sum.metrics[name] = sum.metrics[name] + v end
  end
  to.threads, to.unmatched = to.threads + graph.threads, to.unmatched + graph.unmatched
end

--- Add a graph to a list; a graph with the same flow gets its threads.
local function unite(list, index, graph)
  local key = flowgraph.key(graph)
  if index[key] then
    add_nodes(index[key], graph)
  else
    list[#list + 1], index[key] = graph, graph
  end
  return index[key]
end

local function add_rank(all, index, rank, graphs)
  local own, own_index = {}, {}
  for _, graph in ipairs(graphs) do unite(own, own_index, graph) end
  for _, graph in ipairs(own) do
    local times = lists.map(graph.nodes, function(node) return node.inclusive_ns end)
    local to = unite(all, index, graph)
    to.of = to.of or {}
    table.insert(to.of, rank)
    for i, node in ipairs(to.nodes) do node.spread = spread(node.spread, rank, times[i]) end
  end
end

local function flow_of(parts)
  local graphs, index, refused = {}, {}, 0
  for _, part in ipairs(parts) do
    add_rank(graphs, index, part.rank, part.flow and part.flow.graphs or {})
    refused = refused + (part.flow and part.flow.refused or 0)
  end
  for _, graph in ipairs(graphs) do graph.ranks, graph.of = require "pmlua.internal.report.units".ranges(graph.of), nil end
  return #graphs > 0 and flowgraph.made(graphs, refused) or nil
end

-- ---- call paths ----

--- The calls of a rank's processes by their paths: "library\0function" of each call, outermost first.
local function by_path(processes)
  local list, index = {}, {}
  for _, paths in ipairs(processes) do
    local open = {}
    for _, p in ipairs(paths) do
      local key = (open[p.depth] or "") .. "\1" .. p.library .. "\0" .. p.name
      open[p.depth + 1] = key
      local sum = index[key]
      if not sum then
        sum = { key = key, depth = p.depth, library = p.library, name = p.name, kind = p.kind, calls = 0, inclusive_ns = 0,
          exclusive_ns = 0 }
        list[#list + 1], index[key] = sum, sum
      end
      sum.calls, sum.inclusive_ns = sum.calls + p.calls, sum.inclusive_ns + p.inclusive_ns
      sum.exclusive_ns = sum.exclusive_ns + p.exclusive_ns
    end
  end
  return list
end

--- Order paths: each follows its parent; siblings by time, longest first.
local function ordered(list)
  local inside, out = {}, {}
  for _, p in ipairs(list) do
    local outer = p.key:match "^(.*)\1[^\1]*$"
    inside[outer] = inside[outer] or {}
    table.insert(inside[outer], p)
  end
  local function visit(key)
    local here = inside[key] or {}
    table.sort(here, require "pmlua.internal.order".by("-inclusive_ns", "key"))
    for _, p in ipairs(here) do
      out[#out + 1] = p
      visit(p.key)
    end
  end
  visit ""
  for _, p in ipairs(out) do p.key = nil end
  return out
end

local function paths_of(parts)
  local all, index = {}, {}
  for _, part in ipairs(parts) do
    for _, p in ipairs(by_path(part.paths)) do
      local to, ns = index[p.key], p.inclusive_ns
      if not to then
        all[#all + 1], index[p.key], to = p, p, p
      else
        to.calls, to.inclusive_ns = to.calls + p.calls, to.inclusive_ns + p.inclusive_ns
        to.exclusive_ns = to.exclusive_ns + p.exclusive_ns
      end
      to.spread = spread(to.spread, part.rank, ns)
    end
  end
  return ordered(all)
end

-- ---- parts ----

--- Leave the part of a rank: the flow and the call paths of its processes.
---@param results pmlua.logs.result[]
---@param dir string the rank's
---@return boolean? done, string? err
function M.leave(results, dir)
  local graphs, refused, paths = {}, 0, json.array()
  for _, r in ipairs(results) do
    if r.flow then
      table.move(r.flow.graphs, 1, #r.flow.graphs, #graphs + 1, graphs)
      refused = refused + r.flow.refused
    end
    if r.process and #r.process.paths > 0 then paths[#paths + 1] = json.array(r.process.paths) end
  end
  local flow = #graphs > 0 and flowgraph.made(graphs, refused):data() or nil
  return disk.write(dir .. "/" .. PART, json.encode { flow = flow, paths = paths })
end

--- Is it a call path as M.leave() writes it, at most @deepest? Its whole numbers become integers.
local function is_path(p, deepest)
  if type(p) ~= "table" then return false end
  p.depth, p.calls = math.tointeger(p.depth), math.tointeger(p.calls)
  return p.depth and p.depth >= 0 and p.depth <= deepest and p.calls and type(p.library) == "string"
    and type(p.name) == "string" and type(p.inclusive_ns) == "number" and type(p.exclusive_ns) == "number"
end

--- Is it a list of call paths, outer ones first?
local function are_paths(list)
  local deepest = 0
  for _, p in ipairs(type(list) == "table" and list or {}) do
    if not is_path(p, deepest) then return false end
    deepest = p.depth + 1
  end
  return type(list) == "table"
end

local function is_part(part)
  for _, paths in ipairs(type(part.paths) == "table" and part.paths or {}) do
    if not are_paths(paths) then return false end
  end
  if part.flow then
    part.flow = flowgraph.taken(part.flow)
    if not part.flow then return false end
  end
  return type(part.paths) == "table"
end

--- The parts of the ranks, in order. A line for each that cannot be read.
local function read_parts(dir, complain)
  local parts = {}
  for _, rank in ipairs(require "pmlua.internal.record.logs".ranks(dir)) do
    local path = ("%s/rank-%d/%s"):format(dir, rank, PART)
    local part, err = disk.read_json(path, is_part)
    if err then complain(err .. "; the flow and the call paths of this rank are left out") end
    if part then
      part.rank, part.path = rank, path
      parts[#parts + 1] = part
    end
  end
  return parts
end

--- Unite the parts that the ranks of a job left into DIR/paths.json and one flow, and remove them.
---@param dir string the job's
---@param complain fun(text: string)
---@return { ranks: integer, flow: pmlua.Flow? }? job nil: no rank left a part
---@return string? err
function M.finish(dir, complain)
  local parts = read_parts(dir, complain)
  if #parts == 0 then return nil end
  local flow = flow_of(parts)
  local done, err = disk.write(dir .. "/" .. PATHS, json.encode { ranks = #parts, paths = json.array(paths_of(parts)) })
  if not done then return nil, err end
  for _, part in ipairs(parts) do os.remove(part.path) end
  return { ranks = #parts, flow = flow }
end

local function is_spread(s)
  if type(s) ~= "table" then return false end
  s.ranks, s.least_rank, s.most_rank = math.tointeger(s.ranks), math.tointeger(s.least_rank), math.tointeger(s.most_rank)
  return s.ranks and s.least_rank and s.most_rank and type(s.least_ns) == "number" and type(s.mean_ns) == "number"
    and type(s.most_ns) == "number"
end

local function has_spreads(data)
  if not are_paths(data.paths) then return false end
  return lists.all(data.paths, function(p) return is_spread(p.spread) end)
end

--- The call paths of a job that ended; nil: no file, or, with a reason, a damaged one.
---@return table[]? paths with a spread each
---@return string? err
function M.paths(dir)
  local data, err = disk.read_json(dir .. "/" .. PATHS, has_spreads)
  return data and data.paths, err
end

return M
