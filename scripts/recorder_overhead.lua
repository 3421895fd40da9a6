-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/recorder_overhead.lua - what a push to a recorder costs, every push timed by itself.
--
-- Try:  pmlua scripts/recorder_overhead.lua --quick
--
-- After H. Jagode, A. Danalis, H. Anzt, J. Dongarra, PAPI software-defined events for in-depth performance analysis,
-- figure 7: record 16,384 doubles, and draw the distribution of the durations on logarithmic axes. In the paper the series
-- was one array that grew by realloc, with a spike of some microseconds at each growth. Here spikes are counted and located:
-- the recorder causes them at the same push in every round, the machine at any push. One and two threads push to the same
-- and to different recorders, beside PAPI's libsde if it is installed.

local statistics = require("pmlua.core").statistics
local command_line = require "pmlua.internal.cli.experiment"
local lists = require "pmlua.internal.lists"
local pml = require "pmlua"
local stats = require "pmlua.stats"
local tabulate = require "pmlua.tabulate"
local measure = require "recorder_overhead.measure"
local spikes = require "recorder_overhead.spikes"

-- --- write distribution.dat, spikes.dat, growth.dat, series.dat, and print the tables ---

local most_in_series = 1 << 16 -- per thread; the most that a figure can show

local function measured(run)
  return lists.filter(run.cells, function(cell) return cell.summary end)
end

