-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- Software-defined events: a library or script counts something and publishes it by name, `sde:::LIB::EVENT`.
---
--- An event set reads them beside all other events, `pmlua query` reads them from outside. An event that is not
--- registered yet is a placeholder, which reads -1.
---
---     local lib = assert(pml.sde.library "DEMO")
---     local steps = lib:counter "steps"; steps:add(3)
---     print(pml.sde.find "DEMO::steps":read())
---@class pml.sde
local sde = {}

--- The library of that name in this process, created at the first call.
---@param name string
---@return pmlua.SdeLibrary? library, pmlua.Failure? failure, string? code
function sde.library(name) end

--- Find an event by name. An event that is not registered yet is created as a placeholder.
---@param name string "LIB::EVENT", with or without "sde:::"
---@return pmlua.SdeEvent? event, pmlua.Failure? failure, string? code
function sde.find(name) end

--- All events of this process.
---@return pmlua.SdeInfo[]? events, pmlua.Failure? failure, string? code
function sde.list() end

--- How many events this process has.
---@return integer
function sde.count() end

--- The events whose names match a pattern, in the order of registration. Statistics such as `:MED` are omitted if the
--- recorder they belong to also matches.
---@param patterns string[] names without "sde:::", with * and ?; a pattern without "::" is of events of any library
---@param most integer 1 to 10000
---@param from? integer the `next` of the previous call
---@return pmlua.SdeInfo[]? events, integer|pmlua.Failure|nil next the `from` of the next call; nil: there are no more
---@return string? code
function sde.select(patterns, most, from) end

--- Load a library and call its function `papi_sde_hook_list_events` to register its events, without a program that uses it.
--- The library's code runs in this process and stays loaded.
---@param path string
---@return boolean? done, pmlua.Failure? failure, string? code
function sde.hook(path) end

--- A library of events.
---@class pmlua.SdeLibrary
local SdeLibrary = {}

--- Create a counter. The same name again gives the same counter.
---@param event string
---@param options? { readonly: boolean?, instant: boolean? } instant: event sets read its value, not its change since start()
---@return pmlua.SdeCounter? counter, pmlua.Failure? failure, string? code
function SdeLibrary:counter(event, options) end

--- Create a recorder: a series of values, with the events EVENT (their number), EVENT:MIN, :Q1, :MED, :Q3, :MAX.
---@param event string
---@param options? pmlua.RecorderOptions
---@return pmlua.Recorder? recorder, pmlua.Failure? failure, string? code
function SdeLibrary:recorder(event, options) end

---@class pmlua.RecorderOptions
---@field type? "int64"|"int32"|"double"|"float" of a value; double
---@field keep? "all"|"sketch" every value, 8 bytes a double; or a sketch of 50 KB a thread; all
---@field alpha? number of a sketch: the relative error of its quantiles, between 0 and 1; 0.01
---@field cap? integer most stored values, over all threads; further ones are dropped and counted; 0: no limit

--- Create a counting set: how often each element was inserted.
---@param event string
---@return pmlua.CountingSet? set, pmlua.Failure? failure, string? code
function SdeLibrary:set(event) end

--- Add an event to a group, which is an event itself.
---@param group string
---@param operation "sum"|"max"|"min"
---@param event string that is there
---@return boolean? done, pmlua.Failure? failure, string? code
function SdeLibrary:group(group, operation, event) end

--- Say what an event means.
---@param event string
---@param description string
---@return boolean? done, pmlua.Failure? failure, string? code
function SdeLibrary:describe(event, description) end

--- Take an event back; it is a placeholder then.
---@param event string
---@return boolean? done, pmlua.Failure? failure, string? code
function SdeLibrary:unregister(event) end

--- Take all events back. The handle is of no use then.
---@return boolean? done, pmlua.Failure? failure, string? code
function SdeLibrary:shutdown() end

--- Release the handle; the library stays.
function SdeLibrary:close() end

--- A counter created by a script. Each thread adds to its private memory, without a lock.
---@class pmlua.SdeCounter
local SdeCounter = {}

--- Add to it.
---@param by? integer 1
function SdeCounter:add(by) end

