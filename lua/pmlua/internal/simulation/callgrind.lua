-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/simulation/callgrind.lua - reader of callgrind's output files: the exclusive cost of each function of a
-- thread.
--
-- Try:  pmlua -e 'print(require("pmlua.internal.simulation.callgrind").read("callgrind.out.4711").totals[1])'
--
-- The format is described in valgrind's manual, "Callgrind Format Specification". A name is written in full once and then as a
-- number; the line after calls= is the callee's cost, not the caller's; costs omitted at the end of a line are 0.
-- A file whose functions do not add up to its totals is refused.

local statistics = require("pmlua.core").statistics

local M = {}

local NUMBER_MAX = 18 -- digits: fits an integer

---@class pmlua.CallgrindFunction what a function cost by itself
---@field object string path, or "???"
---@field name string
---@field calls integer of it by others, as far as they were counted
---@field cost integer[] one per event

---@class pmlua.Callgrind
---@field pid integer?
---@field thread integer
---@field command string?
---@field events string[]
---@field totals integer[] one per event
---@field description table<string, string> what the lines "desc:" say
---@field functions pmlua.CallgrindFunction[]

local Reader = {}
Reader.__index = Reader

local function stop(reader, what)
  error({ ("line %d: %s"):format(reader.line, what) }, 0)
end

--- A name that stands in full, by its number, or both.
local function name_of(reader, kind, text)
  local id, name = text:match("^(%(%d+%)) ?(.*)$")
  if not id then return text end
  local known = reader.names[kind]
  if name ~= "" then
    if known[id] and known[id] ~= name then stop(reader, ("%s is two names"):format(id)) end
    known[id] = name
  end
  return known[id] or stop(reader, ("number %s has no name"):format(id))
end

--- Remove the suffix that callgrind adds to recursive calls: f'2.
local function own_name(reader, text) return (name_of(reader, "function", text):gsub("'%d+$", "")) end

local function function_of(reader, object, name)
  local key = object .. "\0" .. name
  local f = reader.byname[key]
  if not f then
    f = { object = object, name = name, calls = 0, cost = {} }
    for i = 1, #reader.out.events do f.cost[i] = 0 end
    reader.byname[key] = f
    reader.out.functions[#reader.out.functions + 1] = f
  end
  return f
end

local function number(reader, digits)
  if #digits > NUMBER_MAX then stop(reader, "a number that is too large") end
  return math.tointeger(tonumber(digits))
end

--- As many as there are events, or fewer.
local function integers(reader, text)
  local out = {}
  if not text:find("^[%s%d]*$") then stop(reader, "a cost that is not a number") end
  for digits in text:gmatch("%d+") do out[#out + 1] = number(reader, digits) end
  if #out > #reader.out.events then stop(reader, "more costs than events") end
  return out
end

--- The costs of a line, without its positions.
local function costs(reader, text)
  local at = 1
  for _ = 1, reader.positions do
    local s, e = text:find("^%s*[+-]?%x[%xx]*", at)
    if not s then s, e = text:find("^%s*%*", at) end
    if not s then stop(reader, "a line that is neither a name nor a cost") end
    at = e + 1
  end
  return integers(reader, text:sub(at))
end

local function add_costs(reader, text)
  if reader.called then -- the callee's cost
    reader.called = false
    costs(reader, text)
    return
  end
  if not reader.fn then stop(reader, "a cost without a function") end
  statistics.add(reader.fn.cost, costs(reader, text))
end

-- Handlers of the lines' keys; other keys (summary, part, jumps) do not affect costs.
local keys = {}

function keys.ob(reader, text) reader.object = name_of(reader, "object", text) end
function keys.fn(reader, text) reader.fn = function_of(reader, reader.object, own_name(reader, text)) end
function keys.cob(reader, text) reader.callee_object = name_of(reader, "object", text) end
function keys.cfn(reader, text) reader.callee = own_name(reader, text) end
function keys.fl(reader, text) name_of(reader, "file", text) end
keys.fi, keys.fe, keys.cfi, keys.cfl = keys.fl, keys.fl, keys.fl, keys.fl

function keys.calls(reader, text)
  local n = text:match("^(%d+)")
  if not n or not reader.callee then stop(reader, "calls without a callee") end
  local callee = function_of(reader, reader.callee_object or reader.object, reader.callee)
  callee.calls = callee.calls + number(reader, n)
  reader.called, reader.callee, reader.callee_object = true, nil, nil
end

local headers = {}

function headers.events(reader, text)
  if #reader.out.events > 0 then stop(reader, "events twice") end
  if #reader.out.functions > 0 then stop(reader, "events after costs") end
  for name in text:gmatch("%S+") do reader.out.events[#reader.out.events + 1] = name end
end

function headers.positions(reader, text)
  local _, n = text:gsub("%S+", "")
  if n < 1 or n > 3 then stop(reader, "invalid positions") end
  reader.positions = n
end

function headers.desc(reader, text)
  local key, value = text:match("^%s*([^:]+):%s*(.*)$")
  if key then reader.out.description[key] = value end
end

function headers.totals(reader, text)
  if #reader.out.events == 0 or reader.out.totals then stop(reader, "totals without events, or twice") end
  local out = integers(reader, text)
  for i = #out + 1, #reader.out.events do out[i] = 0 end
  reader.out.totals = out
end

function headers.pid(reader, text) reader.out.pid = math.tointeger(tonumber(text)) end
function headers.thread(reader, text) reader.out.thread = math.tointeger(tonumber(text)) or 0 end
function headers.cmd(reader, text) reader.out.command = text:match("^%s*(.*)$") end

local function take(reader, line)
  if line == "" or line:find("^#") then return end
  local key, text = line:match("^(%a+)=(.*)$")
  if key then
    if keys[key] then keys[key](reader, text) end
    return
  end
  key, text = line:match("^(%a+):(.*)$")
  if key then
    if headers[key] then headers[key](reader, text) end
  elseif line:find("^[%d+*-]") then
    add_costs(reader, line)
  else
    stop(reader, "a line that is neither a name nor a cost")
  end
end

local function check_sum(reader)
  local out = reader.out
  if #out.events == 0 then stop(reader, "it has no events") end
  if not out.totals then stop(reader, "it has no totals, so it is not whole") end
  for i, name in ipairs(out.events) do
    local sum = 0
    for _, f in ipairs(out.functions) do sum = sum + f.cost[i] end
    if sum ~= out.totals[i] then
      stop(reader, ("the functions' %s add up to %d, not to the total of %d"):format(name, sum, out.totals[i]))
    end
  end
end

--- Parse the text of a file.
---@return pmlua.Callgrind?, string? err
function M.parse(text)
  local reader = setmetatable({
    line = 0, positions = 1, object = "???", byname = {}, names = { object = {}, file = {}, ["function"] = {} },
    out = { events = {}, functions = {}, description = {}, thread = 0 },
  }, Reader)
  local ok, err = pcall(function()
    for line in (text .. "\n"):gmatch("(.-)\r?\n") do
      reader.line = reader.line + 1
      take(reader, line)
    end
    check_sum(reader)
  end)
  if ok then return reader.out end
  if type(err) ~= "table" then error(err, 0) end
  return nil, err[1]
end

---@return pmlua.Callgrind?, string? err
function M.read(path)
  local text, unreadable = require("pmlua.internal.file").read(path)
  if not text then return nil, unreadable end
  local out, err = M.parse(text)
  return out, err and ("%s: %s"):format(path, err)
end

return M
