-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/compare.lua - do two runs differ, where, and by how much?
--
-- Try:  pmlua compare results/read_overhead/20261121T013000Z results/read_overhead/latest
--
-- Or: do the levels of a factor differ within one run, whose rounds alternate between them? Then each round is a pair, so that
-- drift between rounds affects neither the interval nor the test.
--
-- Rounds are the repetitions: samples inside one follow each other in microseconds and are not independent. Per cell: the
-- ratio B/A of the rounds' medians by ranks, with a 95 % interval and a p value that belong together (internal/shift.lua); the
-- p values are corrected for the number of cells (Holm), so that one false alarm among all cells has a chance of 5 %.
--
-- Effects that change from one start of the program to the next (memory layout, load of the machine) show only in several runs of
-- each side: then each run counts as one value, its median, and Welch's test of the logarithms decides. If each side is a single
-- run, their medians are assumed to vary by 2.5 % (options.between_starts); a drift over the rounds adds to this.
--
-- Where a value is 0 or negative there are no logarithms: then differences are ranked instead of ratios.

local fields = require "pmlua.internal.fields"
local dat = require "pmlua.internal.dat"
local json = require "pmlua.json"
local keys = require "pmlua.internal.keys"
local lists = require "pmlua.internal.lists"
local results = require "pmlua.results"
local sequential = require "pmlua.internal.sequential"
local shape = require "pmlua.internal.shape"
local shift = require "pmlua.internal.shift"
local stats = require "pmlua.stats"
local refuse = require "pmlua.core".failure.refuse
local try = require "pmlua.internal.try"

---@class pml.compare
---@overload fun(dir_a: string, dir_b: string, options?: table): table?, string?
local M = {}

local level = 0.05
local between_starts = 0.025 -- for starts that vary by 2 %, and a drift that is too small to be seen
local fewest_rounds = 5
local fewest_starts = 3 -- with two per side and times of two modes, one comparison in eight has another mode on each side

local function factor_names(run)
  return lists.map(run.meta.factors or {}, function(f) return type(f) == "table" and f.name or nil end)
end

local function label_of(names, row)
  local parts = lists.map(names, function(name) return ("%s=%s"):format(name, dat.level(row[name])) end)
  return #parts > 0 and table.concat(parts, " ") or "all"
end

-- Where the row is among others: no two combinations of levels have the same.
local function key_of(names, row)
  local parts = {}
  for i, name in ipairs(names) do
    local v = row[name]
    parts[i] = dat.word(name) .. "=" .. (type(v) == "number" and ("%.17g"):format(v) or dat.word(v == nil and "" or v))
  end
  return table.concat(parts, " ")
end

-- Rows of data.dat, each with what its rounds gave: medians of samples, or values of a metric.
local function cells_of(run, metric)
  local of_cell, by_round, out, warm_up = {}, {}, {}, math.tointeger(run.meta.warm_up) or 0
  for _, r in ipairs(run.rounds and run.rounds.rows or {}) do
    if r.cell and r[metric] and (r.round or 1) > warm_up then
      of_cell[r.cell], by_round[r.cell] = of_cell[r.cell] or {}, by_round[r.cell] or {}
      table.insert(of_cell[r.cell], r[metric])
      if r.round then by_round[r.cell][r.round] = r[metric] end
    end
  end
  for i, row in ipairs(run.data.rows) do
    out[i] = { row = row, median = row[metric], medians = of_cell[row.cell] or {}, by_round = by_round[row.cell] or {} }
  end
  return out
end

