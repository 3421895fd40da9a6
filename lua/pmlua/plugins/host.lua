-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/plugins/host.lua - plugin::host: memory, load, network, disks, temperatures, power of the host over time.
--
-- Try:  pmlua -e 'pml.plugin.load { name = "host", metrics = { "memory_*", "network_lo_*" } }
--         print(pml.eventset { "plugin::host::memory_available" }:read())'
--
-- Options: metrics (globs), every ("100ms"), root (where proc and sys are, "/").

local files = require "pmlua.internal.host.files"
local kernel = require "pmlua.internal.host.kernel"
local measure = require "pmlua.internal.host.measure"
local sensors = require "pmlua.internal.host.sensors"

local M = {
  summary = "memory, load, network, disks, temperatures, frequencies and power of the host",
  scope = "host",
  default = { "memory_available", "cpus_busy", "load_1", "network_received", "network_sent" },
}

local sources = { kernel.memory, kernel.processors, kernel.load, kernel.network, kernel.disks, kernel.pressure,
  sensors.temperature, sensors.frequency, sensors.power }

---@param options { root?: string }
function M.metrics(options)
  local all, from = {}, files.new(options.root)
  for _, source in ipairs(sources) do
    local metrics = source(from)
    table.move(metrics, 1, #metrics, #all + 1, all)
  end
  return all
end

function M.collector(options, metrics) return measure.collector(files.new(options.root), metrics) end

return M
