-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/event_flow/lab.lua - build and run the program and its skeletons, and keep the flow of each run as graphs.
--
-- Try:  pmlua scripts/event_flow.lua --quick --no-plot

local build = require "programs.build"
local core = require "pmlua.core"
local paths = require "pmlua.internal.wrap.paths"
local preload = require "pmlua.internal.preload"

local M = {}
M.__index = M

local limit_s = 120

--- Build what the experiment needs; nil and why, if something is missing.
---@param options { ranks: integer, event: string }
function M.new(options)
  local folder, err = build.folder()
  local self = setmetatable({ options = options, folder = folder, original = {}, again = {}, why = {} }, M)
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
function M:flow_of(words, event)
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

function M:words(steps) return { self.program, tostring(self.options.ranks), tostring(steps) } end

--- The flow of the program with this many steps; runs it the first time.
function M:flow(steps)
  if not self.original[steps] then
    local flow, err = self:flow_of(self:words(steps))
    if not flow then return nil, err end
    self.original[steps] = flow
  end
  return self.original[steps]
end

--- Generate and compile the skeleton of the flow with this many steps; nil and why.
function M:skeleton(steps)
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
function M:measure(p, n)
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
function M:seen(p) return (p.program == "skeleton" and self.again or self.original)[p.steps] end

return M
