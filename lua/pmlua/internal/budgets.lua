-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/budgets.lua - budgets of sections: the calls and events that one call of a section may cost, read from
-- text or tables, and judged on call paths.
--
-- Try:  local budget = require "pmlua.internal.budgets"
--       print(budget.judge(budget.read "lookup: malloc=0", { { depth = 0, name = "lookup", calls = 1 },
--         { depth = 1, name = "malloc", calls = 2 } })[1])

local core = require "pmlua.core"
local keys = require "pmlua.internal.keys"
local order = require "pmlua.internal.order"
local refuse = core.failure.refuse

local M = {}

local PATHS <const> = 3 -- shown of an exceeded item

--- Items that stand for several functions.
local groups = {
  allocations = { "malloc", "calloc", "realloc", "reallocarray", "aligned_alloc", "posix_memalign", "memalign", "valloc",
    "strdup", "strndup", "asprintf", "vasprintf", "getline", "getdelim" },
  locks = { "pthread_mutex_lock", "pthread_mutex_trylock", "pthread_mutex_timedlock", "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock", "pthread_spin_lock", "sem_wait", "sem_timedwait", "mtx_lock" },
}

--- Events whose names have no mark that no function can have.
local events = { cycles = true, instructions = true, branches = true, faults = true, migrations = true }

---@class pmlua.SectionBudget
---@field section string
---@field calls table<string, integer> by the name of a function or a group of functions
---@field events table<string, integer>

--- Add an item; nil and why not.
local function add(budget, name, most)
  local n = math.tointeger(tonumber(most))
  if not n or n < 0 then return nil, ("the budget of %s is '%s', not a whole number from 0"):format(name, tostring(most)) end
  local kind = (events[name] or name:find "[-:/]") and budget.events or budget.calls
  if kind[name] then return nil, ("%s has two budgets for %s"):format(budget.section, name) end
  kind[name] = n
  return true
end

local function empty(section) return { section = section, calls = {}, events = {} } end

--- Budgets from lines such as "lookup: malloc=0 write=1 page-faults=0"; # begins a comment.
---@return pmlua.SectionBudget[]?, pmlua.Failure? failure
function M.read(text)
  local all, number = {}, 0
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    number = number + 1
    line = line:gsub("^#.*", ""):gsub("%s#.*", ""):gsub("%s+$", "")
    local section, items = line:match "^%s*(.-):%s+(.+)$"
    if line ~= "" and not section then
      return refuse("EFORMAT", ("line %d: '%s' is not SECTION: NAME=NUMBER ..."):format(number, line))
    end
    local budget = empty(section)
    for item in (items or ""):gmatch "%S+" do
      local name, most = item:match "^(.+)=([^=]*)$"
      local fine, why = nil, ("'%s' is not NAME=NUMBER"):format(item)
      if name then fine, why = add(budget, name, most) end
      if not fine then return refuse("EFORMAT", ("line %d: %s"):format(number, why)) end
    end
    if section then all[#all + 1] = budget end
  end
  return all
end

--- One budget from a table such as { section = "lookup", malloc = 0 }; nil and why not.
---@return pmlua.SectionBudget? budget, string? why
function M.of(given)
  if type(given) ~= "table" or type(given.section) ~= "string" then
    return nil, "a budget is a table with the name of a section"
  end
  local budget = empty(given.section)
  for _, name in ipairs(keys(given)) do
    if type(name) ~= "string" then return nil, "a budget has names of functions and events, no list" end
    if name ~= "section" then
      local fine, why = add(budget, name, given[name])
      if not fine then return nil, why end
    end
  end
  if not next(budget.calls) and not next(budget.events) then
    return nil, ("the budget of %s names neither a function nor an event"):format(given.section)
  end
  return budget
end

--- The sorted names in budgets.
local function names_of(budgets, kind, each)
  local found = {}
  for _, budget in ipairs(budgets) do
    for name in pairs(budget[kind]) do
      for _, one in ipairs(each(name)) do found[one] = true end
    end
  end
  return keys(found)
end

--- The functions that budgets name, also in groups; with `alone`, without groups, whose functions need not exist.
---@param alone? boolean
---@return string[]
function M.names(budgets, alone)
  return names_of(budgets, "calls", function(name) return groups[name] and (alone and {} or groups[name]) or { name } end)
end

--- The events in budgets.
---@return string[]
function M.events(budgets)
  return names_of(budgets, "events", function(name) return { name } end)
end

-- ---- the verdict ----

--- Call f for each path inside the section's calls, with the names by depth and the section's depth, and return the number of
--- the section's calls. A section inside itself is one call more of it, and its contents count once.
local function inside(paths, section, f)
  local names, from, calls = {}, nil, 0
  for _, path in ipairs(paths) do
    if from and path.depth <= from then from = nil end
    names[path.depth] = path.name
    if path.name == section then
      from, calls = from or path.depth, calls + path.calls
    elseif from then
      f(path, names, from)
    end
  end
  return calls
end

local function most_frequent(found)
  table.sort(found, order.by("-calls", "path"))
  local shown = {}
  for i = 1, math.min(#found, PATHS) do shown[i] = ("%s: %d"):format(found[i].path, found[i].calls) end
  if #found > PATHS then shown[#shown + 1] = ("and %d paths more"):format(#found - PATHS) end
  return table.concat(shown, "; ")
end

--- "1 call of write", "3 allocations".
local function calls_of(n, name)
  if groups[name or ""] then return ("%d %s"):format(n, n == 1 and name:sub(1, -2) or name) end
  return ("%d call%s%s"):format(n, n == 1 and "" or "s", name and " of " .. name or "")
end

--- nil: within the budget.
local function over(budget, most, calls, used, what)
  if used <= most * calls then return nil end
  return ("%s: %s in %s, budget %d for each"):format(budget.section, what, calls_of(calls), most)
end

--- The sentences about budgets of calls that were exceeded, or not checked because the section was not called.
---@param budgets pmlua.SectionBudget[]
---@param paths { depth: integer, name: string, calls: integer }[] depth first
---@return string[]
function M.judge(budgets, paths)
  local said = {}
  for _, budget in ipairs(budgets) do
    for _, name in ipairs(keys(budget.calls)) do
      local one_of, found, used = {}, {}, 0
      for _, f in ipairs(groups[name] or { name }) do one_of[f] = true end
      local calls = inside(paths, budget.section, function(path, names, from)
        if one_of[path.name] then
          found[#found + 1] = { path = table.concat(names, " > ", from, path.depth), calls = path.calls }
          used = used + path.calls
        end
      end)
      local wrong = over(budget, budget.calls[name], calls, used, calls_of(used, name))
      if calls == 0 then wrong = ("section %s was not called; its budget of %s was not checked"):format(budget.section, name) end
      said[#said + 1] = wrong and wrong .. (calls > 0 and " (" .. most_frequent(found) .. ")" or "")
    end
  end
  return said
end

--- The same for events.
---@param rows table<string, { calls: integer, events: table<string, number> }> by section
---@return string[]
function M.judge_events(budgets, rows)
  local said = {}
  for _, budget in ipairs(budgets) do
    for _, name in ipairs(keys(budget.events)) do
      local row = rows[budget.section]
      local used = row and row.calls > 0 and row.events[name]
      if used then said[#said + 1] = over(budget, budget.events[name], row.calls, used, ("%g %s"):format(used, name))
      else
        said[#said + 1] = ("section %s %s; its budget of %s was not checked"):format(budget.section,
          row and row.calls > 0 and "has no count of it" or "was not called", name)
      end
    end
  end
  return said
end

return M
