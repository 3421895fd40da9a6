-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/core_to_core.lua - how long a cache line takes from one cpu to another, for each two cpus.
--
-- Try:  pmlua scripts/core_to_core.lua --quick
--
-- A thread on each of two cpus; one stores a number, the other waits for it and stores the next. A sample is half of the
-- time of a trip to and fro, the mean of a batch. One pair at a time.

local pml = require "pmlua"
local choice = require "core_to_core.choice"
local laboratory = require "core_to_core.lab"
local tabulate = require "pmlua.tabulate"

-- --- matrix.dat, order.dat, and the matrix on the terminal ---

local SHOWN = 16 -- cpus of a matrix on the terminal
local MOVED = 1.5 -- medians of rounds that differ by more are of different places

-- Both ways: a trip to and fro does not tell them apart.
local function matrix_table(run, cpus)
  local place, rows = {}, {}
  for i, cpu in ipairs(cpus) do place[cpu] = i - 1 end
  for _, cell in ipairs(run.cells) do
    local from, to = laboratory.cpus(cell.p.pair)
    local s = cell.summary
    for _, way in ipairs(s and { { from, to }, { to, from } } or {}) do
      rows[#rows + 1] = { way[1], way[2], s.median, s.median_lo, s.median_hi, place[way[1]], place[way[2]] }
    end
  end
  return { columns = {
    { "from", "", "cpu" }, { "to", "", "cpu" }, { "latency", "ns", "one way, median" },
    { "low", "ns", "of its 95 % interval" }, { "high", "ns", "of its 95 % interval" },
    { "column", "", "of the matrix" }, { "row", "", "of the matrix" },
  }, rows = rows }
end

local function order_table(run)
  local list, rows = {}, {}
  for _, cell in ipairs(run.cells) do
    if cell.summary then list[#list + 1] = cell end
  end
  table.sort(list, function(a, b) return a.summary.median < b.summary.median end)
  for rank, cell in ipairs(list) do
    local s = cell.summary
    rows[rank] = { rank, cell.p.pair, s.median, s.median_lo, s.median_hi, s.q1, s.q3 }
  end
  return { columns = {
    { "rank", "", "by latency" }, { "pair", "text", "of cpus" }, { "latency", "ns", "one way, median" },
    { "low", "ns", "of its 95 % interval" }, { "high", "ns", "of its 95 % interval" }, { "q1", "ns", "lower quartile" },
    { "q3", "ns", "upper quartile" },
  }, rows = rows }
end

local function shown(t, cpus)
  local names, rows = { "cpu" }, {}
  for i, cpu in ipairs(cpus) do
    names[i + 1], rows[i] = tostring(cpu), { cpu }
    for k in ipairs(cpus) do rows[i][k + 1] = "-" end
  end
  for _, row in ipairs(t.rows) do rows[row[6] + 1][row[7] + 2] = row[3] end
  return tabulate(names, rows, 1)
end

-- The pair whose rounds differ most, if they do.
local function warn_of_moves(run)
  local worst, text = MOVED, nil
  for _, cell in ipairs(run.cells) do
    local least, most = math.huge, 0
    for _, round in ipairs(cell.rounds) do least, most = math.min(least, round.median), math.max(most, round.median) end
    if most > worst * least then
      worst = most / least
      text = ("cpus %s: %.0f to %.0f ns in different rounds: other programs run there, or the host moves virtual cpus"):format(
        cell.p.pair, least, most)
    end
  end
  if text then run:warn(text) end
end

---@param all integer cpus of this process
local function write_report(run, cpus, all)
  local t = matrix_table(run, cpus)
  run:write_table("matrix.dat", t)
  run:write_table("order.dat", order_table(run))
  if #t.rows > 0 and #cpus <= SHOWN then
    run:say("\nTime of a cache line from one cpu to another [ns]\n" .. shown(t, cpus))
  end
  warn_of_moves(run)
  if #cpus == 1 then run:warn "one cpu: an exchange needs two; nothing was measured" end
  if #cpus < all and #cpus > 1 then run:warn(("%d of the %d cpus were measured; choose with --cpus"):format(#cpus, all)) end
end

local MOST = 64 -- cpus, unless they are chosen: 2016 pairs
local lab, cpus, all

local function prepare(options)
  local allowed = pml.sys.affinity()
  all = #allowed
  local err
  cpus = table.move(allowed, 1, math.min(MOST, all), 1, {})
  if options.cpus then cpus, err = choice(options.cpus, allowed) end
  if not cpus then error("option --cpus: " .. err, 0) end
  lab = assert(laboratory.new { trips = options.trips, patience = options.patience })
  return { { "pair", laboratory.pairs(cpus) } }
end

return pml.experiment {
  name = "core_to_core",
  description = [[
Latency of a cache line from one cpu to another, for each two cpus of this process, by exchanges between two pinned threads. A
sample is half of a trip to and fro, the mean of a batch of trips. A pair whose cpus do not run at the same time is given up
after --patience, and its row says so.]],
  factors = prepare,
  constraints = function() return #cpus > 1 or "one cpu: an exchange needs two" end,
  help = { pair = "of cpus" },
  unit = "ns",
  repeats = 300,
  rounds = 6,
  warmup = 0,
  quick = { repeats = 20, rounds = 1 },
  options = {
    { name = "cpus", metavar = "LIST", help = ("cpus and ranges of them, such as 0-3,8; otherwise the first %d"):format(MOST) },
    { name = "trips", type = "integer", metavar = "N", min = 1, default = 200, help = "to and fro, of a sample" },
    { name = "patience", type = "integer", metavar = "S", min = 1, default = 5,
      help = "seconds that a round of a pair may take" },
  },
  examples = { "pmlua scripts/core_to_core.lua --quick", "pmlua scripts/core_to_core.lua --cpus 0-3,8" },
  measure = function(_, p, n) return lab:measure(p.pair, n) end,
  columns = {
    { name = "shared", unit = "text", description = "what the cpus share, by the kernel: core, package or machine",
      value = function(cell) return laboratory.shared(cell.p.pair) end },
  },
  analyse = function(run) write_report(run, cpus, all) end,
  plot = "core_to_core",
}
