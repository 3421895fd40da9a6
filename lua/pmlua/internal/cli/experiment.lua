-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/cli/experiment.lua - the command line of an experiment: common options and the experiment's options,
-- parsed and documented like a verb's options.
--
-- Try:  pmlua scripts/timers.lua --help

local common = require "pmlua.internal.cli.common"
local json = require "pmlua.json"
local parse = require "pmlua.internal.cli.parse"

local M = {}

---@class pmlua.Option
---@field name string the option is --name
---@field default any
---@field help string?
---@field type "string"|"number"|"integer"|"flag"|nil nil: the type of the default (1.0: number), or "string"
---@field min number? of a number or an integer
---@field max number?
---@field choices string[]? the words that a string may be
---@field metavar string? what stands for the value in --help

--- The options of every experiment.
---@type pmlua.cli.Option[]
M.common = {
  { name = "quick", help = "a smoke run of some seconds" },
  common.with("folder", { help = "folder for the results", shown = "results" }),
  { name = "no-plot", help = "do not draw" },
  common.with("json", { help = "print the summary of every cell as JSON" }),
  common.with("csv", { help = "print the summary of every cell as CSV" }),
  { name = "seed", kind = "integer", help = "seed of the order of the cells" },
  { name = "resume", kind = "dir", value = "DIR", help = "continue the run in DIR, which was killed or interrupted, with its "
    .. "options: the visits that it lacks are made, in the same folder" },
  { name = "rounds", kind = "integer", help = "how many rounds the samples are split into", min = 1 },
  { name = "iterations", kind = "integer", help = "samples per cell, over all rounds", min = 1 },
  common.with("quiet", { help = "no progress and no warnings on standard error" }),
}

--- The command line of any experiment, as verbs are described.
M.verb = {
  name = "SCRIPT.lua", summary = "run an experiment", usage = { "[OPTIONS]" }, options = M.common,
  about = "Every experiment accepts these options; pmlua SCRIPT.lua --help also lists its own.",
  examples = { "pmlua scripts/timers.lua --quick", "pmlua scripts/timers.lua --help" },
}

local kinds = { string = "text", number = "number", integer = "integer", flag = false }

local function type_of(option)
  local kind = math.type(option.default) or type(option.default)
  return option.type or ({ integer = "integer", float = "number", boolean = "flag" })[kind] or "string"
end

--- Check the options that an experiment defines; return the error.
---@param exp pmlua.Experiment
---@return string? err
function M.check(exp)
  local taken = { help = true, command = exp.command and true }
  for _, o in ipairs(M.common) do taken[o.name], taken[o.was or o.name] = true, true end
  for i, o in ipairs(exp.options) do
    if type(o) ~= "table" or type(o.name) ~= "string" or not o.name:match("^%a[%w_%-]*$") then
      return ("options[%d] must have a name of letters, digits, _ and -"):format(i)
    end
    if taken[o.name] then return ("option --%s is defined twice"):format(o.name) end
    if o.type and kinds[o.type] == nil then
      return ("option --%s: type must be string, number, integer or flag"):format(o.name)
    end
    taken[o.name] = true
  end
end

--- An experiment's option as verbs have theirs. Its default is applied later: --quick may have another.
local function of_verb(option)
  local kind = option.choices and "choice" or kinds[type_of(option)] or nil
  return { name = option.name, kind = kind, value = option.metavar, min = option.min, max = option.max,
    choices = option.choices, empty = kind == "text", shown = kind and option.default, help = option.help or "" }
end

local EXCLUSIVE <const> = { { "json", "csv" }, { "resume", "out-dir" }, { "resume", "seed" }, { "resume", "rounds" },
  { "resume", "iterations" }, { "resume", "quick" } }

--- The command line of an experiment as a verb's table.
local function line_of(exp, script)
  local command = "pmlua " .. script
  local line = { name = script, options = {}, examples = exp.examples or {
    command, command .. " --quick --no-plot", command .. " --iterations 100000 -o /tmp/results",
  }, exclusive = EXCLUSIVE, about = exp.description or ("The experiment " .. exp.name .. ".") }
  table.move(M.common, 1, #M.common, 1, line.options)
  for _, option in ipairs(exp.options) do table.insert(line.options, of_verb(option)) end
  if exp.command then
    line.command = { optional = true }
    line.usage = { "[OPTIONS] [--] " .. exp.command }
  end
  return line
end

--- Parse a command line. With --help the field `help` is the text to print.
---@param exp pmlua.Experiment
---@param script string its name for the user
---@return table? given by name, "-" as "_"
---@return string? err one line
function M.parse(exp, script, args)
  local line = line_of(exp, script)
  local given, misuse = parse.parse(line, args)
  if not given then return nil, misuse end
  parse.warn("pmlua: " .. script, given)
  if given.help then given.help = require("pmlua.internal.cli.text").help(line) end
  return given
end

--- Parse an option's list of known names, separated by commas; "all" selects all. Raises an error for an unknown name.
---@param option string its name
---@param always? table<string, boolean> names that are always included; the result is then in the order of the known names
function M.choose(text, known, option, always)
  local out, is_known, seen = {}, {}, {}
  if text == "all" then return table.move(known, 1, #known, 1, out) end
  for _, name in ipairs(known) do is_known[name] = true end
  for word in text:gmatch "[^,]+" do
    if not is_known[word] then
      error(("option --%s: unknown %s; choose one of %s"):format(option, word, table.concat(known, ", ")), 0)
    end
    if seen[word] then error(("option --%s: %s is given twice"):format(option, word), 0) end
    seen[word], out[#out + 1] = true, word
  end
  if #out == 0 then error(("option --%s is empty; choose one of %s"):format(option, table.concat(known, ", ")), 0) end
  if not always then return out end
  out = {}
  for _, name in ipairs(known) do out[#out + 1] = (seen[name] or always[name]) and name or nil end
  return out
end

--- Parse the thread numbers of --threads, separated by commas; raises an error for an invalid number.
function M.thread_numbers(text, most)
  local out, seen = {}, {}
  for word in (text .. ","):gmatch "([^,]*)," do
    local n = math.tointeger(tonumber(word))
    if not n or n < 1 or n > most then
      error(("option --threads: %s is not a number of threads, 1 to %d"):format(word == "" and "nothing" or word, most), 0)
    end
    if seen[n] then error(("option --threads: %d is given twice"):format(n), 0) end
    seen[n], out[#out + 1] = true, n
  end
  return out
end

--- The values of an experiment's own options: given, else what --quick makes of them, else the default.
---@param exp pmlua.Experiment
function M.values(exp, given)
  local options = { quick = given.quick or false }
  for _, o in ipairs(exp.options) do
    local k = parse.key(o)
    local v = given[k]
    if v == nil and given.quick then v = exp.quick[k] end
    if v == nil then v = o.default end
    if v == nil and type_of(o) == "flag" then v = false end
    options[k] = v
  end
  if exp.command then options.command = json.array(given.command) end
  return options
end

return M
