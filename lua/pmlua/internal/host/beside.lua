-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/host/beside.lua - metrics of pmlua's own plugins while a command runs, measured by the process
-- that waits for it.
--
-- Try:  pmlua record --metric 'host::memory_*' --metric process::resident -- sort /usr/share/dict/words

local core = require "pmlua.core"
local plugin = require "pmlua.plugin"
local own_plugins = require "pmlua.internal.own_plugins"
local series = require "pmlua.internal.host.series"
local try = require "pmlua.internal.try"
local refuse = core.failure.refuse

local M = {}

---@class pmlua.host.Beside
---@field handles pmlua.Plugin[]
local Beside = {}
Beside.__index = Beside

--- Add a metric such as "host::memory_*" or "plugin::host::memory_*" to the requested ones; return the error.
---@param wanted table<string, string[]> tokens by plugin
---@return string? misuse
function M.take(wanted, text)
  local name, token = text:gsub("^plugin::", ""):match("^(%l+)::(.+)$")
  if not own_plugins.has(name) then
    return ("'%s' is not a metric; write PLUGIN::METRIC, where PLUGIN is one of %s"):format(text,
      table.concat(own_plugins.names(), ", "))
  end
  wanted[name] = wanted[name] or {}
  table.insert(wanted[name], token)
end

--- Load the plugins of the requested metrics, for a process if they are per process; nothing is measured yet.
---@param wanted table<string, string[]>
---@param every? string
---@return pmlua.host.Beside?, pmlua.Failure? failure
M.load = try.catching(function(wanted, every, pid)
  local self = setmetatable({ handles = {}, pid = pid }, Beside)
  for _, name in ipairs(own_plugins.names()) do
    local t = { name = name, metrics = wanted[name], every = every, pid = name == "process" and pid or nil }
    if wanted[name] then self.handles[#self.handles + 1] = try(own_plugins.load(t)) end
  end
  return self
end)

Beside.start = try.catching(function(self)
  for _, p in ipairs(self.handles) do try(p:start()) end
  self.follower = plugin.follower(self.handles)
  return true
end)

--- The command has ended: no more values; all that there are go into DIR/metrics.dat.
---@param traced? boolean also into the log PID.metrics.pmlog, for a trace
---@return boolean? ok, pmlua.Failure? failure
Beside.finish = try.catching(function(self, dir, traced)
  self.ended_ns = core.clock.ns()
  for _, p in ipairs(self.handles) do try(p:stop()) end
  if traced then try(core.recording.series(dir, ("%d.metrics"):format(self.pid))) end
  local t = self.follower:finish() -- its failures concern plugins that have already ended and were reported
  if not t then
    return refuse("ENODATA", "no metric has a value: the command ended before the first reading",
      "read more often, with --every 1ms")
  end
  return require("pmlua.internal.file").write(dir .. "/metrics.dat",
    require("pmlua.internal.dat").format { title = "record: " .. t.title, columns = t.columns, rows = t.rows })
end)

--- Mean, least and most of each metric over the command's time, as a table of text.
function Beside:summary()
  local rows, span = {}, { { from = self.follower.since_ns, to = self.ended_ns } }
  for _, p in ipairs(self.handles) do
    for _, s in ipairs(p:series() or {}) do
      local mean, least, most = series.during(s, span)
      rows[#rows + 1] = { s.event, mean or "-", least or "-", most or "-", series.unit(s) }
    end
  end
  return require "pmlua.tabulate" ({ "metric", "mean", "least", "most", "unit" }, rows, 2)
end

return M