-- From the shortest to the longest sample, in logarithmic bins; unlike histogram.dat, it leaves nothing out.
local function distribution(run, cells)
  local rows = {}
  for _, cell in ipairs(cells) do
    local counts, before, first, last = {}, 0, nil, nil
    for i, v in ipairs(cell.tally.value) do
      local bin = statistics.bucket(v)
      counts[bin] = (counts[bin] or 0) + cell.tally.upto[i] - before
      before, first, last = cell.tally.upto[i], first or bin, bin
    end
    if #rows > 0 then rows[#rows + 1] = false end
    for bin = first, last do
      rows[#rows + 1] = { cell.index, statistics.least(bin) * run.scale, statistics.least(bin + 1) * run.scale, counts[bin] or 0 }
    end
  end
  return { rows = rows, columns = {
    { "cell", "", "as in data.dat" }, { "low", run.unit, "lower end of the bin" },
    { "high", run.unit, "upper end of the bin, exclusive" }, { "count", "", "samples in the bin" },
  } }
end

local function series(run, lab, cells)
  local rows = {}
  for _, cell in ipairs(cells) do
    local last = lab.last[lab.key(cell.p)]
    local n = #last // cell.p.threads
    if #rows > 0 then rows[#rows + 1] = false end
    for i = 1, #last do
      local index = (i - 1) % n
      if index < most_in_series then rows[#rows + 1] = { cell.index, (i - 1) // n + 1, index, last[i] * run.scale } end
    end
  end
  return { rows = rows, columns = {
    { "cell", "", "as in data.dat" }, { "thread", "", "thread, from 1" }, { "index", "", "number of the push, from 0" },
    { "duration", run.unit, "duration in the last round; the first 65,536 pushes of a thread" },
  } }
end

local function spike_rows(run, lab, cells)
  local rows = {}
  for _, cell in ipairs(cells) do
    for _, s in ipairs((spikes.locate(run, lab, cell))) do
      rows[#rows + 1] = { cell.index, s.round, s.thread, s.index, s.value, s.rounds, s.cause }
    end
  end
  return { rows = rows, columns = {
    { "cell", "", "as in data.dat" }, { "round", "", "round" }, { "thread", "", "thread, from 1" },
    { "index", "", "number of the push, from 0" },
    { "duration", run.unit, "duration, longer than 10 medians of the cell and than 1 us" },
    { "rounds", "", "rounds with a spike at this push" },
    { "cause", "text", table.concat(spikes.causes, ", ") .. ": see recorder_overhead/spikes.lua" },
  } }
end

local function growth(lab, cells)
  local rows, seen = {}, {}
  for _, cell in ipairs(cells) do
    local p, n = cell.p, cell.rounds[1].extra.pushes
    local g = not seen[p.library .. p.keep] and lab:growth(p, n)
    for i = 0, g and n - 1 or -1 do
      if g[i] then rows[#rows + 1] = { p.library, p.keep, i, g[i] } end
    end
    if g then seen[p.library .. p.keep] = true end
  end
  return { rows = rows, columns = {
    { "library", "text", "library of the recorder" }, { "keep", "text", "all numbers or a sketch" },
    { "index", "", "number of the push of a thread, from 0" }, { "bytes", "", "bytes taken from the allocator" },
  } }
end

local function name_of(p)
  local library = p.library == "none" and "none (floor)" or p.library .. (p.keep == "sketch" and ", sketch" or "")
  return library, p.threads, p.threads == 1 and "one" or p.library == "none" and "-" or p.recorder
end

local function heading(run, text)
  run:say("\n" .. text)
end

local function costs(run, cells)
  local rows = {}
  for _, cell in ipairs(cells) do
    local library, threads, recorder = name_of(cell.p)
    local s = cell.summary
    local typical, net = spikes.typical(run, cell)
    rows[#rows + 1] = {
      library, threads, recorder, s and s.n, s and s.min, s and s.median, s and s.p99, s and s.max, typical, net,
      s and ("%.0f"):format(cell.derived[4]), cell.status,
    }
  end
  local u = (" [%s]"):format(run.unit)
  heading(run, "Table 1. Duration of one push, including two clock reads. Typical is the mean without spikes, which is finer"
    .. "\nthan the steps of the clock; the floor is that of two clock reads with nothing between them")
  run:say(tabulate({
    "library", "threads", "recorder", "pushes", "min" .. u, "median" .. u, "p99" .. u, "max" .. u, "typical" .. u,
    "above the floor" .. u, "overlap [%]", "status",
  }, rows, 1))
end

local function spike_table(run, lab, cells)
  local rows, names = {}, { "library", "threads", "recorder", ("above [%s]"):format(run.unit), "spikes", "per 16384" }
  table.move(spikes.causes, 1, #spikes.causes, #names + 1, names)
  names[#names + 1] = "fixed places"
  for _, cell in ipairs(cells) do
    local all, places = spikes.locate(run, lab, cell)
    local per, count = cell.summary.n / 16384, {}
    for _, s in ipairs(all) do count[s.cause] = (count[s.cause] or 0) + 1 end
    local row = table.pack(name_of(cell.p))
    table.move({ spikes.bound(cell), #all, #all / per }, 1, 3, 4, row)
    for _, c in ipairs(spikes.causes) do row[#row + 1] = count[c] and count[c] / per or 0 end
    row[#row + 1] = places
    rows[#rows + 1] = row
  end
  heading(run, ("Table 2. Spikes, that is, pushes longer than %d medians and 1 us, and their causes per 16,384 pushes: the"
    .. "\nrecorder grew, or touched a new page of its memory; another cause at the same push in more than half of the rounds;"
    .. "\nthe thread waited, or was preempted; the machine; unknown. Fixed places have a spike in more than half of the rounds")
    :format(spikes.medians))
  run:say(tabulate(names, rows, 1))
end

local function growth_table(run, lab, cells)
  local rows = {}
  for _, cell in ipairs(cells) do
    local taken = lab:growth(cell.p, cell.rounds[1].extra.pushes)
    local bytes, times, all = 0, 0, {}
    for _, b in pairs(taken or {}) do bytes, times = bytes + b, times + 1 end
    for _, r in ipairs(cell.rounds) do table.move(r.extra.at_growth, 1, #r.extra.at_growth, #all + 1, all) end
    if #all > 0 then
      table.sort(all)
      local row = table.pack(name_of(cell.p))
      table.move({ times, bytes / 1024, stats.median(all) * run.scale, all[#all] * run.scale }, 1, 4, 4, row)
      rows[#rows + 1] = row
    end
  end
  local u = (" [%s]"):format(run.unit)
  heading(run, "Table 3. Pushes of a thread that take memory from the allocator: their number, total memory and duration")
  run:say(tabulate({ "library", "threads", "recorder", "pushes", "memory [KiB]", "median" .. u, "max" .. u }, rows, 1))
end

--- Write the tables and print them.
---@param lab recorder_overhead.Measure
local function write_report(run, lab)
  local cells = measured(run)
  local clock = run.core.clock.info()
  run:say(("Clock: %s, with a smallest step of %.1f ns. Type of the numbers: %s"):format(clock.name, clock.resolution_ns,
    lab.options.type))
  if lab.no_libsde then run:say("Rows of libsde are missing: " .. lab.no_libsde) end
  run:write_table("distribution.dat", distribution(run, cells), "complete distribution of each cell, in logarithmic bins")
  run:write_table("spikes.dat", spike_rows(run, lab, cells), "every spike: place, duration, cause")
  run:write_table("growth.dat", growth(lab, cells), "memory that each push takes from the allocator, from a separate run")
  run:write_table("series.dat", series(run, lab, cells), "duration by number of the push, last round")
  costs(run, run.cells)
  spike_table(run, lab, cells)
  growth_table(run, lab, cells)
end

local pushes = 16384
local rounds = 20

-- The experiment's setup from the options and this machine; set when the factors are requested.
local lab = {}

local function prepare(options)
  local threads = command_line.thread_numbers(options.threads, measure.most_threads)
  lab = assert(measure.new(pml, { type = options.type, libsde = options.libsde }))
  return {
    { "library", { "none", "pmlua", "libsde" } }, { "keep", { "all", "sketch" } }, { "threads", threads },
    { "recorder", { "same", "different" } },
  }
end

-- The floor has one cell for each number of threads; one thread has one recorder; libsde keeps all numbers.
local function constraints(p)
  if p.recorder == "different" and (p.threads == 1 or p.library == "none") then return false end
  if p.keep == "sketch" and p.library ~= "pmlua" then return false end
  return p.library == "libsde" and lab.no_libsde or true
end

local function mean_of(name)
  return function(cell)
    local sum = 0
    for _, r in ipairs(cell.rounds) do sum = sum + r.extra[name] end
    return sum / #cell.rounds
  end
end

return pml.experiment {
  name = "recorder_overhead",
  description = [[
What a push to a recorder costs: 16,384 numbers per round and thread, each push timed by itself. One or two threads push to
the same recorder or to different ones, which keep all numbers or a sketch of them; beside PAPI's libsde, if it is installed,
and the floor, two clock reads with nothing between them. Spikes are counted and located. Each round has a new recorder and
new memory. By default, --iterations is 16,384 times the rounds. Needs no PMU.]],
  factors = prepare,
  constraints = constraints,
  help = {
    library = "library of the recorder; none: two clock reads", keep = "all numbers, or a sketch of them",
    threads = "threads that push at the same time", recorder = "same: one for all threads; different: one per thread",
  },
  repeats = pushes * rounds,
  rounds = rounds,
  quick = { repeats = pushes * 5, rounds = 5 },
  options = {
    { name = "threads", metavar = "LIST", default = "1,2", help = "numbers of threads, 1 to 8, separated by commas" },
    { name = "type", metavar = "TYPE", default = "double", help = "type of the numbers: double, float, int64 or int32" },
    { name = "libsde", metavar = "FILE", default = "libsde.so.1", help = "file of PAPI's libsde" },
  },
  examples = {
    "pmlua scripts/recorder_overhead.lua --quick",
    "pmlua scripts/recorder_overhead.lua --threads 1,2,4 --type int64",
    "pmlua scripts/recorder_overhead.lua --libsde /opt/papi/lib/libsde.so",
  },
  measure = function(_, p, n) return lab:cell(p, n) end,
  columns = {
    { name = "typical", unit = "ns", description = "mean time of a push without spikes",
      value = function(cell, run) return (spikes.typical(run, cell)) end },
    { name = "net", unit = "ns", description = "typical less that of the floor",
      value = function(cell, run) return (select(2, spikes.typical(run, cell))) end },
    { name = "spikes", unit = "", description = "samples above 10 times the median and 1 us",
      value = function(cell, run) return #spikes.of(run, cell) end },
    { name = "overlap", unit = "%", description = "share of a round in which all threads were pushing, mean of the rounds",
      value = mean_of "overlap" },
    { name = "pinned", unit = "", description = "1 if each thread had its own cpu", value = mean_of "pinned" },
  },
  analyse = function(run) write_report(run, lab) end,
  plot = "recorder_overhead",
}
