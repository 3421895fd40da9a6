-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

---@class pml.plugin
local plugin = {}

--- A plugin that is loaded, by its name; those that the environment names are loaded first.
---@param name string
---@return pmlua.Plugin? plugin, pmlua.Failure? failure, string? code
function plugin.find(name) end

--- List the plugins of this process, including those loaded by the environment; each entry is its `info()`.
---@return pmlua.PluginInfo[] plugins
function plugin.list() end

--- Read the series of all plugins from the log of a recorded process (`pmlua record --plugin`).
---@param path string
---@return pmlua.PluginSeries[]? series, pmlua.Failure? failure, string? code
function plugin.read(path) end

--- A metric plugin. It outlives its handles: closing one does not unload it.
---@class pmlua.Plugin
local Plugin = {}

--- Start measuring. An event set that names a metric of the plugin also starts it.
---@return boolean? done, pmlua.Failure? failure, string? code
function Plugin:start() end

--- Collect the values that an asynchronous plugin has measured so far; EMODE if the plugin delivers values only at its end.
---@return boolean? done, pmlua.Failure? failure, string? code
function Plugin:collect() end

--- Stop the plugin and collect its last values. Event sets continue with these values.
---@return boolean? done, pmlua.Failure? failure, string? code
function Plugin:stop() end

--- The values of an asynchronous plugin: one series for each metric and location.
---@return pmlua.PluginSeries[]? series, pmlua.Failure? failure, string? code
function Plugin:series() end

--- Describe the plugin.
---@return pmlua.PluginInfo info
function Plugin:info() end

--- Release the handle.
function Plugin:close() end

---@class pmlua.PluginInfo
---@field name string
---@field path string of its library, or ""
---@field sync string strictly_sync: a value at each read; sync: at a read, if there is a new one; async_event, async: series
---@field scope "thread"|"process"|"host"|"once" whose values these are
---@field state "loaded"|"running"|"ended"|"dropped"
---@field here boolean this process is the one that measures, of a host or of all
---@field trouble? string what went wrong first
---@field metrics pmlua.PluginMetric[]

---@class pmlua.PluginMetric
---@field event string "plugin::NAME::METRIC"
---@field name string
---@field description string
---@field unit string
---@field mode string such as "accumulated_start" or "absolute_last"
---@field type "integer"|"unsigned"|"float"
---@field base integer 2 or 10
---@field exponent integer
---@field scale number base to the power of exponent: factor that converts a value to `unit`

---@class pmlua.PluginSeries
---@field event string
---@field name string
---@field description string
---@field unit string
---@field mode string
---@field type "integer"|"unsigned"|"float"
---@field base integer
---@field exponent integer
---@field scale number
---@field thread? integer the system's number of the thread, of a plugin per thread
---@field outside integer values left out: from before the beginning, or from the future
---@field backwards integer steps down of what only grows
---@field ns integer[] when, in ns of CLOCK_MONOTONIC_RAW
---@field value number[]

--- The argument of `pml.plugin.define`.
---@class pmlua.PluginDefinition
---@field name string
---@field events (string|pmlua.PluginMetricDefinition)[] a name alone is a number without a unit
---@field read? fun(name: string): number? is called when an event set is read; nil: no new value
---@field collect? fun(): table<string, number> is called periodically by a separate thread
---@field every? number|string how often, with collect: seconds, or "100ms"
---@field scope? "process"|"host"|"once" process
---@field file? string instead of events and functions: a Lua file that returns the rest
---@field code? string the same as text

---@class pmlua.PluginMetricDefinition
---@field name string
---@field description? string
---@field unit? string
---@field mode? string "absolute_point"
---@field type? "integer"|"float" float
---@field base? 2|10 10
---@field exponent? integer 0
