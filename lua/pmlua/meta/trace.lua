-- SPDX-License-Identifier: BSD-3-Clause
---@meta _

--- Traces: enters, leaves and metrics of threads in an OTF2 archive.
---
---     local t <close> = assert(pml.trace.create "trace-folder")          -- a folder that is there
---     t:attach(); pml.section.start "a"; pml.section.stop "a"; t:detach()
---     assert(t:close())                                                 -- otf2-print trace-folder/traces.otf2
---@class pml.trace
local trace = {}

--- Begin an archive in an existing folder without one.
---@param dir string
---@param options? pmlua.TraceOptions
---@return pmlua.Trace? trace, pmlua.Failure? failure, string? code
function trace.create(dir, options) end

--- Open a trace of any writer to read it: an OTF2 archive by its anchor file, a folder that has one, or the logs that
--- `pmlua record --trace` left, which become an archive in a temporary folder first. Definitions are read; events when
--- something is asked.
---@param path string such as out/traces.otf2, or out
---@return pmlua.TraceReader? reader, pmlua.Failure? failure, string? code
function trace.open(path) end

---@class pmlua.TraceOptions
---@field metrics? pmlua.TraceMetric[] at most 128, whose values `location:metric` records
---@field process? string the events are of this other process, measured elsewhere: all times are ns since began_ns, not ticks
---@field began_ns? integer CLOCK_REALTIME of ns 0; 0: not known

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

--- A location, on which one thread records, into a log in the trace's folder until `close`.
---@param name string
---@param process? string of this process; only if the trace is of another process than this one
---@return pmlua.TraceLocation? location, pmlua.Failure? failure, string? code
function Trace:location(name, process) end

--- Counts of recorded and dropped events.
---@return pmlua.TraceStats stats
function Trace:stats() end

---@class pmlua.TraceStats
---@field written integer recorded
---@field dropped integer because the log could not grow
---@field lifted integer whose time went back: recorded with the time before
---@field unmatched integer leaves without an enter, and enters that were open at the end

--- Record sections, intercepted calls and all other events, each thread on a separate location. Until `detach` or `close`
--- they are in a log in the trace's folder, so they survive however the process ends.
---@return boolean? done, pmlua.Failure? failure, string? code
function Trace:attach() end

--- Stop recording them, and write them to the trace, which takes some 200 ns an event.
---@return integer? unrecorded events whose values are not metrics of the trace
---@return pmlua.Failure? failure, string? code
function Trace:detach() end

--- Write the series that a metric plugin has measured so far, each on a separate location.
---@param plugin pmlua.Plugin
---@param since? integer ticks; older values are left out
---@return integer? written how many values
---@return pmlua.Failure? failure, string? code
function Trace:plugin(plugin, since) end

--- Write everything and close the archive. This can fail, for example on a full disk, and then returns the failure, unlike
--- other handles' close().
---@return boolean? done, pmlua.Failure? failure, string? code
function Trace:close() end

--- A thread in the archive. Times are ticks of `pml.clock`, never decreasing within a location; nil means now.
---@class pmlua.TraceLocation
local TraceLocation = {}

--- Enter a region. 35 instructions of C.
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

--- Release the handle; recorded events stay.
function TraceLocation:close() end

--- A reader of an archive.
---
---     local t <close> = assert(pml.trace.open "trace-folder/traces.otf2")
---     for _, r in ipairs((assert(t:group { by = { "region", "process" }, where = { region = "a*" } }))) do
---       print(r.process, r.region, r.calls, r.exclusive_s)
---     end
---@class pmlua.TraceReader: pmlua.Handle
local TraceReader = {}

--- The archive's general properties.
---@return pmlua.TraceAbout about
function TraceReader:about() end

---@class pmlua.TraceAbout
---@field creator string
---@field machine string
---@field ticks_per_second integer
---@field first_tick integer of the clock, where the trace begins
---@field length_s number
---@field began_ns? integer CLOCK_REALTIME
---@field events integer of all locations
---@field regions integer
---@field processes integer
---@field locations integer
---@field metrics integer
---@field hosts integer nodes of the system tree that processes hang on, or that share memory
---@field ranks integer of MPI; 0: none

