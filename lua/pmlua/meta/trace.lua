-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- Traces: enters, leaves and metrics of threads in an OTF2 archive.
---
---     local t <close> = assert(pml.trace.open "trace-folder")          -- a folder that is there
---     t:attach(); pml.section.start "a"; pml.section.stop "a"; t:detach()
---     assert(t:close())                                                 -- otf2-print trace-folder/traces.otf2
---@class pml.trace
local trace = {}

--- Begin an archive in an existing folder without one.
---@param dir string
---@param options? pmlua.TraceOptions
---@return pmlua.Trace? trace, pmlua.Failure? failure, string? code
function trace.open(dir, options) end

--- Read the definitions of an OTF2 archive, of any writer. Its events are read when something is asked.
---@param path string its anchor file, such as out/traces.otf2
---@return pmlua.TraceReader? reader, pmlua.Failure? failure, string? code
function trace.read(path) end

---@class pmlua.TraceOptions
---@field metrics? pmlua.TraceMetric[] at most 128, whose values `location:metric` records
---@field buffer? integer records that each location can hold between two flushes, 24 bytes each; 65536

---@class pmlua.TraceMetric
---@field name string
---@field description? string
---@field unit? string
---@field mode? string "accumulated" (the default), "absolute", or one of OTF2's ten such as "absolute_last"
---@field type? "integer"|"unsigned"|"float" integer
---@field base? 2|10 a value means value * base^exponent unit; 10
---@field exponent? integer 0

---@class pmlua.Trace
local Trace = {}

--- A location, on which one thread records: 4 MiB of memory of libotf2.
---@param name string
---@return pmlua.TraceLocation? location, pmlua.Failure? failure, string? code
function Trace:location(name) end

--- Hand what was recorded to libotf2. What finds a location full before is dropped, in whole calls, and counted.
---@return boolean? done, pmlua.Failure? failure, string? code
function Trace:flush() end

--- What became of records.
---@return pmlua.TraceStats stats
function Trace:stats() end

---@class pmlua.TraceStats
---@field written integer handed to libotf2
---@field dropped integer
---@field lifted integer whose time went back: recorded with the time before
---@field unmatched integer leaves without an enter, and enters that were open at the end

--- Record sections, intercepted calls and all else that raises events, each thread on a location of its own.
---@return boolean? done, pmlua.Failure? failure, string? code
function Trace:attach() end

--- Record them no more.
---@return integer unrecorded events whose values are not metrics of the trace
function Trace:detach() end

--- Write the series that a metric plugin has by now, each on a location of its own.
---@param plugin pmlua.Plugin
---@param since? integer ticks; older values are left out
---@return integer? written how many values
---@return pmlua.Failure? failure
---@return string? code
function Trace:plugin(plugin, since) end

--- Write everything and close the archive. Unlike other handles' it can fail, as on a full disk, and says so.
---@return boolean? done, pmlua.Failure? failure, string? code
function Trace:close() end

--- A thread in the archive. Times are ticks of `pml.clock`, and those of a location do not go back; nil: now.
---@class pmlua.TraceLocation
local TraceLocation = {}

--- A region begins. 35 instructions of C.
---@param region integer of `pml.region.intern`
---@param ticks? integer
---@return boolean? done, pmlua.Failure? failure, string? code
function TraceLocation:enter(region, ticks) end

--- The innermost region ends.
---@param region integer
---@param ticks? integer
---@return boolean? done, pmlua.Failure? failure, string? code
function TraceLocation:leave(region, ticks) end

--- Values of the trace's metrics.
---@param values (number|false)[] one for each metric; false of an absolute one: it has no value
---@param ticks? integer
---@return boolean? done, pmlua.Failure? failure, string? code
function TraceLocation:metric(values, ticks) end

--- Let go of the handle; what was recorded stays.
function TraceLocation:close() end

--- An archive that is read.
---
---     local t <close> = assert(pml.trace.read "trace-folder/traces.otf2")
---     for _, r in ipairs((assert(t:group { by = { "region", "process" }, where = { region = "a*" } }))) do
---       print(r.process, r.region, r.calls, r.exclusive_s)
---     end
---@class pmlua.TraceReader
local TraceReader = {}

--- What the archive says of itself.
---@return pmlua.TraceAbout about
function TraceReader:about() end

---@class pmlua.TraceAbout
---@field creator string
---@field machine string
---@field ticks_per_second integer
---@field length_s number
---@field began_ns? integer CLOCK_REALTIME
---@field events integer of all locations
---@field regions integer
---@field processes integer
---@field locations integer
---@field metrics integer
---@field ranks integer of MPI; 0: none

--- Regions in the order of their numbers in the archive.
---@return { name: string, file: string?, line: integer?, paradigm: string? }[] regions
function TraceReader:regions() end

--- Location groups.
---@return { name: string, host: string?, rank: integer? }[] processes
function TraceReader:processes() end

