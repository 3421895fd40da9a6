-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/flow/graph.lua - event flow graphs: compare, write for Graphviz, draw, and convert to a program.
--
-- Try:  pmlua record --flow=flow.svg -- ./solver
--
-- A graph's nodes are call paths; an edge leads to the path that is entered next. Labels of an edge list the visits of the node
-- after which it is taken: {n}, {i, j, k} for i, i + k, ..., j, or {i, j, k, l, m} for m such loops, each l visits after
-- the previous one (core/substrate/flow/pml_flow.h). Threads with the same flow share a graph.

local refuse = require "pmlua.core".failure.refuse
local try = require "pmlua.internal.try"

local M = {}

local SHOWN = 6 -- names of a path, labels of an edge

---@class pmlua.flow.node
---@field name string of the innermost region; "" for node 1, where the thread begins
---@field file string
---@field region integer
---@field parent? integer
---@field depth integer
---@field visits integer by each thread
---@field count integer calls of all threads that ended
---@field inclusive_ns number
---@field exclusive_ns number
---@field metrics table<string, number> what was added between enter and leave

---@class pmlua.flow.edge
---@field from integer
---@field to integer
---@field count integer by each thread
---@field labels integer[][]

---@class pmlua.flow.graph
---@field threads integer with this flow
---@field last integer the node that was visited last
---@field missing integer enters at the end that the graph lacks
---@field unmatched integer leaves without their enter
---@field nodes pmlua.flow.node[] in the order of their first visits
---@field edges pmlua.flow.edge[]
---@field metrics string[]

---@class pmlua.flow.node
---@field spread? pmlua.job.spread of inclusive_ns over the ranks of a job

---@class pmlua.flow.graph
---@field ranks? string the ranks of a job with this flow, such as "0 to 3"

---@class pmlua.Flow
---@field graphs pmlua.flow.graph[] in the order in which their first threads began
---@field refused integer threads that are in none
local Flow = {}
Flow.__index = Flow
Flow.__name = "pmlua.Flow"

--- The flow that the core has, which is stopped.
---@return pmlua.Flow? flow, pmlua.Failure? failure, string? code
function M.of(handle)
  local ok, err, code = handle:stop()
  if not ok then return nil, err, code end
  local graphs = {}
  for _, graph in ipairs(handle:graphs()) do -- skip threads that entered nothing
    if #graph.edges > 0 or graph.missing > 0 then graphs[#graphs + 1] = graph end
  end
  return M.made(graphs, handle:refused())
end

--- Create a flow from graphs.
---@param graphs pmlua.flow.graph[]
---@param refused integer
---@return pmlua.Flow
function M.made(graphs, refused) return setmetatable({ graphs = graphs, refused = refused }, Flow) end

