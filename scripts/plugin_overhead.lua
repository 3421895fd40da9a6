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
local stats = require "pmlua.stats"
local tabulate = require "pmlua.tabulate"
local build = require "programs.build"
local lists = require "pmlua.internal.lists"
local subjects = require "plugin_overhead.subjects"

-- --- a line through the runs of each subject, and what metrics add to its slope ---

-- Intervals are percentiles of a bootstrap that draws whole rounds of each cell with replacement.

--- The time of a run before draining and collecting: median of the rounds.
local function hot_time(cell)
  local of = lists.map(cell.rounds, function(r) return r.extra.hot end)
  return #of > 0 and stats.median(of) or nil
end

-- The measured cells of each subject: their counts, and the values of each round in ns.
local function series_of(run, count_of, value)
  local out = {}
  for _, cell in ipairs(run.cells) do
    if cell.summary then
      local s = out[cell.p.subject] or { count = {}, rounds = {} }
      out[cell.p.subject] = s
      local rounds = {}
      for i, r in ipairs(cell.rounds) do rounds[i] = 1e6 * value(r) end
      s.count[#s.count + 1], s.rounds[#s.rounds + 1] = count_of(cell.p), rounds
    end
  end
  return out
end

-- Fit a x^b to points that bend, by a line through the logarithms; how much it explains.
local function power(x, y)
  local log_x, log_y, mean = {}, {}, 0
  for i in ipairs(x) do
    if x[i] <= 0 or y[i] <= 0 then return nil end
    log_x[i], log_y[i], mean = math.log(x[i]), math.log(y[i]), mean + y[i] / #y
  end
  local line = stats.line(log_x, log_y)
  if not line then return nil end
  local fit, left, all = { factor = math.exp(line.at_zero), exponent = line.each }, 0, 0
  for i in ipairs(x) do left, all = left + (y[i] - fit.factor * x[i] ^ fit.exponent) ^ 2, all + (y[i] - mean) ^ 2 end
  fit.r2 = all > 0 and 1 - left / all or nil
  return fit
end

local function medians_of(series, random)
  local medians = {}
  for i, rounds in ipairs(series.rounds) do
    medians[i] = stats.median(random and stats.resample(rounds, random) or rounds)
  end
  return medians
end

-- The line through the medians; with `random`, through the medians of a resample.
local function line(series, random) return stats.line(series.count, medians_of(series, random)) end

-- A statistic of series, and its interval if there are enough rounds.
local function estimate(run, statistic)
  local value = statistic()
  if not value then return nil end
  local low, high
  if run.rounds >= 5 then low, high = stats.bootstrap(statistic, run.seed) end
  return { value = value, low = low, high = high }
end

--- The cost that n >= 1 metrics add to a call: alpha + beta n.
local function metrics_cost(run, series, prefix)
  local function fit(random)
    local base = series.none and line(series.none, random)
    local n, more = {}, {}
    for _, subject in ipairs(subjects.all) do
      local own = subject.name:find("^" .. prefix) and subject.metrics >= 1 and series[subject.name]
      local l = own and line(own, random)
      if l and base then n[#n + 1], more[#more + 1] = subject.metrics, l.each - base.each end
    end
    return #n >= 2 and stats.line(n, more) or nil, power(n, more)
  end
  local straight, bent = fit()
  if not straight then return nil end
  return { r2 = straight.r2, power = bent or {}, alpha = estimate(run, function(random) return fit(random).at_zero end),
    beta = estimate(run, function(random) return fit(random).each end) }
end

--- All fits of a run.
---@param count_of fun(p: table): integer
---@return { lines: table[], metrics: table?, lua: table? }
local function all_fits(run, count_of)
  local series = series_of(run, count_of, function(r) return r.median end)
  local hot = series_of(run, count_of, function(r) return r.extra.hot end)
  local lines, none = {}, series.none
  for _, subject in ipairs(subjects.all) do
    local own = series[subject.name]
    local l = own and line(own)
    if l then
      local calls = subject.group ~= "values"
      lines[#lines + 1] = {
        subject = subject, line = l, power = power(own.count, medians_of(own)) or {}, last = own.count[#own.count],
        each = estimate(run, function(random) return line(own, random).each end),
        hot = calls and line(hot[subject.name]).each or 0,
        more = calls and none and estimate(run, function(random) return line(own, random).each - line(none, random).each end),
      }
    end
  end
  return { lines = lines, metrics = metrics_cost(run, series, "metrics_"), lua = metrics_cost(run, series, "lua_%d") }
end

-- --- write fits.dat and costs.dat, and print the closing tables ---

local function interval(e)
  if not e then return nil end
  if not e.low then return tabulate.number(e.value) end
  return ("%s (%s to %s)"):format(tabulate.number(e.value), tabulate.number(e.low), tabulate.number(e.high))
end

local function half(e)
  return e and { value = e.value / 2, low = e.low and e.low / 2, high = e.high and e.high / 2 }
end

local function fit_table(fits)
  local rows = {}
  for i, f in ipairs(fits.lines) do
    local s, l, more = f.subject, f.line, f.more or {}
    rows[i] = { s.name, s.group, s.metrics, f.each.value, f.each.low, f.each.high, l.at_zero / 1e6, l.r2, f.last,
      (l.at_zero + l.each * f.last) / 1e6, more.value, more.low, more.high, f.hot, s.title,
      f.power.factor and f.power.factor / 1e6, f.power.exponent, f.power.r2 }
  end
  return { rows = rows, columns = {
    { "subject", "text", "as in data.dat" }, { "group", "text", "as in data.dat" }, { "metrics", "", "number of metrics" },
    { "each", "ns", "slope: time of a call, or of a value" }, { "each_low", "ns", "95 % interval" },
    { "each_high", "ns", "95 % interval" }, { "at_zero", "ms", "the line at no calls" },
    { "r2", "", "share of the variance that the line explains" }, { "last", "", "most calls or values" },
    { "at_last", "ms", "the line at the most calls or values" }, { "more", "ns", "slope less that without a plugin" },
    { "more_low", "ns", "95 % interval" }, { "more_high", "ns", "95 % interval" },
    { "hot", "ns", "slope of the time before draining and collecting" }, { "title", "text", "title of the plugin" },
    { "factor", "ms", "factor of the curve factor * count ^ exponent" }, { "exponent", "", "exponent of the curve" },
    { "curve_r2", "", "share of the variance that the curve explains" },
  } }
end

local kinds = { { "metrics", "strictly synchronous, in C" }, { "lua", "synchronous, in Lua" } }

local function cost_table(fits)
  local rows = {}
  for _, kind in ipairs(kinds) do
    local c = fits[kind[1]]
    if c then
      rows[#rows + 1] = { kind[1], c.alpha.value, c.alpha.low, c.alpha.high, c.beta.value, c.beta.low, c.beta.high, kind[2],
        c.r2, c.power.factor, c.power.exponent, c.power.r2 }
    end
  end
  return { rows = rows, columns = {
    { "group", "text", "as in fits.dat" }, { "alpha", "ns", "fixed cost of metrics, per call" },
    { "alpha_low", "ns", "95 % interval" }, { "alpha_high", "ns", "95 % interval" },
    { "beta", "ns", "cost of each metric, per call" }, { "beta_low", "ns", "95 % interval" },
    { "beta_high", "ns", "95 % interval" }, { "title", "text", "kind of metrics" },
    { "r2", "", "share of the variance that alpha + beta n explains" },
    { "factor", "ns", "factor of the curve factor * n ^ exponent" }, { "exponent", "", "exponent of the curve" },
    { "curve_r2", "", "share of the variance that the curve explains" },
  } }
end

local function say_lines(run, fits)
  local calls, values = {}, {}
  for _, f in ipairs(fits.lines) do
    if f.subject.group == "values" then
      values[#values + 1] = { f.subject.title, interval(f.each), f.line.at_zero / 1e6, f.line.r2 }
    else
      calls[#calls + 1] = { f.subject.title, interval(f.each), f.subject.name ~= "none" and interval(half(f.more)) or nil,
        f.hot ~= f.line.each and f.hot or nil, f.line.r2 }
    end
  end
  run:say("\nCost of a call: slope of the run time against the number of calls, with its 95 % interval in brackets; a call is"
    .. "\ntwo events, enter and leave; the time before draining is what the program waits for")
  run:say(tabulate({ "plugin", "call [ns]", "added per event [ns]", "before draining [ns]", "r2" }, calls, 1))
  if #values > 0 then
    run:say("\nCost of collecting asynchronous values when the plugin ends")
    run:say(tabulate({ "values", "per value [ns]", "without values [ms]", "r2" }, values, 1))
  end
end

--- Write the tables and print them.
local function write_report(run, fits)
  run:write_table("fits.dat", fit_table(fits), "a line through the runs of each subject")
  local costs = cost_table(fits)
  if #costs.rows > 0 then run:write_table("costs.dat", costs, "cost that n metrics add to a call: alpha + beta n") end
  say_lines(run, fits)
  local rows = {}
  for _, kind in ipairs(kinds) do
    local c = fits[kind[1]]
    if c then
      rows[#rows + 1] = { kind[2], interval(c.alpha), interval(c.beta), interval(half(c.alpha)), interval(half(c.beta)) }
    end
  end
  if #rows == 0 then return end
  run:say("\nn metrics add alpha + beta n")
  run:say(tabulate({ "metrics", "alpha per call [ns]", "beta per call [ns]", "alpha per event [ns]", "beta per event [ns]" },
    rows, 1))
end

local steps = 5
local time_limit_s = 120

-- The experiment's setup from the options; set when the factors are requested.
local scale, folder

-- Without a plugin the program is always measured.
local function chosen(text)
  local known = lists.map(subjects.all, function(subject) return subject.name end)
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
      value = function(cell) return hot_time(cell) end },
    { name = "group", unit = "text", description = "metrics, lua, substrate or values",
      value = function(cell) return subjects.named[cell.p.subject].group end },
    { name = "title", unit = "text", description = "title of the plugin",
      value = function(cell) return subjects.named[cell.p.subject].title end },
  },
  analyse = function(run)
    write_report(run, all_fits(run, count_of))
    folder:close()
  end,
  plot = "plugin_overhead",
}
