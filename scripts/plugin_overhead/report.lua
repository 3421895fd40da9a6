-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/plugin_overhead/report.lua - write fits.dat and costs.dat, and print the closing tables.
--
-- Try:  pmlua scripts/plugin_overhead.lua --quick --no-plot

local tabulate = require "pmlua.tabulate"

local M = {}

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
function M.write(run, fits)
  run:write_table("fits.dat", fit_table(fits), "a line through the runs of each subject")
  local costs = cost_table(fits)
  if #costs.rows > 0 then run:write_table("costs.dat", costs, "what n metrics add to a call: alpha + beta n") end
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

return M
