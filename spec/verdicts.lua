-- SPDX-License-Identifier: BSD-3-Clause
-- spec/verdicts.lua - quality of intervals and verdicts on data with a known truth: how often they miss, or are wrong or missing.
--
-- Usage: lua5.4 spec/verdicts.lua [TRIALS]      2000 trials of each take some minutes; the seeds are fixed
--
-- Data: normal; t with 2 degrees of freedom, which has infinite variance; log-normal; two modes 10 deviations apart, with 70 %
-- and 30 % of the rounds. A 95 % interval should cover the true value in 94 to 96 of 100 trials. Verdicts come from pmlua
-- compare, for rounds that spread by 1 %.

package.path = "./?.lua;" .. package.path
require "spec.core.support"
local compare = require "pmlua.compare"
local rng = require "pmlua.internal.rng"
local shift = require "pmlua.internal.shift"
local stats = require "pmlua.stats"

local M = { rounds = { 5, 6, 7, 8, 10, 20, 50 }, shapes = { "normal", "heavy", "skewed", "bimodal" } }

local function uniform(random) return (random(1 << 30) - 0.5) / (1 << 30) end
local function normal(random) return stats.normal_quantile(uniform(random)) end

--- Values whose median is 0.
local draw = {
  normal = normal,
  heavy = function(random) return normal(random) / math.sqrt(-math.log(uniform(random))) end,
  skewed = function(random) return math.exp(normal(random)) - 1 end,
  bimodal = function(random) return (uniform(random) < 0.7 and 0 or 10) + normal(random) - 0.5659488 end, -- quantile 5/7
}

local function several(n, f, ...)
  local out = {}
  for i = 1, n do out[i] = f(...) end
  return out
end

local function holds(low, high) return low <= 0 and high >= 0 and 1 or 0 end

