-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/job_tables.lua - the tables of a job of MPI: how its load was balanced, and what it moved.
--
-- Try:  mpirun -n 4 pmlua record -o out -- ./solver; pmlua report out

local sections = require "pmlua.sections"
local tabulate = require "pmlua.tabulate"
local units = require "pmlua.internal.report.units"
local view = require "pmlua.internal.live.view"
local waits = require "pmlua.internal.report.waits"

local M = {}

local FUNCTIONS <const>, PAIRS <const>, PATHS <const> = 15, 10, 30 -- lines of a table

-- No rank leaves one of these before the last has come.
local meet = {}
for _, name in ipairs { "Barrier", "Allreduce", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw",
  "Reduce_scatter", "Reduce_scatter_block" } do meet["MPI_" .. name] = true end

function M.is_mpi(row) return row.detail == "" and row.label:find "^MPI_" ~= nil end

--- The time of a row, averaged over all ranks of the job.
function M.average(row, job) return row.time.sum / job.size end

--- The most of a rank over the average; nil: nothing to balance.
local function ratio(spread, job) return spread.sum > 0 and spread.max / (spread.sum / job.size) or nil end

function M.imbalance(row, job) return ratio(row.time, job) end

--- A lower bound on the time that ranks waited in a function for the last one: the sum of their times above the minimum.
function M.waited(row) return meet[row.label] and row.time.sum - row.time.n * row.time.min or nil end

--- Does the summary have times of messages by size?
function M.has_times(job)
  for _, way in pairs(job.sizes) do
    for _, of in pairs(way) do
      if of.time then return true end
    end
  end
  return false
end

function M.lined_up(title, rows, left)
  local right = {}
  for i = 1, #rows[1] do right[i] = i > left end
  return #rows > 1 and "\n" .. title .. "\n" .. view.plain(rows, right) or ""
end

-- ---- tables ----

local function balance(row, job)
  local most = ratio(row.time, job)
  return { ("%d"):format(row.calls.n), units.time(M.average(row, job)), units.time(row.time.max),
    most and ("%d"):format(row.time.most) or "-", most and ("%.3f"):format(most) or "-" }
end

local heads = { "CALLS", "AVERAGE", "MOST", "OF RANK", "MAX/AVG" }

