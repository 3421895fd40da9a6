-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/event_flow/report.lua - draw the coloured graph of the longest run, write its skeleton, and compare the graphs.
--
-- Try:  pmlua scripts/event_flow.lua --quick && ls results/event_flow/latest

local flowgraph = require "pmlua.internal.flow.graph"
local picture = require "pmlua.internal.picture"

local M = {}

local SHOWN = 2 -- labels of an edge

local function graphs(flow)
  local rows = {}
  for g, graph in ipairs(flow.graphs) do
    for _, edge in ipairs(graph.edges) do
      local from = graph.nodes[edge.from].name
      rows[#rows + 1] = { g, graph.threads, from == "" and "(begin)" or from, graph.nodes[edge.to].name, edge.count,
        flowgraph.labels(edge, SHOWN) }
    end
  end
  return { columns = {
    { "graph", "", "number of the graph; threads with the same flow share one" }, { "threads", "", "threads that share it" },
    { "from", "text", "call" }, { "to", "text", "next call" }, { "times", "", "traversals by each thread" },
    { "labels", "text", "visits at which the edge is taken" },
  }, rows = rows }
end

-- The picture needs an event read at each call; the samples are taken without it.
local function draw(run, lab, steps)
  local event = lab.options.event
  local flow, err = lab:flow_of(lab:words(steps), event)
  if not flow then return run:warn("no coloured graph: " .. err) end
  if not flow:same(lab:seen { program = "original", steps = steps }) then
    run:warn "the flow with the event differs from the flow without it"
  end
  local options = { color = "time/" .. event, title = ("wavefront %d %d"):format(lab.options.ranks, steps) }
  for _, ending in ipairs { "dot", "json", "svg", "png" } do
    local drawn, why = flow:draw(("%s/event_flow.%s"):format(run.dir, ending), options)
    if not drawn then return run:warn(why) end
  end
end

local function longest(lab)
  local most
  for steps in pairs(lab.original) do most = math.max(most or 0, steps) end
  return most
end

--- Whether the skeleton has the graphs it was generated from; nil if it was not run.
function M.same(lab, steps)
  if not lab.again[steps] then return nil end
  return lab.why[steps] == nil
end

---@param lab table event_flow.lab
function M.write(run, lab)
  local steps = longest(lab)
  if not steps then return end
  local flow = lab.original[steps]
  local t = graphs(flow)
  run:write_table("edges.dat", t, "edges of the longest run's graphs")
  local source = flow:skeleton { title = ("wavefront %d %d"):format(lab.options.ranks, steps) }
  local written, err = picture.write(run.dir .. "/skeleton.c", source)
  if not written then run:warn(err) end
  draw(run, lab, steps)
  run:say_table(("Event flow of %d steps: which call follows which, and at which visits"):format(steps), t)
  local compared, differ = 0, 0
  for n in pairs(lab.again) do
    compared = compared + 1
    if not M.same(lab, n) then
      differ = differ + 1
      run:warn(("the skeleton of %d steps has a different flow: %s"):format(n, lab.why[n]))
    end
  end
  run:say(("Skeletons compiled and run: %d, with the flow of the original: %d"):format(compared, compared - differ))
end

return M