--- Shares of intervals that cover the true value: of a median, of the shift between pairs and between sets.
---@param name string
---@param n integer rounds
---@param trials integer
---@return { median: number, pairs: number, sets: number }
function M.coverage(name, n, trials)
  local random, sum = rng(n + 1000 * #name), { median = 0, pairs = 0, sets = 0 }
  for _ = 1, trials do
    local a, b, differences = several(n, draw[name], random), several(n, draw[name], random), {}
    for i = 1, n do differences[i] = b[i] - a[i] end
    local pairs_of, sets_of = shift.pairs(differences), shift.sets(a, b)
    sum.median = sum.median + holds(stats.rounds_interval(a))
    sum.pairs, sum.sets = sum.pairs + holds(pairs_of.low, pairs_of.high), sum.sets + holds(sets_of.low, sets_of.high)
  end
  for k, v in pairs(sum) do sum[k] = v / trials end
  return sum
end

--- Noise in which each value resembles the previous one: AR(1), of the same deviation.
local function autoregression(random, n, r)
  local out, now = {}, normal(random)
  for i = 1, n do
    out[i] = now
    now = r * now + math.sqrt(1 - r * r) * normal(random)
  end
  return out
end

--- Shares of intervals that cover the true value if rounds depend on the previous ones; `pairs` and `sets` have two such
--- variants, A and B.
---@param r number correlation of neighbours
---@param n integer rounds
---@param trials integer
---@return { median: number, pairs: number, sets: number, wrong: number } wrong: equals that are called different
function M.dependent(r, n, trials)
  local random, sum = rng(n + 17), { median = 0, pairs = 0, sets = 0, wrong = 0 }
  for _ = 1, trials do
    local a, b, differences = autoregression(random, n, r), autoregression(random, n, r), {}
    local x, y = {}, {}
    for i = 1, n do differences[i], x[i], y[i] = b[i] - a[i], math.exp(0.01 * a[i]), math.exp(0.01 * b[i]) end
    local pairs_of, sets_of = shift.pairs(differences), shift.sets(a, b)
    sum.median = sum.median + holds(stats.rounds_interval(a))
    sum.pairs, sum.sets = sum.pairs + holds(pairs_of.low, pairs_of.high), sum.sets + holds(sets_of.low, sets_of.high)
    local verdict = compare.judged({ label = "all", row = {}, median = stats.median(x), medians = x, by_round = x },
      { label = "all", row = {}, median = stats.median(y), medians = y, by_round = y }, { paired = true })
    sum.wrong = sum.wrong + (verdict:find "^%a+er by" and 1 or 0)
  end
  for k, v in pairs(sum) do sum[k] = v / trials end
  return sum
end

--- The rounds of a start with an offset and a drift: linear, or in steps of either sign.
local function start(random, n, level, how)
  local rounds, now = {}, level * math.exp((how.offset or 0) * normal(random))
  if how.modes and random(2) == 1 then now = now * how.modes end
  for i = 1, n do
    now = now * (1 + (how.drift or 0)) * math.exp((how.wander or 0) * normal(random))
    rounds[i] = now * math.exp(0.01 * draw[how.data](random))
  end
  return rounds
end

--- Two variants in turns within one start, so that drift affects both.
local function paired_start(random, n, ratio, how)
  local a, b, now = {}, {}, 1000
  for i = 1, n do
    now = now * (1 + (how.drift or 0)) * math.exp((how.wander or 0) * normal(random))
    a[i], b[i] = now * math.exp(0.01 * draw[how.data](random)), now * ratio * math.exp(0.01 * draw[how.data](random))
  end
  return a, b
end

--- A cell in the form that compare uses internally.
local function cell(rounds)
  return { label = "all", row = {}, median = stats.median(rounds), medians = rounds, by_round = rounds }
end

local function cell_of_starts(list)
  local medians = {}
  for i, rounds in ipairs(list) do medians[i] = stats.median(rounds) end
  return { label = "all", row = {}, median = stats.median(medians), medians = medians, starts = true }
end

local ways = {
  by = function(random, n, ratio, how)
    local a, b = paired_start(random, n, ratio, how)
    return compare.judged(cell(a), cell(b), { paired = true, threshold = how.threshold })
  end,
  single = function(random, n, ratio, how)
    return compare.judged(cell(start(random, n, 1000, how)), cell(start(random, n, 1000 * ratio, how)),
      { threshold = how.threshold, between_starts = how.between_starts })
  end,
  starts = function(random, n, ratio, how)
    local function side(level) return cell_of_starts(several(how.starts or 5, start, random, n, level, how)) end
    return compare.judged(side(1000), side(1000 * ratio), { threshold = how.threshold })
  end,
}

--- Share of trials with the verdict slower or faster for B, whose times are `ratio` times A's.
---@param way string by, single or starts
---@param n integer rounds
---@param ratio number
---@param how { data: string, offset?: number, drift?: number, wander?: number, starts?: integer, modes?: number,
---threshold?: number }
---@param trials integer
---@return number
function M.told(way, n, ratio, how, trials)
  local random, told = rng(n + #way), 0
  for _ = 1, trials do
    local verdict = ways[way](random, n, ratio, how)
    if verdict:find "^slower" or verdict:find "^faster" then told = told + 1 end
  end
  return told / trials
end

M.trouble = {
  { "nothing", {} },
  { "drift of 0.5 % a round", { drift = 0.005 } },
  { "steps of 0.5 % a round", { wander = 0.005 } },
  { "starts differ by 2 %", { offset = 0.02 } },
  { "steps of 0.5 %, starts 2 %", { wander = 0.005, offset = 0.02 } },
}

function M.how(trouble, data)
  local how = { data = data }
  for k, v in pairs(trouble) do how[k] = v end
  return how
end

local function print_coverage(trials)
  print(("intervals of 95 %% that hold the truth, %% of %d"):format(trials))
  print "data      rounds  median  pairs   sets"
  for _, name in ipairs(M.shapes) do
    for _, n in ipairs(M.rounds) do
      local c = M.coverage(name, n, trials)
      print(("%-8s  %6d  %6.1f %6.1f %6.1f"):format(name, n, 100 * c.median, 100 * c.pairs, 100 * c.sets))
    end
  end
end

local function print_dependent(trials)
  print(("\nrounds that resemble the ones before (AR(1)): intervals that hold, wrong verdicts, %% of %d"):format(trials))
  print "r     rounds  median  pairs   sets  wrong"
  for _, r in ipairs { 0, 0.3, 0.5, 0.7 } do
    for _, n in ipairs { 10, 20, 50, 100 } do
      local c = M.dependent(r, n, trials)
      print(("%.1f   %6d  %6.1f %6.1f %6.1f %6.1f"):format(r, n, 100 * c.median, 100 * c.pairs, 100 * c.sets, 100 * c.wrong))
    end
  end
end

local function print_told(ratio, what, trials)
  print(("\n%s, %% of %d"):format(what, trials))
  print "trouble                      data     rounds     by  single  5 starts"
  for _, trouble in ipairs(M.trouble) do
    for _, data in ipairs { "normal", "heavy", "bimodal" } do
      for _, n in ipairs { 5, 20 } do
        local row = {}
        for i, way in ipairs { "by", "single", "starts" } do
          row[i] = 100 * M.told(way, n, ratio, M.how(trouble[2], data), trials)
        end
        print(("%-28s %-8s %6d %6.1f  %6.1f  %8.1f"):format(trouble[1], data, n, table.unpack(row)))
      end
    end
  end
end

if arg and arg[0] and arg[0]:find "verdicts%.lua$" then
  local trials = math.tointeger(tonumber(arg[1])) or 2000
  print_coverage(trials)
  print_dependent(trials)
  for n = 2, 5 do
    local share = M.told("starts", 10, 1, { data = "normal", modes = 1.1, starts = n }, trials)
    print(("%d starts a side, with two modes 10 %% apart, equal: %.1f %% called different"):format(n, 100 * share))
  end
  print_told(1, "equals that are called slower or faster", trials)
  print_told(1.02, "times 2 % apart that are told apart", trials)
end

return M
