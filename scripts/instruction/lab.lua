-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/instruction/lab.lua - cycles of a sequence of instructions, in a chain and with separate registers for each copy.
--
-- Try:  local lab = assert(require("instruction.lab").new { unroll = 100, patience = 10 })
--       local s = assert(lab:assemble("imul %rax, %rax")); print(lab:measure(s, "chain", 9)[1])
--
-- A sample is the difference between n and 2 n copies, after A. Abel, J. Reineke, nanoBench (2020), which cancels the
-- code around the copies. Without a cycle counter, a chain of adds, one cycle each, is measured alternately with it.

local assembly = require "instruction.assembly"
local build = require "programs.build"
local pml = require "pmlua"
local registers = require "instruction.registers"

local M = {}

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
function M.new(options)
  local machine = pml.sys.uname().machine
  if not registers.machines[machine] then
    return nil, ("sequences are for x86_64 and aarch64, this machine is %s"):format(machine)
  end
  if not pml.paths.command then return nil, "the command pmlua was not found beside this library" end
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

return M
