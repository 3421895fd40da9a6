-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/event_flow.lua - the order of a parallel program's messages as a graph, and a program generated from that graph.
--
-- Try:  pmlua scripts/event_flow.lua --quick
--
-- After R. Schöne, R. Tschüter, T. Ilsche, J. Schuchart, D. Hackenberg, W. Nagel, Extending the functionality of Score-P
-- through plugins, section 4.6, figure 11 and listing 4: the messages of a pipelined solver, whose loops become labels of
-- a few edges however long they run; nodes are coloured by the ratio of two metrics; and a C program is generated from the
-- graph, compiled, run, and shown to have the same graph.

local pml = require "pmlua"
local laboratory = require "event_flow.lab"
local report = require "event_flow.report"

local levels = { 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000 }
local lab

local function prepare(options)
  local set <close>, err = pml.eventset { options.event }
  if not set then error("option --event: " .. err, 0) end
  local steps = {}
  for _, n in ipairs(levels) do
    if n < options.steps then steps[#steps + 1] = n end
  end
  if options.quick then steps = { steps[#steps // 2] } end
  steps[#steps + 1] = options.steps
  lab = assert(laboratory.new(options))
  return { { "program", { "original", "skeleton" } }, { "steps", steps } }
end

local function figure(name)
  return function(cell)
    local flow = lab:seen(cell.p)
    return flow and flow:size()[name]
  end
end

return pml.experiment {
  name = "event_flow",
  description = [[
Event flow graphs of an unmodified solver whose ranks exchange messages. Calls of its message library are the nodes; an edge
leads from one call to the next, and its label says at which visits. Longer loops need no more labels. Each graph is turned
into a C program, the skeleton, which is compiled and run and must have the same graph. A sample is the mean time that a
thread spends in its messages.]],
  factors = prepare,
  help = { program = "original, or the skeleton generated from its graph", steps = "time steps of the solver" },
  unit = "s",
  repeats = 3,
  rounds = 3,
  warmup = 0,
  quick = { repeats = 1, rounds = 1, steps = 20 },
  options = {
    { name = "steps", type = "integer", metavar = "N", min = 1, max = levels[#levels], default = 250,
      help = "time steps of the longest run" },
    { name = "ranks", type = "integer", metavar = "N", min = 1, max = 16, default = 4,
      help = "ranks of the program, which are threads" },
    { name = "event", metavar = "NAME", default = "task-clock", help = "colour nodes by time/NAME" },
  },
  examples = { "pmlua scripts/event_flow.lua --quick", "pmlua scripts/event_flow.lua --steps 1000 --ranks 2" },
  measure = function(_, p, n) return lab:measure(p, n) end,
  columns = {
    { name = "calls", unit = "", description = "calls of all threads", value = figure "enters" },
    { name = "paths", unit = "", description = "nodes of all graphs", value = figure "nodes" },
    { name = "edges", unit = "", description = "edges of all graphs", value = figure "edges" },
    { name = "labels", unit = "", description = "labels of all edges", value = figure "labels" },
    { name = "same", unit = "", description = "1: the skeleton has the graphs it was generated from",
      value = function(cell)
        local same = report.same(lab, cell.p.steps)
        return cell.p.program == "skeleton" and same ~= nil and (same and 1 or 0) or nil
      end },
  },
  analyse = function(run) report.write(run, lab) end,
  plot = "event_flow",
}
