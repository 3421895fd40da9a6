-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/counted.lua - the same kernels counted by the compiler at source and at final, by simulation and by hardware.
--
-- Try:  pmlua scripts/counted.lua --quick
--
-- After the user's and the system's perspective of K. Mikami, K. Ono, J. Nonaka (PMlib, 2018), and Byfl's counts in
-- A. Danalis et al. (PAPI's software-defined events): the operations of the source, counted by hand and by the compiler;
-- those left after optimisation, counted by the compiler; and those the machine executes, counted by callgrind and by the
-- PMU, where there is one. The counts themselves explain the differences.

local pml = require "pmlua"
local choose = require("pmlua.internal.cli.experiment").choose
local counters = require "counted.counters"
local kernels = require "counted.kernels"
local report = require "counted.report"

-- The experiment's setup from the options and this machine; set when the factors are requested.
local lab

local function prepare(options)
  if os.getenv "PMLUA_SIM" then error("the experiment simulates its kernels itself; run it without --sim", 0) end
  local chosen = choose(options.kernels, kernels.names, "kernels")
  lab = assert(counters.new(pml, { length = options.length, order = options.order, flags = options.flags }))
  lab.kernels = chosen
  for _, a in ipairs(lab:lacking()) do io.stderr:write(("counted: not counted by %s: %s\n"):format(a.who, a.why)) end
  return { { "kernel", chosen }, { "counter", lab.present } }
end

-- The counts of the last round.
local function last(quantity)
  return function(cell)
    local round = cell.rounds[#cell.rounds]
    return round and round.extra.counts[quantity]
  end
end

return pml.experiment {
  name = "counted",
  description = [[
The operations of one call of each kernel, by four counters: the compiler before optimisation (at source) and after it (at
final), valgrind's callgrind, which simulates each instruction, and the hardware, if there is a PMU. The program is compiled
three times for the run, by one compiler with the same flags. A sample is the number of operations of a call (compiler) or
of its instructions (simulation, hardware). Counts at source that differ from those by hand are an error.]],
  factors = prepare,
  help = { kernel = "the computation", counter = "who counts" },
  unit = "operations",
  repeats = 5,
  rounds = 1,
  warmup = 0,
  quick = { repeats = 2, rounds = 1, length = 100, order = 20 },
  options = {
    { name = "kernels", metavar = "LIST", default = table.concat(kernels.names, ","),
      help = "kernels to count, separated by commas" },
    { name = "length", type = "integer", metavar = "N", min = 1, max = 1000000, default = 1000,
      help = "elements of each vector" },
    { name = "order", type = "integer", metavar = "N", min = 1, max = 200, default = 48,
      help = "order of the matrices of product and lu" },
    { name = "flags", metavar = "FLAGS",
      help = "compiler flags (default: -O2 -fno-math-errno, and -mavx2 -mfma if the processor has both)" },
  },
  examples = {
    "pmlua scripts/counted.lua --quick",
    "pmlua scripts/counted.lua --kernels triad,product --length 10000",
    "pmlua scripts/counted.lua --flags=-O1",
  },
  measure = function(_, p, n)
    local all, err = lab:count(p.counter, n)
    if not all then return nil, err end
    local samples, calls = {}, all[p.kernel]
    for i = 1, n do samples[i] = calls[i].operations end
    return samples, { counts = calls[n] }
  end,
  columns = {
    { name = "flops", unit = "flop", description = "floating-point operations of a call", value = last "flops" },
    { name = "loaded", unit = "B", description = "bytes loaded by a call", value = last "loaded" },
    { name = "stored", unit = "B", description = "bytes stored by a call", value = last "stored" },
    { name = "loads", unit = "", description = "load instructions of a call", value = last "loads" },
    { name = "stores", unit = "", description = "store instructions of a call", value = last "stores" },
  },
  analyse = function(run)
    run.meta.simulation = lab.model and { tool = "callgrind", version = lab.valgrind, caches = lab.model } or nil
    run.meta.compiler = { name = lab.compiler, flags = lab.flags }
    report.write(run, lab)
    lab:close()
  end,
  plot = "counted",
}
