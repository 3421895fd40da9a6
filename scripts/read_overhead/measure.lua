-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/read_overhead/measure.lua - run the C workload of a cell and return its samples.
--
-- Try:  local m = require("read_overhead.measure").new(pml, options, events)
--       local samples = m:cell({ context = "loop", operation = "read", path = "group", events = 2 }, 1000)
--
-- Lua is never in the timed loop: a workload reads where an application would, and keeps ticks. One run of STREAM or LU
-- yields the samples of several cells, one per place; they are kept until their cells are due.

local cells = require "read_overhead.cells"
local chosen = require "read_overhead.events"
local workloads = require "workloads.workload"

local M = {}

-- The trace has no more phases than these.
local most_phases = 4096

local Measure = {}
Measure.__index = Measure

--- @param pml table
--- @param sizes table what the workloads are given: { sobel = {...}, stream = {...}, lu = {...} }
--- @param events read_overhead.Events
--- @return table? measure
--- @return string? err
function M.new(pml, sizes, events)
  local self = setmetatable({ pml = pml, sizes = sizes, events = events, workload = {}, waiting = {}, results = {} }, Measure)
  for _, name in ipairs { "loop", "sobel", "stream", "lu" } do
    local w, err = workloads.load(name)
    if not w then return nil, err end
    self.workload[name] = w
  end
  return self
end

-- The event set of a cell and the path its reads actually take; false for the empty operation.
function Measure:open(p)
  if p.operation == "empty" then return false, "none" end
  local c = cells.context(p.context)
  local names = c.event and { c.event } or chosen.first(self.events, p.events)
  local set, err = chosen.open(self.pml, names, p.path)
  if not set then return nil, err end
  return set, chosen.taken(set, p.path)
end

local function capacities(w, sizes, n)
  local out = {}
  for i, site in ipairs(w.sites) do
    local at_most = n
    if w.name == "stream" and site ~= "copy_element" then at_most = sizes.repeats end
    if w.name == "lu" then at_most = math.ceil(sizes.n / math.min(sizes.nb, sizes.n)) * sizes.repeats end
    out[i] = math.max(1, math.min(n, at_most))
  end
  return out
end

--- Filter the user's image once, to learn whether it can be read and how large it is.
---@return boolean? ok, string? err
function Measure:look_at_image()
  local samples <close> = self.pml.samples.new(1)
  local w, options = self.workload.sobel, { every = 1000000000 }
  for k, v in pairs(self.sizes.sobel) do options[k] = v end
  local run, err = w:run { operation = "empty", samples = { samples }, options = options }
  if not run then return nil, err end
  self:keep_results(w, run)
  return true
end

-- Probe pixels spread over the whole image.
local function every(sizes, results, n)
  local width, height = sizes.width, sizes.height
  for _, r in ipairs(results or {}) do
    if r.name == "width" then width = r.value elseif r.name == "height" then height = r.value end
  end
  return math.max(1, math.floor(width * height / n))
end

function Measure:workload_options(w, n)
  local out = {}
  for k, v in pairs(self.sizes[w.name] or {}) do out[k] = v end
  if w.name == "loop" then out.n = n end
  if w.name == "sobel" then out.every = every(out, self.results.sobel, n) end
  return out
end

-- Run the workload of a cell: the samples of all its sites, and the record of the run.
function Measure:run(p, n)
  local w = self.workload[cells.context(p.context).workload]
  local sizes, samples = self.sizes[w.name] or {}, {}
  local set <close>, taken = self:open(p)
  if set == nil then return nil, taken end
  for i, capacity in ipairs(capacities(w, sizes, n)) do samples[i] = self.pml.samples.new(capacity) end
  if set then set:start() end
  local run, err = w:run {
    operation = p.operation, set = set or nil, samples = samples, options = self:workload_options(w, n),
    phases = w.name ~= "loop" and most_phases or nil,
  }
  if not run then return nil, err end
  self:keep_results(w, run)
  return samples, { phases = run.phases, retries = run.retries, path = taken }
end

-- The worst residual or error and the best rate of all runs of a workload, and its other results of the last run.
function Measure:keep_results(w, run)
  local kept = self.results[w.name] or {}
  for i, r in ipairs(run.results) do
    local old = kept[i] and kept[i].value
    if old and (r.name == "residual" or r.name == "error" or r.name:match("rate$")) then r.value = math.max(r.value, old) end
    kept[i] = r
  end
  self.results[w.name] = kept
end

--- Measure a cell.
---@param p table the factors
---@param n integer how many samples are wanted; a workload may have fewer places to take them
---@return userdata? samples, table|string about phases, retries, and the path that was taken; or why it cannot be measured
function Measure:cell(p, n)
  local c = cells.context(p.context)
  local key = table.concat({ c.workload, p.operation, p.path, p.events, c.event or "" }, " ")
  local waiting = self.waiting[key]
  if waiting and waiting.samples[c.site] then
    local samples = waiting.samples[c.site]
    waiting.samples[c.site] = nil
    return samples, { path = waiting.about.path, retries = waiting.about.retries[c.site] }
  end
  local samples, about = self:run(p, n)
  if not samples then return nil, about end
  local own = samples[c.site]
  samples[c.site] = nil
  self.waiting[key] = { samples = samples, about = about }
  -- the phases of the run lie in the time of this cell: report them once
  return own, { path = about.path, retries = about.retries[c.site], phases = about.phases }
end

return M
