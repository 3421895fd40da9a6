-- SPDX-License-Identifier: BSD-3-Clause
--- The command line of an experiment: the options that all have, and its own.
--
--     pmlua scripts/timers.lua --help

local argparse = require "argparse"
local json = require "pmlua.json"

local M = {}

---@class pmlua.Option
---@field name string the option is --name
---@field default any
---@field help string?
---@field type "string"|"number"|"integer"|"flag"|nil "string"
---@field min integer? of an integer
---@field metavar string? what stands for the value in --help

local common = {
  { name = "quick", type = "flag", help = "a smoke run of some seconds" },
  { name = "out", help = "folder for the results", default = "results", metavar = "DIR" },
  { name = "no-plot", type = "flag", help = "do not draw" },
  { name = "json", type = "flag", help = "print the summary of every cell as JSON" },
  { name = "seed", type = "integer", help = "seed of the order of the cells (and of the bootstrap)", metavar = "N" },
  { name = "rounds", type = "integer", help = "how many rounds the samples are split into", metavar = "N", min = 1 },
  { name = "iterations", type = "integer", help = "samples per cell, over all rounds", metavar = "N", min = 1 },
  { name = "quiet", type = "flag", help = "no progress and no warnings on stderr" },
}

local kinds = { string = true, number = true, integer = true, flag = true }

--- What is wrong with the options that an experiment defines, if anything is.
---@param exp pmlua.Experiment
---@return string? err
function M.check(exp)
  local taken = { help = true, command = exp.command and true }
  for _, o in ipairs(common) do taken[o.name] = true end
  for i, o in ipairs(exp.options) do
    if type(o) ~= "table" or type(o.name) ~= "string" or not o.name:match("^%a[%w_%-]*$") then
      return ("options[%d] must have a name of letters, digits, _ and -"):format(i)
    end
    if taken[o.name] then return ("option --%s is there already"):format(o.name) end
    if o.type and not kinds[o.type] then
      return ("option --%s: type must be string, number, integer or flag"):format(o.name)
    end
    taken[o.name] = true
  end
end

local function key(option)
  return (option.name:gsub("%-", "_"))
end

local function integer(option)
  return function(text)
    local v = math.tointeger(tonumber(text))
    if not v then return nil, ("option '--%s' needs an integer, not '%s'"):format(option.name, text) end
    if option.min and v < option.min then return nil, ("option '--%s' must be at least %d"):format(option.name, option.min) end
    return v
  end
end

local function number(option)
  return function(text)
    local v = tonumber(text)
    if not v or v ~= v or math.abs(v) == math.huge then
      return nil, ("option '--%s' needs a number, not '%s'"):format(option.name, text)
    end
    return v
  end
end

local function add_option(parser, option)
  local help = option.help or ""
  if option.type == "flag" then
    parser:flag("--" .. option.name):description(help):target(key(option))
    return
  end
  if option.default ~= nil and option.default ~= "" then help = ("%s (default: %s)"):format(help, tostring(option.default)) end
  local o = parser:option("--" .. option.name):description(help):target(key(option)):argname("<" .. (option.metavar or
    option.type or "value") .. ">"):args(1)
  if option.type == "integer" then o:convert(integer(option)) end
  if option.type == "number" then o:convert(number(option)) end
end

local function make_parser(exp, script)
  local command = "pmlua " .. script
  local examples = exp.examples or {
    command, command .. " --quick --no-plot", command .. " --iterations 100000 --out /tmp/results",
  }
  local parser = argparse(command):description(exp.description or ("The experiment " .. exp.name .. ".")):add_help(false)
  parser:epilog("Examples:\n  " .. table.concat(examples, "\n  "))
  if exp.command then parser:usage(("Usage: %s [OPTIONS] [--] %s"):format(command, exp.command)) end
  parser:flag("-h --help"):description("show this"):target("help_wanted")
  for _, o in ipairs(common) do add_option(parser, o) end
  for _, o in ipairs(exp.options) do add_option(parser, o) end
  return parser
end

--- argparse takes "-3" for an option: a number that follows an option is its value.
local function bind_numbers(args)
  local bound = {}
  for _, a in ipairs(args) do
    local before = bound[#bound]
    if before and before:find("^%-%-[^=]+$") and a:find("^%-%.?%d") then
      bound[#bound] = before .. "=" .. a
    else
      bound[#bound + 1] = a
    end
  end
  return bound
end

--- The user's command begins after --, or at the first word that is neither an option nor the value of one.
local function split(exp, args)
  local takes, i = {}, 1
  for _, list in ipairs { common, exp.options } do
    for _, o in ipairs(list) do takes["--" .. o.name] = o.type ~= "flag" end
  end
  while args[i] and args[i] ~= "--" and args[i]:sub(1, 1) == "-" do i = i + (takes[args[i]] and 2 or 1) end
  return { table.unpack(args, 1, i - 1) }, { table.unpack(args, args[i] == "--" and i + 1 or i) }
end

--- What a command line gives. With help_wanted its `help` is the text to print.
---@param exp pmlua.Experiment
---@param script string its name for the user
---@param args string[]
---@return table? given by name, "-" as "_"
---@return string? err one line
function M.parse(exp, script, args)
  local parser, command = make_parser(exp, script), nil
  if exp.command then args, command = split(exp, args) end
  local ok, given = parser:pparse(bind_numbers(args))
  if not ok then return nil, (tostring(given):match("^[^\n]*")) end
  given.command = command
  if given.help_wanted then given.help = parser:get_help() end
  return given
end

--- The numbers of threads that an option --threads names, separated by commas; raises what is wrong with them.
---@param text string
---@param most integer
---@return integer[]
function M.thread_numbers(text, most)
  local out, seen = {}, {}
  for word in (text .. ","):gmatch "([^,]*)," do
    local n = math.tointeger(tonumber(word))
    if not n or n < 1 or n > most then
      error(("option --threads: %s is not a number of threads, 1 to %d"):format(word == "" and "nothing" or word, most), 0)
    end
    if seen[n] then error(("option --threads: %d is there twice"):format(n), 0) end
    seen[n], out[#out + 1] = true, n
  end
  return out
end

--- The values of an experiment's own options: given, else what --quick makes of them, else the default.
---@param exp pmlua.Experiment
---@param given table
---@return table
function M.values(exp, given)
  local options = { quick = given.quick or false }
  for _, o in ipairs(exp.options) do
    local k = key(o)
    local v = given[k]
    if v == nil and given.quick then v = exp.quick[k] end
    if v == nil then v = o.default end
    if v == nil and o.type == "flag" then v = false end
    options[k] = v
  end
  if exp.command then options.command = json.array(given.command) end
  return options
end

return M
