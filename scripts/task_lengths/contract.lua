-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/task_lengths/contract.lua - run the contraction library and ask its events what happened.
--
-- Try:  local c = require("task_lengths.contract").new(pml, { "t2_8" }, { occupied = 4, virtual = 8, tile = 3 })
--       print(c:measure("t2_8", 1)[1], c:outcome("t2_8").dgemms)
--
-- The workload contracts; everything reported comes from its software-defined events. Counters are read by an event set
-- around a contraction, as differences. Recorders keep the last contraction of each number, task by task.

local workloads = require "workloads.workload"

local M = {}

-- Names of the events without sde:::TAMM:: and ::ContrID=N, grouped by how they are read.
local counters = { dgemms = "DgemmCount_I", flops = "FlopCount_I" }
local values = { longest = "MaxTaskLength_I", runtime = "RunTime_D", error = "CheckError_D" }
local series = {
  length_of = "LengthPerTask_RCRD_I", flops_of = "FlopsPerTask_RCRD_I", time_of = "TimePerTask_RCRD_D",
  thread_time = "TimePerThread_RCRD_D",
}

local Contract = {}
Contract.__index = Contract

local function full(event, id) return ("sde:::TAMM::%s::ContrID=%d"):format(event, id) end

-- Handles on all events of a contraction, and their descriptions.
local function open_events(pml, id)
  local ev = { id = id, value = {}, series = {}, description = {} }
  for kind, names in pairs { value = values, series = series, description = counters } do
    for key, name in pairs(names) do
      local found, err = pml.sde.find(full(name, id))
      if not found then return nil, err end
      ev.description[key] = found:info().description
      if kind == "value" then ev.value[key] = found end
      if kind == "series" then
        ev.series[key], err = found:open()
        if not ev.series[key] then return nil, err end
      end
    end
  end
  local err
  ev.counts, err = pml.eventset { full(counters.dgemms, id), full(counters.flops, id) }
  if not ev.counts then return nil, err end
  return ev
end

function Contract:run(name, sizes)
  local samples = {}
  for i = 1, #self.workload.sites do samples[i] = self.pml.samples.new(1) end
  local options = { contraction = name }
  for k, v in pairs(sizes) do options[k] = v end
  local done, err, code = self.workload:run { operation = "empty", samples = samples, options = options }
  for _, s in ipairs(samples) do s:close() end
  return done, err, code
end

--- @param pml table
--- @param names string[] contractions
--- @param sizes table options of the workload, but for the contraction
--- @return table? contract
--- @return string? err
function M.new(pml, names, sizes)
  local workload, err = workloads.load "tamm"
  if not workload then return nil, err end
  local self = setmetatable({ pml = pml, sizes = sizes, workload = workload, event = {}, runs = {} }, Contract)
  local which
  which, err = pml.sde.find "TAMM::ContractionID_I"
  if not which then return nil, err end
  -- The smallest contraction shows its number; the library's events exist from the first one on.
  local least = { occupied = 1, virtual = 1, tile = 1, threads = 1, blas = sizes.blas }
  for _, name in ipairs(names) do
    local done, id
    done, err = self:run(name, least)
    if not done then return nil, err end
    id, err = which:read()
    if id then self.event[name], err = open_events(pml, id) end
    if not self.event[name] then return nil, err end
  end
  self.which = which:info()
  return self
end

--- The values of the events after the last contraction of that name: id, tasks, dgemms, flops, longest, runtime, error; the
--- series length_of, flops_of and time_of by task, and thread_time by thread; the description of each.
---@return table? run
function Contract:outcome(name) return self.runs[name] end

--- A quantile of one of the series, by its recorder.
---@param name string contraction
---@param which string "time_of", ...
---@return number?
function Contract:quantile(name, which, percent) return (self.event[name].series[which]:quantile(percent)) end

local function sum(t)
  local s = 0
  for _, v in ipairs(t) do s = s + v end
  return s
end

-- The threads' counts must equal the sums over the tasks.
local function check(name, run)
  local most = 0
  for _, v in ipairs(run.length_of) do most = math.max(most, v) end
  for _, c in ipairs {
    { "DgemmCount_I", run.dgemms, sum(run.length_of) }, { "FlopCount_I", run.flops, sum(run.flops_of) },
    { "MaxTaskLength_I", run.longest, most }, { "the length of TimePerTask_RCRD_D", #run.time_of, #run.length_of },
  } do
    if c[2] ~= c[3] then error(("%s: %s is %d, but its tasks add up to %d"):format(name, c[1], c[2], c[3]), 0) end
  end
end

function Contract:once(name)
  local ev = self.event[name]
  ev.counts:start()
  local done, err, code = self:run(name, self.sizes)
  local dgemms, flops = ev.counts:stop()
  if code == "EFORMAT" then error(err, 0) end -- a wrong result is worth no sample of any contraction
  if not done then return nil, err, code end
  local run = { id = ev.id, dgemms = dgemms, flops = flops, description = ev.description }
  for key, event in pairs(ev.value) do
    run[key], err, code = event:read()
    if not run[key] then return nil, err, code end
  end
  for key, recorder in pairs(ev.series) do
    if recorder:dropped() > 0 then return nil, ("%s: the recorder ran out of memory and dropped tasks"):format(name), "ENOMEM" end
    run[key] = recorder:values()
  end
  run.tasks = #run.length_of
  check(name, run)
  self.runs[name] = run
  return run
end

--- Contract n times.
---@return number[]? ms, string? err, string? code
function Contract:measure(name, n)
  local ms = {}
  for i = 1, n do
    local run, err, code = self:once(name)
    if not run then return nil, err, code end
    ms[i] = 1e3 * run.runtime
  end
  return ms
end

return M
