-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/recorder_overhead/report.lua - write distribution.dat, spikes.dat, growth.dat, series.dat, and print the tables.
--
-- Try:  pmlua scripts/recorder_overhead.lua --quick --no-plot && head results/recorder_overhead/latest/distribution.dat

local spikes = require "recorder_overhead.spikes"
local statistics = require("pmlua.core").statistics
local stats = require "pmlua.stats"
local tabulate = require "pmlua.tabulate"

local M = {}

local most_in_series = 1 << 16 -- per thread; the most that a figure can show

local function measured(run)
  local out = {}
  for _, cell in ipairs(run.cells) do
    if cell.summary then out[#out + 1] = cell end
  end
  return out
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

local function name(p)
  local library = p.library == "none" and "none (floor)" or p.library .. (p.keep == "sketch" and ", sketch" or "")
  return library, p.threads, p.threads == 1 and "one" or p.library == "none" and "-" or p.recorder
end

local function heading(run, text)
  run:say("\n" .. text)
end

local function costs(run, cells)
  local rows = {}
  for _, cell in ipairs(cells) do
    local library, threads, recorder = name(cell.p)
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
    local row = table.pack(name(cell.p))
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
      local row = table.pack(name(cell.p))
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
function M.write(run, lab)
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

return M
