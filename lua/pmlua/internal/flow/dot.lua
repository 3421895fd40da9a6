-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/flow/dot.lua - an event flow graph in Graphviz's language.
--
-- Try:  pml.flow.start(); ...; print(pml.flow.stop():dot { color = "self/time" })

local core = require "pmlua.core"
local flowgraph = require "pmlua.internal.flow.graph"
local quote = require "pmlua.internal.quote"
local units = require "pmlua.internal.report.units"

local M = {}

local LABELS = 6 -- that an edge shows
local PATH = 8   -- names of a longer path
local LINE = 32  -- bytes of a name in a line of a node

--- Join lines by \n after quoting their contents.
local function label(lines)
  local all = {}
  for i, line in ipairs(lines) do all[i] = quote.dot_inside(line) end
  return '"' .. table.concat(all, "\\n") .. '"'
end

local function shown(name)
  name = core.region.demangle(name)
  if not utf8.len(name) then name = name:gsub("[\128-\255]", "?") end
  return #name <= LINE and name or name:sub(1, LINE - 3):gsub("[\192-\255]?[\128-\191]*$", "") .. "..."
end

--- The ratio of each node, and the range of all graphs; nil: not requested, or the reason.
local function ratios(flow, color)
  if not color then return nil end
  local ratio, err = flow:ratio(color)
  if not ratio then return nil, err end
  local of, least, most = {}, math.huge, -math.huge
  for _, graph in ipairs(flow.graphs) do
    for i, node in ipairs(graph.nodes) do
      local v = i > 1 and ratio(node)
      if v then of[node], least, most = v, math.min(least, v), math.max(most, v) end
    end
  end
  return { name = color, of = of, least = least, most = most }
end

-- From pale blue to orange, ever darker: they also differ without colours, and for readers with red-green colour blindness.
local NODE <const> = { { 0xE8, 0xF1, 0xF8 }, { 0xE5, 0x85, 0x4B } }
local EDGE <const> = { { 0x9F, 0xB6, 0xC9 }, { 0xA3, 0x3F, 0x00 } }

--- The colour of a ratio on a scale.
local function shade(r, v, scale)
  local part, rgb = r.most > r.least and (v - r.least) / (r.most - r.least) or 0, {}
  for i, from in ipairs(scale[1]) do rgb[i] = math.floor(from + part * (scale[2][i] - from) + 0.5) end
  return ("#%02x%02x%02x"):format(table.unpack(rgb))
end

--- Pale enough for a text; grey: the node has no ratio.
local function fill(r, node)
  local v = r and r.of[node]
  if not r then return "white" end
  if not v then return "grey92" end
  return shade(r, v, NODE)
end

--- Names that stand for several paths need more than the name.
local function ambiguous(graph)
  local n = {}
  for _, node in ipairs(graph.nodes) do n[node.name] = (n[node.name] or 0) + 1 end
  return n
end

--- The time of ranks in a node: least, mean, most.
local function spread_lines(lines, s)
  lines[#lines + 1] = ("mean %s"):format(units.time(s.mean_ns))
  lines[#lines + 1] = ("least %s: rank %d"):format(units.time(s.least_ns), s.least_rank)
  lines[#lines + 1] = ("most %s: rank %d"):format(units.time(s.most_ns), s.most_rank)
end

local function node_line(g, graph, i, names, r)
  local node = graph.nodes[i]
  local id = ("n%d_%d"):format(g, i)
  if i == 1 then return ('%s [shape=circle, style=filled, fillcolor=black, label="", width=0.15];'):format(id) end
  local lines = { shown(node.name) }
  if names[node.name] > 1 then
    local path = flowgraph.path(graph, i, 3)
    lines[2] = #path > 1 and "in " .. shown(path[#path - 1]) or "outermost"
  end
  lines[#lines + 1] = ("%d visit%s"):format(node.visits, node.visits == 1 and "" or "s")
  if node.spread and node.spread.ranks > 1 then spread_lines(lines, node.spread) end
  if r and r.of[node] then lines[#lines + 1] = ("%.4g"):format(r.of[node]) end
  local last = i == graph.last and ", peripheries=2" or ""
  return ('%s [label=%s, tooltip=%s, fillcolor="%s"%s];'):format(id, label(lines),
    quote.dot(table.concat(flowgraph.path(graph, i, PATH), " / ")), fill(r, node), last)
end

--- The colour of the edge's first node, dark enough for a line; a wider line if it was taken more often, by decades.
local function line_style(r, node, edge)
  local v = r and r.of[node]
  if not v then return "" end
  return (', color="%s", penwidth=%.1f'):format(shade(r, v, EDGE), 1 + 0.5 * math.log(math.max(edge.count, 1), 10))
end

-- Blanks keep a label off its edge and off the next label, also where a viewer's font is wider than Graphviz took it for.
local function edge_line(g, graph, edge, r)
  return ("n%d_%d -> n%d_%d [label=%s%s];"):format(g, edge.from, g, edge.to,
    '" ' .. flowgraph.labels(edge, LABELS, " \\n ") .. ' "', line_style(r, graph.nodes[edge.from], edge))
end

local function heading(graph)
  local lines = { ("%d thread%s"):format(graph.threads, graph.threads == 1 and "" or "s, each with this flow") }
  if graph.ranks then
    lines[1] = ("rank%s %s: %s"):format(graph.ranks:find "%D" and "s" or "", graph.ranks, lines[1])
  end
  if graph.missing > 0 then lines[2] = ("and then %d enters that it lacks"):format(graph.missing) end
  return lines
end

local function add_graph(out, g, graph, r)
  local function say(text) out[#out + 1] = "    " .. text end
  out[#out + 1] = ("  subgraph cluster_%d {"):format(g)
  say(('label=%s; color=grey80; fontsize=11; margin=18;'):format(label(heading(graph))))
  local names = ambiguous(graph)
  for i in ipairs(graph.nodes) do say(node_line(g, graph, i, names, r)) end
  for _, edge in ipairs(graph.edges) do say(edge_line(g, graph, edge, r)) end
  out[#out + 1] = "  }"
end

---@param options pmlua.flow.dot
---@return string? text, string? err
function M.text(flow, options)
  local r, err = ratios(flow, options.color)
  if err then return nil, err end
  local title = { options.title or "event flow" }
  if r and r.least <= r.most then
    title[2] = ("%s: pale %.4g, orange %.4g; an edge has the colour of the node it leaves"):format(r.name, r.least, r.most)
  end
  if flow.refused > 0 then title[#title + 1] = ("%d more threads are not shown"):format(flow.refused) end
  local out = {
    "digraph flow {",
    ('  label=%s; labelloc=t; fontname="Helvetica"; fontsize=13; nodesep=0.35;'):format(label(title)),
    '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="Helvetica", fontsize=11];',
    '  edge [fontname="Helvetica", fontsize=9, color=grey30];',
  }
  for g, graph in ipairs(flow.graphs) do add_graph(out, g, graph, r) end
  out[#out + 1] = "}\n"
  return table.concat(out, "\n")
end

return M
