-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/task_lengths.lua - how a tensor contraction library divides its work, observed from outside through its events.
--
-- Try:  pmlua scripts/task_lengths.lua --quick
--
-- After H. Jagode, A. Danalis, H. Anzt, J. Dongarra, PAPI software-defined events for in-depth performance analysis,
-- figure 5 and table 4: the tasks of five contractions of coupled cluster by length (number of chained DGEMMs), and the
-- floating-point operations of each, from the library's counters and recorders. A task is longer where spin lets more pairs
-- of blocks meet, so each contraction has two lengths, the longer twice the shorter. Beyond the paper: the time of each task,
-- and how evenly the threads are busy.

local command_line = require "pmlua.internal.cli.experiment"
local pml = require "pmlua"
local stats = require "pmlua.stats"
local tabulate = require "pmlua.tabulate"
local workloads = require "workloads.workload"

-- --- run the contraction library and ask its events what happened ---

-- The workload contracts; everything reported comes from its software-defined events. Counters are read by an event set
-- around a contraction, as differences. Recorders keep the last contraction of each number, task by task.

-- Names of the events without sde:::TAMM:: and ::ContrID=N, grouped by how they are read.
local counters = { dgemms = "DgemmCount_I", flops = "FlopCount_I" }
local value_names = { longest = "MaxTaskLength_I", runtime = "RunTime_D", error = "CheckError_D" }
local series = {
  length_of = "LengthPerTask_RCRD_I", flops_of = "FlopsPerTask_RCRD_I", time_of = "TimePerTask_RCRD_D",
  thread_time = "TimePerThread_RCRD_D",
}

local Contract = {}
Contract.__index = Contract

local function full(event, id) return ("sde:::TAMM::%s::ContrID=%d"):format(event, id) end

-- Handles on all events of a contraction, and their descriptions.
local function open_events(id)
  local ev = { id = id, value = {}, series = {}, description = {} }
  for kind, names in pairs { value = value_names, series = series, description = counters } do
    for key, name in pairs(names) do
      local found, err = pml.sde.find(full(name, id))
      if not found then return nil, err end
      ev.description[key] = found:info().description
      if kind == "value" then ev.value[key] = found end
      if kind == "series" then
        ev.series[key], err = found:open()
        if not ev.series[key] then return nil, err end
      end
    end
  end
  local err
  ev.counts, err = pml.eventset { full(counters.dgemms, id), full(counters.flops, id) }
  if not ev.counts then return nil, err end
  return ev
end

function Contract:run(name, sizes)
  local samples = {}
  for i = 1, #self.workload.sites do samples[i] = pml.samples.new(1) end
  local options = { contraction = name }
  for k, v in pairs(sizes) do options[k] = v end
  local done, err, code = self.workload:run { operation = "empty", samples = samples, options = options }
  for _, s in ipairs(samples) do s:close() end
  return done, err, code
end

--- @param names string[] contractions
--- @param sizes table options of the workload, but for the contraction
--- @return table? contract
--- @return string? err
local function new_contract(names, sizes)
  local workload, err = workloads.load "tamm"
  if not workload then return nil, err end
  local self = setmetatable({ sizes = sizes, workload = workload, event = {}, runs = {} }, Contract)
  local which
  which, err = pml.sde.find "TAMM::ContractionID_I"
  if not which then return nil, err end
  -- The smallest contraction shows its number; the library's events exist from the first one on.
  local least = { occupied = 1, virtual = 1, tile = 1, threads = 1, blas = sizes.blas }
  for _, name in ipairs(names) do
    local done, id
    done, err = self:run(name, least)
    if not done then return nil, err end
    id, err = which:read()
    if id then self.event[name], err = open_events(id) end
    if not self.event[name] then return nil, err end
  end
  self.which = which:info()
  return self
end

--- The values of the events after the last contraction of that name: id, tasks, dgemms, flops, longest, runtime, error; the
--- series length_of, flops_of and time_of by task, and thread_time by thread; the description of each.
---@return table? run
function Contract:outcome(name) return self.runs[name] end

--- A quantile of one of the series, by its recorder.
---@param name string contraction
---@param which string "time_of", ...
---@return number?
function Contract:quantile(name, which, percent) return (self.event[name].series[which]:quantile(percent)) end

local function sum(t)
  local s = 0
  for _, v in ipairs(t) do s = s + v end
  return s
end

