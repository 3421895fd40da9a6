-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/compare.lua - do two runs differ, where, and by how much?
--
-- Try:  pmlua compare results/read_overhead/20261121T013000Z results/read_overhead/latest
--
-- Rounds are the repetitions: samples inside one follow each other in microseconds and are not independent. Per cell:
-- the ratio of the medians B/A with a 95 % bootstrap interval over the rounds' medians, and the rank-sum test of these,
-- its p values corrected for the number of cells (Holm), so that one false alarm among all cells has a chance of 5 %.
-- What changes from one start of the program to the next (memory layout, neighbours on the machine) is in neither: only
-- several runs of each side show that.

local json = require "pmlua.json"
local results = require "pmlua.results"
local stats = require "pmlua.stats"

---@class pml.compare
---@overload fun(dir_a: string, dir_b: string, options?: table): table?, string?
local M = {}

local level = 0.05
local fewest_rounds = 5
local replicates = 2000

local function factor_names(run)
  local names = {}
  for i, f in ipairs(run.meta.factors or {}) do names[i] = type(f) == "table" and f.name or nil end
  return names
end

local function label_of(names, row)
  local parts = {}
  for i, name in ipairs(names) do parts[i] = ("%s=%s"):format(name, tostring(row[name])) end
  return #parts > 0 and table.concat(parts, " ") or "all"
end