local function table_of_sections(job)
  local rows = { { "SECTION", table.unpack(heads) } }
  for _, row in ipairs(job.sections) do
    local type = row.detail ~= "" and ", " .. row.detail or "" -- ranks disagree
    rows[#rows + 1] = { sections.show(row.label) .. type .. (row.inclusive and " (*)" or ""), table.unpack(balance(row, job)) }
  end
  return M.lined_up("Sections, time of a rank", rows, 1)
end

local function table_of_mpi(job)
  local rows = { { "FUNCTION", table.unpack(heads) } }
  table.insert(rows[1], "WAITING")
  for _, row in ipairs(job.calls) do
    if M.is_mpi(row) then
      rows[#rows + 1] = { row.label, table.unpack(balance(row, job)) }
      local wait = M.waited(row)
      table.insert(rows[#rows], wait and units.time(wait / job.size) or "-")
    end
  end
  if job.time and #rows > 2 then
    local all = balance(job.time, job)
    rows[#rows + 1] = { "all but Init", "", table.unpack(all, 2) }
    table.insert(rows[#rows], "")
  end
  return M.lined_up("Time in MPI, of a rank", rows, 1)
end

local function table_of_functions(job)
  local rows = { { "LIBRARY", "FUNCTION", table.unpack(heads) } }
  local more = 0
  for _, row in ipairs(job.calls) do
    if M.is_mpi(row) then goto continue end
    if #rows > FUNCTIONS then more = more + 1 goto continue end
    local library = row.label:find "^omp " and "OpenMP" or sections.show(row.detail):match "[^/]*$"
    rows[#rows + 1] = { library, sections.show(row.label), table.unpack(balance(row, job)) }
    ::continue::
  end
  return M.lined_up("Calls of libraries, time of a rank", rows, 2)
    .. (more > 0 and ("and %d more; --json lists all\n"):format(more) or "")
end

--- Calls inside calls; without any, the table of functions is enough.
local function table_of_paths(job)
  local rows, nested, more = { { "CALL PATH", "CALLS", "LEAST", "OF RANK", "MEAN", "MOST", "OF RANK" } }, false, 0
  for _, p in ipairs(job.paths) do
    nested = nested or p.depth > 0
    if #rows > PATHS then more = more + 1 goto continue end
    local s = p.spread
    rows[#rows + 1] = { ("  "):rep(p.depth) .. sections.show(p.name), ("%d"):format(p.calls), units.time(s.least_ns),
      ("%d"):format(s.least_rank), units.time(s.mean_ns), units.time(s.most_ns), ("%d"):format(s.most_rank) }
    ::continue::
  end
  if not nested then return "" end
  return M.lined_up("Call paths, time of a rank", rows, 1)
    .. (more > 0 and ("and %d more; --json lists all\n"):format(more) or "")
end

local function size_of(bits)
  if bits == 0 then return "0" end
  local least, most = 1 << (bits - 1), (1 << bits) - 1
  return least == most and ("%d"):format(least) or ("%d - %d"):format(least, most)
end

--- The cells of a class of sizes in a direction.
local function cells_of_size(of, timed)
  of = of or { messages = 0, bytes = 0 }
  local cells = { ("%d"):format(of.messages), units.scaled(of.bytes, "B") }
  if timed then cells[3] = of.time and units.time(of.time) or "-" end
  return cells
end

--- Times are of calls with a message of that size, of all ranks; the trace has them.
local function table_of_sizes(job)
  local timed = M.has_times(job)
  local rows = { timed and { "BYTES", "SENT", "SENT DATA", "TIME", "RECEIVED", "RECEIVED DATA", "TIME" }
    or { "BYTES", "SENT", "SENT DATA", "RECEIVED", "RECEIVED DATA" } }
  for bits = 0, 64 do
    local sent, received = job.sizes.sent[bits], job.sizes.received[bits]
    if sent or received then
      local row = table.move(cells_of_size(sent, timed), 1, 3, 2, { size_of(bits) })
      rows[#rows + 1] = table.move(cells_of_size(received, timed), 1, 3, #row + 1, row)
    end
  end
  return M.lined_up("Messages by size" .. (timed and ", time of all ranks" or ""), rows, 1)
end

local function table_of_collectives(job)
  local rows = { { "OPERATION", "CALLS", "SENT DATA", "RECEIVED DATA" } }
  for _, c in ipairs(job.collectives) do
    rows[#rows + 1] = { c.operation, ("%d"):format(c.calls), units.scaled(c.sent, "B"), units.scaled(c.received, "B") }
  end
  return M.lined_up("Collective operations", rows, 1)
end

local function table_of_files(job)
  local rows = { { "FUNCTION", "CALLS", "DATA", "MOST", "OF RANK" } }
  for _, f in ipairs(job.files) do
    rows[#rows + 1] = { f["function"], ("%d"):format(f.calls), units.scaled(f.bytes, "B"), units.scaled(f.most, "B"),
      ("%d"):format(f.most_rank) }
  end
  return M.lined_up("Data of files", rows, 1)
end

local function ranks_of(block, job)
  local first, last = block * job.block, math.min((block + 1) * job.block, job.size) - 1
  return first == last and ("%d"):format(first) or ("%d-%d"):format(first, last)
end

local function table_of_pairs(job)
  local most = table.move(job.pairs, 1, #job.pairs, 1, {})
  table.sort(most, require "pmlua.internal.order".by("-bytes", "from", "to"))
  local rows = { { "FROM", "TO", "MESSAGES", "DATA" } }
  for i = 1, math.min(#most, PAIRS) do
    local p = most[i]
    rows[#rows + 1] = { ranks_of(p.from, job), ranks_of(p.to, job), ("%d"):format(p.messages), units.scaled(p.bytes, "B") }
  end
  return M.lined_up("Messages between ranks", rows, 0) .. (#most > PAIRS
    and ("and %d more pairs; --plot draws all\n"):format(#most - PAIRS) or "")
end

local function number(v) return tabulate.number(v and (math.tointeger(v) or v)) end

--- The cells of a count: its sum, and its spread over ranks.
local function spread(v, job)
  local most = ratio(v.spread, job)
  return { number(v.sum), number(v.spread.sum / job.size), number(v.spread.min),
    ("%d"):format(v.spread.least), number(v.spread.max), ("%d"):format(v.spread.most),
    most and ("%.3f"):format(most) or "-" }
end

local spread_heads = { "SUM", "AVERAGE", "LEAST", "OF RANK", "MOST", "OF RANK", "MAX/AVG" }

--- Whether the value is a counted event, not a figure of the section itself.
function M.is_event(value) return value.name:sub(1, 1) ~= " " end

local function table_of_events(job)
  local rows = { { "SECTION", "EVENT", table.unpack(spread_heads) } }
  for _, row in ipairs(job.sections) do
    for _, v in ipairs(row.values) do
      if M.is_event(v) then
        rows[#rows + 1] = { sections.show(row.label), sections.show(v.name), table.unpack(spread(v, job)) }
      end
    end
  end
  return M.lined_up("Events in sections", rows, 2)
end

--- Where a section keeps no durations in some ranks, or they were lost, the rest of its calls is not in its quantiles.
local function table_of_durations(job)
  local rows = { { "SECTION", "CALLS", "MIN", "OF RANK", "Q1", "MEDIAN", "Q3", "95 %", "99 %", "MAX", "OF RANK" } }
  for _, row in ipairs(job.sections) do
    local q, of = row.quantiles, row.calls
    if q then
      local n = row.quantiles_of < of.n and ("%d of %d"):format(row.quantiles_of, of.n) or ("%d"):format(of.n)
      rows[#rows + 1] = { sections.show(row.label), n, units.time(of.min), ("%d"):format(of.least), units.time(q[2]),
        units.time(q[3]), units.time(q[4]), units.time(q[5]), units.time(q[6]), units.time(of.max), ("%d"):format(of.most) }
    end
  end
  return M.lined_up("Durations of calls, of all ranks, to 2 %", rows, 1)
end

--- Levels of several ranks have no sum.
local function table_of_counters(job)
  local rows = { { "COUNTER", table.unpack(spread_heads) } }
  for _, row in ipairs(job.counters) do
    local of = spread(row.values[1], job)
    if row.detail == "level" then of[1] = "-" end
    rows[#rows + 1] = { sections.show(row.label), table.unpack(of) }
  end
  return M.lined_up("Counters of the ranks", rows, 1)
end

local function table_of_recorders(job)
  local rows = { { "RECORDER", "ELEMENTS", "MIN", "OF RANK", "Q1", "MEDIAN", "Q3", "99 %", "MAX", "OF RANK" } }
  for _, row in ipairs(job.recorders) do
    local of, q = row.calls, row.quantiles
    rows[#rows + 1] = { sections.show(row.label), ("%d"):format(row.values[1].sum), q and number(of.min) or "-",
      q and ("%d"):format(of.least) or "-", number(q and q[2]), number(q and q[3]), number(q and q[4]), number(q and q[6]),
      q and number(of.max) or "-", q and ("%d"):format(of.most) or "-" }
  end
  return M.lined_up("Recorders, elements of all ranks", rows, 1)
end

--- All tables of a job.
function M.text(job)
  return table_of_sections(job) .. table_of_durations(job) .. table_of_events(job) .. table_of_mpi(job) .. waits.text(job.waits)
    .. table_of_functions(job) .. table_of_paths(job) .. table_of_counters(job) .. table_of_recorders(job)
    .. table_of_sizes(job) .. table_of_collectives(job) .. table_of_files(job) .. table_of_pairs(job)
end

return M
