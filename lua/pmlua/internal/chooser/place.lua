-- SPDX-License-Identifier: BSD-3-Clause
--- Which counters an event may use on a PMU, and whether events fit on its counters together.
--
-- An event has placements: sets of counters, any one of which it takes whole (most take one counter, some a pair). Events
-- fit if each can be given a placement that no other needs, and registers that they share suffice. This is decided
-- exactly: pairs are tried in every way, single counters are matched by augmenting paths, whose failure names the events
-- that compete and the counters they compete for.
--
--     pmlua choose --pmu skx MEM_LOAD_RETIRED:L1_HIT MEM_LOAD_RETIRED:L1_MISS

local core = require "pmlua.core"
local refuse = core.failure.refuse

local M = {}

local FIXED = 32 -- the bit of fixed counter 0; general counters start at bit 0

---@class pmlua.Event
---@field name string name to open it by
---@field short string name to show
---@field key string the same for names of one and the same event
---@field placements integer[] masks of counters; empty: it takes none of this PMU
---@field why string of its restriction, or where else it is counted
---@field registers { name: string, value: string, registers: integer, siblings: boolean? }[]
---@field dead? string why it cannot be counted at all

--- The counters of a PMU under conditions.
function M.counters(pmu, smt)
  local n = smt and pmu.general.smt or pmu.general.single
  local highest = -1
  for _, f in ipairs(pmu.fixed) do highest = math.max(highest, f.counter) end
  return { general = n, fixed = highest + 1, mask = (1 << n) - 1 }
end

