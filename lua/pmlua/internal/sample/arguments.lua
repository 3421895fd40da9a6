-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/sample/arguments.lua - the values of a USDT probe's arguments, from registers that were sampled at it.
--
-- Try:  print(require("pmlua.internal.sample.arguments").operand("-4@%eax -8@$7", 1).register)
--
-- A note lists arguments as SIZE@OPERAND: bytes, negative where the value has a sign; a register, a constant, or memory.
-- Format: the wiki page UserSpaceProbeImplementation of SystemTap.

local core = require "pmlua.core"
local refuse = core.failure.refuse

local M = {}

local X86 = {} -- a register's names -> its 64-bit name and by how much it is shifted
for _, letter in ipairs { "a", "b", "c", "d" } do
  local whole = "r" .. letter .. "x"
  for _, name in ipairs { whole, "e" .. letter .. "x", letter .. "x", letter .. "l" } do X86[name] = { whole, 0 } end
  X86[letter .. "h"] = { whole, 8 }
end
for _, name in ipairs { "si", "di", "bp", "sp", "ip" } do
  for _, alias in ipairs { "r" .. name, "e" .. name, name, name .. "l" } do X86[alias] = { "r" .. name, 0 } end
end
for i = 8, 15 do
  for _, suffix in ipairs { "", "d", "w", "b" } do X86[("r%d%s"):format(i, suffix)] = { "r" .. i, 0 } end
end

local function register_of(text)
  local x86 = X86[text:match "^%%(%w+)$" or ""]
  if x86 then return x86[1], x86[2] end
  local number = text:match "^[xw](%d+)$"
  if number then return "x" .. number, 0 end
  if text == "sp" then return "sp", 0 end
end

--- Where an argument is.
---@param text string all that the note says
---@param number integer from 1
---@return { bytes: integer, signed: boolean, register: string?, shift: integer?, constant: integer? }? operand
---@return pmlua.Failure? failure
function M.operand(text, number)
  local words = {}
  for size, operand in text:gmatch "(%-?%d+)f?@(%S+)" do words[#words + 1] = { size, operand } end
  local word = words[number]
  if not word then
    return refuse("EINVAL", ("the probe has no argument %d"):format(number), ("it has %d"):format(#words))
  end
  local size = math.tointeger(tonumber(word[1]))
  local found = { bytes = math.abs(size), signed = size < 0 }
  if found.bytes == 0 or found.bytes > 8 then
    return refuse("EFORMAT", ("argument %d has %d bytes"):format(number, found.bytes))
  end
  found.constant = math.tointeger(tonumber(word[2]:match "^[$#]?(%-?%w+)$"))
  found.register, found.shift = register_of(word[2])
  if found.constant or found.register then return found end
  return refuse("ENOTSUP", ("argument %d is in no integer register at the probe: %s"):format(number, word[2]),
    "a debugger or bpftrace reads what is in memory or floating-point")
end

--- The value of an argument.
---@param operand table of M.operand()
---@param registers table<string, integer>
---@return integer? value
function M.value(operand, registers)
  if operand.constant then return operand.constant end
  local value = registers[operand.register]
  if not value then return nil end
  value = value >> operand.shift
  local bits = 8 * operand.bytes
  if bits == 64 then return value end
  value = value & ((1 << bits) - 1)
  return operand.signed and value >= 1 << (bits - 1) and value - (1 << bits) or value
end

--- The parts of a probe's event.
---@param event string usdt:PATH:PROVIDER:NAME
---@return string? path, string? provider, string? name
function M.probe(event)
  local path, provider, name = event:match "^usdt:(.+):([^:]+):([^:]+)$"
  return path, provider, name
end

--- The operand at each place of a probe.
---@return table<integer, table>? operands by the place in the file
---@return pmlua.Failure? failure
function M.operands(event, number)
  local places, err = core.event.usdt(M.probe(event))
  if not places then return nil, err end
  local of = {}
  for _, place in ipairs(places) do
    of[place.offset], err = M.operand(place.arguments, number)
    if not of[place.offset] then return refuse(err, event) end
  end
  return of
end

--- How often an argument had each value, the most frequent first.
---@param sampler pmlua.Sampler with registers
---@param operands table<integer, table>
---@return { value: integer, samples: integer, period: integer }[] bars
---@return integer unknown samples that were taken at no place of the probe
function M.histogram(sampler, operands)
  local bars, known, unknown = {}, {}, 0
  for i = 1, sampler:counts().samples do
    local registers, place = sampler:registers(i)
    local operand = registers and operands[place]
    local value = operand and M.value(operand, registers)
    if not value then
      unknown = unknown + 1
    else
      if not known[value] then
        known[value] = { value = value, samples = 0, period = 0 }
        bars[#bars + 1] = known[value]
      end
      known[value].samples, known[value].period = known[value].samples + 1, known[value].period + 1
    end
  end
  return bars, unknown
end

return M
