-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/report/job_text.lua - a job of MPI as tables: how its load was balanced, and what it moved.
--
-- Try:  mpirun -n 4 pmlua record -o out -- ./solver; pmlua report out

local csv = require "pmlua.internal.cli.csv"
local json = require "pmlua.json"
local numbers = require "pmlua.internal.report.numbers"
local sections = require "pmlua.sections"
local units = require "pmlua.internal.report.units"
local view = require "pmlua.internal.live.view"
local waits = require "pmlua.internal.report.waits"

local M = {}

local FUNCTIONS <const>, PAIRS <const>, PATHS <const> = 15, 10, 30 -- lines of a table

-- No rank leaves one of these before the last has come.
local meet = {}
for _, name in ipairs { "Barrier", "Allreduce", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw",
  "Reduce_scatter", "Reduce_scatter_block" } do meet["MPI_" .. name] = true end

local function is_mpi(row) return row.detail == "" and row.label:find "^MPI_" ~= nil end

local function average(row, job) return row.time.sum / job.size end

local function imbalance(row, job)
  return row.time.sum > 0 and row.time.max / average(row, job) or nil
end

--- What ranks wait in a function for the last one to come, at least: their time beyond that of the rank that had least.
local function waited(row)
  return meet[row.label] and row.time.sum - row.time.n * row.time.min or nil
end

local function plural(n, word) return ("%d %s%s"):format(n, word, n == 1 and "" or "s") end

local function lined_up(title, rows, left)
  local right = {}
  for i = 1, #rows[1] do right[i] = i > left end
  return #rows > 1 and "\n" .. title .. "\n" .. view.plain(rows, right) or ""
end

-- ---- tables ----

local function balance(row, job)
  local most = imbalance(row, job)
  return { ("%d"):format(row.calls.n), units.time(average(row, job)), units.time(row.time.max),
    most and ("%d"):format(row.time.most) or "-", most and ("%.3f"):format(most) or "-" }
end

local heads = { "CALLS", "AVERAGE", "MOST", "OF RANK", "MAX/AVG" }

