-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/chooser_plans_spec.lua - tests of the plans for real processors, by a solver that shares no code with the chooser: it
-- reads the rules of a PMU itself, decides by Hall's condition, and finds the fewest runs over all subsets.

require "spec.core.support"
local chooser = require "pmlua.chooser"
local pmus = require "pmlua.pmus"
local rng = require "pmlua.internal.rng"

local SETS <const> = 200
local PROCESSORS <const> = { "skx", "icx", "spr", "amd64_fam19h_zen4", "arm_n1" }

local random = rng(1)

-- --- the rules, read once more ---

local function event_number(config) return config & 0xff | config >> 24 & 0xf00 end

local function holds(rule, config)
  if rule.code then return rule.code == config & 0xffff end
  if rule.event then return rule.event == event_number(config) end
  return rule.first <= config & 0xff and config & 0xff <= rule.last
end

--- The counters of an event as a list of lists: "f1" is fixed, "3" general; a pair is a list of two.
local function counters_of(pmu, general, config)
  local all = {}
  for c = 0, general - 1 do all[#all + 1] = { tostring(c) } end
  for _, f in ipairs(pmu.fixed) do
    if f.code == config then
      if not f.general then return { { "f" .. f.counter } } end
      table.insert(all, { "f" .. f.counter })
      return all
    end
  end
  for _, rule in ipairs(pmu.lists) do
    if holds(rule, config) then
      local list = {}
      for c = 0, general - 1 do
        if rule.pair and c % 2 == 0 and c + 1 < general then list[#list + 1] = { tostring(c), tostring(c + 1) } end
        if rule.lower and c < rule.lower then list[#list + 1] = { tostring(c) } end
        for _, only in ipairs(rule.counters or {}) do
          if only == c then list[#list + 1] = { tostring(c) } end
        end
      end
      return list
    end
  end
  return all
end

local function bit_of(counter)
  local fixed, n = counter:match "^(f?)(%d+)$"
  return 1 << (fixed == "f" and 16 or 0) + math.tointeger(tonumber(n))
end

--- Hall's condition: no set of counters is all that more events may use than it has counters. Sets that are unions of
--- events' own suffice.
local function hall(masks)
  local unions = { [0] = true }
  for _, mask in ipairs(masks) do
    local more = {}
    for union in pairs(unions) do more[union | mask] = true end
    for union in pairs(more) do unions[union] = true end
  end
  for union in pairs(unions) do
    local counters, events = 0, 0
    for i = 0, 31 do counters = counters + (union >> i & 1) end
    for _, mask in ipairs(masks) do events = events + (mask & ~union == 0 and 1 or 0) end
    if events > counters then return false end
  end
  return true
end

--- Tries every counter pair for events that need one, and decides the rest by Hall's condition.
local function place_all(list, at, taken)
  if at <= #list and #list[at][1] == 2 then
    for _, pair in ipairs(list[at]) do
      local bits = bit_of(pair[1]) | bit_of(pair[2])
      if taken & bits == 0 and place_all(list, at + 1, taken | bits) then return true end
    end
    return false
  end
  local masks = {}
  for i = at, #list do
    local mask = 0
    for _, counters in ipairs(list[i]) do mask = mask | bit_of(counters[1]) & ~taken end
    masks[#masks + 1] = mask
  end
  return hall(masks)
end

local Solver = {}
Solver.__index = Solver

local function solver(c, watchdog)
  local pmu = pmus.get(c.pmu.name)
  local general = c.smt and pmu.general.smt or pmu.general.single
  local always = watchdog and pmu.watchdog and { counters_of(pmu, general, pmu.watchdog) } or {}
  return setmetatable({ pmu = pmu, general = general, always = always, known = {} }, Solver)
end

--- Whether events fit beside the permanent ones; @events by key: { config =, config1 = }.
function Solver:fits(events)
  local list, keys = { table.unpack(self.always) }, {}
  for key in pairs(events) do keys[#keys + 1] = key end
  table.sort(keys)
  local known = table.concat(keys, " ")
  if self.known[known] ~= nil then return self.known[known] end
  for _, key in ipairs(keys) do list[#list + 1] = counters_of(self.pmu, self.general, events[key].config) end
  for _, counters in ipairs(list) do
    if #counters == 0 then return false end
  end
  table.sort(list, function(a, b) return #a[1] > #b[1] end) -- pairs first
  local fits = place_all(list, 1, 0)
  for _, shared in ipairs(self.pmu.shared) do
    local values, n = {}, 0
    for _, e in pairs(events) do
      for _, code in ipairs(shared.codes) do
        if e.config & 0xffff == code and not values[e.config1] then values[e.config1], n = true, n + 1 end
      end
    end
    fits = fits and n <= shared.registers
  end
  self.known[known] = fits
  return fits
end

--- The fewest runs of units, over all subsets of them.
function Solver:fewest(units)
  local least = { [0] = 0 }
  for mask = 1, (1 << #units) - 1 do
    local lowest, best = mask & -mask, math.huge
    local sub = mask
    while sub > 0 do
      if sub & lowest ~= 0 and least[mask ~ sub] + 1 < best then
        local events = {}
        for i, unit in ipairs(units) do
          if sub >> (i - 1) & 1 == 1 then
            for key, e in pairs(unit) do events[key] = e end
          end
        end
        if self:fits(events) then best = least[mask ~ sub] + 1 end
      end
      sub = (sub - 1) & mask
    end
    least[mask] = best
  end
  return least[(1 << #units) - 1]
end

-- --- the requested events ---

--- The code of an event, as libpfm4 or the facts have it, not by the chooser.
local function code_of(pmu, name)
  local number = pmu.events and pmu.events[name]
  if number and not pmu.known then return { config = number, config1 = 0 } end
  local parsed = assert(require "pmlua.core".event.parse(pmu.name .. "::" .. name))
  return { config = parsed.parts[1].config, config1 = parsed.parts[1].config1 }
end

--- Whether all events are counted by the core's general and fixed counters, which the chooser plans; others have separate
--- counters, or PERF_METRICS.
local function is_of_core(events)
  for _, name in pairs(events) do
    if name:find("::", 1, true) or name:find("/", 1, true) or name:find "^r8%x%x%x$" then return false end
  end
  return true
end

--- Every metric of the core in the processor's groups, as its name and its events by code.
local function metrics_of(c, of)
  local list = {}
  for _, group in pairs(c.groups) do
    for _, metric in ipairs(group.metrics) do
      local unit = {}
      for _, name in pairs(is_of_core(metric.events) and metric.events or {}) do
        local e = code_of(of.pmu, name)
        unit[("%x/%x"):format(e.config, e.config1)] = e
      end
      if of:fits(unit) and next(unit) then list[#list + 1] = { name = group.name .. "/" .. metric.name, unit = unit } end
    end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

local function labels(counter)
  local list = {}
  for fixed, n in counter:gmatch "(%l*) ?(%d+)" do list[#list + 1] = (fixed == "fixed" and "f" or "") .. n end
  return list
end

--- Each event of a run is on a counter that it may use and no other does.
local function is_feasible(of, run)
  local taken = {}
  if run.reserved then
    for _, c in ipairs(labels(run.reserved.counter)) do taken[c] = true end
  end
  for _, e in ipairs(run.events) do
    local own, allowed = labels(e.counter), false
    for _, counters in ipairs(counters_of(of.pmu, of.general, code_of(of.pmu, e.event.short).config)) do
      allowed = allowed or table.concat(counters, "+") == table.concat(own, "+")
    end
    if not allowed then return false, e.event.short .. " on " .. e.counter end
    for _, c in ipairs(own) do
      if taken[c] then return false, "two on " .. c end
      taken[c] = true
    end
  end
  return true
end

describe("On " .. SETS .. " random sets of metrics,", function()
  for _, name in ipairs(PROCESSORS) do
    it("plans of " .. name .. " are feasible, and none has fewer runs", function()
      local several = 0
      for _, smt in ipairs { true, false } do
        local watchdog = smt
        local c = assert(chooser.open { pmu = name, smt = smt, watchdog = watchdog })
        local of = solver(c, watchdog)
        local all = metrics_of(c, of)
        assert.is_true(#all > 25, #all)
        for _ = 1, SETS // 2 do
          local names, units, chosen = {}, {}, {}
          for _ = 1, 1 + random(6) do
            local m = all[random(#all)]
            if not chosen[m] then chosen[m], names[#names + 1], units[#units + 1] = true, m.name, m.unit end
          end
          local plan = assert(c:choose(names))
          local what = table.concat(names, " ")
          assert.is_true(plan.exact, what)
          assert.equal(of:fewest(units), #plan.runs, what)
          for _, run in ipairs(plan.runs) do assert.is_true(is_feasible(of, run)) end
          for _, item in ipairs(plan.items) do assert.is_truthy(item.run, item.name) end
          if #plan.runs > 1 then several = several + 1 end
        end
      end
      assert.is_true(several > 10, several)
    end)
  end
end)
