-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/noise/periods.lua - detours of like length that come again and again: their period and length.
--
-- Try:  local list = {}
--       for i = 1, 50 do list[i] = { at = i * 1e7, length = 5e5 } end
--       print(require("noise.periods").find(list)[1].period)

local median = require("pmlua.stats").median

local M = {}

local WIDTH = 1.15 -- lengths in a family differ by less than this factor
local LEAST = 12 -- detours in a family: with fewer, random detours often seem regular
local MOST = 100 -- families: short detours of many lengths outnumber rare, long and regular ones
local NEAR = 0.1 -- tolerance of a detour, relative to the period
local REGULAR = 0.6 -- share of detours within the tolerance; a fifth of random ones is

-- The densest window of lengths: first and last place in the sorted list.
local function densest(sorted)
  local best, first, last, low = 0, nil, nil, 1
  for high = 1, #sorted do
    while sorted[high].length > sorted[low].length * WIDTH do low = low + 1 end
    if high - low + 1 > best then best, first, last = high - low + 1, low, high end
  end
  return first, last
end

-- The slope of moments over the number of periods that lie between them, least squares.
local function fit(times, period)
  local n, sk, st, skk, skt, k = 0, 0, 0, 0, 0, 0
  local regular = 0
  for i, t in ipairs(times) do
    if i > 1 then
      local steps = (t - times[i - 1]) / period
      local whole = math.floor(steps + 0.5)
      if whole >= 1 and math.abs(steps - whole) <= NEAR then regular = regular + 1 end
      k = k + whole
    end
    local s = t - times[1]
    n, sk, st, skk, skt = n + 1, sk + k, st + s, skk + k * k, skt + k * s
  end
  local spread = n * skk - sk * sk
  return spread > 0 and (n * skt - sk * st) / spread or nil, regular / (#times - 1)
end

---@class noise.Family
---@field length number median
---@field times integer how many
---@field period number? nil: they do not come regularly
---@field regular number share of them that come a whole number of periods after the one before

local function family_of(members)
  table.sort(members, function(a, b) return a.at < b.at end)
  local lengths, times, gaps = {}, {}, {}
  for i, d in ipairs(members) do
    lengths[i], times[i] = d.length, d.at
    if i > 1 then gaps[i - 1] = d.at - members[i - 1].at end
  end
  local period, regular = fit(times, median(gaps))
  return { length = median(lengths), times = #members, regular = regular, period = regular >= REGULAR and period or nil }
end

--- Families of detours, those with most detours first.
---@param detours { at: number, length: number }[] one cpu's, in any order
---@return noise.Family[]
function M.find(detours)
  local left, out = table.move(detours, 1, #detours, 1, {}), {}
  table.sort(left, function(a, b) return a.length < b.length end)
  while #out < MOST do
    local first, last = densest(left)
    if not first or last - first + 1 < LEAST then break end
    out[#out + 1] = family_of(table.move(left, first, last, 1, {}))
    table.move(left, last + 1, #left + last - first + 1, first) -- nil beyond the end
  end
  return out
end

-- The family of a list that this one continues: like lengths, and like periods or none.
local function same(list, family)
  for _, f in ipairs(list) do
    local like = math.max(f.length, family.length) <= math.min(f.length, family.length) * WIDTH
    local a, b = f.period, family.period
    if like and (a == nil) == (b == nil) and (not a or math.abs(a - b) <= NEAR * math.min(a, b)) then return f end
  end
end

--- Families over several visits of a cpu, each searched separately, because planted detours start again in each visit.
---@param visits { at: number, length: number }[][]
---@return noise.Family[] families with medians over the visits, largest first
function M.over(visits)
  local out = {}
  for _, detours in ipairs(visits) do
    for _, family in ipairs(M.find(detours)) do
      local f = same(out, family)
      if not f then
        f = { length = family.length, period = family.period, times = 0, lengths = {}, periods = {}, regulars = {} }
        out[#out + 1] = f
      end
      f.times = f.times + family.times
      table.insert(f.lengths, family.length)
      table.insert(f.regulars, family.regular)
      if family.period then table.insert(f.periods, family.period) end
    end
  end
  for i, f in ipairs(out) do
    out[i] = { length = median(f.lengths), period = f.period and median(f.periods), times = f.times,
      regular = median(f.regulars) }
  end
  table.sort(out, function(a, b) return a.times > b.times end)
  return out
end

return M
