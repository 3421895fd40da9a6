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
local core = require "pmlua.core"
local flowgraph = require "pmlua.internal.flow.graph"
local picture = require "pmlua.internal.picture"
local preload = require "pmlua.internal.preload"
local paths = require "pmlua.internal.wrap.paths"
local build = require "programs.build"

-- --- build and run the program and its skeletons, and keep the flow of each run as graphs ---

local Lab = {}
Lab.__index = Lab

local limit_s = 120

--- Build what the experiment needs; nil and why, if something is missing.
---@param options { ranks: integer, event: string }
local function new_lab(options)
  local folder, err = build.folder()
  local self = setmetatable({ options = options, folder = folder, original = {}, again = {}, why = {} }, Lab)
  if not folder then return nil, err end
  self.record, err = preload.library "record"
  if not self.record then return nil, err end
  self.include, err = paths.include()
  if not self.include then return nil, err end
  self.library = paths.library()
  local made
  made, err = folder:library("libmessages.so", { "messages.c" }, "-lpthread")
  if made then
    self.program, err = folder:program("wavefront", { "wavefront.c" }, ("-L. -lmessages -lm -lpthread -Wl,-rpath,%s"):format(
      build.quote(folder.path)))
  end
  if not self.program then return nil, err end
  return self
end

--- Record a run of a command and return its flow.
---@param event? string that each call reads
---@return pmlua.Flow? flow, string? err
function Lab:flow_of(words, event)
  local dir = self.folder.path .. "/recorded"
  self.folder:run("rm -rf recorded; mkdir recorded", 60)
  local line = { "sh", "-c", 'exec "$@" >/dev/null', "sh", "env", "LD_PRELOAD=" .. preload.with(self.record),
    "PMLUA_RECORD_DIR=" .. dir, "PMLUA_RECORD_FLOW=1", "PMLUA_RECORD_LIB=libmessages*", preload.clock() }
  if event then line[#line + 1] = "PMLUA_RECORD_EVENTS=" .. event end
  local command <close>, err = core.command.spawn(table.move(words, 1, #words, #line + 1, line))
  if not command then return nil, err end
  local started, refused = command:start()
  if not started then return nil, refused end
  local ended, lost = command:wait(limit_s)
  if not ended then return nil, lost end
  if ended.signal or ended.status ~= 0 then return nil, words[1]:match "[^/]*$" .. " failed" end
  for _, p in ipairs(require("pmlua.internal.record.logs").gather(dir)) do
    if p.err then return nil, p.err end
    if p.flow and #p.flow.graphs > 0 then return p.flow end
  end
  return nil, words[1]:match "[^/]*$" .. ": no call was recorded"
end

function Lab:words(steps) return { self.program, tostring(self.options.ranks), tostring(steps) } end

--- The flow of the program with this many steps; runs it the first time.
function Lab:flow(steps)
  if not self.original[steps] then
    local flow, err = self:flow_of(self:words(steps))
    if not flow then return nil, err end
    self.original[steps] = flow
  end
  return self.original[steps]
end

--- Generate and compile the skeleton of the flow with this many steps; nil and why.
function Lab:skeleton(steps)
  local flow, err = self:flow(steps)
  if not flow then return nil, err end
  local name = ("skeleton_%d"):format(steps)
  local path = ("%s/%s.c"):format(self.folder.path, name)
  local source = flow:skeleton { title = ("wavefront %d %d"):format(self.options.ranks, steps) }
  local f <close>, refused = io.open(path, "w")
  if not f then return nil, refused end
  f:write(source)
  f:close()
  local where = build.quote(self.library)
  return self.folder:program(name, { path }, ("-Wall -Wextra -I%s -L%s -lpmlua -lpthread -Wl,-rpath,%s"):format(
    build.quote(self.include), where, where))
end

--- Mean time of a thread in its outermost calls, in seconds.
local function seconds(flow)
  local ns, threads = 0, 0
  for _, graph in ipairs(flow.graphs) do
    threads = threads + graph.threads
    for _, node in ipairs(graph.nodes) do
      if node.depth == 1 then ns = ns + node.inclusive_ns end
    end
  end
  return ns / threads * 1e-9
end

--- The flow of a run must equal the flow of earlier runs; a skeleton's must equal the original's.
local function keep(self, p, flow)
  local same, why = flow:same(self.original[p.steps])
  if not same then self.why[p.steps] = why end
  if p.program == "skeleton" then self.again[p.steps] = flow end
  return same or p.program == "skeleton", why
end

--- @n times the time of a run.
function Lab:measure(p, n)
  local words, samples = self:words(p.steps), {}
  local original, missing = self:flow(p.steps)
  if not original then return nil, missing end
  if p.program == "skeleton" then
    local path, err = self:skeleton(p.steps)
    if not path then return nil, "the skeleton: " .. err end
    words = { path }
  end
  for i = 1, n do
    local flow, err = self:flow_of(words)
    if not flow then return nil, err end
    local kept, why = keep(self, p, flow)
    if not kept then return nil, "the flow varies from run to run: " .. why end
    samples[i] = seconds(flow)
  end
  return samples
end

--- The flow that this cell measured last, or nil.
function Lab:seen(p) return (p.program == "skeleton" and self.again or self.original)[p.steps] end

-- --- draw the coloured graph of the longest run, write its skeleton, and compare the graphs ---

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
local function same(lab, steps)
  if not lab.again[steps] then return nil end
  return lab.why[steps] == nil
end

local function write_report(run, lab)
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
    if not same(lab, n) then
      differ = differ + 1
      run:warn(("the skeleton of %d steps has a different flow: %s"):format(n, lab.why[n]))
    end
  end
  run:say(("Skeletons compiled and run: %d, with the flow of the original: %d"):format(compared, compared - differ))
end

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
  lab = assert(new_lab(options))
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
        local is_same = same(lab, cell.p.steps)
        return cell.p.program == "skeleton" and is_same ~= nil and (is_same and 1 or 0) or nil
      end },
  },
  analyse = function(run) write_report(run, lab) end,
  plot = "event_flow",
}
