-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/instruction.lua - latency and throughput of instructions that you write, in cycles.
--
-- Try:  pmlua scripts/instruction.lua --code 'imul %rax, %rax'
--
-- After A. Abel, J. Reineke, uops.info (2019) and nanoBench (2020). The sequence is assembled by the C compiler of this
-- machine: as a chain, in which each copy waits for the previous one, and unrolled on other registers, so that copies
-- overlap. It runs in a separate process, which may crash or hang.

local pml = require "pmlua"
local laboratory = require "instruction.lab"
local report = require "instruction.report"

local DEFAULT = {
  x86_64 = "add %rbx, %rax || imul %rax, %rax || popcnt %rax, %rax || mov (%rax), %rax || addsd %xmm1, %xmm0 || "
    .. "mulsd %xmm1, %xmm0 || vfmadd231pd %ymm2, %ymm1, %ymm0 || divsd %xmm1, %xmm0 || sqrtsd %xmm0, %xmm0",
  aarch64 = "add x0, x0, x1 || mul x0, x0, x1 || ldr x0, [x0] || udiv x0, x0, x1 || fadd d0, d0, d1 || fmul d0, d0, d1 || "
    .. "fmadd d0, d1, d2, d0 || fdiv d0, d0, d1 || fsqrt d0, d0",
}

local lab, sequences, given

local function split(text)
  local out, seen = {}, {}
  for one in (text .. "||"):gmatch "(.-)||" do
    one = one:match "^%s*(.-)%s*$"
    if one ~= "" and not seen[one] then out[#out + 1], seen[one] = one, true end
  end
  return out
end

local function prepare(options)
  local err
  lab = assert(laboratory.new { unroll = options.unroll, init = options.init, patience = options.patience })
  local codes = split(options.code or DEFAULT[lab.machine])
  if #codes == 0 then error("option --code: the sequence is empty", 0) end
  sequences, given = {}, options.code ~= nil
  for _, code in ipairs(codes) do
    sequences[code], err = lab:assemble(code)
    -- a processor may lack some of the script's default sequences
    if not sequences[code] and given then error(("option --code: %s: %s"):format(code, err), 0) end
    sequences[code] = sequences[code] or err
  end
  return { { "code", codes }, { "way", { "chain", "unroll" } } }
end

local function last(name)
  return function(cell)
    local round = cell.rounds[#cell.rounds]
    return round and round.extra[name]
  end
end

return pml.experiment {
  name = "instruction",
  description = [[
Cycles of a sequence of instructions, as a chain of copies on the same registers (latency) and on registers of its own for each
copy (throughput). Destinations are renamed, registers that are only read or not named are not. General-purpose registers begin
with the address of 4 KiB that are full of this address, vector registers with 1.0. Cycles are counted where there is a
counter, else they are the time over that of dependent adds, one cycle each, measured in turn.]],
  factors = prepare,
  constraints = function(p)
    local s = sequences[p.code]
    return type(s) == "table" or s
  end,
  help = { code = "the sequence", way = "chain: each copy waits for the one before; unroll: they overlap" },
  unit = "cycles",
  repeats = 250,
  rounds = 5,
  warmup = 0,
  quick = { repeats = 25, rounds = 1 },
  options = {
    { name = "code", metavar = "ASM", help = "statements separated by ;, AT&T syntax on x86-64; || separates sequences" },
    { name = "init", metavar = "ASM", help = "statements before the loop, such as 'mov $7, %rcx'" },
    { name = "unroll", type = "integer", metavar = "N", min = 1, default = 100, help = "instructions in the shorter loop" },
    { name = "patience", type = "integer", metavar = "S", min = 1, default = 10, help = "seconds that a sequence may take" },
  },
  examples = {
    "pmlua scripts/instruction.lua --quick", "pmlua scripts/instruction.lua --code 'imul %rax, %rax || mov (%rax), %rax'",
    "pmlua scripts/instruction.lua --init 'mov $7, %rcx' --code 'xor %edx, %edx; div %rcx'",
  },
  measure = function(_, p, n) return lab:measure(sequences[p.code], p.way, n) end,
  metrics = {
    { name = "frequency", unit = "GHz", description = "by the chain of adds; NaN where cycles are counted" },
    { name = "add", unit = "cycles", description = "of a dependent add by the counter, which must be 1" },
  },
  columns = {
    { name = "registers", unit = "", description = "chains that overlap", value = last "registers" },
  },
  analyse = function(run) report.write(run, lab) end,
  plot = "instruction",
}
