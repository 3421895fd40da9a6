-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/watchpoint.lua - accesses to variables of an unmodified program and their values, thread by thread.
--
-- Try:  pmlua scripts/watchpoint.lua --quick
--
-- After R. Schöne, R. Tschüter, T. Ilsche, J. Schuchart, D. Hackenberg, W. Nagel, Extending the functionality of Score-P
-- through plugins, section 3.5. Figure 5: calls of two functions in a parallel loop of 22 chunks on 4 threads, which are
-- 6 * 506 on two threads and 5 * 506 on the others. Figure 6: the values that two threads write to one variable, in a loop
-- with static or dynamic scheduling. The same loops without watching show what watching costs.

local lfs = require "lfs"
local pml = require "pmlua"

-- --- run the program, watched or not, and keep the accesses of the last run of each loop ---

local threads = { chunks = 4, static = 2, dynamic = 2 }

local Watch = {}
Watch.__index = Watch

local points = {
  chunks = { { name = "matmul_sub", access = "x" }, { name = "matvec_sub", access = "x" } },
  static = { { name = "d_var", content = true } },
}
points.dynamic = points.static

local seconds_per_ns = 1e-9
local attempts = 10

local function new_lab(options)
  return setmetatable({ options = options, runs = {}, seconds = {} }, Watch)
end

--- nil and why, if there are no breakpoints or the program is missing.
function Watch.possible(_, p)
  if not pml.paths.programs or not lfs.attributes(pml.paths.programs .. "/watched") then
    return nil, "the program to watch is not built; run make all"
  end
  if p.watched == "no" then return true end
  return pml.watchpoint.available()
end

function Watch:command(p)
  local o = self.options
  local program = pml.paths.programs .. "/watched"
  local set = { "OMP_NUM_THREADS=" .. threads[p.loop], "OMP_DYNAMIC=false" }
  if p.loop == "chunks" then return { program, "chunks", tostring(o.regions) }, set end
  set[3] = "OMP_SCHEDULE=" .. (p.loop == "static" and "static" or "dynamic," .. o.chunk)
  return { program, "critical", tostring(o.writes) }, set
end

