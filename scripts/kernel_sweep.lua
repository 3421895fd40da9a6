-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/kernel_sweep.lua - the cost of basic arithmetic in loops of 1 to 2^24 iterations, by precision and vector width.
--
-- Try:  pmlua scripts/kernel_sweep.lua --quick
--
-- After K. Mikami, K. Ono, J. Nonaka, Performance evaluation and visualization of scientific applications using PMlib
-- (2018), figures 6, 7 and 9 to 12 and table IV: six kernels, a copy on every core, the calling overhead subtracted.
-- Rates of short loops rise in steps as long as a vector; rates of long loops fall to the plateau of the cache that they
-- fit into. The PMU, if there is one, and the compiler count the operations, for comparison with the source.

local command_line = require "pmlua.internal.cli.experiment"
local pml = require "pmlua"
local caches = require "kernels.caches"
local flops = require "kernels.flops"
local kernels = require "kernels.lab"
local report = require "kernels.report"

-- One call of a long loop is a batch, and takes up to a tenth of a second: measure fewer of these.
local long, few = 1 << 20, 3

-- The experiment's setup from the options and this machine; set when the factors are requested.
local lab

local function lengths(options)
  local out = {}
  for n = 1, math.min(options.quick and 17 or 50, 1 << options.longest) do out[n] = n end
  for e = 0, options.longest, options.quick and 3 or 1 do
    if 1 << e > #out and 1 << e > out[#out] then out[#out + 1] = 1 << e end
  end
  return out
end

local function prepare(options)
  local x86 = pml.sys.uname().machine == "x86_64"
  local chosen = {
    kernels = command_line.choose(options.kernels, kernels.kernels, "kernels"),
    precisions = command_line.choose(options.precisions, kernels.precisions, "precisions"),
    builds = command_line.choose(options.builds or (x86 and "scalar,256,512" or "scalar,128"), kernels.builds, "builds"),
  }
  local err
  if options.flop_events then
    local _
    _, err = flops.parse(options.flop_events)
    if err then error("option --flop-events: " .. err, 0) end
  end
  lab = assert(kernels.new(pml, { copies = options.copies, batch_ns = options.quick and 20000 or 100000 }))
  lab.chosen, lab.levels = chosen, caches.levels(lab.cores, pml.sys.affinity()[1])
  return {
    { "kernel", chosen.kernels }, { "precision", chosen.precisions }, { "build", chosen.builds },
    { "n", lengths(options) },
  }
end

local function last(cell, name)
  local round = cell.rounds[#cell.rounds]
  return round and round.extra[name]
end

-- The fastest round: a disturbance can only lengthen a batch of calls that do nothing.
local function overhead(cell)
  local least
  for _, r in ipairs(cell.rounds) do least = math.min(least or r.extra.overhead, r.extra.overhead) end
  return least
end

local function net(cell) return cell.summary and cell.summary.median - overhead(cell) end

local function rate(amount)
  return function(cell)
    local ns = net(cell)
    return ns and ns > 0 and last(cell, amount) / ns or nil
  end
end

return pml.experiment {
  name = "kernel_sweep",
  description = [[
Rates of add, mult, fma, divide, sqrt and mix (1 / sqrt(a * a + b * b)) in loops of 1 to 50 iterations and of powers of two,
in double and single precision, scalar and vectorised. A pinned copy runs on every core, all started together; a sample is
the time per call of the slowest copy, in batches of 0.1 ms or more (three per round for loops of more than 2^20 iterations).
The cost of calling a kernel with no elements is measured in the same way and subtracted in `net` and `gflops`, but not in the
samples; if that cost exceeds the rest, the call overlaps with the work and the row says so. Takes two to three minutes, with
--quick some seconds.]],
  factors = prepare,
  constraints = function(p) return lab:missing(p.build) or lab:too_large(p.precision, p.n) or true end,
  help = {
    kernel = "the computation", precision = "precision of the elements", build = "scalar, or width of the vectors in bits",
    n = "iterations of the loop, that is, elements of each array",
  },
  unit = "ns",
  repeats = 30,
  rounds = 2,
  warmup = 0,
  quick = { repeats = 2, rounds = 1, longest = 20 },
  options = {
    { name = "kernels", metavar = "LIST", default = "add,mult,fma,divide,sqrt,mix",
      help = "kernels to measure, separated by commas" },
    { name = "precisions", metavar = "LIST", default = "double,single", help = "double, single or both" },
    { name = "builds", metavar = "LIST",
      help = "some of scalar,128,256,512 (default: scalar,256,512 on x86-64, scalar,128 elsewhere)" },
    { name = "longest", type = "integer", metavar = "E", min = 0, max = 30, default = 24,
      help = "the longest loop has 2^E iterations" },
    { name = "copies", type = "integer", metavar = "N", min = 0, max = #pml.sys.affinity(), default = 0,
      help = "number of cores to use; 0: all" },
    { name = "flop-events", metavar = "LIST",
      help = "EVENT*WEIGHT,... whose sum is the floating-point operations, for a cpu that pmlua does not support" },
  },
  examples = {
    "pmlua scripts/kernel_sweep.lua --quick",
    "pmlua scripts/kernel_sweep.lua --kernels add,divide --precisions double --builds scalar,128,256,512",
    "pmlua scripts/kernel_sweep.lua --copies 1 --longest 20",
  },
  measure = function(_, p, n)
    if p.n > long then n = math.min(n, few) end
    return lab:measure({ kernel = p.kernel, precision = p.precision, build = p.build, n = p.n }, n)
  end,
  columns = {
    { name = "overhead", unit = "ns", description = "time of a call with no elements, fastest batch", value = overhead },
    { name = "net", unit = "ns", description = "median less overhead", value = net },
    { name = "flops", unit = "", description = "floating-point operations of a call, by the source",
      value = function(cell) return last(cell, "flops") end },
    { name = "bytes", unit = "B", description = "bytes read and written by a call, by the source",
      value = function(cell) return last(cell, "bytes") end },
    { name = "gflops", unit = "GFLOPS", description = "rate of the slowest core: flops / net", value = rate "flops" },
    { name = "gbytes", unit = "GB/s", description = "bandwidth of the slowest core: bytes / net", value = rate "bytes" },
    { name = "cores", unit = "", description = "cores that run a copy", value = function(cell) return last(cell, "cores") end },
    { name = "spread", unit = "", description = "time of the slowest core over that of the fastest, mean of the last round",
      value = function(cell) return last(cell, "spread") end },
    { name = "subtraction", unit = "text", description = "ok; hides: the call overlaps with the work, so rates are too high",
      value = function(cell)
        local ns = net(cell)
        if not ns then return nil end
        return ns >= overhead(cell) and "ok" or ns > 0 and "hides" or "nothing left"
      end },
  },
  analyse = function(run) report.sweep(run, lab) end,
  plot = "kernel_sweep",
}