local function table_of_sections(job)
  local rows = { { "SECTION", table.unpack(heads) } }
  for _, row in ipairs(job.sections) do
    rows[#rows + 1] = { sections.show(row.label) .. (row.inclusive and " (*)" or ""), table.unpack(balance(row, job)) }
  end
  return lined_up("Sections, time of a rank", rows, 1)
end

local function table_of_mpi(job)
  local rows = { { "FUNCTION", table.unpack(heads) } }
  table.insert(rows[1], "WAITING")
  for _, row in ipairs(job.calls) do
    if is_mpi(row) then
      rows[#rows + 1] = { row.label, table.unpack(balance(row, job)) }
      local wait = waited(row)
      table.insert(rows[#rows], wait and units.time(wait / job.size) or "-")
    end
  end
  return lined_up("Time in MPI, of a rank", rows, 1)
end

local function table_of_functions(job)
  local rows = { { "LIBRARY", "FUNCTION", table.unpack(heads) } }
  local more = 0
  for _, row in ipairs(job.calls) do
    if is_mpi(row) then goto continue end
    if #rows > FUNCTIONS then more = more + 1 goto continue end
    rows[#rows + 1] = { sections.show(row.detail):match "[^/]*$", sections.show(row.label), table.unpack(balance(row, job)) }
    ::continue::
  end
  return lined_up("Calls of libraries, time of a rank", rows, 2)
    .. (more > 0 and ("and %d more; --json lists all\n"):format(more) or "")
end

--- Calls inside calls; without these the functions say it all.
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
  return lined_up("Call paths, time of a rank", rows, 1) .. (more > 0 and ("and %d more; --json lists all\n"):format(more) or "")
end

local function size_of(bits)
  if bits == 0 then return "0" end
  local least, most = 1 << (bits - 1), (1 << bits) - 1
  return least == most and ("%d"):format(least) or ("%d - %d"):format(least, most)
end

local function table_of_sizes(job)
  local rows = { { "BYTES", "SENT", "DATA", "RECEIVED", "DATA" } }
  local none = { messages = 0, bytes = 0 }
  for bits = 0, 64 do
    local sent, received = job.sizes.sent[bits], job.sizes.received[bits]
    if sent or received then
      sent, received = sent or none, received or none
      rows[#rows + 1] = { size_of(bits), ("%d"):format(sent.messages), units.scaled(sent.bytes, "B"),
        ("%d"):format(received.messages), units.scaled(received.bytes, "B") }
    end
  end
  return lined_up("Messages by size", rows, 1)
end

local function table_of_collectives(job)
  local rows = { { "OPERATION", "CALLS", "SENT", "RECEIVED" } }
  for _, c in ipairs(job.collectives) do
    rows[#rows + 1] = { c.operation, ("%d"):format(c.calls), units.scaled(c.sent, "B"), units.scaled(c.received, "B") }
  end
  return lined_up("Collective operations", rows, 1)
end

local function ranks_of(block, job)
  local first, last = block * job.block, math.min((block + 1) * job.block, job.size) - 1
  return first == last and ("%d"):format(first) or ("%d-%d"):format(first, last)
end

local function table_of_pairs(job)
  local most = table.move(job.pairs, 1, #job.pairs, 1, {})
  table.sort(most, function(a, b)
    if a.bytes ~= b.bytes then return a.bytes > b.bytes end
    return a.from < b.from or a.from == b.from and a.to < b.to
  end)
  local rows = { { "FROM", "TO", "MESSAGES", "DATA" } }
  for i = 1, math.min(#most, PAIRS) do
    local p = most[i]
    rows[#rows + 1] = { ranks_of(p.from, job), ranks_of(p.to, job), ("%d"):format(p.messages), units.scaled(p.bytes, "B") }
  end
  return lined_up("Messages between ranks", rows, 0) .. (#most > PAIRS
    and ("and %d more pairs; --plot draws all\n"):format(#most - PAIRS) or "")
end

-- ---- notes ----

local function notes(job)
  local list = {}
  if not job.whole then list[#list + 1] = "MPI_Finalize left no summary: this is from the logs of the ranks" end
  if job.whole and #job.late > 0 then
    list[#list + 1] = ("%s not in the job's summary, merged from logs: %s; messages of these ranks are not counted"):format(
      plural(#job.late, "rank"), numbers.ranges(job.late))
  end
  if #job.gone > 0 then
    list[#list + 1] = ("%s missing, without a log that can be read: %s"):format(plural(#job.gone, "rank"),
      numbers.ranges(job.gone))
  end
  return list
end

local function head(job)
  local parts = {}
  for i, host in ipairs(job.hosts) do
    if i <= 4 then parts[i] = ("%s (%d)"):format(sections.show(host.name), host.ranks) end
  end
  if #job.hosts > 4 then parts[5] = ("%d more"):format(#job.hosts - 4) end
  return ("%s on %s: %s\n"):format(plural(job.size, "rank"), plural(#job.hosts, "host"), table.concat(parts, ", "))
end

-- ---- all ----

local function text(job)
  local parts = { head(job), table_of_sections(job), table_of_mpi(job), waits.text(job.waits), table_of_functions(job),
    table_of_paths(job), table_of_sizes(job), table_of_collectives(job), table_of_pairs(job) }
  local list = notes(job)
  if #list > 0 then parts[#parts + 1] = "\n" .. table.concat(list, "\n") .. "\n" end
  return table.concat(parts)
end

local function row_of(row, job)
  return { name = row.label, library = row.detail ~= "" and row.detail or nil, ranks = row.processes, threads = row.threads,
    calls = row.calls.n, total_ns = row.time.sum, average_ns = average(row, job),
    most_ns = row.time.max, most_rank = row.time.most, least_ns = row.time.min, least_rank = row.time.least,
    imbalance = imbalance(row, job), waited_ns = waited(row) }
end

local function rows_of(list, job)
  local rows = json.array()
  for i, row in ipairs(list) do rows[i] = row_of(row, job) end
  return rows
end

local function sizes_of(of)
  local list = json.array()
  for bits = 0, 64 do
    if of[bits] then
      list[#list + 1] = { least_bytes = bits > 0 and 1 << (bits - 1) or 0, messages = of[bits].messages, bytes = of[bits].bytes }
    end
  end
  return list
end

local function as_json(job)
  return json.encode { size = job.size, hosts = json.array(job.hosts), sections = rows_of(job.sections, job),
    calls = rows_of(job.calls, job), sent = sizes_of(job.sizes.sent), received = sizes_of(job.sizes.received),
    collectives = json.array(job.collectives), pairs = json.array(job.pairs), ranks_of_a_pair = job.block,
    waits = json.array(job.waits), paths = json.array(job.paths),
    late = json.array(job.late), missing = json.array(job.gone), notes = json.array(notes(job)) }
end

local columns = { "kind", "name", "library", "ranks", "threads", "calls", "total_ns", "average_ns", "most_ns", "most_rank",
  "least_ns", "least_rank", "imbalance", "waited_ns" }

local function as_csv(job)
  local rows = {}
  for kind, list in pairs { section = job.sections, call = job.calls } do
    for _, row in ipairs(list) do
      local r = row_of(row, job)
      r.kind = kind
      local line = {}
      for i, name in ipairs(columns) do line[i] = r[name] or "" end
      rows[#rows + 1] = line
    end
  end
  table.sort(rows, function(a, b) return a[1] > b[1] or a[1] == b[1] and a[7] > b[7] end)
  return csv.table(columns, rows)
end

--- A job as text, JSON or CSV.
---@param job pmlua.Job
---@param o { json: boolean?, csv: boolean? }
---@return string text
function M.format(job, o)
  if o.json then return as_json(job) end
  return o.csv and as_csv(job) or text(job)
end

return M