--- The labels of an edge in their text form.
---@param edge pmlua.flow.edge
---@param most number more are counted
---@param between? string
---@return string
function M.labels(edge, most, between)
  local all = {}
  for i, label in ipairs(edge.labels) do
    if i > most then
      all[i] = ("and %d more"):format(#edge.labels - most)
      break
    end
    all[i] = table.concat(label, ",")
  end
  return table.concat(all, between or " ")
end

--- The names of a path, outermost first. If it is longer than `most`, the innermost ones.
---@param graph pmlua.flow.graph
---@param index integer
---@param most? integer
---@return string[]
function M.path(graph, index, most)
  local inwards, names, node = {}, {}, graph.nodes[index]
  while node.parent and #inwards < (most or math.huge) do
    inwards[#inwards + 1] = node.name
    node = graph.nodes[node.parent]
  end
  if node.parent then inwards[#inwards] = "..." end
  for i = #inwards, 1, -1 do names[#names + 1] = inwards[i] end
  return names
end

-- --- reading ---

local function whole(v, least, most)
  v = math.tointeger(v)
  return v and v >= least and v <= (most or v) and v or error("", 0)
end

local function check_label(label)
  for i, v in ipairs(label) do label[i] = whole(v, 1) end
  if #label ~= 1 and #label ~= 3 and #label ~= 5 or label[3] and label[2] < label[1] then error("", 0) end
end

local function is(v, kind)
  if type(v) ~= kind then error("", 0) end
end

local function check_node(node, i, metrics)
  is(node.name, "string")
  is(node.inclusive_ns, "number")
  is(node.exclusive_ns, "number")
  for _, metric in ipairs(metrics) do is(node.metrics[metric], "number") end
  node.visits, node.count, node.depth = whole(node.visits, 1), whole(node.count, 0), whole(node.depth, 0)
  node.parent = i > 1 and whole(node.parent, 1, i - 1) or nil
  local s = node.spread
  if not s then return end
  for _, time in ipairs { "least_ns", "mean_ns", "most_ns" } do is(s[time], "number") end
  for _, n in ipairs { "ranks", "least_rank", "most_rank" } do s[n] = whole(s[n], 0) end
end

--- Turn numbers into integers again; raises an error if the table is not a graph.
local function check_graph(graph)
  graph.threads, graph.missing, graph.unmatched = whole(graph.threads, 1), whole(graph.missing, 0), whole(graph.unmatched, 0)
  if graph.ranks then is(graph.ranks, "string") end
  graph.last = whole(graph.last, 1, #graph.nodes)
  for _, metric in ipairs(graph.metrics) do is(metric, "string") end
  for i, node in ipairs(graph.nodes) do check_node(node, i, graph.metrics) end
  for _, edge in ipairs(graph.edges) do
    edge.from, edge.to = whole(edge.from, 1, #graph.nodes), whole(edge.to, 2, #graph.nodes)
    edge.count = whole(edge.count, 1)
    for _, label in ipairs(edge.labels) do check_label(label) end
  end
end

--- A flow from the tables of Flow:data(), as JSON gives them back; nil: not such tables.
---@param data any
---@return pmlua.Flow?
function M.taken(data)
  local ok = type(data) == "table" and pcall(function()
    data.refused = whole(data.refused, 0)
    for _, graph in ipairs(data.graphs) do check_graph(graph) end
  end)
  return ok and M.made(data.graphs, data.refused) or nil
end

--- A flow that was drawn to a file .json.
---@param path string
---@return pmlua.Flow? flow, pmlua.Failure? failure
function M.read(path)
  local text, err = require("pmlua.internal.file").read(path)
  if not text then return nil, err end
  local flow = M.taken(require("pmlua.json").decode(text))
  if not flow then return nil, path .. ": not an event flow that pmlua wrote" end
  return flow
end

-- --- comparing ---

--- A line for the threads, for each node, for each edge. Nodes are in the order of their first visits, so that their
--- numbers are the same in the same flow.
local function lines_of(graph)
  local lines = { tostring(graph.threads) }
  for _, node in ipairs(graph.nodes) do
    lines[#lines + 1] = ("%d %d %s"):format(node.parent or 0, node.visits, node.name)
  end
  for _, edge in ipairs(graph.edges) do
    lines[#lines + 1] = ("%d %d %s"):format(edge.from, edge.to, M.labels(edge, math.huge))
  end
  return lines
end

--- The same as text.
local function say(graph, line)
  if line == 1 then return ("%d threads"):format(graph.threads) end
  local function path(i) return "/" .. table.concat(M.path(graph, i, SHOWN), "/") end
  local node, edge = graph.nodes[line - 1], graph.edges[line - 1 - #graph.nodes]
  if node then return ("node %s: %d visits"):format(path(line - 1), node.visits) end
  if edge then return ("edge from %s to %s: %s"):format(path(edge.from), path(edge.to), M.labels(edge, SHOWN)) end
  return "nothing more"
end

--- A key that only graphs with the same flow and the same metrics share.
---@param graph pmlua.flow.graph
---@return string
function M.key(graph)
  return table.concat({ graph.missing, table.concat(graph.metrics, "\t"), table.concat(lines_of(graph), "\n", 2) }, "\n")
end

--- Graphs with their lines, in an order that does not depend on which thread came first.
local function canonical(flow)
  local all = {}
  for i, graph in ipairs(flow.graphs) do
    local lines = lines_of(graph)
    all[i] = { graph = graph, lines = lines, key = table.concat(lines, "\n", 2) }
  end
  table.sort(all, function(a, b) return a.key < b.key end)
  return all
end

--- Whether another flow has the same nodes, visits, edges and labels, by names of regions, in as many threads.
---@param other pmlua.Flow
---@return boolean, string? difference the first
function Flow:same(other)
  if getmetatable(other) ~= Flow then error("flow.same: a flow expected", 2) end
  local mine, others = canonical(self), canonical(other)
  if #mine ~= #others then return false, ("%d graphs, the other has %d"):format(#mine, #others) end
  for g, one in ipairs(mine) do
    local two = others[g]
    for i = 1, math.max(#one.lines, #two.lines) do
      if one.lines[i] ~= two.lines[i] then
        return false, ("%s; the other has %s"):format(say(one.graph, i), say(two.graph, i))
      end
    end
  end
  return true
end

--- How much the graphs say in how little: enters of all threads, nodes, edges and labels of all graphs.
---@return { threads: integer, enters: integer, nodes: integer, edges: integer, labels: integer, missing: integer }
function Flow:size()
  local s = { threads = 0, enters = 0, nodes = 0, edges = 0, labels = 0, missing = 0 }
  for _, graph in ipairs(self.graphs) do
    s.threads, s.missing = s.threads + graph.threads, s.missing + graph.threads * graph.missing
    s.nodes, s.edges = s.nodes + #graph.nodes - 1, s.edges + #graph.edges
    for _, edge in ipairs(graph.edges) do
      s.enters, s.labels = s.enters + graph.threads * edge.count, s.labels + #edge.labels
    end
  end
  return s
end

-- --- figures of nodes ---

local own = {
  time = function(node) return node.inclusive_ns end,
  self = function(node) return node.exclusive_ns end,
  calls = function(node) return node.count end,
}

local function figure(name, metrics)
  if own[name] then return own[name] end
  for _, metric in ipairs(metrics) do
    -- an event without a modifier may have been opened user-only
    if metric == name or metric == name .. ":u" then return function(node) return node.metrics[metric] end end
  end
end

--- Parse "A/B" as a function of a node; nil and the reason. Names may contain slashes.
---@param text string
---@param metrics string[] that nodes have beside time, self and calls
---@return (fun(node: pmlua.flow.node): number?)? ratio
---@return pmlua.Failure? failure
function M.ratio(text, metrics)
  local at = 0
  repeat
    at = text:find("/", at + 1, true)
    local a, b = at and figure(text:sub(1, at - 1), metrics), at and figure(text:sub(at + 1), metrics)
    if a and b then
      return function(node)
        local below = b(node)
        return below ~= 0 and a(node) / below or nil
      end
    end
  until not at
  local names = table.move(metrics, 1, #metrics, 4, { "time", "self", "calls" })
  return refuse("EINVAL", ("'%s' is not a ratio A/B"):format(text), "A and B are among " .. table.concat(names, ", "))
end

--- The same of a flow's own metrics.
---@param text string such as "self/time"
---@return (fun(node: pmlua.flow.node): number?)? ratio
---@return pmlua.Failure? failure
function Flow:ratio(text)
  if type(text) ~= "string" then error("flow.ratio: a string such as 'self/time' expected", 2) end
  return M.ratio(text, self.graphs[1] and self.graphs[1].metrics or {})
end

-- --- outside Lua ---

local function check(what, options)
  for key, value in pairs(options or {}) do
    if key ~= "color" and key ~= "title" then
      error(("flow.%s: unknown option '%s'; use color or title"):format(what, tostring(key)), 3)
    end
    if type(value) ~= "string" then error(("flow.%s: %s must be a string"):format(what, key), 3) end
  end
end

---@class pmlua.flow.dot
---@field color? string "A/B": colour nodes and their edges from pale blue to orange by this ratio of metrics, time, self or calls
---@field title? string

--- For Graphviz.
---@param options? pmlua.flow.dot
---@return string text
function Flow:dot(options)
  check("dot", options)
  local text, err = require("pmlua.internal.flow.dot").text(self, options or {})
  return text or error("flow.dot: " .. err, 2)
end

--- A C program with the same flow, of sections of pmlua.
---@param options? { title?: string }
---@return string source
function Flow:skeleton(options)
  check("skeleton", options)
  return require("pmlua.internal.flow.skeleton").source(self, options or {})
end

local formats = { svg = "picture", png = "picture", pdf = "picture", dot = "text", json = "data" }

--- How a flow is drawn to a file of this name; nil and why.
function M.format(path)
  local format = formats[path:match "%.(%a+)$"]
  if format then return format end
  return nil, path .. ": a picture of a flow must end in .svg, .png, .pdf, .dot or .json"
end

--- The graphs as tables, for JSON.
function Flow:data()
  local json = require "pmlua.json"
  for _, graph in ipairs(self.graphs) do
    json.array(graph.metrics)
    for _, edge in ipairs(json.array(graph.edges)) do json.array(edge.labels) end
  end
  return { graphs = json.array(self.graphs), refused = self.refused }
end

--- The picture, by Graphviz's dot; a name that ends in .dot or .json is only written.
---@param path string
---@param options? pmlua.flow.dot
---@return boolean? drawn, pmlua.Failure? failure
function Flow:draw(path, options)
  if type(path) ~= "string" then error("flow.draw: the name of a file expected", 2) end
  check("draw", options)
  local picture = require "pmlua.internal.picture"
  local format, wrong = M.format(path)
  if not format then return nil, wrong end
  local text
  if format == "data" then
    text = require("pmlua.json").encode(self:data())
  else
    text, wrong = require("pmlua.internal.flow.dot").text(self, options or {})
    if not text then error("flow.draw: " .. wrong, 2) end
  end
  if format ~= "picture" then return picture.write(path, text) end
  return picture.in_folder(function(folder)
    try(picture.write(folder .. "/flow.dot", text))
    local ok, err = picture.run({ "dot", "-T" .. path:match "%a+$", "-o", "picture", "flow.dot" }, { folder = folder })
    if not ok and err.code == "ETIMEDOUT" then
      return refuse("ETIMEDOUT", ("%s: %s, for %d call paths"):format(path, err.text, self:size().nodes),
        "record fewer functions, or draw it as .dot and run dot yourself")
    end
    if not ok then return nil, err end
    return picture.keep(folder, path)
  end)
end

return M