--- The counters in a mask as text: "0", "0+1", "fixed 1".
function M.label(mask)
  local list = {}
  for i = 0, 62 do
    if mask >> i & 1 == 1 then list[#list + 1] = i < FIXED and tostring(i) or "fixed " .. (i - FIXED) end
  end
  return table.concat(list, "+")
end

--- All counters in a mask as a phrase: "counters 0-3", "counters 0-7 and fixed 1".
local function phrase(mask)
  local parts, from = {}, nil
  for i = 0, FIXED do
    local on = i < FIXED and mask >> i & 1 == 1
    if on and not from then from = i end
    if not on and from then
      parts[#parts + 1] = from == i - 1 and tostring(from) or ("%d-%d"):format(from, i - 1)
      from = nil
    end
  end
  for i = FIXED, 62 do
    if mask >> i & 1 == 1 then parts[#parts + 1] = "fixed " .. (i - FIXED) end
  end
  local counters = 0
  for i = 0, 62 do counters = counters + (mask >> i & 1) end
  return (counters == 1 and "counter " or "counters ") .. table.concat(parts, ", "), counters
end

-- --- from codes to placements ---

local function matches(rule, config)
  if rule.code then return config & 0xffff == rule.code end
  local event = config & 0xff | config >> 24 & 0xf00
  if rule.event then return event == rule.event end
  return config & 0xff >= rule.first and config & 0xff <= rule.last
end

local function singles(mask)
  local list = {}
  for i = 0, 62 do
    if mask >> i & 1 == 1 then list[#list + 1] = 1 << i end
  end
  return list
end

local function pairs_of(n)
  local list = {}
  for i = 0, n - 2, 2 do list[#list + 1] = 3 << i end
  return list
end

local function rule_placements(rule, n)
  if rule.pair then return pairs_of(n), rule.why end
  local mask = 0
  for _, c in ipairs(rule.counters or {}) do mask = mask | 1 << c end
  if rule.lower then mask = (1 << rule.lower) - 1 end
  mask = mask & ((1 << n) - 1)
  local why = rule.why or rule.lower and rule.lower < n and ("it counts on %s only"):format((phrase(mask))) or ""
  return singles(mask), why
end

--- Placements by the rules of the PMU; fixed counters first, as they serve nothing else.
local function placements(pmu, counters, config)
  for _, f in ipairs(pmu.fixed) do
    if config == f.code then
      local list = { 1 << (FIXED + f.counter) }
      if not f.general then return list, ("it counts on fixed counter %d only"):format(f.counter) end
      for _, mask in ipairs(singles(counters.mask)) do list[#list + 1] = mask end
      return list, ""
    end
  end
  for _, d in ipairs(pmu.dead or {}) do
    if config >= 0 and matches(d, config) then return {}, "", d.why end
  end
  for _, rule in ipairs(pmu.lists) do
    if config >= 0 and matches(rule, config) then return rule_placements(rule, counters.general) end
  end
  return singles(counters.mask), ""
end

local function shared_registers(pmu, config, config1)
  local list = {}
  for _, s in ipairs(pmu.shared) do
    for _, code in ipairs(s.codes) do
      if config & 0xffff == code then
        list[#list + 1] = { name = s.name, value = ("%x"):format(config1), registers = s.registers, siblings = s.siblings }
      end
    end
  end
  return list
end

--- Mark an event that perf or another PMU counts.
local function other(event, why)
  event.placements, event.registers, event.why = {}, {}, why
  return event
end

local function is_metric(pmu, config)
  for _, code in ipairs(pmu.metrics or {}) do
    if config == code then return true end
  end
end

local function on_core(pmu, counters, event, config, config1)
  if is_metric(pmu, config) then return other(event, "PERF_METRICS has it, beside slots") end
  event.placements, event.why, event.dead = placements(pmu, counters, config)
  event.registers = shared_registers(pmu, config, config1)
  if #event.placements == 0 then event.dead = event.dead or "no counter of this PMU can count it" end
  return event
end

-- --- from names to events ---

-- perf's types: 0 hardware, 3 cache, 4 raw; the others take no counter of a core PMU.
local elsewhere = { [1] = "a software event", [2] = "a tracepoint", [5] = "a breakpoint" }

local function nearest_of(pmu, name)
  local names = require "pmlua.internal.keys"(pmu.events)
  local nearest = require "pmlua.internal.nearest"(name, names)
  return nearest and ("did you mean %s?"):format(nearest) or nil
end

--- An event by the number that the facts give: libpfm4 has no table of this PMU.
local function by_facts(pmu, counters, name)
  local base, modifiers = name:match("^(.-)(:[ukh]+)$")
  if not base then base, modifiers = name, "" end
  local code = pmu.events[base:upper()]
  if not code then
    base, modifiers = name:match("^([%w_]+)(.*)$")
    code = base and pmu.events[base:upper()]
  end
  if not code then return refuse("ENOEVENT", ("%s has no event %s"):format(pmu.name, name), nearest_of(pmu, base or name)) end
  if not modifiers:find("^[:ukh]*$") then
    return refuse("ESYNTAX", ("%s: event %s has no attributes"):format(pmu.name, base))
  end
  local full = pmu.raw and ("r%x%s"):format(code, modifiers) or pmu.name .. "::" .. name
  local event = { name = full, short = name, key = ("%s/%x%s"):format(pmu.name, code, modifiers) }
  return on_core(pmu, counters, event, code, 0)
end

--- The core's failure; its general remedy lists events of all PMUs, most of which do not fit.
local function pass_on(err)
  if err.remedy == "list the events with pmlua events" then err.remedy = nil end
  return refuse(err)
end

--- The energy of packages; libpfm4 gives it the type of core events where the kernel has no such PMU.
local function is_energy(part) return part.pmu:find "rapl$" ~= nil end

local function by_parts(pmu, counters, event, parsed)
  if parsed.kind ~= "perf" then return other(event, "it needs no counter") end
  local part = parsed.parts[1]
  if is_energy(part) then return other(event, ("it is counted by PMU %s, for the whole package"):format(part.pmu)) end
  if elsewhere[part.type] then return other(event, elsewhere[part.type]) end
  if part.type == 0 then
    local code = pmu.generic[part.config & 0xff]
    event.generic = true
    if code == false then event.dead = "the kernel does not map this event for this PMU" end
    event.key = code and ("%s/%x%s"):format(pmu.name, code, event.modifiers) or event.key
    return on_core(pmu, counters, event, code or -1, 0)
  elseif part.type == 3 then
    return on_core(pmu, counters, event, -1, 0)
  elseif part.pmu == pmu.name or part.type == 4 then
    return on_core(pmu, counters, event, part.config, part.config1)
  end
  return other(event, ("it is counted by PMU %s"):format(part.pmu))
end

-- PMU names of raw codes (rNNN), which belong to the core PMU.
local core_raw = { cpu = true, perf_raw = true, raw = true }

local function of_parsed(pmu, counters, full, short, parsed)
  local part = parsed.parts[1] or { type = -1, config = 0, config1 = 0, pmu = parsed.kind }
  local flags = (part.exclude_user and "u" or "") .. (part.exclude_kernel and "k" or "") .. (part.exclude_hv and "h" or "")
  local event = { name = full, short = short, modifiers = flags }
  event.key = ("%s/%x/%x/%x/%s"):format(parsed.kind == "perf" and part.pmu or full, part.type, part.config, part.config1, flags)
  if part.place and part.place ~= "" then event.key = full end -- the name decides between all places and one
  return by_parts(pmu, counters, event, parsed)
end

--- Whether this is an event of another core PMU, which libpfm4 finds for a name without a PMU.
local function foreign(pmu, parsed)
  local part = parsed.parts[1]
  return parsed.kind == "perf" and part.type == 4 and part.pmu ~= pmu.name and not core_raw[part.pmu] and not is_energy(part)
end

--- PMUs of packages, uncore_imc_* that the kernel numbers and uncore_imc: planned wherever the plan is made, and refused
--- where they are not.
local function of_packages(name, short)
  local pmus = name:match "^([%w_]+_%*)/[^/]+/[%w:]*$"
  local pmu = name:match "^(uncore_[%w_]+)/[^/]+/[%w:]*$"
  local _, err = core.event.parse(pmu and name or "task-clock")
  if not err or not err.text:find("no PMU", 1, true) then pmu = nil end -- it is here, or the name is wrong
  if not pmus and not pmu then return nil end
  local by = pmus and "PMUs " .. pmus or "the PMU " .. pmu
  return other({ name = name, short = short, key = name }, ("it is counted by %s, for whole packages"):format(by))
end

local function elsewhere_or_nothing(pmu, counters, name, err)
  local event = of_packages(name, name)
  if event then return event end
  local parsed, why = core.event.parse(name)
  if not parsed then return pass_on(err or why) end
  if foreign(pmu, parsed) then
    if err then return pass_on(err) end
    return refuse("ENOTHERE", ("%s is an event of %s, not of %s"):format(name, parsed.parts[1].pmu, pmu.name))
  end
  return of_parsed(pmu, counters, name, name, parsed)
end

--- An event by its name, with or without the PMU before it.
---@param counters { general: integer, fixed: integer, mask: integer }
---@return pmlua.Event? event, pmlua.Failure? failure
function M.event(pmu, counters, name)
  local prefix, rest = name:match("^([%w_]+)::(.*)$")
  local own = prefix and (prefix:lower() == pmu.name or prefix:lower() == "intel_" .. pmu.name)
  local short = own and rest or name
  if prefix and not own or pmu.name == "generic" then return elsewhere_or_nothing(pmu, counters, name) end
  local parsed, err
  if pmu.events and (pmu.raw or not pmu.known) then
    parsed, err = by_facts(pmu, counters, short)
    if parsed then return parsed end
  else
    parsed, err = core.event.parse(pmu.name .. "::" .. short)
    if parsed then return of_parsed(pmu, counters, pmu.name .. "::" .. short, short, parsed) end
  end
  if own then return pass_on(err) end
  return elsewhere_or_nothing(pmu, counters, short, err)
end

--- The NMI watchdog's event, which is always counting.
function M.watchdog(pmu, counters)
  if not pmu.watchdog then return nil end
  local event = { name = "NMI watchdog", short = "the NMI watchdog", key = "watchdog" }
  return on_core(pmu, counters, event, pmu.watchdog, 0)
end

-- --- do events fit together? ---

local function list_of(events)
  local names = {}
  for i, e in ipairs(events) do
    if i > 4 and #events > 5 then
      names[i] = ("%d more"):format(#events - 4)
      break
    end
    names[i] = e.short
  end
  return table.concat(names, ", ")
end

--- Registers that events share: as many different values as there are registers.
local function registers_fit(events)
  local users = {}
  for _, e in ipairs(events) do
    for _, r in ipairs(e.registers) do
      local u = users[r.name]
      if not u then
        u = { n = 0, values = {}, events = {}, registers = r.registers }
        users[r.name] = u
      end
      u.events[#u.events + 1] = e
      if not u.values[r.value] then u.n, u.values[r.value] = u.n + 1, true end
      if u.n > u.registers then
        return false, ("%s need %d values of %s, which has %d"):format(list_of(u.events), u.n, r.name, u.registers)
      end
    end
  end
  return true
end

--- Give event @i a counter, moving others if that helps. @seen has the counters and @asked the events already tried.
local function augment(i, singles_of, holder, seen, asked)
  asked[#asked + 1] = i
  for _, mask in ipairs(singles_of[i]) do
    if not seen[mask] and not holder[mask] then
      seen[mask], holder[mask] = true, i
      return true
    end
  end
  for _, mask in ipairs(singles_of[i]) do
    if not seen[mask] then
      seen[mask] = true
      if augment(holder[mask], singles_of, holder, seen, asked) then
        holder[mask] = i
        return true
      end
    end
  end
  return false
end

--- Match events that take one counter each, around those in @taken.
local function match(events, taken)
  local singles_of, holder = {}, {}
  for i, e in ipairs(events) do
    singles_of[i] = {}
    for _, mask in ipairs(e.placements) do
      if mask & taken == 0 then table.insert(singles_of[i], mask) end
    end
  end
  for i in ipairs(events) do
    local seen, asked = {}, {}
    if not augment(i, singles_of, holder, seen, asked) then
      local rivals, all = {}, 0
      for n, j in ipairs(asked) do rivals[n] = events[j] end
      for mask in pairs(seen) do all = all | mask end
      return nil, rivals, all
    end
  end
  return holder
end

--- Why singles did not fit: more events than counters that they may use.
local function rivalry(rivals, all, taken, wide)
  table.sort(rivals, function(a, b) return a.short < b.short end)
  if all == 0 and taken ~= 0 then
    return ("%s finds no counter: %s take two each"):format(list_of(rivals), list_of(wide))
  end
  local counters, n = phrase(all)
  local beside = #wide > 0 and (" that %s leave%s"):format(list_of(wide), #wide == 1 and "s" or "") or ""
  return ("%s compete for %s%s: %d events, %d counter%s"):format(list_of(rivals), counters, beside, #rivals, n,
    n == 1 and "" or "s")
end

--- Try the placements of the wide events from the @at-th on, then match the others.
local function place_wide(wide, at, narrow, taken, chosen)
  if at > #wide then
    local holder, rivals, all = match(narrow, taken)
    if holder then return holder end
    return nil, rivalry(rivals, all, taken, wide)
  end
  local why
  for _, mask in ipairs(wide[at].placements) do
    if mask & taken == 0 then
      chosen[at] = mask
      local holder, reason = place_wide(wide, at + 1, narrow, taken | mask, chosen)
      if holder then return holder end
      why = reason
    end
  end
  return nil, why or ("%s take two counters each: %d do not fit"):format(list_of(wide), #wide)
end

--- Do these events fit on the counters at once?
---@param events pmlua.Event[] all different
---@return table<pmlua.Event, integer>? where mask of counters by event
---@return string? why not
function M.fit(events)
  for _, e in ipairs(events) do
    if e.dead then return refuse("ENOTSUP", ("%s: %s"):format(e.short, e.dead)) end
  end
  local ok, why = registers_fit(events)
  if not ok then return nil, why end
  local wide, narrow = {}, {}
  for _, e in ipairs(events) do
    if #e.placements > 0 then
      local first = e.placements[1]
      local list = first & first - 1 ~= 0 and wide or narrow
      list[#list + 1] = e
    end
  end
  local chosen = {}
  local holder, reason = place_wide(wide, 1, narrow, 0, chosen)
  if not holder then return nil, reason end
  local where = {}
  for i, e in ipairs(wide) do where[e] = chosen[i] end
  for mask, i in pairs(holder) do where[narrow[i]] = mask end
  return where
end

return M
