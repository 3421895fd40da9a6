-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/read_overhead/measure.lua - run the C workload of a cell and hand over its samples.
--
-- Try:  local m = require("read_overhead.measure").new(pml, options, events)
--       local samples = m:cell({ context = "loop", operation = "read", path = "group", events = 2 }, 1000)
--
-- Lua is never in the timed loop: a workload reads where an application would, and keeps ticks. One run of STREAM or LU
-- feeds several cells (one per place); they are kept until their cells come round.

local cells = require "read_overhead.cells"
local chosen = require "read_overhead.events"

local M = {}

local Measure = {}
Measure.__index = Measure

local function readable(path)
  local f = io.open(path, "rb")
  if f then f:close() end
  return f ~= nil
end

-- Built beside the checkout's scripts, or installed under PREFIX/lib for scripts in PREFIX/share/pmlua/scripts.
local function load_workload(pml, here, name)
  for _, folder in ipairs { os.getenv "PMLUA_WORKLOADS", here .. "../build/workloads", here .. "../../../lib/pmlua/workloads" } do
    local path = ("%s/%s.so"):format(folder, name)
    if readable(path) then return pml.workload.load(path) end
  end
  return nil, ("the workload %s.so is not built; run make, or set PMLUA_WORKLOADS to its folder"):format(name)
end

--- @param pml table
--- @param here string folder of the script, with its last slash
--- @param sizes table what the workloads are given: { sobel = {...}, stream = {...}, lu = {...} }
--- @param events read_overhead.Events
function M.new(pml, here, sizes, events)
  local self = setmetatable({
    pml = pml, sizes = sizes, events = events, workload = {}, waiting = {}, results = {}, taken = {}, retries = {},
    skipped = 0,
  }, Measure)
  for _, name in ipairs { "loop", "sobel", "stream", "lu" } do
    local w, err = load_workload(pml, here, name)
    if not w then return nil, err end
    self.workload[name] = w
  end
  return self
end

-- The event set of a cell; nil for the empty operation.
function Measure:open(p)
  local c = cells.context(p.context)
  if p.operation == "empty" then return nil end
  local names = c.event and { c.event } or chosen.first(self.events, p.events)
  local path = p.path == "none" and "group" or p.path
  local set, err = chosen.open(self.pml, names, path)
  if not set then error(("%s: %s"):format(p.context, err), 0) end
  return set
end

function Measure:note_path(p, set)
  local taken, why = p.path, nil
  if set and p.path ~= "none" then taken, why = chosen.taken(set, p.path) end
  self.taken[M.key(p)] = { path = taken, why = why }
end

--- What identifies a cell.
function M.key(p)
  return table.concat({ p.context, p.operation, p.path, p.events }, " ")
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

local function workload_options(w, sizes, n)
  local out = {}
  for k, v in pairs(sizes or {}) do out[k] = v end
  if w.name == "loop" then out.n = n end
  if w.name == "sobel" and not out.every then
    -- so that the hits spread over all of the generated picture
    out.every = math.max(1, ((out.width or 1920) * (out.height or 1200)) // n)
  end
  return out
end

-- Run the workload of a cell; samples of all its sites.
function Measure:run(p, n)
  local w = self.workload[cells.context(p.context).workload]
  local samples = {}
  for i, capacity in ipairs(capacities(w, self.sizes[w.name] or {}, n)) do samples[i] = self.pml.samples.new(capacity) end
  local set <close> = self:open(p)
  self:note_path(p, set)
  if set then set:start() end
  local run, err = w:run {
    operation = p.operation, set = set, samples = samples, options = workload_options(w, self.sizes[w.name], n),
    phases = w.name ~= "loop" and 4096 or nil,
  }
  if not run then error(err, 0) end
  self:keep_results(w, run)
  return samples, run
end

-- The last results of each workload, except that a residual or an error is the worst of all runs.
function Measure:keep_results(w, run)
  if w.name == "loop" then return end
  local kept = self.results[w.name] or {}
  for i, r in ipairs(run.results) do
    local old = kept[i]
    if old and (r.name == "residual" or r.name == "error") then r.value = math.max(r.value, old.value) end
    if old and r.name:match("rate$") then r.value = math.max(r.value, old.value) end
    kept[i] = r
  end
  self.results[w.name] = kept
end

--- Measure a cell.
---@param p table the factors
---@param n integer how many samples are wanted; a workload may have fewer places to take them
---@return userdata samples
---@return table? phases regions of the workload, when it ran for this cell
function Measure:cell(p, n)
  local c = cells.context(p.context)
  local key = table.concat({ c.workload, p.operation, p.path, p.events, c.event or "" }, " ")
  local waiting = self.waiting[key]
  if waiting and waiting[c.site] then
    local samples = waiting[c.site]
    waiting[c.site] = nil
    self:note_path_like(p, key)
    return samples
  end
  local samples, run = self:run(p, n)
  self.retries[M.key(p)] = (self.retries[M.key(p)] or 0) + run.retries
  self.skipped = self.skipped + (run.skipped or 0)
  self.path_of_run = self.path_of_run or {}
  self.path_of_run[key] = self.taken[M.key(p)]
  local own = samples[c.site]
  samples[c.site] = nil
  self.waiting[key] = samples
  return own, run.phases
end

function Measure:note_path_like(p, key)
  self.taken[M.key(p)] = self.path_of_run[key]
end

return M
