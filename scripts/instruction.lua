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
local stats = require "pmlua.stats"
local tabulate = require "pmlua.tabulate"

-- --- a row for each sequence, and what this machine does not let one know ---

local UNSTEADY = 1.05 -- frequencies of rounds that differ by more

local function sequences_table(run)
  local rows, of = {}, {}
  for _, cell in ipairs(run.cells) do
    local row = of[cell.p.code]
    if not row then
      row = { cell.p.code, nil, nil, nil, nil, nil, nil, n = 7 }
      of[cell.p.code], rows[#rows + 1] = row, row
    end
    local s, at = cell.summary, cell.p.way == "chain" and 2 or 5
    if s then row[at], row[at + 1], row[at + 2] = s.median, s.median_lo, s.median_hi end
  end
  return { columns = {
    { "code", "text", "" }, { "latency", "cycles", "of a copy in a chain" }, { "latency_low", "cycles", "of its 95 % interval" },
    { "latency_high", "cycles", "" }, { "throughput", "cycles", "of a copy when copies overlap" },
    { "throughput_low", "cycles", "of its 95 % interval" }, { "throughput_high", "cycles", "" },
  }, rows = rows }
end

local function collect(run, name)
  local out = {}
  for _, cell in ipairs(run.cells) do
    for _, round in ipairs(cell.rounds) do
      if round.extra and round.extra[name] then out[#out + 1] = round.extra[name] end
    end
  end
  table.sort(out)
  return out
end

local function warn(run, lab)
  local frequency, add = collect(run, "frequency"), collect(run, "add")
  if #frequency > 0 then
    run:say(("\nNo counter of cycles: by a chain of adds the clock frequency is %.3f GHz"):format(stats.median(frequency)))
    local low, high = frequency[#frequency // 4 + 1], frequency[#frequency * 3 // 4 + 1] or frequency[#frequency]
    if high > low * UNSTEADY then
      run:warn(("the frequency was %.2f to %.2f GHz in half of the rounds: another program, the host or the governor changed it")
        :format(low, high))
    end
  end
  local one = stats.median(add)
  if one and math.abs(one - 1) > 0.05 then
    run:warn(("%s counts %.2f cycles for a dependent add, which takes 1: its counts are not cycles"):format(lab.event, one))
  end
end

---@param lab table instruction.lab
local function write_report(run, lab)
  local t, shown = sequences_table(run), {}
  run:write_table("sequences.dat", t, "latency and throughput of each sequence")
  for i, row in ipairs(t.rows) do
    local more = row[5] and row[5] > 0 and 1 / row[5] or nil
    shown[i] = { row[1], row[2], row[5], more }
  end
  run:say("\nCycles of a sequence: in a chain, when copies overlap, and copies a cycle\n"
    .. tabulate({ "code", "latency", "throughput", "a cycle" }, shown, 1))
  warn(run, lab)
end

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
  analyse = function(run) write_report(run, lab) end,
  plot = "instruction",
}
