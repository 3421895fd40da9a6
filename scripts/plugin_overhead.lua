-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/plugin_overhead.lua - what plugins cost a program: metrics at each event, substrates, asynchronous values.
--
-- Try:  pmlua scripts/plugin_overhead.lua --quick
--
-- After R. Schoene, R. Tschueter, T. Ilsche, J. Schuchart, D. Hackenberg, W. Nagel, Extending the functionality of Score-P
-- through plugins: interfaces and use cases (2017), figures 3 and 8: the run time of a program that calls an instrumented,
-- empty function, against the number of calls, with plugins that do nothing; the slope of a line through the points is the
-- cost of a call. n strictly synchronous metrics add alpha + beta n. The paper reports alpha = 6.67 ns, beta = 4.97 ns, and
-- 3 ns for a substrate. Added here: plugins in Lua, and the cost of asynchronous values.

local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"

local command_line = require "pmlua.internal.cli.experiment"
local pml = require "pmlua"
local build = require "programs.build"
local fits = require "plugin_overhead.fits"
local report = require "plugin_overhead.report"
local subjects = require "plugin_overhead.subjects"

local steps = 5
local time_limit_s = 120

-- The experiment's setup from the options; set when the factors are requested.
local scale, folder

-- Without a plugin the program is always measured.
local function chosen(text)
  local known = {}
  for i, subject in ipairs(subjects.all) do known[i] = subject.name end
  return command_line.choose(text, known, "subjects", { none = true })
end

local function prepare(options)
  scale = options.scale
  local names = chosen(options.subjects)
  if not (pml.paths.plugins and pml.paths.workloads and pml.paths.command) then
    error("the command, its plugins or its workloads were not found; run make", 0)
  end
  local step = {}
  for i = 1, steps do step[i] = i end
  folder = assert(build.folder())
  return { { "subject", names }, { "step", step } }
end

local function count_of(p) return math.tointeger(p.step * subjects.named[p.subject].count * scale // 100) end

-- Samples in ms, and the mean time that the program spent in the plugin, measured in a separate process.
local function measure(_, p, n)
  local text, err = folder:run(("env -u SCOREP_METRIC_PLUGINS -u SCOREP_SUBSTRATE_PLUGINS -u PMLUA_SECTIONS "
    .. "-u PMLUA_REPORT %s %s/plugin_overhead/child.lua %s %d %d"):format(build.quote(pml.paths.command),
    build.quote(pml.sys.realpath(here)), p.subject, count_of(p), n), time_limit_s)
  if not text then return nil, ("%s: %s"):format(p.subject, err) end
  local samples, hot = {}, 0.0
  for all, way in text:gmatch "(%d+) (%d+)\n" do
    samples[#samples + 1] = tonumber(all) / 1e6
    hot = hot + tonumber(way) / 1e6
  end
  if #samples ~= n then return nil, ("%s: the process reported %d samples, not %d"):format(p.subject, #samples, n) end
  return samples, { hot = hot / n }
end

return pml.experiment {
  name = "plugin_overhead",
  description = [[
What plugins that do nothing cost a program that calls an empty function as a section: the slope of its run time against the
number of calls. Measured are 0 to 4 strictly synchronous metrics in C, and metrics in Lua; consumers of events: one of
pmlua's own, a substrate plugin, and Lua functions called in batches or at each event; and 1 to 5 million asynchronous
values, collected into a trace or into Lua. Each sample is the processor time of a whole run, in a process with only this
plugin. Needs no PMU.]],
  factors = prepare,
  help = { subject = "the plugin", step = "number of calls or values, as in the column count" },
  unit = "ms",
  repeats = 10,
  rounds = 10,
  warmup = 0,
  quick = { repeats = 3, rounds = 3, scale = 5 },
  options = {
    { name = "subjects", metavar = "LIST", default = "all", help = "plugins to measure, separated by commas" },
    { name = "scale", type = "number", metavar = "PERCENT", min = 1, max = 1000, default = 100,
      help = "scale the numbers of calls and values" },
  },
  examples = {
    "pmlua scripts/plugin_overhead.lua --quick",
    "pmlua scripts/plugin_overhead.lua --subjects metrics_0,metrics_1,substrate --scale 200",
  },
  measure = measure,
  columns = {
    { name = "count", unit = "", description = "number of calls or of values",
      value = function(cell) return count_of(cell.p) end },
    { name = "hot", unit = "ms", description = "time of a run before draining and collecting",
      value = function(cell) return fits.hot(cell) end },
    { name = "group", unit = "text", description = "metrics, lua, substrate or values",
      value = function(cell) return subjects.named[cell.p.subject].group end },
    { name = "title", unit = "text", description = "title of the plugin",
      value = function(cell) return subjects.named[cell.p.subject].title end },
  },
  analyse = function(run)
    report.write(run, fits.all(run, count_of))
    folder:close()
  end,
  plot = "plugin_overhead",
}
