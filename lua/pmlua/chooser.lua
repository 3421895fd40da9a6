-- SPDX-License-Identifier: BSD-3-Clause
--- The event chooser: find events that fit together on a PMU, reasons for conflicts, further events that fit, and the fewest
--- runs that count everything with the events of each metric in one.
--
-- A chooser works for this machine's PMU or for any model by name, because the facts about counters are data (pmlua.pmus), as are
-- groups and metrics (pmlua.groups). If the PMU is present and counts, a plan is verified by opening its events.
--
--     pmlua -e 'local c = pml.chooser.open { pmu = "skx" }
--               print(#c:choose { "FLOPS", "CACHE" }.runs)'

local core = require "pmlua.core"
local fields = require "pmlua.internal.fields"
local groups = require "pmlua.groups"
local lists = require "pmlua.internal.lists"
local place = require "pmlua.internal.chooser.place"
local pmus = require "pmlua.pmus"
local sorted = require "pmlua.internal.sorted"
local schedule = require "pmlua.internal.chooser.schedule"
local try = require "pmlua.internal.try"
local refuse = core.failure.refuse

---@class pml.chooser
local M = {}

---@class pmlua.Chooser
---@field pmu pmlua.Pmu
---@field here boolean it is this machine's
---@field smt boolean? nil: nothing has depended on it so far
---@field watchdog boolean
---@field notes string[] assumptions
---@field refused { group: string, metric: string, why: string }[] metrics of another tool that cannot be computed
---@field counters { general: integer, fixed: integer, mask: integer }
local Chooser = {}
Chooser.__index = Chooser

--- A condition's value: the requested one, else this machine's, else the value that leaves fewer counters.
local function condition(self, asked, said, what)
  if asked ~= nil then return asked end
  if self.here and said ~= nil then return said end
  self.notes[#self.notes + 1] = what
  return true
end

--- Does a core run two hardware threads? Where its counters do not depend on that, the first formula that does asks.
---@return boolean
function Chooser:hyperthreads()
  if self.smt == nil then
    self.smt = condition(self, self.asked, self.said, "SMT is assumed to be on; if it is not, add --smt off")
  end
  return self.smt
end

--- Use the number of counters that was measured on this machine: a guest may have fewer than its processor.
local function limit_counters(self)
  local n = self.here and require("pmlua.internal.verify").counters()
  if not n or n >= self.counters.general then return end
  self.notes[#self.notes + 1] = ("%d of %d counters counted at the same time on this machine (pmlua doctor --verify)"):format(n,
    self.counters.general)
  self.counters = { general = n, fixed = self.counters.fixed, mask = (1 << n) - 1 }
end

--- Groups of another tool in the place of those that ship; a metric may be asked for by its name alone.
local function take_foreign(self, foreign, path)
  local read, err = foreign.read(self, path)
  if not read then return nil, err end
  self.groups, self.refused, self.metrics = read.groups, read.refused, {}
  for _, group in sorted(read.groups) do
    for _, metric in ipairs(group.metrics) do self.metrics[metric.name] = { group, metric } end
  end
  if #read.refused > 0 then
    self.notes[#self.notes + 1] = ("%s: %d metric%s cannot be computed; --list lists them with the reasons"):format(path,
      #read.refused, #read.refused == 1 and "" or "s")
  end
  return self
end

--- Create a chooser for a PMU; missing options default to this machine's state.
---@param options? { pmu: string?, smt: boolean?, watchdog: boolean?, groups: string? } groups: groups to use instead of those
---  that ship: your own file, "likwid" or "perf", a file or a folder of LIKWID's, perf's, Intel's or Arm's
---@return pmlua.Chooser? chooser, pmlua.Failure? failure
function M.open(options)
  fields.options(options, { pmu = true, smt = true, watchdog = true, groups = true }, "chooser.open")
  options = options or {}
  local here, note = pmus.here()
  local pmu, err = pmus.get(options.pmu or here)
  if not pmu then return nil, err end
  local self = setmetatable({ pmu = pmu, here = pmu.name == here or pmu.name == "generic", notes = {}, events = {} }, Chooser)
  if not options.pmu then self.notes[1] = note end
  local smt, watchdog = pmus.conditions()
  local matters = pmu.general.smt ~= pmu.general.single
  for _, s in ipairs(pmu.shared) do matters = matters or s.siblings end
  self.asked, self.said = options.smt, smt
  if matters or options.smt ~= nil then self:hyperthreads() end
  self.watchdog = pmu.watchdog ~= nil and condition(self, options.watchdog, watchdog,
    "the NMI watchdog is assumed to be on; if it is not, add --watchdog off")
  self.counters = place.counters(pmu, self.smt)
  limit_counters(self)
  self.groups = groups.of(pmu.name)
  self.presets = groups.presets(pmu.name)
  self.refused = {}
  if not options.groups then return self end
  local foreign = require "pmlua.internal.groups.foreign"
  if foreign.is(options.groups) then return take_foreign(self, foreign, options.groups) end
  local file, why = groups.read(options.groups)
  if not file then return nil, why end
  self.groups, self.file = file.groups, file
  if (" " .. table.concat(file.pmus, " ") .. " "):find(" " .. pmu.name .. " ", 1, true) then return self end
  return refuse("ENOTSUP", ("%s: its groups are for %s, not for %s"):format(options.groups, table.concat(file.pmus, ", "),
    pmu.name))
end

-- --- looking up names ---

--- An event of this PMU; names of one and the same event give the same table.
---@param name string
---@return pmlua.Event? event, pmlua.Failure? failure
function Chooser:event(name)
  local event, err = place.event(self.pmu, self.counters, name)
  if not event then return nil, err end
  self.events[event.key] = self.events[event.key] or event
  return self.events[event.key]
end

--- The same, of an event that a group names: an unknown one of the user's own file is refused with its line.
---@param group pmlua.Group
---@param name string
---@return pmlua.Event? event, pmlua.Failure? failure
function Chooser:event_of(group, name)
  local event, err = self:event(name)
  if event or not self.file then return event, err end
  local line = require "pmlua.internal.literal".line_of(self.file.text, name)
  return refuse("ENOEVENT", ("%s:%d: group %s: %s"):format(self.file.path, line, group.name, err.text), err.remedy)
end

local function add_metric(self, wanted, group, metric)
  local full = group.name == "PAPI" and metric.name or group.name .. "/" .. metric.name
  if wanted.by_name[full] then return end
  local item = { name = full, group = group, metric = metric, events = {}, dead = nil }
  for _, name in sorted(metric.events) do
    local event = try(self:event_of(group, name))
    item.events[#item.events + 1] = event
    if event.dead then item.dead = ("%s: %s"):format(event.short, event.dead) end
  end
  wanted.by_name[full] = item
  wanted.items[#wanted.items + 1] = item
end

local function add_group(self, wanted, group)
  for _, metric in ipairs(group.metrics) do add_metric(self, wanted, group, metric) end
end

local function add_event(wanted, event)
  if wanted.by_name[event.key] then return end
  local item = { name = event.short, events = { event }, dead = event.dead }
  wanted.by_name[event.key] = item
  wanted.items[#wanted.items + 1] = item
end

--- A group, GROUP/METRIC, a preset, or an event.
local function add_name(self, wanted, name)
  local group, metric = name:match("^([%w_]+)/([%w_]+)$")
  if self.groups[name] then return add_group(self, wanted, self.groups[name]) end
  if self.presets[name] then return add_group(self, wanted, self.presets[name]) end
  if group and self.groups[group] then
    local found = self.groups[group].by_name[metric]
    if found then return add_metric(self, wanted, self.groups[group], found) end
    local names = lists.map(self.groups[group].metrics, function(m) return m.name end)
    try(refuse("ENOENT", ("group %s has no metric %s"):format(group, metric), "choose one of " .. table.concat(names, ", ")))
  end
  local alone = self.metrics and self.metrics[name]
  if alone then return add_metric(self, wanted, alone[1], alone[2]) end
  local event, err = self:event(name)
  if event then return add_event(wanted, event) end
  if not next(self.groups) and (groups.of "generic"[name] or groups.presets "generic"[name]) then
    try(refuse("ENOENT", ("%s: pmlua has no groups and presets for %s"):format(name, self.pmu.name),
      "use those of perf's generic events: --pmu generic"))
  end
  try(not (err.remedy and (err.remedy:find "^did you mean" or err.remedy:find "^nearest: ")), err)
  local names = {}
  for n in pairs(self.groups) do names[#names + 1] = n end
  for n in pairs(self.presets) do names[#names + 1] = n end
  table.sort(names)
  local nearest = require "pmlua.internal.nearest"(name, names)
  try(nearest, err)
  try(refuse("ENOEVENT", err.text, ("did you mean %s?"):format(nearest)))
end

-- --- the plan ---

--- The indices of events in the plan's list, sorted; unknown ones are added.
local function indices(plan, events)
  local list = {}
  for _, e in ipairs(events) do
    if not plan.index[e] then
      plan.events[#plan.events + 1] = e
      plan.index[e] = #plan.events
    end
    list[#list + 1] = plan.index[e]
  end
  table.sort(list)
  for i = #list, 2, -1 do
    if list[i] == list[i - 1] then table.remove(list, i) end
  end
  return list
end

local function with(always, events, list)
  local all = { table.unpack(always) }
  for _, i in ipairs(list) do all[#all + 1] = events[i] end
  return all
end

--- A metric that does not fit is taken apart: into the metrics it is made of, then into its events.
local function take_apart(self, plan, item, always)
  local direct = {}
  for _, name in ipairs(item.metric and item.metric.formula.names or {}) do
    local part = item.group.by_name[name]
    if part then
      local events = {}
      for _, e in sorted(part.events) do events[#events + 1] = assert(self:event(e)) end
      local set = indices(plan, events)
      if place.fit(with(always, plan.events, set)) then
        plan.units[#plan.units + 1] = { name = item.group.name .. "/" .. name, events = set }
      else
        take_apart(self, plan, { group = item.group, metric = part, events = events }, always)
      end
    elseif item.metric.events[name] then
      direct[#direct + 1] = assert(self:event(item.metric.events[name]))
    end
  end
  for _, e in ipairs(direct) do plan.units[#plan.units + 1] = { name = e.short, events = indices(plan, { e }) } end
end

local function make_units(self, plan, wanted, always)
  for _, item in ipairs(wanted.items) do
    if not item.dead then
      local set = indices(plan, item.events)
      item.set = set
      local where, why = place.fit(with(always, plan.events, set))
      if where then
        plan.units[#plan.units + 1] = { name = item.name, events = set }
      else
        item.split = why
        if item.metric then take_apart(self, plan, item, always) else item.dead, item.split = why, nil end
      end
    end
  end
end

--- Every pair of events that cannot be counted together.
local function rival_pairs(plan, always)
  local list = {}
  for i, a in ipairs(plan.events) do
    for j = i + 1, #plan.events do
      local b = plan.events[j]
      if #a.placements > 0 and #b.placements > 0 then
        local where, why = place.fit(with(always, plan.events, { i, j }))
        if not where then list[#list + 1] = { a.short, b.short, why = why } end
      end
    end
  end
  return list
end

local function all_indices(n)
  local list = {}
  for i = 1, n do list[i] = i end
  return list
end

--- The runs with a counter for every event.
local function lay_out(plan, scheduled, always)
  for r, run in ipairs(scheduled.runs) do
    local where = assert(place.fit(with(always, plan.events, run.events)))
    local events = {}
    for n, i in ipairs(run.events) do
      local e = plan.events[i]
      events[n] = { event = e, counter = where[e] and place.label(where[e]) or nil, mask = where[e] or 0 }
    end
    table.sort(events, function(a, b)
      if (a.mask == 0) ~= (b.mask == 0) then return b.mask == 0 end
      if a.mask ~= b.mask then return a.mask < b.mask end
      return a.event.short < b.event.short
    end)
    plan.runs[r] = { events = events, has = {} }
    for _, e in ipairs(events) do plan.runs[r].has[e.event] = true end
    for _, e in ipairs(always) do plan.runs[r].reserved = { event = e.short, counter = place.label(where[e]) } end
  end
end

--- Where each metric is counted: in the first run that has all its events, or in several.
local function locate(plan, wanted)
  for _, item in ipairs(wanted.items) do
    item.runs = {}
    for r, run in ipairs(item.dead and {} or plan.runs) do
      local all, some = true, false
      for _, e in ipairs(item.events) do
        all = all and run.has[e] == true
        some = some or run.has[e]
      end
      if all and not item.run then item.run = r end
      if some then item.runs[#item.runs + 1] = r end
    end
  end
end

---@class pmlua.Choice
---@field items table[] the requested items: { name, group?, metric?, events, run?, runs, split?, dead? }
---@field events pmlua.Event[] all different
---@field together boolean they fit at once
---@field why? string why not
---@field rivals table[] pairs that cannot be counted together
---@field runs table[] { events = { { event, counter } }, reserved? }
---@field exact boolean
---@field bound integer
---@field nodes integer

--- Plan the runs for groups, metrics (GROUP/METRIC), presets and events.
---@param names string[]
---@param limit? integer nodes that the search may look at
---@return pmlua.Choice? choice, pmlua.Failure? failure
function Chooser:choose(names, limit)
  local wanted = { items = {}, by_name = {} }
  for _, name in ipairs(names) do
    local _, err = try.catch(add_name, self, wanted, name)
    if err then return nil, err end
  end
  local always = { self.watchdog and place.watchdog(self.pmu, self.counters) or nil }
  local plan = { items = wanted.items, events = {}, index = {}, units = {}, runs = {} }
  make_units(self, plan, wanted, always)
  local where, why = place.fit(with(always, plan.events, all_indices(#plan.events)))
  plan.together, plan.why = where ~= nil, why
  plan.rivals = not where and rival_pairs(plan, always) or {}
  local scheduled = schedule.plan(plan.units, plan.events, always, place.fit, limit)
  plan.exact, plan.bound, plan.nodes = scheduled.exact, scheduled.bound, scheduled.nodes
  lay_out(plan, scheduled, always)
  locate(plan, wanted)
  return plan
end

-- --- events that still fit ---

local events_of = {} -- by PMU, because libpfm4 takes a quarter of a second to list the events of a large one

--- Every event of the PMU by name, without the PMU.
---@return string[] names the caller must not modify them
function Chooser:all_events()
  if events_of[self.pmu.name] then return events_of[self.pmu.name] end
  local names = {}
  if self.pmu.known then
    for _, row in ipairs(core.event.list(self.pmu.name .. "::*", true) or {}) do
      local own, short = row.name:match("^([%w_]+)::(.+)$")
      if own == self.pmu.name then names[#names + 1] = short end
    end
  else
    for name in pairs(self.pmu.events or {}) do names[#names + 1] = name end
  end
  if self.pmu.name == "generic" then
    for _, row in ipairs(core.event.list("*", false) or {}) do
      if row.source == "generic" then names[#names + 1] = row.name end
    end
  end
  table.sort(names)
  events_of[self.pmu.name] = names
  return names
end

--- The further events that fit into a run.
---@param run table of a choice
---@return string[] fitting names
---@return integer others how many do not fit
function Chooser:more(run)
  local always = { self.watchdog and place.watchdog(self.pmu, self.counters) or nil }
  local base = { table.unpack(always) }
  for _, e in ipairs(run.events) do base[#base + 1] = e.event end
  local fitting, others = {}, 0
  for _, name in ipairs(self:all_events()) do
    local event = self:event(name)
    if event and not run.has[event] then
      base[#base + 1] = event
      if place.fit(base) then fitting[#fitting + 1] = name else others = others + 1 end
      base[#base] = nil
    end
  end
  return fitting, others
end

-- --- verification ---

--- Can the plan be verified on this machine?
---@return boolean can, string? why not
function Chooser:verifiable()
  if not self.here then return false, ("this machine has no %s"):format(self.pmu.name) end
  local has, why = core.event.has_pmu()
  return has, why
end

--- Open the hardware events of every run as one group, as the runs will.
---@param plan pmlua.Choice
---@return boolean? ok nil: this machine cannot verify it
---@return string? why, string? code of the failure
function Chooser:verify(plan)
  local can, why = self:verifiable()
  if not can then return nil, why end
  for r, run in ipairs(plan.runs) do
    local names = {}
    for _, e in ipairs(run.events) do
      if #e.event.placements > 0 then names[#names + 1] = e.event.name end
    end
    if #names > 0 then
      local group, err, code = core.group.open(names)
      if not group then return false, select(2, refuse(err, ("run %d"):format(r))), code end
      group:close()
    end
  end
  return true
end

--- Plan and, where this machine can, verify. A plan that cannot be opened is made again with one counter less.
---@param names string[]
---@param limit? integer
---@return pmlua.Choice? choice with verified (true, false, nil: not verified) and unverified (why)
---@return pmlua.Failure? failure
function Chooser:choose_verified(names, limit)
  while true do
    local plan, err = self:choose(names, limit)
    if not plan then return nil, err end
    local code
    plan.verified, plan.unverified, code = self:verify(plan)
    if plan.verified ~= false or code ~= "ETOOMANY" or self.counters.general <= 1 then return plan end
    local n = self.counters.general - 1
    self.notes[#self.notes + 1] = ("a group of %d counters did not open (%s); planning again with %d"):format(n + 1,
      plan.unverified, n)
    self.counters = { general = n, fixed = self.counters.fixed, mask = (1 << n) - 1 }
    self.events = {}
  end
end

return M