-- The same by the values of their factors, in order.
local function index(run, metric)
  local names, by_key, order = factor_names(run), {}, {}
  for _, cell in ipairs(cells_of(run, metric)) do
    local key = key_of(names, cell.row)
    cell.label = label_of(names, cell.row)
    if by_key[key] then return refuse("EFORMAT", ("%s/data.dat: two rows for %s"):format(run.path, cell.label)) end
    by_key[key] = cell
    order[#order + 1] = key
  end
  return by_key, order
end

-- The column that holds a metric (nil: the samples' median) and its unit; nil and what there is.
local function metric_of(run, name)
  if not name then return "median", run.meta.unit end
  local known = {}
  for i, m in ipairs(type(run.meta.metrics) == "table" and run.meta.metrics or {}) do
    known[i] = type(m) == "table" and tostring(m.name) or "?"
    if known[i] == name and run.data.position[name] then return name, run.data.columns[run.data.position[name]].unit end
  end
  return refuse("ENOENT", ("%s has no metric %s"):format(run.path, name),
    #known > 0 and "choose one of " .. table.concat(known, ", ") or "omit --metric: the run measured nothing else")
end

local function resolution_of(run)
  local clock = type(run.meta.machine) == "table" and run.meta.machine.clock
  local ns = type(clock) == "table" and tonumber(clock.resolution_ns) or 0
  return run.meta.sample_unit == "ticks" and ns / (tonumber(run.meta.calls) or 1) or 0
end

local function constant(values, value) return lists.all(values, function(v) return v == value end) end

local function least(values) return math.min(table.unpack(values)) end

-- The scale on which values are compared: logarithms, where there are any.
local function scaled(cell, values)
  if cell.additive then return values end
  return lists.map(values, math.log)
end

-- The rounds that have both.
local function shared_rounds(a, b) return lists.filter(keys(a.by_round), function(round) return b.by_round[round] end) end

--- Standard deviation that a drift over the rounds adds to the median: drift before the first round may have been as large, in
--- either direction.
local function drift_of(cell)
  local values = lists.map(shared_rounds(cell, cell), function(round) return cell.by_round[round] end)
  local trend = shape.trend(values)
  return trend and trend.p <= level and math.abs(trend.extent) / math.sqrt(3) or 0
end

local function test_sets(cell, a, b, allowed)
  local found = shift.sets(scaled(cell, a.medians), scaled(cell, b.medians))
  cell.p_rounds = found.p_independent or found.p
  if constant(a.medians, a.median) and constant(b.medians, b.median) then return found end
  cell.drift = math.sqrt(drift_of(a) ^ 2 + drift_of(b) ^ 2)
  cell.allowed = math.sqrt(2) * allowed
  local unit = cell.additive and math.max(math.abs(a.median), math.abs(b.median)) or 1
  return shift.widened(found, unit * math.sqrt(cell.drift ^ 2 + cell.allowed ^ 2))
end

-- The rounds' number depended on their values (--until): their intervals must hold at every look. Warm-up rounds do not count.
local function test_sequence(cell, differences)
  local found = sequential.pairs(differences)
  cell.unbounded = not found.low or nil
  found.low, found.high = found.low or -math.huge, found.high or math.huge
  return found
end

local function test(cell, a, b, options)
  if a.starts then return shift.starts(scaled(cell, a.medians), scaled(cell, b.medians)) end
  local rounds = options.paired and shared_rounds(a, b) or {}
  if #rounds < fewest_rounds then
    return test_sets(cell, a, b, options.paired and 0 or options.between_starts or between_starts)
  end
  cell.paired = #rounds
  local differences = {}
  for i, round in ipairs(rounds) do
    local x, y = a.by_round[round], b.by_round[round]
    differences[i] = cell.additive and y - x or math.log(y / x)
  end
  return options.sequential and test_sequence(cell, differences) or shift.pairs(differences)
end

--- Why a cell's numbers need no statistics, or cannot be had.
local function settled(cell, a, b)
  local fewest, what = a.starts and fewest_starts or fewest_rounds, a.starts and "starts" or "rounds"
  if not cell.a or not cell.b then
    local where = not cell.a and not cell.b and "either run" or not cell.a and "A" or "B"
    return "cannot tell (not measured in " .. where .. ")"
  elseif math.min(#a.medians, #b.medians) < fewest then
    return ("cannot tell (too few %s: %d and %d, %d are needed)"):format(what, #a.medians, #b.medians, fewest)
  elseif cell.a == cell.b and constant(a.medians, cell.a) and constant(b.medians, cell.a) then
    return "same"
  end
end

--- The row's shape, as in data.dat, unless it is steady.
local function unsteady(row) return row.shape and row.shape ~= "steady" and row.shape ~= "" and tostring(row.shape) or nil end

-- Compare a matched cell's numbers; set only `verdict` if they are missing or need no statistics.
local function measure(a, b, options)
  local cell = { label = a.label, a = a.median, b = b.median, rounds_a = #a.medians, rounds_b = #b.medians, starts = a.starts,
    shape_a = unsteady(a.row), shape_b = unsteady(b.row) }
  cell.verdict = settled(cell, a, b)
  if cell.a and cell.b and cell.a > 0 then cell.ratio = cell.b / cell.a end
  if cell.verdict == "same" then cell.ratio, cell.low, cell.high = 1, 1, 1 end
  if cell.verdict then return cell end
  cell.additive = math.min(cell.a, cell.b, least(a.medians), least(b.medians)) <= 0 or nil
  local found = test(cell, a, b, options)
  cell.p, cell.p_independent, cell.effective = found.p, found.p_independent, found.effective
  if cell.additive then
    cell.difference, cell.difference_low, cell.difference_high = found.estimate, found.low, found.high
    if cell.a > 0 then cell.low, cell.high = 1 + found.low / cell.a, 1 + found.high / cell.a end
  elseif constant(a.medians, cell.a) and constant(b.medians, cell.b) then
    cell.low, cell.high = cell.ratio, cell.ratio -- not by way of logarithms
  else
    cell.ratio, cell.low, cell.high = math.exp(found.estimate), math.exp(found.low), math.exp(found.high)
  end
  return cell
end

-- The smallest p that the test can give with this number of rounds: one of C(m + n, m) orders, or of all signs, at either end.
local function least_p(cell)
  local m, n, ways = cell.rounds_a, cell.rounds_b, 1.0
  if cell.paired then return cell.paired < shift.fewest_ranked and 0 or 2 / 2.0 ^ cell.paired end
  for i = 1, m do ways = ways * (n + i) / i end
  return 2 / ways
end

--- By how much, relative to A, B surely differs: from 1 to the near end of the interval. 0 where the interval has 1 in it;
-- where A is 0, any difference is endless.
---@param cell table
---@return number change, integer direction -1, 0 or 1
local function sure_change(cell)
  local low, high = (cell.low or 1) - 1, (cell.high or 1) - 1
  if cell.difference then low, high = cell.difference_low, cell.difference_high end
  local near = low > 0 and low or high < 0 and high or 0
  if near == 0 then return 0, 0 end
  local unit = cell.difference and math.abs(cell.a) or 1
  return unit > 0 and math.abs(near) / unit or math.huge, near > 0 and 1 or -1
end

--- Whether --fail-on has something to say of a cell: its verdict is the word, and surely by more than the bound.
---@param cell table
---@param word string
---@param bound number
---@return boolean
function M.beyond(cell, word, bound) return cell.verdict:match "^%a+" == word and sure_change(cell) > bound end

local words = { time = { [-1] = "faster", "slower" }, other = { [-1] = "less", "more" } }

-- "slower by 3 %"; if A is not positive, the values themselves, because a ratio would be meaningless.
local function different(cell, direction, time)
  local word = words[time and "time" or "other"][direction]
  if not cell.ratio then
    local number = require "pmlua.tabulate".number
    return ("%s, from %s to %s"):format(word, number(cell.a), number(cell.b))
  end
  local change = math.abs(cell.ratio - 1)
  return (change < 10 and "%s by %.3g %%" or "%s by %.0f %%"):format(word, change * 100)
end

-- Whether the whole interval is within the threshold.
local function within(cell, threshold)
  if not cell.difference then return cell.low >= 1 / (1 + threshold) and cell.high <= 1 + threshold end
  return math.max(math.abs(cell.difference_low), math.abs(cell.difference_high)) <= threshold * math.abs(cell.a)
end

local function judge(cell, tests, threshold, resolution, time)
  local significant, change, direction = cell.adjusted <= level, sure_change(cell)
  if within(cell, threshold) then return "same" end
  if cell.b ~= cell.a and math.abs(cell.b - cell.a) < resolution then return "cannot tell (below the clock's resolution)" end
  if significant and change > threshold then return different(cell, direction, time) end
  if significant then return ("cannot tell (the difference may be below %.3g %%)"):format(threshold * 100) end
  if cell.starts then return "cannot tell (the runs spread more than the difference)" end
  if cell.p_rounds and cell.p_rounds * tests <= level then
    if cell.drift > cell.allowed then return "cannot tell (the drift over rounds exceeds the difference)" end
    if not cell.effective then
      return ("cannot tell (one run of each; runs may differ by %.2g %%)"):format(196 * cell.allowed)
    end
  end
  if cell.effective and cell.p_independent * tests <= level then
    return ("cannot tell (each round resembles the previous round: %d count as %.0f)"):format(
      math.min(cell.rounds_a, cell.rounds_b), math.max(cell.effective, 1))
  end
  if least_p(cell) * tests > level then return ("cannot tell (too few rounds for %d cells)"):format(tests) end
  return "cannot tell (the rounds spread more than the difference)"
end

local function machine_name(run)
  local m = type(run.meta.machine) == "table" and run.meta.machine or {}
  return ("%s, %s cpus, microcode %s, kernel %s"):format(m.cpu or "?", m.cpus or "?", m.microcode or "?",
    type(run.meta.versions) == "table" and run.meta.versions.kernel or "?")
end

-- Differences between a run and the reference, one sentence each.
local function differences(a, b)
  local out = {}
  if machine_name(a) ~= machine_name(b) then
    out[1] = ("different machines or kernels: %s / %s"):format(machine_name(a), machine_name(b))
  end
  if a.meta.name ~= b.meta.name then
    out[#out + 1] = ("different experiments: %s / %s"):format(a.meta.name, b.meta.name)
  elseif a.meta.script_sha256 ~= b.meta.script_sha256 then
    out[#out + 1] = "the script is not the same in both runs"
  end
  return out
end

local function warnings(a, b)
  local out, seen = json.array(), {}
  local function warn(text)
    if not seen[text] then out[#out + 1] = text end
    seen[text] = true
  end
  for i, side in ipairs { a, b } do
    for _, run in ipairs(side) do
      if not run.complete then warn(("%s is incomplete (%s): %s"):format(i == 1 and "A" or "B", run.ending, run.path)) end
    end
  end
  for _, side in ipairs { a, b } do
    for _, run in ipairs(side) do
      for _, text in ipairs(differences(a[1], run)) do warn(text) end
    end
  end
  return out
end

local function overall(result)
  local count = { slower = 0, faster = 0, more = 0, less = 0, same = 0, cannot = 0 }
  for _, cell in ipairs(result.cells) do
    local word = cell.verdict:match("^%a+")
    count[word] = count[word] + 1
  end
  if #result.cells == 0 then return "0 cells: A and B have no combination of factors in common; name runs of one experiment" end
  local parts = {}
  for _, word in ipairs { "faster", "slower", "less", "more", "same" } do
    if count[word] > 0 or word == "same" then parts[#parts + 1] = ("%d %s"):format(count[word], word) end
  end
  parts[#parts + 1] = ("%d cannot tell"):format(count.cannot)
  local log_sum, n = 0, 0
  for _, cell in ipairs(result.cells) do
    if cell.low and not cell.difference then log_sum, n = log_sum + math.log(cell.ratio), n + 1 end
  end
  result.geometric_mean = n > 0 and math.exp(log_sum / n) or nil
  local text = ("%d cells: %s"):format(#result.cells, table.concat(parts, ", "))
  if n > 0 then text = text .. ("; geometric mean of the ratios B/A %.4g"):format(result.geometric_mean) end
  return text
end

-- Index the cells of a side by its first run: with this run's rounds, or with the median of each run as one value.
local function index_of_side(runs, several, metric)
  local cells, order = index(runs[1], metric)
  if not cells or not several then return cells, order end
  for _, cell in pairs(cells) do cell.starts, cell.medians = true, { cell.median } end
  for i = 2, #runs do
    local more = try(index(runs[i], metric))
    for key, cell in pairs(cells) do cell.medians[#cell.medians + 1] = more[key] and more[key].median end
  end
  for _, cell in pairs(cells) do cell.median = #cell.medians > 0 and stats.median(cell.medians) or nil end
  return cells, order
end

local function match(result, a, b, options, metric)
  local several = #a > 1 or #b > 1
  local in_a, order_a = try(index_of_side(a, several, metric))
  local in_b, order_b = try(index_of_side(b, several, metric))
  for _, key in ipairs(order_a) do
    if in_b[key] then
      result.cells[#result.cells + 1] = measure(in_a[key], in_b[key], options)
    else
      result.only_a[#result.only_a + 1] = in_a[key].label
    end
  end
  for _, key in ipairs(order_b) do
    if not in_a[key] then result.only_b[#result.only_b + 1] = in_b[key].label end
  end
  return true
end

local function give_verdicts(result, threshold, resolution)
  local tested, p = {}, {}
  for _, cell in ipairs(result.cells) do
    if cell.p then tested[#tested + 1], p[#p + 1] = cell, cell.p end
  end
  for i, adjusted in ipairs(stats.holm(p)) do
    local cell = tested[i]
    cell.adjusted = adjusted
    cell.verdict = judge(cell, #tested, threshold, resolution, result.unit == "ns" or result.unit == "s")
    if cell.unbounded then cell.low, cell.high = nil, nil end
  end
  result.overall = overall(result)
end

--- The verdict on two cells alone, times that differ by more than 0 or not.
---@package
function M.judged(a, b, options)
  local cell = measure(a, b, options)
  cell.adjusted = cell.p
  return cell.verdict or judge(cell, 1, options.threshold or 0, 0, true), cell
end

local taken = { threshold = true, metric = true, between_starts = true }

---@class pmlua.CompareOptions
---@field threshold? number relative difference that is called the same, 0.01
---@field metric? string one of the run's metrics instead of its samples
---@field between_starts? number standard deviation of starts of one program, where each side is one: 0.025

-- The runs of a side, which are in the reference's unit; nil and what keeps them from being compared.
local function open_side(dirs, reference, metric)
  local runs = {}
  for i, dir in ipairs(type(dirs) == "table" and dirs or { dirs }) do
    local run = try(results.open(dir))
    try(metric_of(run, metric))
    runs[i], reference = run, reference or run
    if not metric and run.meta.unit ~= reference.meta.unit then
      local function unit_of(r) return r.meta.unit and "is in " .. tostring(r.meta.unit) or "has no unit in meta.json" end
      return refuse("EINVAL",
        ("cannot compare: %s %s, %s %s"):format(reference.path, unit_of(reference), run.path, unit_of(run)))
    end
  end
  return runs
end

local function paths_of(runs)
  local paths = lists.map(runs, function(run) return run.path end)
  return table.concat(paths, " ")
end

local function compare(dirs_a, dirs_b, options)
  local a = try(open_side(dirs_a, nil, options.metric))
  local b = try(open_side(dirs_b, a[1], options.metric))
  local column, unit = metric_of(a[1], options.metric)
  local result = {
    a = paths_of(a), b = paths_of(b), starts_a = #a, starts_b = #b, unit = unit, metric = options.metric,
    cells = json.array(), only_a = json.array(), only_b = json.array(), warnings = warnings(a, b),
  }
  try(match(result, a, b, { between_starts = options.between_starts }, column))
  local resolution = options.metric and 0 or math.max(resolution_of(a[1]), resolution_of(b[1]))
  give_verdicts(result, options.threshold or 0.01, resolution)
  return result
end

--- Compare two runs, or several starts of each side.
---@param dirs_a string|string[] the reference
---@param dirs_b string|string[]
---@param options? pmlua.CompareOptions
---@return table? result {a, b, unit, cells, only_a, only_b, warnings, overall, geometric_mean}
---@return pmlua.Failure? failure a folder that cannot be read
function M.compare(dirs_a, dirs_b, options)
  fields.options(options, taken, "compare.compare")
  return try.catch(compare, dirs_a, dirs_b, options or {})
end

-- How many levels each factor has.
local function levels_of(run)
  local all = {}
  for _, f in ipairs(run.meta.factors or {}) do
    if type(f) == "table" and type(f.name) == "string" then all[f.name] = type(f.levels) == "table" and #f.levels or 0 end
  end
  return all
end

-- The other factors with two levels or more.
local function others_of(levels, names, factor)
  return lists.filter(names, function(name) return name ~= factor and (levels[name] or 0) > 1 end)
end

-- Cells that differ in the factor alone, in the order of data.dat: { label =, cells = { ... } }.
local function groups_of(run, levels, factor, metric)
  local others, groups, by_key = others_of(levels, factor_names(run), factor), {}, {}
  for _, cell in ipairs(cells_of(run, metric)) do
    local key = key_of(others, cell.row)
    local group = by_key[key]
    cell.label = label_of(others, cell.row)
    if not group then
      group = { label = cell.label, cells = {} }
      by_key[key], groups[#groups + 1] = group, group
    end
    table.insert(group.cells, cell)
  end
  return groups
end

--- Compare the levels of a factor within one run, each with the first, for each combination of the other factors.
---@param dir string
---@param factor string
---@param options? pmlua.CompareOptions
---@return table? result {run, factor, unit, metric, cells, overall, warnings}, its cells with level_a, level_b and paired, the
---number of rounds that were pairs
---@return pmlua.Failure? failure
function M.by(dir, factor, options)
  fields.options(options, taken, "compare.by")
  options = options or {}
  local run, err = results.open(dir)
  if not run then return nil, err end
  local levels = levels_of(run)
  if not levels[factor] then
    return refuse("ENOENT", ("%s has no factor %s"):format(run.path, factor),
      "choose one of " .. table.concat(factor_names(run), ", "))
  end
  local metric, unit = metric_of(run, options.metric)
  if not metric then return nil, unit end
  local result = { run = run.path, factor = factor, unit = unit, metric = options.metric, cells = json.array(),
    warnings = json.array() }
  for _, group in ipairs(groups_of(run, levels, factor, metric)) do
    for i = 2, #group.cells do
      local a, b = group.cells[1], group.cells[i]
      local cell = measure(a, b, { paired = true, sequential = run.meta.warm_up ~= nil })
      cell.cell = b.row.cell
      cell.level_a, cell.level_b = dat.level(a.row[factor]), dat.level(b.row[factor])
      table.insert(result.cells, cell)
    end
  end
  if #result.cells == 0 then
    return refuse("ENODATA", ("%s: nothing to compare, factor %s has one level"):format(run.path, factor))
  end
  if not run.complete then result.warnings[1] = ("the run is incomplete (%s): %s"):format(run.ending, run.path) end
  give_verdicts(result, options.threshold or 0.01, options.metric and 0 or resolution_of(run))
  return result
end

return setmetatable(M, { __call = function(_, ...) return M.compare(...) end })
