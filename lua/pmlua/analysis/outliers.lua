-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/analysis/outliers.lua - causes of slow calls: properties that distinguish them from the
-- other calls of their region.
--
-- Try:  pmlua record --trace -o out -- ./server; pmlua report out --outliers request
--
-- A call is slow above the third quartile by three interquartile ranges (Tukey's far out), ordinary below 1.5 of them. Slow and
-- ordinary calls are compared by features: calls and time inside, by function; values of events and arguments; functions
-- that other threads ran meanwhile; whether it is the first call of its thread.
--
-- Every slow call takes longer in some function, so the time of a function is a cause only if it has most of the extra time of
-- more slow calls than its share of ordinary time explains (upper tail of the binomial distribution). Other features are
-- compared by ranks (stats.rank_sum). Both p values are corrected for the number of features (stats.holm).

local sorted = require "pmlua.internal.sorted"
local stats = require "pmlua.stats"

local M = {}

local FAR <const>, NEAR <const> = 3, 1.5
local SLOW <const>, ORDINARY <const> = 1000, 2000 -- at most so many calls are compared
local FEWEST_SLOW <const>, FEWEST_ORDINARY <const> = 3, 10
local LEVEL <const>, EFFECT <const> = 0.01, 0.2
local BESIDE <const> = 0.25 -- threads

---@class pmlua.analysis.Outliers
---@field calls integer of the region, outermost ones that returned
---@field slow integer
---@field median_s number
---@field fence_s number slow calls took longer
---@field extra_s number? what a slow call took longer than the median, in the median
---@field causes pmlua.analysis.OutlierCause[] arguments first, then calls, events and other threads; what explains most first
---@field where { region: string, slow_calls: integer }[] functions that have most of the extra time of slow calls
---@field features integer compared
---@field compared { slow: integer, ordinary: integer } calls: the slowest, and ordinary ones at equal distances
---@field unknown string? why no cause can be told

---@class pmlua.analysis.OutlierCause
---@field kind "argument"|"first"|"calls"|"time"|"event"|"beside"|"self"
---@field name string of the region or metric
---@field ordinary number mean of the ordinary calls, of "first" the part of them; time in seconds
---@field slow number mean of the slow calls
---@field explains integer? "calls", "time", "self": slow calls that have most of their extra time in these calls
---@field effect number how often a slow call has more than an ordinary one, less how often it has less: -1 to 1
---@field p number corrected

-- Order of causes: arguments determine the calls inside, and these determine the events. Time in the region itself is the least
-- specific cause.
local CLASS <const> = { argument = 1, first = 2, calls = 3, time = 3, event = 4, beside = 5, self = 6 }

-- ---- the calls that are compared ----

local function why_none(reader, name)
  local names = {}
  for i, region in ipairs(reader:regions()) do
    if region.name == name then return ("no call of %s returned"):format(name) end
    names[i] = region.name
  end
  local nearest = require "pmlua.internal.nearest"(name, names)
  return ("the trace has no section or function %s%s"):format(name, nearest and ("; did you mean %s?"):format(nearest) or "")
end

--- Durations that separate ordinary from slow calls; nil: no call returned.
local function fences_of(reader, name)
  local durations, n = {}, 0
  local function add(from, to)
    n = n + 1
    durations[n] = to - from
  end
  local damaged, err = M.each_call(reader, name, add)
  if not damaged then return nil, err end
  if n == 0 then return nil, why_none(reader, name) end
  table.sort(durations)
  local q1, median, q3 = stats.quantile(durations, 0.25), stats.quantile(durations, 0.5), stats.quantile(durations, 0.75)
  local fences = { calls = n, median_s = median, near_s = q3 + NEAR * (q3 - q1), fence_s = q3 + FAR * (q3 - q1) }
  local slow = 0
  while slow < n and durations[n - slow] > fences.fence_s do slow = slow + 1 end
  fences.slow = slow
  return fences
end

--- Call a function for each outermost call of a region that returned, location by location.
---@param f fun(from: number, to: number, location: integer)
function M.each_call(reader, name, f)
  local depth, began, location = 0, 0.0, nil
  return reader:each(function(e)
    if e.location ~= location then depth, location = 0, e.location end
    if e.region ~= name then return end
    if e.kind == "enter" then
      depth = depth + 1
      if depth == 1 then began = e.time_s end
    elseif depth > 0 then
      depth = depth - 1
      if depth == 0 then f(began, e.time_s, location) end
    end
  end, { where = { region = name, kinds = { "enter", "leave" } } })
end

--- The slowest calls, and ordinary ones at equal distances, by location and beginning.
local function choose(reader, name, fences)
  local slow, ordinary, chosen, n = {}, {}, {}, 0
  local step = math.max(1, (fences.calls - fences.slow) // ORDINARY)
  assert(M.each_call(reader, name, function(from, to, location)
    local took = to - from
    local call = { from = from, to = to, location = location, slow = took > fences.fence_s }
    if call.slow then
      slow[#slow + 1] = call
    elseif took <= fences.near_s then
      n = n + 1
      if n % step == 0 and #ordinary < ORDINARY then ordinary[#ordinary + 1] = call end
    end
  end))
  table.sort(slow, function(a, b) return a.to - a.from > b.to - b.from end)
  for i = #slow, SLOW + 1, -1 do slow[i] = nil end
  for _, list in ipairs { slow, ordinary } do
    for _, call in ipairs(list) do
      call.calls, call.time, call.value, call.base, call.numbers, call.beside = {}, {}, {}, {}, {}, {}
      local of = chosen[call.location] or {}
      chosen[call.location] = of
      of[#of + 1] = call
    end
  end
  for _, of in pairs(chosen) do table.sort(of, function(a, b) return a.from < b.from end) end
  return slow, ordinary, chosen
end

-- ---- features ----

local function add(to, key, value) to[key] = (to[key] or 0) + value end

local Inside = {}
Inside.__index = Inside

--- The chosen call that begins at a time, if one does.
function Inside:begins(at)
  local call = self.chosen[self.next]
  while call and call.from < at do
    self.next = self.next + 1
    call = self.chosen[self.next]
  end
  return call and call.from == at and call or nil
end

function Inside:enter(e, region)
  local stack = self.stack
  if not self.call and region == self.name then
    self.call = self:begins(e.time_s)
    if self.call then
      self.bottom = #stack + 1
      self.call.first = self.seen and 0 or 1
      for metric, at in pairs(self.last_s) do if at == e.time_s then self.call.base[metric] = self.last[metric] end end
    end
    self.seen = true
  elseif self.call then
    add(self.call.calls, region, 1)
  end
  stack[#stack + 1] = { region = region, from = e.time_s, inside = 0.0 }
end

function Inside:leave(e)
  local stack = self.stack
  local open = table.remove(stack)
  if not open then return end
  local took = e.time_s - open.from
  if stack[#stack] then stack[#stack].inside = stack[#stack].inside + took end
  local call = self.call
  if not call then return end
  add(call.time, open.region, took - open.inside)
  if #stack >= self.bottom then return end
  self.ended, self.call = call, nil
end

--- Add a value to a call: a metric that counts up has its growth, another metric its mean. Values at the time of the enter or
--- leave belong to the call, in any order of the events.
function Inside:metric(e, accumulated)
  local call, name = self.call or self.ended, e.metric
  if accumulated then self.last[name], self.last_s[name] = e.value, e.time_s end
  if not call or e.time_s > call.to then return end
  if accumulated then
    if not call.base[name] or e.time_s == call.from then call.base[name] = e.value end
    call.value[name] = e.value - call.base[name]
  else
    add(call.numbers, name, 1)
    call.value[name] = (call.value[name] or 0) + (e.value - (call.value[name] or 0)) / call.numbers[name]
  end
end

--- Fill in what happened inside the chosen calls.
local function look_inside(reader, name, chosen)
  local names, accumulated, at = {}, {}, nil
  for i, r in ipairs(reader:regions()) do names[i] = r.name end
  for i, m in ipairs(reader:metrics()) do accumulated[i] = m.accumulated end
  assert(reader:each(function(e)
    if not at or at.location ~= e.location then
      at = setmetatable({ location = e.location, name = name, chosen = chosen[e.location] or {}, next = 1, stack = {},
        last = {}, last_s = {} }, Inside)
    end
    if e.kind == "enter" then at:enter(e, names[e.number])
    elseif e.kind == "leave" then at:leave(e)
    elseif e.value then at:metric(e, accumulated[e.number]) end
  end, { where = { kinds = { "enter", "leave", "metric" } } }))
  return accumulated
end

--- Fill in which part of the first @window_s of each chosen call other threads spent in which region.
local function look_beside(reader, calls, window_s)
  table.sort(calls, function(a, b) return a.from < b.from end)
  local began = {}
  for i, call in ipairs(calls) do began[i] = call.from end
  local function overlap(region, from, to, location)
    local i, after = 1, #began + 1 -- the first call that begins later than @from - @window_s
    while i < after do
      local middle = (i + after) // 2
      if began[middle] > from - window_s then after = middle else i = middle + 1 end
    end
    while calls[i] and began[i] < to do
      local call = calls[i]
      local both = math.min(to, call.from + window_s) - math.max(from, call.from)
      if call.location ~= location and both > 0 then add(call.beside, region, both / window_s) end
      i = i + 1
    end
  end
  local location, stack
  assert(reader:each(function(e)
    if e.location ~= location then location, stack = e.location, {} end
    local top = stack[#stack]
    if top then overlap(top.region, top.since, e.time_s, location) end
    if e.kind == "enter" then stack[#stack + 1] = { region = e.region }
    else stack[#stack] = nil end
    if stack[#stack] then stack[#stack].since = e.time_s end
  end, { where = { kinds = { "enter", "leave" } } }))
end

-- ---- comparison ----

local function medians(list)
  table.sort(list)
  return stats.median(list)
end

local function mean(list)
  local sum = 0.0
  for _, v in ipairs(list) do sum = sum + v end
  return sum / #list
end

--- P(X >= k) for X of a binomial distribution.
local function upper_tail(k, n, share)
  local sum, log = 0.0, n * math.log(1 - share)
  for i = 0, n do
    if i > 0 then log = log + math.log((n - i + 1) / i * share / (1 - share)) end
    if i >= k then sum = sum + math.exp(log) end
  end
  return math.min(1, sum)
end

--- The values of a feature; absent: @default; nil: left out.
local function values(calls, kind, name, default)
  local list = {}
  for _, call in ipairs(calls) do
    local v = default
    if kind == "first" then v = call.first
    elseif call[kind][name] then v = call[kind][name] end
    list[#list + 1] = v
  end
  return list
end

local function by_ranks(slow, ordinary, kind, key, name, default)
  local a, b = values(slow, key, name, default), values(ordinary, key, name, default)
  if #a < FEWEST_SLOW or #b < FEWEST_ORDINARY then return nil end
  local p, effect = stats.rank_sum(a, b)
  return { kind = kind, name = name, slow = mean(a), ordinary = mean(b), effect = effect, p = p }
end

--- Slow calls that have most of their extra time in a function, and how likely so many are by chance.
local function by_time(slow, ordinary, name, median_s, all_ordinary_s)
  local of_ordinary, of_slow = values(ordinary, "time", name, 0.0), values(slow, "time", name, 0.0)
  local share, most = mean(of_ordinary) * #ordinary / all_ordinary_s, 0
  local usual = medians(of_ordinary)
  for i, call in ipairs(slow) do
    if of_slow[i] - usual >= 0.5 * (call.to - call.from - median_s) then most = most + 1 end
  end
  share = math.min(1 - 1e-9, math.max(share, 1 / (#ordinary + 1)))
  local _, effect = stats.rank_sum(of_slow, of_ordinary)
  return { kind = "time", name = name, ordinary = mean(of_ordinary), slow = mean(of_slow), explains = most, effect = effect,
    p = upper_tail(most, #slow, share) }
end

local function names_of(calls, key)
  local names = {}
  for _, call in ipairs(calls) do for name in pairs(call[key]) do names[name] = true end end
  return sorted(names)
end

--- All features of both groups, whether they differ or not.
local function compare(slow, ordinary, accumulated, found, region)
  local features, both = {}, table.move(ordinary, 1, #ordinary, #slow + 1, table.move(slow, 1, #slow, 1, {}))
  local function have(feature) features[#features + 1] = feature end
  for name in names_of(both, "value") do
    if accumulated[name] then have(by_ranks(slow, ordinary, "event", "value", name, 0))
    else have(by_ranks(slow, ordinary, "argument", "value", name)) end
  end
  for name in names_of(both, "calls") do have(by_ranks(slow, ordinary, "calls", "calls", name, 0)) end
  local all = 0.0
  for _, call in ipairs(ordinary) do all = all + call.to - call.from end
  for name in names_of(both, "time") do have(by_time(slow, ordinary, name, found.median_s, all)) end
  for _, f in ipairs(features) do if f.kind == "time" and f.name == region then f.kind = "self" end end
  for name in names_of(both, "beside") do have(by_ranks(slow, ordinary, "beside", "beside", name, 0.0)) end
  have(by_ranks(slow, ordinary, "first", "first", "first call of its thread"))
  return features
end

--- Whether a difference is beyond chance and matters. Interruptions and the cost of recording are in the region itself more often
--- than by chance, so most of the slow calls must have their extra time there.
local function differs(feature, slow)
  return feature.p < LEVEL and math.abs(feature.effect) >= EFFECT
    and (feature.kind ~= "beside" or math.abs(feature.slow - feature.ordinary) >= BESIDE)
    and (feature.kind ~= "self" or feature.explains > slow / 2)
end

local function first(a, b)
  local x, y = CLASS[a.kind], CLASS[b.kind]
  if x ~= y then return x < y end
  x, y = a.explains or 0, b.explains or 0
  if x ~= y then return x > y end
  x, y = a.effect, b.effect
  if x ~= y then return x > y end
  return a.name < b.name
end

--- The features that differ, in their order. Calls and time of one function are one cause.
local function causes_of(features, slow)
  local p, time, counted, causes = {}, {}, {}, {}
  for i, f in ipairs(features) do p[i] = f.p end
  for i, corrected in ipairs(stats.holm(p)) do features[i].p = corrected end
  for _, f in ipairs(features) do if f.kind == "time" then time[f.name] = f end end
  for _, f in ipairs(features) do
    if f.kind == "calls" and differs(f, slow) then
      f.explains, counted[f.name] = time[f.name] and time[f.name].explains or 0, true
    end
    if differs(f, slow) and not (f.kind == "time" and counted[f.name]) then causes[#causes + 1] = f end
  end
  table.sort(causes, first)
  return causes
end

local function where_of(features)
  local where = {}
  for _, f in ipairs(features) do
    if f.kind ~= "calls" and (f.explains or 0) > 0 then where[#where + 1] = { region = f.name, slow_calls = f.explains } end
  end
  table.sort(where, require "pmlua.internal.order".by("-slow_calls", "region"))
  return where
end

--- Why the slow calls of a region were slow. Reads all events four times; keeps the durations of all calls, and the features of
--- at most 3,000 of them.
---@param reader pmlua.TraceReader
---@param name string a region
---@return pmlua.analysis.Outliers? outliers, pmlua.Failure|string? failure
function M.of(reader, name)
  local found, err = fences_of(reader, name)
  if not found then return nil, err end
  found.causes, found.where, found.features, found.compared = {}, {}, 0, { slow = 0, ordinary = 0 }
  if found.slow < FEWEST_SLOW then
    found.unknown = found.slow == 0 and "no call is far slower than the others"
      or ("only %d of %d calls are slow; at least %d are needed"):format(found.slow, found.calls, FEWEST_SLOW)
    return found
  end
  local slow, ordinary, chosen = choose(reader, name, found)
  local extra = {}
  for i, call in ipairs(slow) do extra[i] = call.to - call.from - found.median_s end
  found.extra_s = medians(extra)
  local accumulated = {}
  for number, up in pairs(look_inside(reader, name, chosen)) do accumulated[reader:metrics()[number].name] = up end
  look_beside(reader, table.move(ordinary, 1, #ordinary, #slow + 1, table.move(slow, 1, #slow, 1, {})), found.median_s)
  local features = compare(slow, ordinary, accumulated, found, name)
  found.compared = { slow = #slow, ordinary = #ordinary }
  found.features, found.causes, found.where = #features, causes_of(features, #slow), where_of(features)
  if #found.causes == 0 then
    found.unknown = "no call, argument, event or other thread distinguishes the slow calls from the others"
  end
  return found
end

return M
