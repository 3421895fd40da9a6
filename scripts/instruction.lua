-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/instruction.lua - latency and throughput of instructions that you write, in cycles.
--
-- Try:  pmlua scripts/instruction.lua --code 'imul %rax, %rax'
--
-- After A. Abel, J. Reineke, uops.info (2019) and nanoBench (2020). The sequence is assembled by the C compiler of this
-- machine: as a chain, in which each copy waits for the previous one, and unrolled on other registers, so that copies
-- overlap. It runs in a separate process, which may crash or hang.

local assembly = require "instruction.assembly"
local registers = require "instruction.registers"
local pml = require "pmlua"
local stats = require "pmlua.stats"
local tabulate = require "pmlua.tabulate"
local build = require "programs.build"

-- --- cycles of a sequence of instructions, in a chain and with separate registers for each copy ---

-- A sample is the difference between n and 2 n copies, after A. Abel, J. Reineke, nanoBench (2020), which cancels the
-- code around the copies. Without a cycle counter, a chain of adds, one cycle each, is measured alternately with it.

local Lab = {}
Lab.__index = Lab

local LEAST_NS = 20000 -- that the difference takes
local REFERENCE = { x86_64 = "add %rbx, %rax", aarch64 = "add x0, x0, x1" }

-- Signals that sequences cause, and their meaning.
local SIGNALS = { [4] = "SIGILL: an instruction that this processor does not have", [5] = "SIGTRAP: a trap",
  [7] = "SIGBUS: a bad address", [8] = "SIGFPE: a division by zero or beyond its range",
  [11] = "SIGSEGV: an address that is not its own", [31] = "SIGSYS: a system call that is forbidden" }

local function slurp(path) return require "pmlua.internal.file".text(path) or "" end

---@param options { unroll: integer, init: string?, patience: integer } patience: seconds for a visit of a cell
---@return table? lab, string? err
local function new_lab(options)
  local machine = pml.sys.uname().machine
  if not registers.machines[machine] then
    return nil, ("sequences are for x86_64 and aarch64, this machine is %s"):format(machine)
  end
  if not pml.paths.command then return nil, "the command pmlua is not in the folder of this library" end
  local cc, err = build.compiler "c"
  if not cc then return nil, err end
  local folder
  folder, err = build.folder()
  if not folder then return nil, err end
  local set = pml.eventset { "cycles:u" }
  if set then set:close() end
  return setmetatable({
    machine = machine, cc = cc, folder = folder, unroll = options.unroll, patience = options.patience,
    init = options.init or "", event = set and "cycles:u",
    tick = 1e9 / pml.clock.rate(), resolution = pml.clock.info().resolution_ns, count = 0,
    wide = (" " .. slurp "/proc/cpuinfo" .. " "):find "%savx2%s" ~= nil,
  }, Lab)
end

-- The assembler's first complaint.
local function complaint(text)
  local line = text:match "Error: ([^\n]*)" or text:match "error: ([^\n]*)" or text:match "([^\n]+)" or "no message"
  return line:gsub("^%s+", "")
end

