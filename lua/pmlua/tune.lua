-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/tune.lua - tuning by region: rules set frequencies, idle states, numbers of threads, or call a function, while
-- a region is open, and restore the previous settings afterwards.
--
-- The files are the kernel's, below /sys/devices/system/cpu; `root` names another folder of that form. They are written
-- only if this was allowed when the process was started: pmlua --allow-tuning SCRIPT, or pml_tune_allow() in an application
-- that embeds pmlua; otherwise `dry_run = true` logs the actions instead. All settings are restored on leave, at the end of the
-- script, and by a helper process if this one is killed.
--
-- The option `cpus` selects the cpus: all that the thread may run on as it enters ("thread"; pin it to one), the cpu on which
-- it is running ("current"), or "all". If several rules match a region, its exact name comes first, then the longest pattern,
-- then the first in alphabetical order.
--
-- enter and leave are called synchronously, on the thread concerned, in a separate Lua state. An event of their region then
-- costs about 100 ns, threads wait for each other, and the functions cannot use locals of the script. If one raises an error,
-- its rule is removed and its settings are restored.
--
-- Try:  local t <close> = assert(pml.tune { dry_run = true, rules = { ["sol*"] = { frequency = 1.2e9 } } })
--       pml.section.start "solve"; pml.section.stop "solve"
--       for _, e in ipairs(t:log()) do print(e.region, e.what, e.value) end

local core = require "pmlua.core"
local fields = require "pmlua.internal.fields"

---@class pml.tune
---@overload fun(options: pmlua.tune.options): pmlua.tuner?, string?, string?
local M = {}
for name, f in pairs(core.tune) do M[name] = f end

---@class pmlua.tune.rule
---@field frequency? number Hz; the speed itself under the governor userspace, else the least and the most alike
---@field frequency_min? number Hz
---@field frequency_max? number Hz
---@field governor? string
---@field idle? table<string, boolean> by the name of a state, or "state3": whether it may be used
---@field threads? integer of the thread's OpenMP regions to come
---@field enter? fun(region: string)
---@field leave? fun(region: string)

---@class pmlua.tune.options
---@field rules table<string, pmlua.tune.rule> by the name of a region, or a pattern of the shell: *, ?, [...]
---@field root? string
---@field cpus? "thread"|"current"|"all"
---@field dry_run? boolean

---@class pmlua.tuner
---@field package handle? table of the core
---@field package what string
local tuner = {}

local function handle_of(self) return self.handle or error(self.what .. ": it is closed", 3) end

--- Messages so far: settings that the kernel refused or changed, and rules that raised an error; after stop also regions
--- that were never entered.
---@return string[]
function tuner:lines() return handle_of(self):lines() end

--- Actions that a dry run would have carried out. Each has ns, thread, region, value, and as `what` a path,
--- "omp_set_num_threads" or "call".
---@return table[]
function tuner:log() return handle_of(self):log() end

--- Counts: entered (regions), files, writes, refused, lost.
---@return table
function tuner:stats() return handle_of(self):stats() end

--- Put all back and tune no more.
function tuner:stop() handle_of(self):stop() end

--- Stop, and print the messages on stderr.
function tuner:close()
  local handle = self.handle
  if not handle then return end
  self.handle = nil
  handle:stop()
  local printable = require "pmlua.internal.printable"
  for _, line in ipairs(handle:lines()) do io.stderr:write("pmlua: ", self.what, ": ", printable(line), "\n") end
  handle:close()
end

--- A class of objects that print their messages when they are closed; each has a handle of the core.
---@param what string
function M.class(what)
  local class = { what = what, __close = tuner.close, __gc = tuner.close }
  for name, f in pairs(tuner) do class[name] = f end
  class.__index = class
  return class
end

local tune = M.class "tune"

local known = { rules = "table", root = "string", cpus = "string", dry_run = "boolean" }
local whose = { thread = true, current = true, all = true }
local settings = { frequency = "number", frequency_min = "number", frequency_max = "number", governor = "string",
  idle = "table", threads = "number", enter = "function", leave = "function" }

local function misuse(...) error("tune: " .. string.format(...), 0) end

local function check(options)
  if type(options) ~= "table" then misuse "must be a table with rules" end
  for key, value in pairs(options) do
    if not known[key] then misuse("unknown option '%s'%s", tostring(key), fields.near(key, known)) end
    if type(value) ~= known[key] then misuse("option '%s' must be a %s, not a %s", key, known[key], type(value)) end
  end
  if not options.rules then misuse "rules must be a table by names of regions" end
  if options.cpus and not whose[options.cpus] then misuse 'option \'cpus\' must be "thread", "current" or "all"' end
end

local function check_rule(region, rule)
  if type(region) ~= "string" then misuse("the key of a rule must be the name of a region, not a %s", type(region)) end
  if type(rule) ~= "table" then misuse("rule '%s' must be a table, not a %s", region, type(rule)) end
  for key, value in pairs(rule) do
    if not settings[key] then
      misuse("rule '%s': unknown setting '%s'%s", region, tostring(key), fields.near(key, settings))
    end
    if type(value) ~= settings[key] then
      misuse("rule '%s': %s must be a %s, not a %s", region, key, settings[key], type(value))
    end
  end
  for state, on in pairs(rule.idle or {}) do
    if type(state) ~= "string" or type(on) ~= "boolean" then
      misuse("rule '%s': idle must be a table of booleans by states, such as { C6 = false }", region)
    end
  end
end

local function idle_list(idle)
  local list = {}
  for state, on in pairs(idle or {}) do list[#list + 1] = { state, on } end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  return list
end

--- Rules in the order in which they are tried; the core prefers a region's own name by itself.
local function in_order(rules)
  local list = {}
  for region, rule in pairs(rules) do
    check_rule(region, rule)
    local copy = { region = region, idle = idle_list(rule.idle) }
    for key in pairs(settings) do copy[key] = copy[key] or rule[key] end
    list[#list + 1] = copy
  end
  table.sort(list, function(a, b)
    if #a.region ~= #b.region then return #a.region > #b.region end
    return a.region < b.region
  end)
  return list
end

local function checked(options)
  check(options)
  return { rules = in_order(options.rules), root = options.root, cpus = options.cpus, dry_run = options.dry_run }
end

--- Tune from now on.
---@param options pmlua.tune.options
---@return pmlua.tuner? tune, string? err, string? code
function M.new(options)
  local good, handle, err, code = pcall(checked, options)
  if good then good, handle, err, code = pcall(core.tune.open, handle) end
  if not good then error(handle, 2) end -- misuse, at the script's line
  if not handle then return nil, err, code end
  return setmetatable({ handle = handle }, tune)
end

return setmetatable(M, { __call = function(_, options) return M.new(options) end })