--- Threads, and other streams of events.
---@return { name: string, process: integer, events: integer }[] locations
function TraceReader:locations() end

--- Metrics in the order of their numbers in the archive.
---@return pmlua.TraceMetricDefinition[] metrics
function TraceReader:metrics() end

---@class pmlua.TraceMetricDefinition
---@field name string
---@field description? string
---@field unit? string
---@field scale number of a value, to the unit
---@field accumulated boolean values count up; else each stands for itself

--- Call a function for each event. One table for each kind is filled again and again: copy what is kept.
--- Until it returns, nothing else reads events of this reader. In the order of time each location needs an open file
--- and a buffer; one location after another, only one does.
---
---     local t <close> = assert(pml.trace.read "trace-folder/traces.otf2")
---     assert(t:each(function(e) print(e.time_s, e.kind, e.region) end, { order = "time", where = { kinds = { "enter" } } }))
---@param f fun(event: pmlua.TraceEvent): boolean? false: read no more
---@param question? { order: ("location"|"time")?, where: pmlua.TraceEventWhere? } order: "location"
---@return integer? events how many the function got
---@return pmlua.Failure? failure
---@return string? code
function TraceReader:each(f, question) end

---@class pmlua.TraceEventWhere: pmlua.TraceWhere of enters and leaves alone the pattern of regions is asked
---@field kinds? ("enter"|"leave"|"send"|"receive"|"collective"|"metric")[]

---@class pmlua.TraceEvent
---@field kind "enter"|"leave"|"send"|"receive"|"collective"|"metric"
---@field time_s number since the beginning
---@field location integer of locations()
---@field process integer of processes()
---@field rank? integer
---@field region? string enter, leave
---@field number? integer of regions(); of metrics()
---@field to? integer send: of processes(); nil: the definitions do not say
---@field from? integer receive: of processes(); nil: the definitions do not say
---@field bytes? integer send, receive
---@field tag? integer send, receive
---@field communicator? integer send, receive, collective: its number in the archive
---@field operation? string collective, such as "bcast"
---@field root? integer collective: of processes(); nil: it has none
---@field members? integer collective: ranks of its communicator; 0: not known
---@field sent_bytes? integer collective
---@field received_bytes? integer collective
---@field metric? string its name
---@field value? number

--- Calls and times, summed in C: some 30 ns for each event, memory for locations and rows. Times are the parts in the
--- window; calls are those that began in it. A region inside itself adds to inclusive time once.
---@param question? { by: ("region"|"process"|"location")[]?, where: pmlua.TraceWhere? } by: { "region" }
---@return pmlua.TraceRow[]? rows by process, location and region; nil: refused
---@return pmlua.TraceOddities|pmlua.Failure? oddities
---@return string? code
function TraceReader:group(question) end

---@class pmlua.TraceWhere
---@field window? number[] { FROM, TO } in seconds since the beginning
---@field region? string a pattern of names, such as MPI_*
---@field process? integer|integer[] of processes()
---@field rank? integer|integer[] of MPI_COMM_WORLD
---@field location? integer|integer[] of locations()

---@class pmlua.TraceRow
---@field region? string its name
---@field number? integer of regions(), which may have a name twice
---@field process? integer of processes()
---@field rank? integer of that process
---@field location? integer of locations()
---@field calls integer
---@field unreturned integer of them, that were open at the end or when an outer call returned
---@field inclusive_s number
---@field exclusive_s number
---@field least_s? number the shortest call that lies in the window
---@field most_s? number

---@class pmlua.TraceOddities
---@field events integer enters and leaves that were read
---@field unmatched integer leaves without an enter, and enters that an outer leave ended
---@field backward integer events before the one before, whose time they are given
---@field unknown integer events of undefined regions, which are left out

--- Messages of MPI, by sender and receiver.
---@param question? { where: pmlua.TraceWhere? } of a pattern of regions nothing is taken
---@return { from: integer, to: integer, messages: integer, bytes: integer }[]? pairs of processes()
---@return integer|pmlua.Failure? unknown messages whose receiver the definitions do not tell
---@return string? code
function TraceReader:messages(question) end

--- Calls and times by call path, of all locations that are asked for, as one tree. With a pattern of regions, paths consist of
--- such regions alone, and time in others belongs to the call around them. Memory for paths, not for events.
---@param question? { where: pmlua.TraceWhere? }
---@return pmlua.TracePath[]? paths a parent comes before its children
---@return integer|pmlua.Failure? unmatched leaves without an enter, and enters that an outer leave ended
---@return string? code
function TraceReader:paths(question) end

---@class pmlua.TracePath
---@field parent? integer of the list; nil: outermost
---@field region string
---@field number integer of regions()
---@field calls integer that began in the window
---@field inclusive_s number
---@field exclusive_s number

--- Free it.
function TraceReader:close() end