-- Run the words with their output in a file, by a shell.
local function into_file(words, file)
  local line = { "sh", "-c", 'out=$0; exec "$@" >"$out"', file }
  return table.move(words, 1, #words, #line + 1, line)
end

local function plain(words, set)
  local line = { "env" }
  table.move(set, 1, #set, 2, line)
  table.move(words, 1, #words, #line + 1, line)
  local command <close> = assert(pml.command.spawn(line))
  assert(command:start())
  return command:wait()
end

function Watch:once(p, dir)
  local words, set = self:command(p)
  local line, file = into_file(words, dir .. "/seconds"), dir .. "/seconds"
  local ended, err
  if p.watched == "yes" then
    local options = { dir = dir, values = 2 * 22 * 506 * self.options.regions + self.options.writes + 100000,
                      object = words[1], set = set }
    ended, err = pml.watchpoint.run(line, points[p.loop], options)
  else
    ended, err = plain(line, set)
  end
  if not ended then return nil, err end
  if ended.status ~= 0 then return nil, "the program failed" end
  local f <close> = assert(io.open(file))
  return f:read "n", (ended.user_ns + ended.system_ns) * seconds_per_ns
end

local function key(p) return p.loop .. p.watched end

-- Run once in a separate folder: the time, the processor time, and the recorded data.
local function in_folder(self, p)
  local dir = os.tmpname()
  os.remove(dir)
  lfs.mkdir(dir)
  local seconds, cpu = self:once(p, dir)
  local processes = seconds and p.watched == "yes" and assert(pml.watchpoint.read(dir)) or {}
  os.execute("rm -rf '" .. dir .. "'")
  if not seconds then return nil, cpu end
  if p.watched == "yes" and #processes ~= 1 then return nil, "the run recorded no access" end
  return seconds, cpu, processes[1]
end

-- The same, again if a hypervisor lost the CPU's debug registers, since accesses are missing then.
local function whole(self, p)
  for _ = 1, attempts do
    local seconds, cpu, process = in_folder(self, p)
    if not process or process.unexplained == 0 then return seconds, cpu, process end
  end
  return nil, "debug registers were lost"
end

--- Run the loop n times: its time in each run.
function Watch:measure(p, n)
  local samples = {}
  self.seconds[key(p)] = self.seconds[key(p)] or {}
  for i = 1, n do
    local seconds, cpu, process = whole(self, p)
    if not seconds then return nil, cpu end
    self.runs[key(p)] = process
    samples[i] = seconds
    table.insert(self.seconds[key(p)], cpu)
  end
  return samples
end

--- The accesses of a loop's last run; nil if it was not watched.
function Watch:run_of(loop) return self.runs[loop .. "yes"] end

function Watch:accesses(p)
  local run = self.runs[key(p)]
  if not run then return nil end
  local n = 0
  for _, lane in ipairs(run.lanes) do n = n + lane.accesses end
  return n
end

function Watch:cpu(p)
  local all = self.seconds[key(p)]
  if not all or #all == 0 then return nil end
  return pml.stats.median(all)
end

--- Microseconds of processor time per access.
function Watch:cost(p)
  local with, without, n = self:cpu(p), self:cpu { loop = p.loop, watched = "no" }, self:accesses(p)
  return p.watched == "yes" and with and without and n and n > 0 and (with - without) / n * 1e6 or nil
end

-- --- write accesses.dat, calls.dat, content.dat and a trace of each loop, and print the counts ---

local loops = { "chunks", "static", "dynamic" }
local drawn = 1500 -- most accesses drawn per thread; the traces have all

-- Pick the accesses of a lane to draw: evenly spaced, with the first and the last.
local function thin(lane, each)
  local n = #lane.ns
  local step = math.max(1, n // drawn)
  for k = 1, n, step do each(k) end
  if n > 1 and (n - 1) % step ~= 0 then each(n) end
end

local function accesses(lab)
  local rows = {}
  for _, loop in ipairs(loops) do
    local run = lab:run_of(loop)
    for _, lane in ipairs(run and run.lanes or {}) do
      local least, most = math.huge, -math.huge
      for _, v in ipairs(lane.value) do least, most = math.min(least, v), math.max(most, v) end
      local content = run.points[lane.point].content ~= "none" and #lane.value > 0
      rows[#rows + 1] = {
        loop, run.points[lane.point].name, lane.thread, lane.accesses, content and least or nil, content and most or nil,
        lane.first_ns and lane.first_ns / 1e6, lane.last_ns and lane.last_ns / 1e6, lane.late, lane.dropped,
      }
    end
  end
  return { columns = {
    { "loop", "text", "loop of the program" }, { "symbol", "text", "watched symbol" },
    { "thread", "", "number among the threads with accesses; 0: the oldest" },
    { "accesses", "", "calls, or writes" }, { "least", "", "smallest value written" },
    { "most", "", "largest value written" }, { "first", "ms", "first access, since the program started" },
    { "last", "ms", "last access, since the program started" },
    { "late", "", "accesses seen after the thread had moved on" }, { "dropped", "", "accesses counted but not stored" },
  }, rows = rows }
end

local function calls(run)
  local rows = {}
  for _, lane in ipairs(run and run.lanes or {}) do
    thin(lane, function(k) rows[#rows + 1] = { run.points[lane.point].name, lane.thread, lane.ns[k] / 1e6, k } end)
  end
  return { columns = {
    { "symbol", "text", "the function" }, { "thread", "", "thread that calls it" },
    { "time", "ms", "time since the program started" }, { "calls", "", "calls so far" },
  }, rows = rows }
end

local function contents(lab)
  local rows = {}
  for _, loop in ipairs { "static", "dynamic" } do
    local run = lab:run_of(loop)
    for _, lane in ipairs(run and run.lanes or {}) do
      thin(lane, function(k) rows[#rows + 1] = { loop, lane.thread, lane.ns[k] / 1e6, lane.value[k] } end)
    end
  end
  return { columns = {
    { "loop", "text", "scheduling of the loop" }, { "thread", "", "thread that writes" },
    { "time", "ms", "time since the program started" }, { "value", "", "value it wrote" },
  }, rows = rows }
end

local function traces(run, lab)
  for _, loop in ipairs(loops) do
    local process = lab:run_of(loop)
    for i, point in ipairs(process and process.points or {}) do
      local ok, err = require("pmlua.watchpoint").write_trace(process, i, ("%s/%s-%s"):format(run.dir, loop, point.name))
      if not ok then run:warn(("no trace of %s: %s"):format(point.name, err)) end
    end
  end
end

local function warn(run, lab)
  for _, loop in ipairs(loops) do
    local process = lab:run_of(loop)
    local lost = process and process.lost + (process.missed or 0) or 0
    if lost > 0 then run:warn(("loop %s: %d accesses are missing from the threads' counts"):format(loop, lost)) end
    for _, lane in ipairs(process and process.lanes or {}) do
      if lane.dropped > 0 then
        run:warn(("loop %s, thread %d: %d accesses were counted but not stored"):format(loop, lane.thread, lane.dropped))
      end
    end
  end
end

--- Write tables and traces into the run's folder, and print the counts.
local function write_report(run, lab)
  local t = accesses(lab)
  run:write_table("accesses.dat", t)
  run:write_table("calls.dat", calls(lab:run_of "chunks"))
  run:write_table("content.dat", contents(lab))
  traces(run, lab)
  warn(run, lab)
  if #t.rows > 0 then run:say_table("Accesses", t, { "loop", "symbol", "thread", "accesses", "least", "most" }) end
end

local lab = {}

local function prepare(options)
  lab.watch = new_lab(options)
  return { { "loop", { "chunks", "static", "dynamic" } }, { "watched", { "no", "yes" } } }
end

return pml.experiment {
  name = "watchpoint",
  description = [[
Hardware breakpoints show the accesses of threads to variables and functions of an unmodified program, and the values they
write: the calls in a parallel loop of 22 chunks on 4 threads, and the values of a variable that two threads write under static
and dynamic scheduling. Each loop also runs unwatched. A sample is the time of the loop, as the program measures it.]],
  factors = prepare,
  help = { loop = "loop of the program", watched = "whether the loop is watched" },
  unit = "s",
  repeats = 5,
  rounds = 5,
  warmup = 0,
  quick = { repeats = 1, rounds = 1, writes = 10000, chunk = 410 },
  options = {
    { name = "writes", type = "integer", metavar = "N", min = 100, max = 10000000, default = 100000,
      help = "writes to d_var in the static and the dynamic loop" },
    { name = "chunk", type = "integer", metavar = "N", min = 1, max = 10000000, default = 4096,
      help = "iterations that a thread takes at a time in the dynamic loop" },
    { name = "regions", type = "integer", metavar = "N", min = 1, max = 10000, default = 1,
      help = "parallel regions of 22 chunks" },
  },
  examples = { "pmlua scripts/watchpoint.lua --quick", "pmlua scripts/watchpoint.lua --chunk 64" },
  setup = function(p) return lab.watch:possible(p) end,
  measure = function(_, p, n) return lab.watch:measure(p, n) end,
  columns = {
    { name = "threads", unit = "", description = "threads of the loop",
      value = function(cell) return threads[cell.p.loop] end },
    { name = "accesses", unit = "", description = "watched accesses of all threads, in the last run",
      value = function(cell) return lab.watch:accesses(cell.p) end },
    { name = "cpu", unit = "s", description = "processor time of the program, median",
      value = function(cell) return lab.watch:cpu(cell.p) end },
    { name = "cost", unit = "us", description = "processor time that watching adds, per access",
      value = function(cell) return lab.watch:cost(cell.p) end },
  },
  analyse = function(run) write_report(run, lab.watch) end,
  plot = "watchpoint",
}
