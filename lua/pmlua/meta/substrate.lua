-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

---@class pml.substrate
local substrate = {}

--- Load a substrate plugin that was written for Score-P, libscorep_substrate_NAME.so, and hand it events from now on.
---@param name string letters, digits and _
---@param options? pmlua.SubstratePluginOptions
---@return pmlua.SubstratePlugin? plugin, pmlua.Failure? failure, string? code
function substrate.load(name, options) end

---@class pmlua.SubstratePluginOptions
---@field path? string the folder that has the library; nil: where the loader looks
---@field directory? string folder for its output; nil: $SCOREP_EXPERIMENT_DIRECTORY, or substrates-TIME-PID

--- Messages about substrate plugins so far, without duplicates.
---@return string[] lines
function substrate.lines() end

--- Call functions at each event, on the thread that raises it; `pml.substrate { synchronous = true }` is built on it.
---@param functions pmlua.SubstrateFunctionsOptions copied into a separate Lua state
---@return pmlua.SubstrateFunctions? functions, pmlua.Failure? failure, string? code
function substrate.each(functions) end

---@class pmlua.SubstrateFunctionsOptions
---@field enter? fun(region: integer, ns: integer, thread: integer, values?: table<string, number>)
---@field leave? fun(region: integer, ns: integer, thread: integer, values?: table<string, number>)
---@field metric? fun(region: integer, ns: integer, thread: integer, values?: table<string, number>)
---@field flush? fun(n: integer): ...

--- Who takes events now, in the order in which they get them.
---@return pmlua.SubstrateListed[] consumers
function substrate.list() end

---@class pmlua.SubstrateListed
---@field name string
---@field enter boolean it takes enters
---@field leave boolean
---@field metric boolean
---@field plain boolean it takes enters and leaves with general registers only, which makes intercepted calls cheaper

---@class pmlua.SubstratePlugin
local SubstratePlugin = {}

--- Switch its recording off, or on again.
---@param on boolean
function SubstratePlugin:record(on) end

--- Counts of the events and definitions that the plugin received.
---@return pmlua.SubstratePluginStats stats
function SubstratePlugin:stats() end

---@class pmlua.SubstratePluginStats
---@field threads integer that raised events it received
---@field regions integer
---@field metrics integer
---@field unmatched integer leaves without an enter, left out
---@field dropped boolean it threw an exception and gets no events any more

--- Hand it no more events: it writes what it has, and ends.
function SubstratePlugin:close() end

--- Functions that are called at each event.
---@class pmlua.SubstrateFunctions
local SubstrateFunctions = {}

--- Call the function `flush`.
---@return any ... its results
function SubstrateFunctions:flush() end

--- Counts of handled and missed events.
---@return pmlua.SubstrateFunctionsStats stats
function SubstrateFunctions:stats() end

---@class pmlua.SubstrateFunctionsStats
---@field events integer
---@field late integer events raised inside a call of `flush`, on its thread, which no function received
---@field error? string the first error of a function

--- Call them no more.
function SubstrateFunctions:close() end
