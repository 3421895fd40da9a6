-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/sample/run.lua - sampling a command, a running process, or all cpus.
--
-- Try:  print(require("pmlua.internal.sample.run").run({ "true" }, { event = "task-clock" }).sampler:counts().samples)

local child = require "pmlua.internal.child"
local core = require "pmlua.core"
local places = require "pmlua.internal.stat.places"
local preload = require "pmlua.internal.preload"

local M = {}

local NOT_RUN <const>, FAILED <const> = 126, 1 -- as shells say it
local STEP_S <const>, SHORT_STEP_S <const> = 0.02, 0.002
local MANY <const> = 700 -- a buffer holds some ten times as many samples

--- Where to sample, as options of core.sampler.open; nil and why.
local function target(o, pid)
  if o.all then return { all = true } end
  if o.cgroup then
    local list, err = places.of { cgroups = { o.cgroup } }
    return list and { cgroup = list[1].cgroup }, err
  end
  if not o.pid then return { pid = pid, inherit = true, on_exec = true } end
  local list, err = places.of(o)
  if not list then return nil, err end
  local threads = {}
  for i, place in ipairs(list) do threads[i] = place.pid end
  return { pid = threads, inherit = true }
end

local function open(o, pid)
  local options, err = target(o, pid)
  if not options then return nil, err end
  options.address, options.calls, options.registers = o.address, o.calls, o.registers
  options.period, options.frequency = o.period, o.frequency
  local sampler
  sampler, err = core.sampler.open(o.event, options)
  if not sampler then return core.failure.refuse(err) end
  return sampler
end

--- Take the samples that have come. Returns how long to wait for others: page faults may come by the million a second.
local function step(sampler) return sampler:drain() > MANY and SHORT_STEP_S or STEP_S end

local function wait(sampler, pid)
  core.sys.on_interrupt()
  while not core.sys.interrupted() and places.go_on(pid) do core.sys.sleep(step(sampler)) end
  core.sys.on_interrupt(false)
  return { status = 0 }
end

--- Sample a command, or elsewhere while it runs; without one until Ctrl-C or the end of the process.
---@param o { event: string, period: integer?, frequency: integer?, address: boolean?, calls: boolean?,
---  registers: boolean?, pid: integer?, all: boolean?, cgroup: string? }
---@return { sampler: pmlua.Sampler, ended: table }? result the sampler is stopped; the caller closes it
---@return string|pmlua.Failure|nil err, integer? status for the caller's own end
function M.run(words, o)
  if words[1] then
    local path, missing, status = preload.locate(words[1])
    if not path then return nil, missing, status end
  end
  local sampler, err, ended
  if o.pid or o.all or o.cgroup then
    sampler, err = open(o)
    if not sampler then return nil, err, FAILED end
  end
  if words[1] then
    local function ready(pid)
      if not sampler then sampler, err = open(o, pid) end
      if not sampler then return false, err end
    end
    local every = { seconds = SHORT_STEP_S }
    function every.call() every.seconds = step(sampler) end
    ended, err = child.run(words, ready, { every = every })
    if not ended then
      local status = sampler and NOT_RUN or FAILED
      if sampler then sampler:close() end
      return nil, err, status
    end
  else
    ended = wait(sampler, o.pid)
  end
  sampler:stop()
  return { sampler = sampler, ended = ended }
end

return M