-- Rows by the values of their factors, in order, each with the medians of its rounds.
local function index(run)
  local names, by_label, order, medians = factor_names(run), {}, {}, {}
  for _, r in ipairs(run.rounds and run.rounds.rows or {}) do
    if r.cell and r.median then
      medians[r.cell] = medians[r.cell] or {}
      table.insert(medians[r.cell], r.median)
    end
  end
  for _, row in ipairs(run.data.rows) do
    local label = label_of(names, row)
    if by_label[label] then return nil, ("%s/data.dat: two rows for %s"):format(run.path, label) end
    by_label[label] = { label = label, row = row, medians = medians[row.cell] or {} }
    order[#order + 1] = label
  end
  return by_label, order
end

local function ratio_interval(a, b, seed)
  local low, high = stats.bootstrap(function(random)
    return math.log(stats.median(stats.resample(b, random)) / stats.median(stats.resample(a, random)))
  end, seed, 0.95, replicates)
  return math.exp(low), math.exp(high)
end

local function resolution_of(run)
  local clock = type(run.meta.machine) == "table" and run.meta.machine.clock
  local ns = type(clock) == "table" and tonumber(clock.resolution_ns) or 0
  return run.meta.sample_unit == "ticks" and ns / (tonumber(run.meta.calls) or 1) or 0
end

-- The numbers of a matched cell; `verdict` only when they cannot be had.
local function measure(a, b, seed)
  local cell = { label = a.label, a = a.row.median, b = b.row.median, rounds_a = #a.medians, rounds_b = #b.medians }
  if not cell.a or not cell.b then
    local where = not cell.a and not cell.b and "either run" or not cell.a and "A" or "B"
    cell.verdict = "cannot tell (not measured in " .. where .. ")"
  elseif math.min(#a.medians, #b.medians) < fewest_rounds then
    cell.verdict = ("cannot tell (too few rounds: %d and %d, %d are needed)"):format(#a.medians, #b.medians, fewest_rounds)
  elseif cell.a <= 0 or cell.b <= 0 or stats.tally(a.medians).value[1] <= 0 or stats.tally(b.medians).value[1] <= 0 then
    cell.verdict = "cannot tell (a median is not positive: no ratio)"
  end
  if cell.a and cell.b and cell.a > 0 then cell.ratio = cell.b / cell.a end
  if cell.verdict then return cell end
  cell.p = stats.rank_sum(a.medians, b.medians)
  local low, high = ratio_interval(a.medians, b.medians, seed)
  cell.low, cell.high = math.min(low, cell.ratio), math.max(high, cell.ratio)
  return cell
end

-- The smallest p that the test can give with so many rounds: one of C(m + n, m) orders, at either end.
local function least_p(m, n)
  local ways = 1.0
  for i = 1, m do ways = ways * (n + i) / i end
  return 2 / ways
end

local function judge(cell, tests, threshold, resolution, time)
  local change = math.abs(cell.ratio - 1)
  local significant = cell.adjusted <= level
  local percent = ("%.3g %%"):format(change * 100)
  if cell.low >= 1 / (1 + threshold) and cell.high <= 1 + threshold then return "same" end
  if change > 0 and math.abs(cell.b - cell.a) < resolution then return "cannot tell (below the clock's resolution)" end
  if significant and change > threshold then
    if time then return (cell.ratio > 1 and "slower by " or "faster by ") .. percent end
    return (cell.ratio > 1 and "more by " or "less by ") .. percent
  end
  if significant then return ("cannot tell (the difference may be below %.3g %%)"):format(threshold * 100) end
  if least_p(cell.rounds_a, cell.rounds_b) * tests > level then
    return ("cannot tell (too few rounds for %d cells)"):format(tests)
  end
  return "cannot tell (the rounds spread more than the difference)"
end

local function machine_name(run)
  local m = type(run.meta.machine) == "table" and run.meta.machine or {}
  return ("%s, %s cpus, microcode %s, kernel %s"):format(m.cpu or "?", m.cpus or "?", m.microcode or "?",
    type(run.meta.versions) == "table" and run.meta.versions.kernel or "?")
end

local function warnings(a, b)
  local out = json.array()
  for name, run in pairs { A = a, B = b } do
    if not run.complete then out[#out + 1] = ("%s is incomplete (%s): %s"):format(name, run.status, run.path) end
  end
  table.sort(out)
  if machine_name(a) ~= machine_name(b) then
    out[#out + 1] = ("different machines or kernels: %s / %s"):format(machine_name(a), machine_name(b))
  end
  if a.meta.name ~= b.meta.name then
    out[#out + 1] = ("different experiments: %s / %s"):format(a.meta.name, b.meta.name)
  elseif a.meta.script_sha256 ~= b.meta.script_sha256 then
    out[#out + 1] = "the script is not the same in both runs"
  end
  return out
end

local function overall(result)
  local count = { slower = 0, faster = 0, more = 0, less = 0, same = 0, cannot = 0 }
  for _, cell in ipairs(result.cells) do
    local word = cell.verdict:match("^%a+")
    count[word] = count[word] + 1
  end
  local parts = {}
  for _, word in ipairs { "faster", "slower", "less", "more", "same" } do
    if count[word] > 0 or word == "same" then parts[#parts + 1] = ("%d %s"):format(count[word], word) end
  end
  parts[#parts + 1] = ("%d cannot tell"):format(count.cannot)
  local log_sum, n = 0, 0
  for _, cell in ipairs(result.cells) do
    if cell.low then log_sum, n = log_sum + math.log(cell.ratio), n + 1 end
  end
  result.geometric_mean = n > 0 and math.exp(log_sum / n) or nil
  local text = ("%d cells: %s"):format(#result.cells, table.concat(parts, ", "))
  if n > 0 then text = text .. ("; geometric mean of the ratios B/A %.4g"):format(result.geometric_mean) end
  return text
end

local function match(result, a, b, seed)
  local in_a, order_a = index(a)
  if not in_a then return nil, order_a end
  local in_b, order_b = index(b)
  if not in_b then return nil, order_b end
  for _, label in ipairs(order_a) do
    if in_b[label] then
      result.cells[#result.cells + 1] = measure(in_a[label], in_b[label], seed + #result.cells)
    else
      result.only_a[#result.only_a + 1] = label
    end
  end
  for _, label in ipairs(order_b) do
    if not in_a[label] then result.only_b[#result.only_b + 1] = label end
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
  end
end

--- Compare two runs.
---@param dir_a string the reference
---@param dir_b string
---@param options? {threshold?: number, seed?: integer} threshold: relative difference that is called the same, 0.01
---@return table? result {a, b, unit, cells, only_a, only_b, warnings, overall, geometric_mean}
---@return string? err a folder that cannot be read
function M.compare(dir_a, dir_b, options)
  options = options or {}
  local a, err = results.open(dir_a)
  if not a then return nil, err end
  local b
  b, err = results.open(dir_b)
  if not b then return nil, err end
  if a.meta.unit ~= b.meta.unit then
    local function unit_of(r) return r.meta.unit and "is in " .. tostring(r.meta.unit) or "has no unit in meta.json" end
    return nil, ("cannot compare: %s %s, %s %s"):format(a.path, unit_of(a), b.path, unit_of(b))
  end
  local result = {
    a = a.path, b = b.path, unit = a.meta.unit, cells = json.array(), only_a = json.array(), only_b = json.array(),
    warnings = warnings(a, b),
  }
  local ok
  ok, err = match(result, a, b, options.seed or math.tointeger(a.meta.seed) or 1)
  if not ok then return nil, err end
  give_verdicts(result, options.threshold or 0.01, math.max(resolution_of(a), resolution_of(b)))
  result.overall = overall(result)
  return result
end

return setmetatable(M, { __call = function(_, ...) return M.compare(...) end })
