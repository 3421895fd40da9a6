-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/own_plugins.lua - the metric plugins that come with pmlua, in pmlua/plugins: chosen by tokens as others are.
--
-- Try:  pml.plugin.load { name = "host", metrics = { "memory_available", "cpus_busy" }, every = "50ms" }
--       local set = assert(pml.eventset { "plugin::host::memory_available" })
--
-- Each is a module with `summary`, `scope`, `default` (tokens) and `metrics(options)`, the list of what there is, and of
-- what there is not with the reason; `exact` if that list holds nothing but what the tokens choose. The plugin itself is
-- code for pml.plugin.define: it looks for its metrics again in the state and on the thread where it runs.

local core = require "pmlua.core"
local refuse = core.failure.refuse

local M = {}

local EVERY = "100ms"
local of_an_event = { "name", "description", "unit", "mode", "type", "base", "exponent" }

--- The module of that name, if pmlua comes with such a plugin.
local function find(name)
  local module = type(name) == "string" and name:find "^%l+$" and "pmlua.plugins." .. name
  return module and package.searchpath(module, package.path) and require(module) or nil
end

function M.has(name) return find(name) ~= nil end

--- Those that come with pmlua.
function M.names() return { "host", "process", "uncore" } end

-- --- choosing ---

--- A pattern that matches as a glob does, in which only * and ? are special: brackets are parts of some names.
---@return string pattern
function M.pattern_of(glob)
  return "^" .. glob:gsub("[%W]", "%%%0"):gsub("%%%*", ".*"):gsub("%%%?", ".") .. "$"
end

