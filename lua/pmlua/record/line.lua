-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/record/line.lua - the command line of `pmlua record`, read and checked without looking at the machine.
--
-- Try:  print(require("pmlua.record.line").read({ "--trace", "--max-depth", "3", "--", "sleep", "1" }).MAX_DEPTH)

local beside = require "pmlua.host.beside"
local commandline = require "pmlua.commandline"
local flowgraph = require "pmlua.flowgraph"

local M = {}

local BITS = { ["--max-depth"] = 31, ["--max-calls"] = 31, ["--min-duration"] = 60 }
local flags = { ["--trace"] = "trace", ["--profile"] = "profile", ["--json"] = "json", ["--flow"] = "flow",
  ["--dlsym"] = "DLSYM" }
local keys = {
  ["--lib"] = "LIB", ["--sym"] = "SYM", ["--not"] = "NOT", ["--filter"] = "FILTER", ["--event"] = "EVENTS",
  ["--plugin"] = "PLUGINS", ["--substrate"] = "SUBSTRATES", ["--metric"] = "METRICS", ["--every"] = "EVERY",
  ["--flow"] = "flow_file", ["--color"] = "color",
  ["-o"] = "DIR", ["--finish"] = "FINISH",
  ["--max-depth"] = "MAX_DEPTH", ["--max-calls"] = "MAX_CALLS", ["--min-duration"] = "MIN_NS",
}
local repeats = { LIB = ":", SYM = ":", NOT = ":", EVENTS = "\n", PLUGINS = "\n", SUBSTRATES = "\n" }
local of_a_trace = { "MAX_DEPTH", "MAX_CALLS", "MIN_NS" }
local unit_ns = { [""] = 1, ns = 1, us = 1e3, ms = 1e6, s = 1e9 }

--- Names, a line each.
---@param lines? string
---@return string[]
function M.names(lines)
  local names = {}
  for name in (lines or ""):gmatch "[^\n]+" do names[#names + 1] = name end
  return names
end

--- A whole number from 1 on, of ns if it is a time; nil: it is none.
local function limit(name, text)
  local digits, unit = text:match("^([%d.]+)(%a*)$")
  local v = tonumber(digits)
  if not v or not unit_ns[unit] or (unit ~= "" and name ~= "--min-duration") then return nil end
  v = math.tointeger(v * unit_ns[unit])
  return v and v >= 1 and v < 1 << BITS[name] and v or nil
end

--- Takes the value of an option; what is wrong with it.
local function take(o, name, value)
  local key = keys[name]
  if key == "METRICS" then
    o.METRICS = o.METRICS or {}
    return beside.take(o.METRICS, value)
  end
  if BITS[name] then
    o[key] = limit(name, value)
    local what = key == "MIN_NS" and "duration; say 10us or 1ms" or "number from 1 on"
    return not o[key] and ("%s: '%s' is no %s"):format(name, value, what) or nil
  end
  o[key] = repeats[key] and o[key] and o[key] .. repeats[key] .. value or value
end

--- What is asked of graphs of the flow.
local function check_flow(o)
  if o.color and not o.flow then return "--color is of a flow; add --flow" end
  if o.flow_file then
    local ok, wrong = flowgraph.format(o.flow_file)
    if not ok then return "--flow=" .. wrong end
  end
  if o.color then
    local _, wrong = flowgraph.ratio(o.color, M.names(o.EVENTS))
    return wrong and "--color: " .. wrong
  end
end

local function check(o)
  o.flow = o.flow or o.flow_file ~= nil
  if o.FINISH then return (#o.words > 0 or o.DIR) and "--finish runs nothing and takes its folder itself" or nil end
  if #o.words == 0 then return "no command given" end
  if o.EVERY and not o.METRICS then return "--every is for --metric" end
  if o.EVERY and not require("pmlua.plugin").seconds(o.EVERY) then
    return ("--every: '%s' is no time; say 20ms"):format(o.EVERY)
  end
  if o.trace and o.profile then return "either --trace or --profile" end
  if o.words[1]:find("=", 1, true) then return "a command with '=' in its name cannot be recorded" end
  for _, key in ipairs(of_a_trace) do
    if o[key] and not o.trace and not o.flow then
      return "--max-depth, --max-calls and --min-duration are of a trace; add --trace"
    end
  end
  return check_flow(o)
end

--- The options, by the names of their variables; nil and what is wrong.
---@param args string[]
---@return table?
---@return string?
function M.read(args)
  return commandline.parse(args, { flags = flags, values = keys, take = take, check = check })
end

return M