--- Regions in the order of their numbers in the archive.
---@return { name: string, file: string?, line: integer?, paradigm: string?, role: string?, kind: string? }[] regions
--- role: of OTF2, such as "implicit barrier"; kind: such as "library"; in other tools' traces the paradigm
function TraceReader:regions() end

--- Location groups.
---@return { name: string, host: string?, rank: integer?, node: integer? }[] processes node: of system()
function TraceReader:processes() end

--- Threads, and other streams of events.
---@return { name: string, process: integer, events: integer }[] locations
function TraceReader:locations() end

--- The system tree: machines, hosts and what else the archive has.
---@return { name: string, kind: string?, parent: integer? }[] nodes parent: of this list
function TraceReader:system() end

--- Groups of locations, regions, metrics or ranks.
---@return { name: string, kind: string?, paradigm: string?, members: integer[] }[] groups members: the archive's numbers
function TraceReader:groups() end

--- Communicators, in the order of their numbers in the archive.
---@return { name: string, id: integer, group: integer?, remote_group: integer?, parent: integer? }[] communicators id: that of
---  events; group: of groups(); remote_group: the other one of an inter-communicator
function TraceReader:communicators() end

--- Properties of nodes, processes and locations.
---@return { name: string, value: string, of: "node"|"process"|"location", number: integer? }[] properties
function TraceReader:properties() end

--- Corrections of clocks that the archive has, which all times include. Opens a file for each location with events.
---@return { location: integer, offsets: integer, least_s: number, most_s: number }[] clocks of locations that have some
function TraceReader:clocks() end

--- Metrics in the order of their numbers in the archive.
---@return pmlua.TraceMetricDefinition[] metrics
function TraceReader:metrics() end

---@class pmlua.TraceMetricDefinition
---@field name string
---@field description? string
---@field unit? string
---@field scope? string what the metric is recorded for, such as "node:host1"; the name contains it: "power (node:host1)"
---@field scale number of a value, to the unit
---@field accumulated boolean values count up; else each value is independent

--- Call a function for each event. One table per kind is reused for all events: copy what must survive the call.
--- Until it returns, this reader cannot read events otherwise. With order = "time", each location that has more events than
--- the reader holds in memory (1024, with many locations 4 to 1024; all, if the trace has at most 4 million) needs an open file
--- and a buffer of libotf2; EMFILE if this exceeds the limit of open files. With order = "location", only one location is open.
---
---     local t <close> = assert(pml.trace.open "trace-folder/traces.otf2")
---     assert(t:each(function(e) print(e.time_s, e.kind, e.region) end, { order = "time", where = { kinds = { "enter" } } }))
---@param f fun(event: pmlua.TraceEvent): boolean? false: stop reading
---@param question? { order: ("location"|"time")?, where: pmlua.TraceEventWhere? } order: "location"
---@return integer? events how many the function got
---@return integer|pmlua.Failure? damaged locations whose events are missing from a damage or a cut on, or all
---@return string? code
function TraceReader:each(f, question) end

---@class pmlua.TraceEventWhere: pmlua.TraceWhere the pattern of regions applies to enters and leaves only
---@field kinds? pmlua.TraceEventKind[] nil: all

--- team_begin, team_end: a thread joins or leaves a team; other: a record type that has no kind here.
---@alias pmlua.TraceEventKind "enter"|"leave"|"send"|"receive"|"collective"|"metric"|"team_begin"|"team_end"|"request"|"notify"
---  |"lock"|"other"

