-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/flow.lua - event flow graphs: the order in which the regions of this process follow each other.
--
-- Try:  pml.flow.start(); for i = 1, 9 do pml.section.start "a"; pml.section.stop "a" end
--       print(pml.flow.stop():dot())
--
-- The events between start and stop form graphs (pmlua.internal.flow.graph), one for all threads with the same flow. An
-- event costs about 50 instructions, without a lock. The values that events carry are summed by node, for colours.

local core = require "pmlua.core"
local fields = require "pmlua.internal.fields"
local flowgraph = require "pmlua.internal.flow.graph"

---@class pml.flow
local M = {}

local running

---@class pmlua.flow.options
---@field metrics? string[] names of values that events carry: the events of sections and interceptions
---@field labels? integer most labels per thread; a flow that needs more ends early and is marked

local METRICS, LABELS = 16, 1 << 24 -- pml_flow.h

local function check_metrics(metrics)
  if type(metrics) ~= "table" or #metrics == 0 or #metrics > METRICS then
    error(("flow.start: metrics must be a list of 1 to %d names"):format(METRICS), 4)
  end
  for i, name in ipairs(metrics) do
    if type(name) ~= "string" or name == "" then error(("flow.start: metrics[%d] is not a name"):format(i), 4) end
  end
end

local function check(options)
  if type(options) ~= "table" then error("flow.start: options must be a table", 3) end
  for key, value in pairs(options) do
    if key == "metrics" then check_metrics(value)
    elseif key ~= "labels" then error("flow.start: " .. fields.sentence(key, { "metrics", "labels" }, "option"), 3)
    elseif math.type(value) ~= "integer" or value < 1 or value > LABELS then
      error(("flow.start: labels must be a number from 1 to %d"):format(LABELS), 3)
    end
  end
end

--- Take enters and leaves from now on.
---@param options? pmlua.flow.options
---@return boolean? started, string? err, string? code
function M.start(options)
  if running then error("flow.start: a flow is already running; end it with flow.stop", 2) end
  if options ~= nil then check(options) end
  local flow, err, code = core.flow.open(options)
  if not flow then return nil, err, code end
  running = flow
  return true
end

--- Stop, and return the flow since start.
---@return pmlua.Flow? flow, string? err, string? code
function M.stop()
  if not running then error("flow.stop: no flow is running; begin one with flow.start", 2) end
  local flow <close> = running
  running = nil
  return flowgraph.of(flow)
end

return M