-- The threads' counts must equal the sums over the tasks.
local function check(name, run)
  local most = 0
  for _, v in ipairs(run.length_of) do most = math.max(most, v) end
  for _, c in ipairs {
    { "DgemmCount_I", run.dgemms, sum(run.length_of) }, { "FlopCount_I", run.flops, sum(run.flops_of) },
    { "MaxTaskLength_I", run.longest, most }, { "the length of TimePerTask_RCRD_D", #run.time_of, #run.length_of },
  } do
    if c[2] ~= c[3] then error(("%s: %s is %d, but its tasks add up to %d"):format(name, c[1], c[2], c[3]), 0) end
  end
end

function Contract:once(name)
  local ev = self.event[name]
  ev.counts:start()
  local done, err, code = self:run(name, self.sizes)
  local dgemms, flops = ev.counts:stop()
  if code == "EFORMAT" then error(err, 0) end -- a wrong result is worth no sample of any contraction
  if not done then return nil, err, code end
  local run = { id = ev.id, dgemms = dgemms, flops = flops, description = ev.description }
  for key, event in pairs(ev.value) do
    run[key], err, code = event:read()
    if not run[key] then return nil, err, code end
  end
  for key, recorder in pairs(ev.series) do
    if recorder:dropped() > 0 then return nil, ("%s: the recorder ran out of memory and dropped tasks"):format(name), "ENOMEM" end
    run[key] = recorder:values()
  end
  run.tasks = #run.length_of
  check(name, run)
  self.runs[name] = run
  return run
end

--- Contract n times.
---@return number[]? ms, string? err, string? code
function Contract:measure(name, n)
  local ms = {}
  for i = 1, n do
    local run, err, code = self:once(name)
    if not run then return nil, err, code end
    ms[i] = 1e3 * run.runtime
  end
  return ms
end

-- --- write lengths.dat, events.dat and tasks.dat, and print the closing tables ---

-- The measured contractions, in the order of the options.
local function done(run, lab)
  local out = {}
  for _, cell in ipairs(run.cells) do
    local r = lab:outcome(cell.p.contraction)
    if r then out[#out + 1] = { number = #out + 1, name = cell.p.contraction, run = r } end
  end
  return out
end

local function spread(values)
  local all, out = stats.tally(values), {}
  for i, percent in ipairs { 0, 25, 50, 75, 100 } do out[i] = all:quantile(percent / 100) end
  return out
end

-- The tasks of each length, shortest first.
local function by_length(r)
  local group, out = {}, {}
  for i, length in ipairs(r.length_of) do
    local g = group[length]
    if not g then
      g = { length = length, flops = {}, time = {} }
      group[length], out[#out + 1] = g, g
    end
    g.flops[#g.flops + 1], g.time[#g.time + 1] = r.flops_of[i], r.time_of[i]
  end
  table.sort(out, function(a, b) return a.length < b.length end)
  return out
end

local function lengths(contractions)
  local rows = {}
  for _, c in ipairs(contractions) do
    for _, g in ipairs(by_length(c.run)) do
      local flops, time = spread(g.flops), spread(g.time)
      rows[#rows + 1] = {
        #rows + 1, c.number, c.name, g.length, #g.flops, 100 * #g.flops / c.run.tasks, flops[1], flops[3], flops[5],
        table.unpack(time),
      }
    end
  end
  return { columns = {
    { "bar", "", "bar of the figure" }, { "number", "", "number of the contraction" },
    { "contraction", "text", "its name" }, { "length", "", "DGEMMs of a task" }, { "tasks", "", "tasks of that length" },
    { "share", "%", "share of the contraction's tasks" },
    { "flops_min", "FLOP", "operations of a task, least" }, { "flops_median", "FLOP", "operations of a task, median" },
    { "flops_max", "FLOP", "operations of a task, most" }, { "time_min", "s", "time of a task, shortest" },
    { "time_q1", "s", "time of a task, lower quartile" }, { "time_median", "s", "time of a task, median" },
    { "time_q3", "s", "time of a task, upper quartile" }, { "time_max", "s", "time of a task, longest" },
  }, rows = rows }
end

local function tasks(contractions)
  local rows = {}
  for _, c in ipairs(contractions) do
    for i = 1, c.run.tasks do
      rows[#rows + 1] = { c.number, c.name, i, c.run.length_of[i], c.run.flops_of[i], c.run.time_of[i] }
    end
  end
  return { columns = {
    { "number", "", "number of the contraction" }, { "contraction", "text", "its name" },
    { "task", "", "number of the task, in the order of the blocks" }, { "length", "", "its DGEMMs" },
    { "flops", "FLOP", "its floating-point operations" }, { "time", "s", "its duration" },
  }, rows = rows }
end

-- How evenly the threads were busy, and the share of their time without a task.
local function balance(r)
  local total, most = 0, 0
  for _, t in ipairs(r.thread_time) do total, most = total + t, math.max(most, t) end
  local mean = total / #r.thread_time
  return most / mean, 100 * (1 - mean / r.runtime)
end

-- Rows of the table of events: name, key of the outcome, quantile of a recorder or "count".
local rows_of_table = {
  { "DgemmCount_I", "dgemms" }, { "FlopCount_I", "flops" }, { "MaxTaskLength_I", "longest" },
  { "LengthPerTask_RCRD_I", "length_of", "CNT" }, { "LengthPerTask_RCRD_I", "length_of", "MIN", 0 },
  { "LengthPerTask_RCRD_I", "length_of", "MED", 50 }, { "LengthPerTask_RCRD_I", "length_of", "MAX", 100 },
  { "FlopsPerTask_RCRD_I", "flops_of", "MIN", 0 }, { "FlopsPerTask_RCRD_I", "flops_of", "MED", 50 },
  { "FlopsPerTask_RCRD_I", "flops_of", "MAX", 100 }, { "TimePerTask_RCRD_D", "time_of", "MIN", 0 },
  { "TimePerTask_RCRD_D", "time_of", "Q1", 25 }, { "TimePerTask_RCRD_D", "time_of", "MED", 50 },
  { "TimePerTask_RCRD_D", "time_of", "Q3", 75 }, { "TimePerTask_RCRD_D", "time_of", "MAX", 100 },
  { "TimePerThread_RCRD_D", "thread_time", "CNT" }, { "TimePerThread_RCRD_D", "thread_time", "MIN", 0 },
  { "TimePerThread_RCRD_D", "thread_time", "MAX", 100 }, { "RunTime_D", "runtime" }, { "CheckError_D", "error" },
}

local function event_value(lab, c, row)
  local key, quantile_name, percent = row[2], row[3], row[4]
  if percent then return lab:quantile(c.name, key, percent) end
  if quantile_name then return #c.run[key] end
  return c.run[key]
end

local function title(row) return row[3] and row[1] .. ":" .. row[3] or row[1] end

local function unit_of(name)
  return name:find "Time" and not name:find ":CNT" and "s" or name:find "^Flop" and "FLOP" or ""
end

local function events(contractions, lab)
  local columns = {
    { "number", "", "number of the contraction" }, { "contraction", "text", "its name" },
    { "ContractionID_I", "", lab.which.description },
  }
  for _, row in ipairs(rows_of_table) do
    columns[#columns + 1] = { title(row), unit_of(title(row)), "sde:::TAMM::" .. row[1] .. "::ContrID=N" }
  end
  columns[#columns + 1] = { "imbalance", "", "time in tasks of the busiest thread over the mean of all threads" }
  columns[#columns + 1] = { "idle", "%", "share of the threads' time without a task" }
  local out = {}
  for i, c in ipairs(contractions) do
    local line = { c.number, c.name, c.run.id }
    for _, row in ipairs(rows_of_table) do line[#line + 1] = event_value(lab, c, row) end
    line[#line + 1], line[#line + 2] = balance(c.run)
    out[i] = line
  end
  return { columns = columns, rows = out }
end

local function short(v)
  if math.type(v) == "float" then return tonumber(("%.4g"):format(v)) end
  return v
end

-- As in the paper: a line per event, with its value for each contraction and its description.
local function say_events(run, contractions, table_of_events, lab)
  local names, rows = { "event" }, {}
  for i, c in ipairs(contractions) do names[i + 1] = c.name end
  names[#names + 1] = "description"
  local function add(name, column, description)
    local scale = unit_of(name) == "s" and 1e6 or 1
    local line = { name }
    for i in ipairs(contractions) do line[i + 1] = short(scale * table_of_events.rows[i][column]) end
    line[#line + 1] = description:gsub("%[s%]", "[µs]")
    rows[#rows + 1] = line
  end
  add("ContractionID_I", 3, lab.which.description)
  local before
  for i, row in ipairs(rows_of_table) do
    local description = contractions[1].run.description[row[2]]:gsub("^[^:]*: ", "")
    add(title(row), i + 3, row[1] ~= before and description or "")
    before = row[1]
  end
  run:say("\nEvents sde:::TAMM::EVENT::ContrID=N of the last run of each contraction\n" .. tabulate(names, rows, 1))
end

local function say_lengths(run, t)
  local rows = {}
  for i, r in ipairs(t.rows) do
    rows[i] = { r[3], r[4], r[5], short(r[6]), r[7], r[8], r[9], short(1e6 * r[12]), short(1e6 * r[14]) }
  end
  run:say("\nTasks by length\n" .. tabulate({
    "contraction", "length", "tasks", "share [%]", "FLOP, least", "median", "most", "time [µs], median", "most",
  }, rows, 1))
end

local function say_balance(run, contractions)
  local rows = {}
  for i, c in ipairs(contractions) do
    local r, imbalance, idle = c.run, balance(c.run)
    rows[i] = { c.name, #r.thread_time, short(1e3 * r.runtime), short(r.flops / r.runtime / 1e9), short(imbalance), short(idle) }
  end
  run:say("\nThreads\n" .. tabulate({ "contraction", "threads", "time [ms]", "GFLOP/s", "busiest / mean", "idle [%]" }, rows, 1))
end

--- Write the tables and print them.
local function write_report(run, lab)
  local contractions = done(run, lab)
  if #contractions == 0 then return end
  local bars, single = lengths(contractions), events(contractions, lab)
  run:write_table("lengths.dat", bars, "tasks of each length, with their operations and times")
  run:write_table("events.dat", single, "single-valued events and quantiles of recorders")
  run:write_table("tasks.dat", tasks(contractions), "every task of the last run of each contraction")
  say_events(run, contractions, single, lab)
  say_lengths(run, bars)
  say_balance(run, contractions)
end

local contractions = { "t2_7_3", "t2_7", "t2_2_5", "t2_6", "t2_8" } -- in the order of the figure

-- The experiment's setup from the options; set when the factors are requested.
local lab

local function prepare(options)
  if options.unpaired >= options.occupied then error("option --unpaired must be below --occupied", 0) end
  local names = command_line.choose(options.contractions, contractions, "contractions")
  local sizes = {
    occupied = options.occupied, virtual = options.virtual, tile = options.tile, threads = options.threads, blas = options.blas,
    unpaired = options.unpaired,
  }
  lab = assert(new_contract(names, sizes))
  return { { "contraction", names } }
end

local function told(name)
  return function(cell)
    local run = lab:outcome(cell.p.contraction)
    return run and run[name]
  end
end

return pml.experiment {
  name = "task_lengths",
  description = [[
How a tiled tensor contraction is divided into tasks: the DGEMMs, floating-point operations and time of each task, from the
library's software-defined events, for five contractions of coupled cluster. Results are checked. A sample is the time of one
contraction.]],
  factors = prepare,
  help = { contraction = "a term of the doubles equations" },
  unit = "ms",
  repeats = 10,
  rounds = 5,
  warmup = 1,
  quick = { repeats = 2, rounds = 1, warmup = 0, occupied = 7, virtual = 13, tile = 4 },
  options = {
    { name = "contractions", metavar = "LIST", default = table.concat(contractions, ","),
      help = "contractions, separated by commas" },
    { name = "occupied", type = "integer", metavar = "N", min = 1, max = 512, default = 15,
      help = "occupied orbitals of alpha spin" },
    { name = "virtual", type = "integer", metavar = "N", min = 1, max = 512, default = 31,
      help = "virtual orbitals of alpha spin" },
    { name = "unpaired", type = "integer", metavar = "N", min = 0, default = 0,
      help = "difference of beta spin: N fewer occupied orbitals, N more virtual ones" },
    { name = "tile", type = "integer", metavar = "N", min = 1, max = 64, default = 8, help = "most orbitals in a tile" },
    { name = "threads", type = "integer", metavar = "N", min = 1, max = 256, default = math.min(pml.sys.nprocs(), 256),
      help = "threads that work on the tasks" },
    { name = "blas", metavar = "LIB", default = "none",
      help = "DGEMM to use; none: the workload's own; system, or the path of a library: that of a BLAS" },
  },
  examples = {
    "pmlua scripts/task_lengths.lua --quick",
    "pmlua scripts/task_lengths.lua --tile 5 --unpaired 3 --contractions t2_7_3,t2_8",
    "pmlua scripts/task_lengths.lua --threads 1 --blas system",
  },
  measure = function(_, p, n) return lab:measure(p.contraction, n) end,
  columns = {
    { name = "tasks", unit = "", description = "tasks of a contraction", value = told "tasks" },
    { name = "dgemms", unit = "", description = "DGEMMs of a contraction", value = told "dgemms" },
    { name = "flops", unit = "FLOP", description = "floating-point operations of a contraction", value = told "flops" },
  },
  analyse = function(run) write_report(run, lab) end,
  plot = "task_lengths",
}
