-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/serve/host.lua - metrics of pmlua's own plugins (host, process) as families of metrics.
--
-- Try:  pmlua serve --metric 'host::disk_*' --metric process::resident
--
-- The process that serves reads them, from the kernel's files: a program does no work for them. A metric is a gauge, or a counter
-- if it accumulates, from the first reading on. Its name ends in its unit.

local own_plugins = require "pmlua.internal.own_plugins"

local M = {}

local units = { B = "bytes", s = "seconds", W = "watts", J = "joules", Hz = "hertz", degC = "celsius" }

---@class pmlua.ServedMetrics
local Metrics = {}
Metrics.__index = Metrics

--- Metrics of one plugin.
---@param name "host"|"process"
---@param tokens string[]? globs of metrics; nil: those that the plugin recommends
---@param pid integer? of the process
---@return pmlua.ServedMetrics? metrics
---@return pmlua.Failure? failure a token is misspelt
function M.new(name, tokens, pid)
  local list, collect = own_plugins.reader(name, { metrics = tokens, pid = pid })
  if not list then return nil, collect end
  return setmetatable({ name = name, list = list, collect = collect }, Metrics)
end

--- Add the metrics' values now. A metric without a value has no sample.
---@param families pmlua.Families
---@param labels table pairs
function Metrics:add(families, labels)
  local values = self.collect()
  for _, m in ipairs(self.list) do
    local value, unit = values[m.name], units[m.unit]
    local kind = m.mode:find "^accumulated" and "counter" or "gauge"
    if value and (m.exponent or 0) ~= 0 then value = value * (m.base or 10.0) ^ m.exponent end
    if value then
      families:own(("%s_%s%s"):format(self.name, m.name:gsub("[^%w_]", "_"), unit and "_" .. unit or ""), kind,
        m.description or "", labels, value)
    end
  end
end

return M
