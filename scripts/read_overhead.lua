-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/read_overhead.lua - what reading performance counters costs on this machine.
--
-- Try:  pmlua scripts/read_overhead.lua --quick
--
-- After Y. Liu, Using rdpmc to lower the overhead of reading hardware counters with PAPI (University of Maine, 2017):
-- a read of one to eight events through the self-monitoring page (user space only), by one read(2) per event and by one
-- read(2) for a whole group; in a bare loop and where applications would read: inside a Sobel filter, STREAM and an LU
-- factorisation. Every read is timed by itself, and every sample is kept.

local pml = require "pmlua"
local cells = require "read_overhead.cells"
local chosen = require "read_overhead.events"
local measure = require "read_overhead.measure"
local report = require "read_overhead.report"
local series = require "read_overhead.series"

-- The experiment's setup from the options and this machine; set when the factors are requested.
local lab = {}

local function list(text)
  local out = {}
  -- a comma inside slashes belongs to the event: cpu/event=0x3c,umask=1/
  local inside, word = false, ""
  for c in (text or ""):gmatch "." do
    if c == "/" then inside = not inside end
    if c == "," and not inside then
      out[#out + 1], word = word, ""
    else
      word = word .. c
    end
  end
  if word ~= "" then out[#out + 1] = word end
  return out
end

-- Why events that are measured alone, beside the chosen ones, are not available.
local function unavailable()
  local out = {}
  for _, c in ipairs(cells.contexts) do
    if c.event then
      local set, err = pml.eventset.open { c.event }
      if set then set:close() else out[c.event] = err.text end
    end
  end
  return out
end

local function prepare(options)
  local sizes = {
    sobel = { image = options.image or "", width = options.quick and 480 or 1920, height = options.quick and 300 or 1200 },
    stream = { n = options.stream_n, repeats = options.quick and 3 or 10 },
    lu = { n = options.n, nb = options.nb, repeats = options.quick and 1 or 4 },
  }
  local err
  lab.events = assert(chosen.choose(pml, list(options.events)))
  lab.measure = assert(measure.new(pml, sizes, lab.events))
  if options.image then
    err = select(2, lab.measure:look_at_image())
    if err then error("option --image: " .. err, 0) end
  end
  lab.context_events = math.min(options.context_events, #lab.events.names)
  lab.rule = cells.rule(lab.events, lab.context_events, unavailable())
  return cells.factors(options.events and #lab.events.names or chosen.most)
end

return pml.experiment {
  name = "read_overhead",
  description = [[
What reading performance counters costs: the operations empty, start_stop, read, read_ts, accum and reset on 1 to 8 events,
through the user-space page, by one read(2) per event and by one read(2) for the group, in a bare loop; and a read inside a
Sobel filter, STREAM and an LU factorisation. Takes up to five minutes, with --quick some seconds. Redundant cells are left
out: the empty operation has no events and is measured once; one read(2) per event costs strictly in proportion, so that
operations other than the read are measured with 1, 2, 4 and 8 events; the workloads are measured with the read only, of one
number of events. STREAM and LU are read once per phase: 10 times per round and array, 4 n / nb times per round and phase.]],
  factors = prepare,
  constraints = function(p) return lab.rule(p) end,
  help = {
    context = "where the operation runs", operation = "the operation",
    path = "how the counters are read; none: no counters", events = "number of events",
  },
  repeats = 1000000,
  rounds = 10,
  quick = { repeats = 2000, rounds = 5, warmup = 20, stream_n = 1000000, n = 256, nb = 32 },
  options = {
    { name = "events", metavar = "LIST", help = "1 to 8 events to read, separated by commas, instead of the usual ones" },
    { name = "context-events", type = "integer", metavar = "N", min = 1, max = chosen.most, default = 2,
      help = "number of events read in the workloads" },
    { name = "image", metavar = "FILE", help = "PNM file for the Sobel filter, instead of a generated image of 1920 x 1200" },
    { name = "n", type = "integer", metavar = "N", min = 1, max = 100000, default = 1024,
      help = "unknowns of the LU factorisation" },
    { name = "nb", type = "integer", metavar = "N", min = 1, max = 100000, default = 64,
      help = "columns of a panel of the LU factorisation" },
    { name = "stream-n", type = "integer", metavar = "N", min = 1, max = 1 << 34, default = 10000000,
      help = "elements of each array of STREAM" },
  },
  examples = {
    "pmlua scripts/read_overhead.lua --quick",
    "pmlua scripts/read_overhead.lua --events instructions:u,cycles:u -o /tmp/results",
    "pmlua scripts/read_overhead.lua --image photo.ppm --n 4000 --nb 128",
  },
  measure = function(_, p, n) return lab.measure:cell(p, n) end,
  columns = {
    { name = "path_taken", unit = "text", description = "path that the reads actually took",
      value = function(cell) return cell.rounds[1].extra.path end },
    { name = "retries", unit = "", description = "page reads that were retried",
      value = function(cell) return pml.experiment.sum(cell, "retries") or 0 end },
  },
  analyse = function(run)
    local o = {
      contexts = cells.contexts, context_events = lab.context_events, operations = cells.operations,
      most = math.min(chosen.most, #lab.events.names), lab = lab,
    }
    series.write(run, o)
    report.write(run, o)
  end,
  plot = "read_overhead",
}