--- The sum over all threads.
---@return integer
function SdeCounter:read() end

--- Count from 0 again.
function SdeCounter:reset() end

--- Describe the event.
---@return pmlua.SdeInfo? info, pmlua.Failure? failure, string? code
function SdeCounter:info() end

--- Release the handle; the counter stays.
function SdeCounter:close() end

--- A series that many threads push to without a lock. `#recorder` is `count()`.
---@class pmlua.Recorder
---@operator len: integer
local Recorder = {}

--- Append a value. A recorder that is full (cap, memory) drops it, counts it, and says EFULL.
---@param value number|string a string of a recorder of another type, of its size
---@return boolean? done, pmlua.Failure? failure, string? code
function Recorder:push(value) end

--- Values, thread after thread, in the order of pushing within each; none of a sketch.
---@param first? integer from 1
---@param n? integer how many at most; all
---@return (number|string)[] values
function Recorder:values(first, n) end

--- A quantile, by libsde's rule of indices: an element that there is. Only new values are sorted.
---@param percent integer 0 to 100
---@return number? value, pmlua.Failure? failure, string? code
function Recorder:quantile(percent) end

--- How many values are kept.
---@return integer
function Recorder:count() end

--- How many values were dropped since it was created or reset.
---@return integer
function Recorder:dropped() end

--- How many values are NaN; they are in no quantile.
---@return integer
function Recorder:nans() end

--- The relative error of quantiles at most; 0 if all values are kept.
---@return number
function Recorder:error() end

--- Forget all values.
function Recorder:reset() end

--- A number that is unique to this recorder and changes at each reset, so that readers know when to start again.
---@return integer
function Recorder:epoch() end

--- Describe the event.
---@return pmlua.SdeInfo? info, pmlua.Failure? failure, string? code
function Recorder:info() end

--- Release the handle; the recorder stays.
function Recorder:close() end

--- A counting set. Elements are strings of any bytes.
---@class pmlua.CountingSet
local CountingSet = {}

--- Count an element once more.
---@param element string
---@param type_id? integer separates equal bytes of different types; 0
---@return boolean? done, pmlua.Failure? failure, string? code
function CountingSet:insert(element, type_id) end

--- Count an element once less.
---@param element string
---@param type_id? integer
---@return boolean? done, pmlua.Failure? failure, string? code
function CountingSet:remove(element, type_id) end

--- All elements with their counts.
---@return { element: string, count: integer, type_id: integer }[]? elements, pmlua.Failure? failure, string? code
function CountingSet:values() end

--- Describe the event.
---@return pmlua.SdeInfo? info, pmlua.Failure? failure, string? code
function CountingSet:info() end

--- Release the handle; the set stays.
function CountingSet:close() end

--- A reader's handle to an event of any library.
---@class pmlua.SdeEvent
local SdeEvent = {}

--- The current value: for a recorder the number of values, for a counting set the number of elements, -1 for a placeholder.
---@return number? value, pmlua.Failure? failure, string? code
function SdeEvent:read() end

--- Write a registered variable or a created counter that is not read-only.
---@param value number
---@return boolean? done, pmlua.Failure? failure, string? code
function SdeEvent:write(value) end

--- Counters count from 0 again, sets are emptied; nothing happens to others.
---@return boolean? done, pmlua.Failure? failure, string? code
function SdeEvent:reset() end

--- Describe the event.
---@return pmlua.SdeInfo? info, pmlua.Failure? failure, string? code
function SdeEvent:info() end

--- The recorder or counting set behind the event; EMODE of any other.
---@return pmlua.Recorder|pmlua.CountingSet? handle, pmlua.Failure? failure, string? code
function SdeEvent:open() end

--- Release the event.
function SdeEvent:close() end

---@class pmlua.SdeInfo
---@field library string
---@field event string its name in the library
---@field name string "sde:::LIB::EVENT"
---@field description string
---@field kind string placeholder, registered, callback, created, recorder, quantile, count, group, set, or per thread
---@field type string int64, int32, double, float, or other
---@field writable boolean
---@field instant boolean event sets read its current value, not its change since their start