function Lab:library(sequence, loops)
  local reference, n = REFERENCE[self.machine], sequence.n
  local functions = {}
  for name, copies in pairs { ref = { reference }, chain = { sequence.code }, unroll = sequence.copies } do
    local of = name == "ref" and self.unroll or n
    functions[#functions + 1] = { name = "one_" .. name, copies = copies, n = of, init = name ~= "ref" }
    functions[#functions + 1] = { name = "two_" .. name, copies = copies, n = 2 * of, init = name ~= "ref" }
  end
  self.count = self.count + 1
  local stem = ("%s/sequence_%d"):format(self.folder.path, self.count)
  local f <close> = assert(io.open(stem .. ".s", "w"))
  f:write(assembly.source(self.machine, functions, self.init, loops, self.wide), "\n")
  f:close()
  local done = self.folder:run(("%s -shared -nostdlib -o %s.so %s.s 2>%s.err"):format(self.cc, stem, stem, stem), 60)
  if not done then return nil, complaint(slurp(stem .. ".err")) end
  return stem .. ".so"
end

--- Run the worker: rows of four numbers, in ticks where no event is given.
function Lab:rows(library, way, n, event)
  local output, errors = library .. ".out", library .. ".said"
  local words = { pml.paths.command, pml.paths.scripts .. "/instruction/worker.lua", library, tostring(n), way, event }
  local command <close>, err = pml.command.spawn(words, { input = "/dev/null", output = output, error = errors })
  if not command or not command:start() then return nil, "the worker did not start: " .. tostring(err) end
  local ended = command:wait(self.patience)
  if not ended then return nil, ("the sequence did not end within %d s"):format(self.patience) end
  if ended.signal then return nil, "the sequence ended with " .. (SIGNALS[ended.signal] or "signal " .. ended.signal) end
  if ended.status ~= 0 then return nil, "the worker failed: " .. (slurp(errors):match "[^\n]+" or "status " .. ended.status) end
  local rows = {}
  for line in slurp(output):gmatch "[^\n]+" do
    local row = {}
    for word in line:gmatch "%d+" do row[#row + 1] = tonumber(word) end
    if #row == 4 then rows[#rows + 1] = row end
  end
  if #rows == 0 then return nil, "the sequence ended the worker without a sample" end
  return rows
end

-- Turns of the loop after which the difference is far above what the clock resolves.
function Lab:loops(sequence)
  local trial = 64
  local library, err = self:library(sequence, trial)
  if not library then return nil, err end
  local rows
  rows, err = self:rows(library, "unroll", 9)
  if not rows then return nil, err end
  local least = math.huge
  for _, r in ipairs(rows) do least = math.min(least, r[3]) end
  local wanted = math.max(LEAST_NS, 1000 * self.resolution)
  return math.max(4, math.min(1 << 24, math.tointeger(trial * wanted // math.max(1, least * self.tick)) or 4))
end

---@class instruction.Sequence
---@field code string
---@field copies string[] on other registers
---@field n integer copies in the shorter loop
---@field library string
---@field loops integer

--- Assemble a sequence.
---@return instruction.Sequence? sequence, string? err
function Lab:assemble(code)
  local statements = registers.statements(code)
  if #statements == 0 then return nil, "the sequence is empty" end
  local taken = registers.reserved(code, self.machine) or registers.reserved(self.init, self.machine)
  if taken then return nil, ("%s counts the loop; use another register"):format(taken) end
  local joined = table.concat(statements, "; ")
  local sequence = { code = joined, copies = registers.copies(joined, self.machine), n = math.max(1, self.unroll // #statements) }
  local err
  sequence.loops, err = self:loops(sequence)
  if not sequence.loops then return nil, err end
  sequence.library, err = self:library(sequence, sequence.loops)
  if not sequence.library then return nil, err end
  return sequence
end

local median = pml.stats.median

--- Cycles of a copy of the sequence.
---@param way "chain"|"unroll"
---@param n integer samples
---@return number[]? cycles, table|string about ns of a copy and GHz, or what the counter says of an add; or why not
function Lab:measure(sequence, way, n)
  local rows, err = self:rows(sequence.library, way, n, self.event)
  if not rows then return nil, err end
  local references = {}
  for i, r in ipairs(rows) do references[i] = (r[2] - r[1]) / (self.unroll * sequence.loops) end
  local add = median(references) -- duration of one reference instruction: ticks, or cycles by the counter
  if add <= 0 then return nil, "the clock is too coarse for these sequences" end
  local out = {}
  for i, r in ipairs(rows) do
    local each = (r[4] - r[3]) / (sequence.n * sequence.loops)
    out[i] = self.event and each or each / (references[i] > 0 and references[i] or add) -- at the frequency of that moment
  end
  local about = { registers = #sequence.copies }
  if self.event then about.add = add else about.frequency = 1 / (add * self.tick) end
  return out, about
end

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
  lab = assert(new_lab { unroll = options.unroll, init = options.init, patience = options.patience })
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
  help = { code = "the sequence", way = "chain: each copy waits for the previous copy; unroll: they overlap" },
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