--- The metrics that match a token; or the reason why this machine lacks them; nothing if no metric has such a name.
local function match(all, token)
  local found, reason = {}, nil
  local pattern = M.pattern_of(token)
  for _, metric in ipairs(all) do
    -- A row "power_*" represents all metrics of this form that a machine might have.
    if metric.reason then
      if metric.name:find(pattern) or token:find(M.pattern_of(metric.name)) then reason = reason or metric.reason end
    elseif metric.name:find(pattern) then found[#found + 1] = metric end
  end
  return found, reason
end

local function near(all, token)
  local names = {}
  for _, metric in ipairs(all) do
    if not metric.reason then names[#names + 1] = metric.name end
  end
  local nearest = require "pmlua.internal.nearest"(token, names)
  return nearest and ("did you mean '%s'?"):format(nearest) or "pmlua events plugin:: lists them"
end

--- Names of the metrics that match a token on this machine; an empty list and the reason if the machine lacks them; nil and a
-- failure for a misspelt token.
---@param name string of the plugin
---@return string[]?, string? reason
function M.find(name, token)
  local all = find(name).metrics {}
  local found, reason = match(all, token)
  if #found == 0 and not reason then
    return refuse("ENOEVENT", ("plugin %s has no metric '%s'"):format(name, token), near(all, token))
  end
  for i, metric in ipairs(found) do found[i] = metric.name end
  return found, #found == 0 and reason or nil
end

--- The metrics that match the tokens, without duplicates; sentences on missing ones; nil and a failure for a misspelt token.
local function choose(name, plugin, options)
  local all = plugin.metrics(options)
  local chosen, taken, lacking = {}, {}, {}
  local function take(metrics)
    for _, metric in ipairs(metrics) do
      if metric.reason then lacking[#lacking + 1] = ("%s: %s"):format(metric.name, metric.reason)
      elseif not taken[metric.name] then chosen[#chosen + 1] = metric end
      taken[metric.name] = true
    end
  end
  if plugin.exact then
    take(all)
    return chosen, lacking
  end
  for _, token in ipairs(options.metrics) do
    local found, reason = match(all, token)
    if #found == 0 and not reason then
      return refuse("ENOEVENT", ("plugin %s has no metric '%s'"):format(name, token), near(all, token))
    end
    take(#found > 0 and found or { { name = token, reason = reason } })
  end
  return chosen, lacking
end

-- --- running ---

--- A function that reads metrics in this state, without a plugin of the core.
---@param name string of the plugin
---@param options { metrics: string[]?, pid: integer? } metrics: tokens; nil: the tokens of `default`
---@return table[]? metrics each with name, unit, mode; or nil and a failure for a misspelt token
---@return (fun(): table<string, number>)|pmlua.Failure collect
function M.reader(name, options)
  local plugin = find(name)
  local o = { metrics = options.metrics or plugin.default, pid = options.pid }
  local chosen, err = choose(name, plugin, o)
  if not chosen then return nil, err end
  return chosen, plugin.collector(o, chosen)
end

local function event_of(metric)
  local event = {}
  for _, key in ipairs(of_an_event) do event[key] = metric[key] end
  return event
end

--- The argument of pml.plugin.define. Called where the plugin is loaded, and again where it runs.
---@param options { metrics: string[], root?: string, every?: any, pid?: integer }
function M.definition(name, options)
  local plugin = find(name)
  local byname, metrics, events = {}, {}, {}
  for _, metric in ipairs(plugin.metrics(options)) do
    if not metric.reason then byname[metric.name] = metric end
  end
  for i, wanted in ipairs(options.metrics) do -- a metric that disappeared meanwhile keeps its index, without values
    metrics[i] = byname[wanted] or { name = wanted }
    events[i] = event_of(metrics[i])
  end
  return { name = name, scope = plugin.scope, every = options.every or EVERY, events = events,
    collect = plugin.collector(options, metrics) }
end

local function literal(value)
  if type(value) ~= "table" then return ("%q"):format(value) end
  local items = {}
  for i, v in ipairs(value) do items[i] = ("%q"):format(v) end
  return "{" .. table.concat(items, ",") .. "}"
end

local function code(name, options)
  local fields = {}
  for _, key in ipairs { "metrics", "root", "every", "pid" } do
    if options[key] ~= nil then fields[#fields + 1] = ("%s = %s"):format(key, literal(options[key])) end
  end
  return ("return require('pmlua.internal.own_plugins').definition(%q, { %s })"):format(name, table.concat(fields, ", "))
end

local kinds = { name = "string", metrics = "table", root = "string", pid = "number" }

local function seconds(every) return require("pmlua.plugin").seconds(every) end

--- An error of the script, three calls out: here, check(), load().
local function misused(sentence, ...)
  error("plugin.load: " .. sentence:format(...), 4)
end

local function check(options)
  for key, value in pairs(options) do
    if not kinds[key] and key ~= "every" then misused("unknown option '%s'", tostring(key)) end
    if kinds[key] and type(value) ~= kinds[key] then misused("option '%s' must be a %s", key, kinds[key]) end
  end
  local pid = options.pid
  if pid and not (math.type(pid) == "integer" and pid > 0) then misused "option 'pid' must be a process id" end
  if options.every ~= nil and not seconds(options.every) then
    misused("option 'every' is '%s', not a time such as \"100ms\"", tostring(options.every))
  end
  for i, token in ipairs(options.metrics or {}) do
    if type(token) ~= "string" then misused("metric %d is a %s, not a string", i, type(token)) end
  end
end

local function split(text, separators)
  local parts = {}
  if separators == nil or separators == "" then separators = "," end
  for part in text:gmatch("[^" .. separators:gsub("%W", "%%%0") .. "]+") do parts[#parts + 1] = part end
  return parts
end

--- The metrics and the period from SCOREP_METRIC_<NAME>, as for any plugin; nil if it is not set.
local function environment_of(name)
  local variable = "SCOREP_METRIC_" .. name:upper()
  local text = os.getenv(variable) or ""
  return text ~= "" and split(text, os.getenv(variable .. "_SEP")) or nil, os.getenv(variable .. "_EVERY")
end

--- Load one of pmlua's own plugins. Metrics that the machine lacks are left out, and reported on stderr with the reason.
---@param options { name: string, metrics?: string[], every?: number|string, root?: string, pid?: integer }
---@return pmlua.Plugin? plugin, pmlua.Failure? failure, string? code
function M.load(options)
  check(options)
  local name = options.name
  local plugin = assert(find(name))
  local tokens, every = environment_of(name)
  if every and not seconds(every) then
    return refuse("EINVAL", ("SCOREP_METRIC_%s_EVERY is '%s', not a time such as 100ms"):format(name:upper(), every))
  end
  tokens = options.metrics or tokens or plugin.default
  local given = { metrics = tokens, root = options.root, pid = options.pid, every = options.every or every }
  local chosen, lacking = choose(name, plugin, given)
  if not chosen then return nil, lacking, lacking.code end
  if #chosen == 0 then
    return refuse("ENOTHERE", ("plugin %s: %s"):format(name, lacking[1] or "no metric is requested"))
  end
  local printable = require "pmlua.internal.printable"
  for _, line in ipairs(lacking) do io.stderr:write(("pmlua: plugin %s: %s\n"):format(name, printable(line))) end
  given.metrics = {}
  for i, metric in ipairs(chosen) do given.metrics[i] = metric.name end
  return require "pmlua.plugin".define { name = name, code = code(name, given) }
end

--- Load those that SCOREP_METRIC_PLUGINS names, before the core looks for libraries of these names.
function M.environment()
  local names = os.getenv "SCOREP_METRIC_PLUGINS" or ""
  for _, name in ipairs(split(names, os.getenv "SCOREP_METRIC_PLUGINS_SEP")) do
    if find(name) then
      local loaded, err, why = M.load { name = name }
      if not loaded and why ~= "EEXIST" then
        io.stderr:write("pmlua: ", require "pmlua.internal.printable"(core.failure.sentence(err)), "\n")
      end
    end
  end
end

local function loaded()
  local names = {}
  for _, info in ipairs(core.plugin.list()) do names[info.name] = info.state == "loaded" or info.state == "running" or nil end
  return names
end

--- Rows for `pmlua events` on plugins that are not loaded: their metrics, and those that this machine lacks.
---@param wanted? string as the list of the core takes it: a glob, or a part of a name or description
function M.rows(wanted)
  local rows, there = {}, loaded()
  local glob = wanted and wanted:find "[*?]" and M.pattern_of(wanted:lower())
  local function matches(text)
    return not wanted or text:lower():find(glob or wanted:lower(), 1, not glob) ~= nil
  end
  for _, name in ipairs(M.names()) do
    local scope = find(name).scope
    local how = ("not loaded; load it with pml.plugin.load { name = %q }, or SCOREP_METRIC_PLUGINS=%s"):format(name, name)
    for _, m in ipairs(find(name).metrics {}) do
      local event = ("plugin::%s::%s"):format(name, m.name)
      local description = m.reason and "" or ("%s [%s; %s, per %s]"):format(m.description, m.unit, m.mode, scope)
      if (m.reason or not there[name]) and (matches(event) or matches(description)) then
        rows[#rows + 1] = { name = event, description = description, source = "plugin", pmu = name, available = false,
          reason = m.reason or how }
      end
    end
  end
  return rows
end

return M