---@class pmlua.TraceEvent
---@field kind pmlua.TraceEventKind
---@field time_s number since the beginning
---@field location integer of locations()
---@field process integer of processes()
---@field rank? integer
---@field region? string enter, leave
---@field number? integer of regions(); of metrics()
---@field to? integer send: of processes(); nil: not defined
---@field from? integer receive: of processes(); nil: not defined
---@field bytes? integer send, receive
---@field tag? integer send, receive
---@field communicator? integer send, receive, collective, team_begin, team_end: its number in the archive
---@field operation? string collective, such as "bcast"
---@field root? integer collective: of processes(); nil: it has no root
---@field members? integer collective: ranks of its communicator; of a team: its threads; 0: not known
---@field sent_bytes? integer collective
---@field received_bytes? integer collective
---@field metric? string its name
---@field value? number
---@field what? string request: "receive posted", "send complete" or "collective begun"; lock: "requested", "acquired" or
---  "released"
---@field window? integer notify, lock, collective on a window: its number in the archive
---@field process_there? integer notify: the partner; lock: the target; nil: all
---@field exclusive? boolean lock: requested, acquired
---@field record? string other: OTF2's name of it, such as "ThreadFork"

--- Calls, times and messages, summed in C by several threads: some 30 ns for each event, memory for locations and rows.
--- Times are the parts in the window; calls are those that began in it. A region inside itself adds to inclusive time once;
--- rows that are not by region have the inclusive time of calls that are inside no other call asked for.
---
---     t:group { by = { "region", "rank" }, where = { window = { 1.2, 3.4 } }, sum = { "exclusive", "count" },
---               quantiles = { 0.5, 0.99 } }
---     t:group { by = { "location", "region", "column" }, columns = 200, sum = { "exclusive" } }     -- a timeline
---@param question? pmlua.TraceGroupQuestion
---@return pmlua.TraceRow[]? rows by process, location, column and region; nil: refused
---@return pmlua.TraceOddities|pmlua.Failure? oddities, string? code
function TraceReader:group(question) end

---@class pmlua.TraceGroupQuestion
---@field by? ("region"|"process"|"rank"|"location"|"column")[] { "region" }; process and rank are the same
---@field where? pmlua.TraceWhere
---@field columns? integer divide the window into this many equal parts, each evaluated as a separate window
---@field sum? ("count"|"inclusive"|"exclusive"|"bytes"|"shortest"|"longest"|"first"|"last")[] which fields rows have;
--- all but bytes, first and last
---@field quantiles? number[] of the durations of calls, from 0 to 1; a sketch of 24 KB for each row
---@field threads? integer reading threads; default: the number of cpus, for few events one

---@class pmlua.TraceWhere
---@field window? number[] { FROM, TO } in seconds since the beginning
---@field region? string a pattern of names, such as MPI_*
---@field kind? string kinds of regions, separated by commas, such as mpi,library
---@field process? integer|integer[] of processes()
---@field rank? integer|integer[] of MPI_COMM_WORLD
---@field location? integer|integer[] of locations()

---@class pmlua.TraceRow
---@field region? string its name
---@field number? integer of regions(), which may have a name twice
---@field process? integer of processes()
---@field rank? integer of that process
---@field location? integer of locations()
---@field column? integer from 1
---@field calls? integer
---@field unreturned? integer of them, that were open at the end or when an outer call returned
---@field inclusive_s? number
---@field exclusive_s? number
---@field least_s? number the shortest call that lies in the window
---@field most_s? number the longest one
---@field most_began_s? number when that began, since the beginning of the trace
---@field most_location? integer where
---@field first_s? number when the first call began
---@field last_s? number when the last call that lies in the window ended
---@field sent? integer messages sent by calls, each counted for the innermost selected call
---@field sent_bytes? integer including collective operations
---@field received? integer
---@field received_bytes? integer
---@field quantiles? number[] durations in seconds, in the order of the question; nil: no call lies in the window
---@field quantile_error? number largest error, as a share of the duration

---@class pmlua.TraceOddities
---@field events integer enters and leaves that were read
---@field unmatched integer leaves without an enter, and enters that an outer leave ended
---@field backward integer events earlier than their predecessor, which get its time
---@field unknown integer events of undefined regions, which are left out
---@field outside integer messages outside all selected calls, which are in no row by region or path
---@field damaged integer locations that are damaged or cut, whose events are missing from there on, or all
---@field undefined integer locations that lack their file of definitions, whose events are left out
---@field lost integer events that the definitions count but that were not read
---@field uncounted integer events that were read in excess of the definitions' counts
---@field kinds table<string, integer> events that were read, by OTF2's name of their kind

