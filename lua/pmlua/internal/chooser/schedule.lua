-- SPDX-License-Identifier: BSD-3-Clause
--- Plan the fewest runs in which everything is counted, with the events of each metric together in one run.
--
-- A unit is a set of events that must share a run. A first plan puts each unit, largest first, where it adds the fewest
-- events. A lower bound on the number of runs comes from the counters of a run and the events that need them, the values of
-- shared registers, and units that pairwise exclude each other. If plan and bound differ, branch and bound searches for a better
-- plan until it has proved the best one optimal, or has visited the maximum number of nodes.
--
--     pmlua choose --pmu skx FLOPS CACHE

local M = {}

M.NODES = 60000 -- attempts to put a unit into a run, some hundred thousand a second

local function bits(mask)
  local n = 0
  while mask ~= 0 do
    mask = mask & mask - 1
    n = n + 1
  end
  return n
end

-- --- the bound ---

local function reach(e)
  local all = 0
  for _, mask in ipairs(e.placements) do all = all | mask end
  return all
end

--- Runs that the events need at least which may only use counters within @set.
local function bound_within(set, events, always)
  local need, capacity = 0, bits(set)
  for _, e in ipairs(events) do
    if #e.placements > 0 and reach(e) & ~set == 0 then need = need + bits(e.placements[1]) end
  end
  for _, e in ipairs(always) do
    if reach(e) & ~set == 0 then capacity = capacity - bits(e.placements[1]) end
  end
  return capacity > 0 and (need + capacity - 1) // capacity or 0
end

local function bound_by_counters(events, always)
  local sets, best = {}, 0
  for _, e in ipairs(events) do sets[reach(e)] = true end
  local list = {}
  for set in pairs(sets) do list[#list + 1] = set end
  for i, a in ipairs(list) do
    for j = i, #list do best = math.max(best, bound_within(a | list[j], events, always)) end
  end
  local all = 0
  for _, set in ipairs(list) do all = all | set end
  return math.max(best, bound_within(all, events, always))
end

local function bound_by_registers(events)
  local values, best = {}, 0
  for _, e in ipairs(events) do
    for _, r in ipairs(e.registers) do
      local v = values[r.name] or { n = 0 }
      values[r.name] = v
      if not v[r.value] then v.n, v[r.value] = v.n + 1, true end
      best = math.max(best, (v.n + r.registers - 1) // r.registers)
    end
  end
  return best
end

--- Units of which no two fit together need a run each; found greedily, from each unit on.
local function bound_by_rivals(units, fits)
  if #units > 40 then return 0 end
  local rival, best = {}, 0
  for i in ipairs(units) do rival[i] = {} end
  for i = 1, #units do
    for j = i + 1, #units do
      local apart = not fits(M.union(units[i].events, units[j].events))
      rival[i][j], rival[j][i] = apart, apart
    end
  end
  for first = 1, #units do
    local clique = { first }
    for i = 1, #units do
      local all = i ~= first
      for _, j in ipairs(clique) do all = all and rival[i][j] end
      if all then clique[#clique + 1] = i end
    end
    best = math.max(best, #clique)
  end
  return best
end

-- --- sets of events, as sorted arrays of indices ---

--- The union of two sorted arrays.
function M.union(a, b)
  local list, i, j = {}, 1, 1
  while a[i] or b[j] do
    if not b[j] or a[i] and a[i] < b[j] then
      list[#list + 1], i = a[i], i + 1
    else
      if a[i] == b[j] then i = i + 1 end
      list[#list + 1], j = b[j], j + 1
    end
  end
  return list
end

local function within(a, b) return #M.union(a, b) == #b end

-- --- the plan ---

--- The units that must be planned: a unit whose events a larger unit contains is covered by it.
local function dominant(units)
  local order = {}
  for i, u in ipairs(units) do order[i] = u end
  table.sort(order, function(a, b)
    if #a.events ~= #b.events then return #a.events > #b.events end
    return a.index < b.index
  end)
  local kept = {}
  for _, u in ipairs(order) do
    local covered = false
    for _, k in ipairs(kept) do covered = covered or within(u.events, k.events) end
    if not covered then kept[#kept + 1] = u end
  end
  return kept
end

local function greedy(units, fits)
  local runs = {}
  for _, u in ipairs(units) do
    local best, best_events, least
    for r, events in ipairs(runs) do
      local together = M.union(events, u.events)
      if (not least or #together - #events < least) and fits(together) then
        best, best_events, least = r, together, #together - #events
      end
    end
    if best then runs[best] = best_events else runs[#runs + 1] = u.events end
  end
  return runs
end

--- Depth first: unit @i goes into each run there is, then into a new one. @search keeps the best plan and the count.
local function branch(search, i, runs)
  if #search.best <= search.bound or search.nodes >= search.limit or #runs >= #search.best then return end
  if i > #search.units then
    search.best = { table.unpack(runs) }
    return
  end
  local u = search.units[i]
  for r = 1, #runs do
    search.nodes = search.nodes + 1
    local before, together = runs[r], M.union(runs[r], u.events)
    if search.fits(together) then
      runs[r] = together
      branch(search, i + 1, runs)
      runs[r] = before
      if #together == #before then return end -- it costs nothing there: no other place is better
    end
  end
  if #runs + 1 < #search.best then
    runs[#runs + 1] = u.events
    search.nodes = search.nodes + 1
    branch(search, i + 1, runs)
    runs[#runs] = nil
  end
end

local function assign(units, runs)
  local plan = {}
  for r, events in ipairs(runs) do plan[r] = { events = events, units = {} } end
  for _, u in ipairs(units) do
    for _, run in ipairs(plan) do
      if within(u.events, run.events) then
        table.insert(run.units, u)
        break
      end
    end
  end
  return plan
end

---@class pmlua.Unit
---@field name string
---@field events integer[] indices into the events, sorted

---@class pmlua.Plan
---@field runs { events: integer[], units: pmlua.Unit[] }[]
---@field exact boolean no plan has fewer runs
---@field bound integer no plan has fewer runs than this
---@field nodes integer what the search looked at

--- Plan the runs.
---@param units pmlua.Unit[] each fits by itself
---@param events pmlua.Event[]
---@param always pmlua.Event[] what holds counters in every run
---@param fit fun(events: pmlua.Event[]): table?
---@param limit? integer nodes to look at
---@return pmlua.Plan
function M.plan(units, events, always, fit, limit)
  local cache = {}
  local function fits(set)
    local key = table.concat(set, " ")
    if cache[key] == nil then
      local list = { table.unpack(always) }
      for _, i in ipairs(set) do list[#list + 1] = events[i] end
      cache[key] = fit(list) ~= nil
    end
    return cache[key]
  end
  for i, u in ipairs(units) do u.index = i end
  local kept = dominant(units)
  local bound = math.max(#kept > 0 and 1 or 0, bound_by_counters(events, always), bound_by_registers(events),
    bound_by_rivals(kept, fits))
  local search = { units = kept, fits = fits, best = greedy(kept, fits), bound = bound, nodes = 0,
    limit = limit or M.NODES }
  branch(search, 1, {})
  local exact = #search.best <= bound or search.nodes < search.limit
  return { runs = assign(units, search.best), exact = exact, bound = exact and #search.best or bound, nodes = search.nodes }
end

return M
