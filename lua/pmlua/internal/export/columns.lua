-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/export/columns.lua - the columns of each table that pmlua export writes.
--
-- Try:  pmlua export DIR --table calls --columns

local M = {}

---@class pmlua.export.Column
---@field name string with its unit where it has one
---@field type string integer, real, text or boolean
---@field unit string "" for what is counted and for names
---@field about string

local process = [[
rank         integer -    of MPI; null without MPI
host         text    -    where the process ran
pid          integer -    process
]]

local of_function = process .. [[
library      text    -    file name of the library, MPI or OpenMP
function     text    -    name of the function or of the construct
]]

local quantiles = [[
min_ns       real    ns   shortest call that returned, as the next six with what is called inside; null: none returned
q1_ns        real    ns   25 %, to half a bucket (6 %)
median_ns    real    ns   50 %
q3_ns        real    ns   75 %
p95_ns       real    ns   95 %
p99_ns       real    ns   99 %
max_ns       real    ns   longest call that returned
]]

--- The tables of logs and jobs, in the order of a database. A trace is one table, `trace`.
M.NAMES = { "sections", "processes", "events", "calls", "functions", "values", "openmp", "totals", "messages", "pairs",
  "collectives", "files" }

local texts = {
  sections = process .. [[
thread       integer -    number of the thread in its process; 0: several that ended long ago
section      text    -    label of the section
interface    text    -    the annotation interface that named it, such as Kokkos; empty: a section of pmlua
type         text    -    calculation or communication
exclusive    boolean -    the section contains no other
calls        integer -    that ended
running      integer -    that had not ended
time_ns      real    ns   in the section
self_ns      real    ns   in the section and in none that was started inside it
min_ns       real    ns   shortest call
max_ns       real    ns   longest call
mean_ns      real    ns   mean of all calls
stddev_ns    real    ns   standard deviation of the calls (n - 1)
work         real    -    operations, of a communication bytes
iterations   integer -    as the program stated
torn         boolean -    the last call may be missing: its stop was in progress
]],
  processes = process .. [[
size         integer -    number of ranks
command      text    -    the program and its arguments
started_ns   integer ns   CLOCK_REALTIME when pmlua was first used
written_ns   integer ns   CLOCK_REALTIME of the end, or of the last that was written
ended        text    -    exit, or unknown: killed, crashed or still running
threads      integer -    that were in a section
missing      integer -    parts that a log which was cut short lacks
]],
  events = process .. [[
event        text    -    software-defined event, LIBRARY::EVENT
kind         text    -    kind of the counter, or recorder
value        real    -    value of a counter; number of a recorder's elements
as_of_ns     integer ns   after the start, when the value was read; null: it is exact
dropped      integer -    elements that found no room
min          real    -    of the elements, as are the quantiles
q1           real    -    25 %
median       real    -    50 %
q3           real    -    75 %
p95          real    -    95 %
p99          real    -    99 %
max          real    -    largest
]],
  calls = process .. [[
thread       integer -    number of the thread in its process, from 1 on; 0: all that ended
path         integer -    number of the call path in its thread, from 1 on
parent       integer -    path of the call around it; null: no recorded call is
depth        integer -    calls around it
library      text    -    file name of the library, MPI or OpenMP
function     text    -    name of the function or of the construct
outermost    boolean -    it is inside no call of the same function
calls        integer -    that began
unreturned   integer -    that did not return
inclusive_ns real    ns   with the calls inside; add up outermost rows
exclusive_ns real    ns   without the calls inside
min_ns       real    ns   shortest call that returned; null: none returned
max_ns       real    ns   longest call that returned
]],
  functions = of_function .. [[
calls        integer -    that began
unreturned   integer -    that did not return
inclusive_ns integer ns   with the calls inside; of a function in itself, the outer call
exclusive_ns integer ns   without the calls inside
]] .. quantiles,
  values = of_function .. [[
kind         text    -    event: counted in the function's own calls; value: an argument or a result that a wrapper records
name         text    -    of the event, the argument or the result
unit         text    -    of a plugin's metric
calls        integer -    that had the value; null for events
sum          real    -    of all calls
mean         real    -    null for events, as are the extremes
min          real    -    least
max          real    -    most
]],
  openmp = process .. [[
construct    text    -    name, with its source line where it is known
kind         text    -    parallel, for, barrier, critical, ...
runtime      text    -    OMPT, or calls of libgomp
thread       integer -    number of the thread in its team
threads      integer -    most that a team had
calls        integer -    of the thread
count        integer -    iterations, sections or tasks created; 0: not counted for this construct
time_ns      integer ns   in the construct
waited_ns    integer ns   of it, at barriers, for tasks or locks
]],
  totals = [[
kind         text    -    section or function
name         text    -    label of the section, or name of the function
library      text    -    of a function: its library; null: MPI
ranks        integer -    that had it
threads      integer -    of these ranks
calls        integer -    that ended
time_ns      real    ns   of all ranks
average_ns   real    ns   of a rank of the job
least_ns     real    ns   of the rank with the least
least_rank   integer -    that rank
most_ns      real    ns   of the rank with the most
most_rank    integer -    that rank
imbalance    real    -    most over average
waited_ns    real    ns   in collective operations: beyond the rank with the least; null for others
]],
  messages = [[
direction    text    -    sent or received
least_bytes  integer B    smallest message of the class
most_bytes   integer B    largest message of the class; null: no limit
messages     integer -    of all ranks
bytes        integer B    of all messages
time_ns      integer ns   of all ranks in the calls of these messages; null: no trace was recorded
]],
  pairs = [[
from_rank    integer -    first of the ranks that sent
from_last    integer -    last of them; large jobs are counted by blocks of ranks
to_rank      integer -    first of the ranks that received
to_last      integer -    last of them
messages     integer -    from these to those
bytes        integer B    of these messages
]],
  trace = [[
time_ns      integer ns   since the trace's beginning
process      integer -    number of the process in the trace, from 1 on
rank         integer -    of MPI; null without MPI
location     integer -    number of the thread or other location in the trace, from 1 on
kind         text    -    enter, leave, send, receive, collective, metric, team_begin, team_end, request, notify, lock or other
name         text    -    of the region, the metric or the operation; what happens to a request or lock; other: OTF2's record
peer         integer -    process at the other end of a message, or root of a collective operation
communicator integer -    its number in the trace
tag          integer -    of the message
sent_bytes   integer B    of the message, or by this rank in a collective operation
received_bytes integer B  likewise
value        real    -    of the metric, in its unit
]],
  collectives = [[
operation    text    -    barrier, bcast, ...
calls        integer -    of all ranks
sent_bytes   integer B    by all ranks
received_bytes integer B  by all ranks
]],
  files = [[
function     text    -    of MPI, as MPI_File_write_all
calls        integer -    of all ranks
bytes        integer B    read or written by all ranks
most_bytes   integer B    of the rank with the most
most_rank    integer -    that rank
]],
}

--- The columns of a table.
---@param name string of M.NAMES, or trace
---@return pmlua.export.Column[]
function M.of(name)
  local list = {}
  for column, kind, unit, about in texts[name]:gmatch "(%S+) +(%S+) +(%S+) +([^\n]+)" do
    list[#list + 1] = { name = column, type = kind, unit = unit ~= "-" and unit or "", about = about }
  end
  return list
end

return M
