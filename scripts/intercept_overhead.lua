-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/intercept_overhead.lua - what it costs to observe a call between libraries, by pmlua and by other tools.
--
-- Try:  pmlua scripts/intercept_overhead.lua --quick
--
-- After R. Brendel, B. Wesarg, R. Tschueter, M. Weber, T. Ilsche, S. Oeste, Generic library interception for improved
-- performance measurement and insight (2017), which leaves open what an intercepted call costs. A program calls a library
-- function that does next to nothing. The call is intercepted by pmlua, at run time or by a generated wrapper, without a
-- consumer or with a profile, a trace, an event; by a wrapper written by hand; by the loader's LD_AUDIT; by uftrace; by
-- ltrace. The yardstick is what all of them need: the call and two clock reads.

local experiment = require "pmlua.experiment"
local command_line = require "pmlua.internal.cli.experiment"
local pml = require "pmlua"
local ways = require "intercept_overhead.ways"
local tabulate = require "pmlua.tabulate"
local build = require "programs.build"

-- --- run the calling program in one of the ways, and time its calls batch by batch ---

local most_threads = 64
local batch_calls = 1000 -- calls of a batch
local linking = "-L%s -lcalls -Wl,-rpath,%s -lpthread"
local time_limit_s = 120

---@class intercept_overhead.Measure
---@field folder programs.Folder with the program, its library, and what the tools leave
---@field command string pmlua
---@field libpmlua string
---@field event string
---@field no_wrapper string? why no wrapper was generated
local Measure = {}
Measure.__index = Measure

-- The command and the library, from where this code runs.
local function own_files()
  local name = "libpmlua.so." .. pml.version:match "^%d+"
  local origin = require("pmlua.core").origin
  local folder = origin:match "^(.*)/[^/]*$" or "."
  local library
  for _, place in ipairs { "/", "/../lib/", "/../../", "/../../../" } do
    library = library or pml.sys.realpath(folder .. place .. name)
  end
  if not library then return nil, name .. " is not beside " .. origin end
  return pml.paths.command or "pmlua", library
end

local function compile(folder)
  local at = build.quote(folder.path)
  local steps = {
    { "library", "libcalls.so", { "calls_library.c" }, "-Wl,-soname,libcalls.so" },
    { "library", "by_hand.so", { "calls_by_hand.c" } },
    { "library", "audit.so", { "calls_audit.c" } },
    { "program", "calls", { "calls.c" }, linking:format(at, at) },
  }
  for _, step in ipairs(steps) do
    local path, err = folder[step[1]](folder, step[2], step[3], step[4])
    if not path then return nil, err end
  end
  return true
end

-- Generate pmlua's wrapper, and link the program with it in both ways; nil and why.
local function wrap(folder, command)
  local at = build.quote(folder.path)
  local steps = {
    ("wrap init wrapper --name calls --headers calls.h --cflags -I%s --ldflags -L%s --libs -lcalls"):format(
      build.quote(build.sources), at),
    "wrap build wrapper",
    "cc --wrap calls -- " .. folder:program_command("calls.linked", { "calls.c" }, linking:format(at, at)),
    "cc --wrap calls --runtime -- " .. folder:program_command("calls.before", { "calls.c" }, linking:format(at, at)),
  }
  for _, step in ipairs(steps) do
    local said, err = folder:run(("env LD_LIBRARY_PATH=%s PMLUA_WRAP_PATH=%s/wrapper/build %s %s"):format(at, at,
      build.quote(command), step), time_limit_s)
    if not said then return nil, err end
  end
  return true
end

---@param options { event: string }
---@return intercept_overhead.Measure? measure, string? err
local function new_lab(options)
  local command, library = own_files()
  if not command then return nil, library end
  local folder, err = build.folder()
  if not folder then return nil, err end
  local self = setmetatable({ folder = folder, command = command, libpmlua = library, event = options.event }, Measure)
  local ok, why = compile(folder)
  if not ok then
    folder:close()
    return nil, why
  end
  self.no_wrapper = select(2, wrap(folder, command))
  return self
end

-- Remove what the previous run left, so that it cannot pass for this run's.
function Measure:clean()
  self.folder:run("rm -rf seen recorded uftrace.data ltrace.out", 60)
end