--- Messages of MPI, by sender and receiver.
---@param question? { where: pmlua.TraceWhere?, top: integer? } a pattern of regions is ignored; top: at most this many pairs,
---  by bytes, most first
---@return { from: integer, to: integer, messages: integer, bytes: integer }[]? pairs of processes()
---@return integer|pmlua.Failure? unknown messages whose receiver is not defined
---@return integer|string? pairs that there are, or the code of a failure
function TraceReader:messages(question) end

--- Calls and times by call path over the selected locations, as a single tree or as one tree per rank or location. With a
--- pattern of regions, paths contain only matching regions; time in other regions counts for the enclosing call. Memory grows
--- with paths, not with events.
---@param question? pmlua.TracePathQuestion
---@return pmlua.TracePath[]? paths depth first: a parent comes before its children
---@return pmlua.TraceOddities|pmlua.Failure? oddities, string? code
function TraceReader:paths(question) end

---@class pmlua.TracePathQuestion
---@field by? ("process"|"rank"|"location")[] {}
---@field where? pmlua.TraceWhere
---@field sum? string[] as of group
---@field quantiles? number[]
---@field threads? integer

---@class pmlua.TracePath: pmlua.TraceRow
---@field parent? integer of the list; nil: outermost

--- Metrics whose names match a pattern, resampled to equal parts of the window, 100 if columns does not say. Memory for
--- metrics, locations and columns.
---@param question? { metric: string?, columns: integer?, where: pmlua.TraceWhere?, threads: integer? }
---@return pmlua.TraceSeries[]? series by location and metric
---@return pmlua.TraceColumns|pmlua.Failure? columns, string? code
function TraceReader:series(question) end

---@class pmlua.TraceSeries
---@field metric string
---@field unit string
---@field accumulated boolean values count up
---@field number integer of metrics()
---@field location integer of locations()
---@field process integer of processes()
---@field rank? integer
---@field values (number|false)[] the value at the end of each column; false: none yet, or no number
---@field least (number|false)[] of the numbers in the column; false: none
---@field most (number|false)[]
---@field counts integer[] values in the column

---@class pmlua.TraceColumns
---@field from_s number where the first begins
---@field step_s number
---@field undefined? integer series: values of metrics without a definition, which are left out
---@field nans? integer series: values that are no numbers
---@field spent_s? table<integer, number> concurrency: how long so many locations were in such calls, from 0 on

--- The number of locations that are in a selected call at the same time. Calls that do not return last until the end of the
--- window. Reads all events before it in the order of time, which needs an open file and a buffer for each location.
---@param question? { columns: integer?, where: pmlua.TraceWhere? } columns: 100
---@return { mean: number, least: integer, most: integer }[]? levels of each column
---@return pmlua.TraceColumns|pmlua.Failure? columns, string? code
function TraceReader:concurrency(question) end

--- Write events in the form of a viewer or of a table, one location after another. Calls are cut at the window and at their
--- location's last event. Memory for regions, metrics and channels of messages, not for events; 0.1 to 0.3 µs for each.
---
---     local t <close> = assert(pml.trace.open "trace-folder/traces.otf2")
---     local file <close> = assert(io.open("trace.pftrace", "w"))
---     print(assert(t:export("perfetto", file)).calls)
---@param form "perfetto"|"speedscope"|"csv" csv: without its first line, which names the columns
---@param file file* open for writing
---@param question? { where: pmlua.TraceWhere? }
---@return pmlua.TraceExport? written, pmlua.Failure? failure, string? code
function TraceReader:export(form, file, question) end

---@class pmlua.TraceExport
---@field calls integer
---@field messages integer that were sent
---@field metrics integer values
---@field unmatched integer leaves without an enter, and enters that an outer leave ended
---@field unlinked integer sends and receives whose other end is unknown