local function numbers(text)
  local out = {}
  for word in text:gmatch "%S+" do out[#out + 1] = tonumber(word) end
  return out
end

--- Measure a cell.
---@param p { way: string, threads: integer }
---@param n integer batches of each thread
---@return number[]? samples nanoseconds per call, n of each thread, one thread after the other
---@return table|string about the run, or why it cannot be measured
function Measure:cell(p, n)
  local way = ways.named[p.way]
  local calls, batches = way.calls or batch_calls, math.min(n, way.batches or n)
  if way.wrapped and self.no_wrapper then return nil, ("%s: %s"):format(p.way, self.no_wrapper) end
  local program = ("./%s %d %d %d %s"):format(way.wrapped or "calls", p.threads, batches, calls, way.mode or "")
  self:clean()
  local text, err = self.folder:run(way.around(self, program), time_limit_s)
  if not text then return nil, ("%s: %s"):format(p.way, err) end
  local samples = numbers(text)
  if #samples ~= batches * p.threads then
    return nil, ("%s: the program reported %d batches, not %d"):format(p.way, #samples, batches * p.threads)
  end
  local made = p.threads * (batches + 1) * calls -- each thread warms up by a batch
  local seen = way.seen and way.seen(self)
  return samples, { calls = made, seen = seen }
end

-- --- compare each way with the floor, and print the closing table ---

-- The median of a way with as many threads as a cell has.
local function beside(run, cell, way)
  for _, other in ipairs(run.cells) do
    if other.p.way == way and other.p.threads == cell.p.threads and other.summary then return other.summary.median end
  end
end

-- Each round visits the cells in a different order, so a table written early may lack a floor.
local function against(run, cell, way, f)
  local floor = cell.summary and beside(run, cell, way)
  return floor and f(cell.summary.median, floor)
end

local function net(run, cell)
  return against(run, cell, "plain", function(a, b) return a - b end)
end

local function ratio(run, cell)
  return against(run, cell, "clocks", function(a, b) return a / b end)
end

-- Percentage of the calls that the tool saw; nil if it does not report them.
local function share_seen(cell)
  local calls, seen = experiment.sum(cell, "calls"), experiment.sum(cell, "seen")
  return calls and seen and 100 * seen / calls
end

--- Print the table.
local function say(run)
  local rows = {}
  for _, cell in ipairs(run.cells) do
    local s = cell.summary
    rows[#rows + 1] = {
      ways.named[cell.p.way].title, cell.p.threads, s and s.q1, s and s.median, s and s.q3, net(run, cell),
      ratio(run, cell), share_seen(cell), cell.status,
    }
  end
  run:say("\nTime of one call as the caller sees it; its excess over the plain call; its ratio to the call between two clock"
    .. "\nreads, the least that any observer needs; and the percentage of calls that the observer saw")
  run:say(tabulate({ "way", "threads", "q1 [ns]", "median [ns]", "q3 [ns]", "above plain [ns]", "ratio", "seen [%]",
    "status" }, rows, 1))
end

-- The experiment's setup from the options and this machine; set when the factors are requested.
local lab

-- The floor is always measured, because the others are compared with it.
local function chosen(text)
  local known, floor = {}, {}
  for i, way in ipairs(ways.all) do known[i], floor[way.name] = way.name, way.group == "floor" end
  return command_line.choose(text, known, "ways", floor)
end

local function prepare(options)
  local threads, names = command_line.thread_numbers(options.threads, most_threads), chosen(options.ways)
  local set, err = pml.eventset.open { options.event }
  if not set then error("option --event: " .. err:sentence(), 0) end
  set:close()
  lab = assert(new_lab({ event = options.event }))
  return { { "way", names }, { "threads", threads } }
end

local function total(name)
  return function(cell) return pml.experiment.sum(cell, name) end
end

return pml.experiment {
  name = "intercept_overhead",
  description = [[
What it costs to observe a call between libraries. The call is made plainly; between two clock reads (the yardstick);
through a preloaded wrapper written by hand; intercepted by pmlua without a consumer, with a profile, with a trace, with an
event read at each enter and leave, and with the function not selected; through wrappers that pmlua generates; and under
LD_AUDIT, uftrace and ltrace, if they are installed. A sample is the mean of 1,000 calls (ltrace: 10). Each thread has its own
cpu. The programs are compiled for the run, which needs a C compiler, and libclang for the generated wrappers.]],
  factors = prepare,
  constraints = function(p) return ways.absent(ways.named[p.way]) or true end,
  help = { way = "how the call is observed", threads = "threads that call at the same time" },
  unit = "ns",
  repeats = 500,
  rounds = 10,
  warmup = 1,
  quick = { repeats = 40, rounds = 2, warmup = 1 },
  options = {
    { name = "threads", metavar = "LIST", default = "1,2", help = "numbers of threads, separated by commas" },
    { name = "ways", metavar = "LIST", default = "all", help = "ways to measure, separated by commas" },
    { name = "event", metavar = "NAME", default = "task-clock",
      help = "event that the way metrics reads at each enter and leave" },
  },
  examples = {
    "pmlua scripts/intercept_overhead.lua --quick",
    "pmlua scripts/intercept_overhead.lua --ways by_hand,profile,ld_audit --threads 1,2,4",
  },
  measure = function(_, p, n) return lab:cell(p, n) end,
  columns = {
    { name = "net", unit = "ns", description = "median less the median of the plain call with as many threads",
      value = function(cell, run) return net(run, cell) end },
    { name = "ratio", unit = "", description = "median over the median of the call between two clock reads with as many threads",
      value = function(cell, run) return ratio(run, cell) end },
    { name = "calls", unit = "", description = "calls made in all rounds, including the first batch of each thread",
      value = total "calls" },
    { name = "seen", unit = "", description = "calls that the tool saw; NaN if it does not report them",
      value = total "seen" },
    { name = "group", unit = "text", description = "floor, pmlua or others",
      value = function(cell) return ways.named[cell.p.way].group end },
    { name = "title", unit = "text", description = "title of the way",
      value = function(cell) return ways.named[cell.p.way].title end },
  },
  analyse = function(run)
    say(run)
    lab.folder:close()
  end,
  plot = "intercept_overhead",
}
