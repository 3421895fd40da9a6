-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/roofline.lua - measure the roofs of this machine, and place kernels and your own sections under them.
--
-- Try:  pmlua scripts/roofline.lua --quick --place stencil:0.4:2.5
--
-- After S. Williams, A. Waterman, D. Patterson, Roofline (2009), and figure 8 of the PMlib paper: the peak of each precision
-- and vector width from multiply-adds in registers, the bandwidth of each cache and of memory, the envelope of both, and the
-- kernels of kernel_sweep under it. All rates are per core with all cores at work. No PMU is needed: the compiler counts
-- operations and bytes; where it cannot, they are counted by hand from the source.

local command_line = require "pmlua.internal.cli.experiment"
local pml = require "pmlua"
local caches = require "kernels.caches"
local compiled = require "kernels.compiled"
local kernels = require "kernels.lab"
local roof = require "kernels.roof"

-- The experiment's setup from the options and this machine; set when the factors are requested.
local lab

-- A multiple of the peak's chains in every build, and large enough that starting and ending them does not matter.
local peak_turns = 384 * 256

local bandwidth = { load = 1, copy = 2, add = 3 } -- array elements moved per iteration
local numbers = { load = 1, copy = 2, sqrt = 2 }

-- Who counts the operations of a kernel; nil: counted by hand.
local function counting(counts)
  local ways, why
  if counts ~= "hand" then ways, why = compiled.open(pml) end
  if why then io.stderr:write("roofline: operations and bytes are counted by hand: ", why, "\n") end
  return ways and ways[counts]
end

local function prepare(options)
  local x86 = pml.sys.uname().machine == "x86_64"
  local builds = command_line.choose(options.builds or (x86 and "scalar,256,512" or "scalar,128"), kernels.builds, "builds")
  local placed, err = roof.parse(options.place)
  if not placed then error("option --place: " .. err, 0) end
  local sections, why = roof.sections(pml, options.report)
  if not sections then error("option --report: " .. why, 0) end
  table.move(sections, 1, #sections, #placed + 1, placed)
  lab = assert(kernels.new(pml, { copies = options.copies, batch_ns = options.quick and 50000 or 200000 }))
  lab.builds, lab.levels, lab.placed, lab.level = builds, caches.levels(lab.cores, pml.sys.affinity()[1]), placed, {}
  lab.way = counting(options.counts)
  local names = { "registers" }
  for i, level in ipairs(lab.levels) do names[i + 1], lab.level[level.name] = level.name, level end
  return {
    { "kernel", { "peak", "load", "copy", table.unpack(kernels.kernels) } }, { "precision", kernels.precisions },
    { "build", builds }, { "level", names },
  }
end

local function turns(p)
  if p.kernel == "peak" then return peak_turns end
  return math.max(1, lab.level[p.level].set // (kernels.bytes[p.precision] * (numbers[p.kernel] or 3)))
end

local function cell(p, options)
  if (p.kernel == "peak") ~= (p.level == "registers") then return false end
  -- kernels that only move bytes are the same in single precision
  if (p.kernel == "load" or p.kernel == "copy") and p.precision == "single" then return false end
  if options.quick and p.level == "memory" and not bandwidth[p.kernel] then return false end
  return lab:missing(p.build) or lab:too_large(p.precision, turns(p)) or true
end

local function last(c, name)
  local round = c.rounds[#c.rounds]
  return round and round.extra[name]
end

local function rate(amount)
  return function(c)
    local v = c.summary and last(c, amount)
    local ns = c.summary and c.summary.median - last(c, "overhead")
    return v and v > 0 and ns > 0 and v / ns or nil
  end
end

return pml.experiment {
  name = "roofline",
  description = [[
The roofs of this machine, per core with all cores at work: the peak rate of each precision and vector width, from
independent chains of fused multiply-adds in registers; and the bandwidth of each cache and of memory, the best of reading,
copying and adding arrays that fill half of it (bytes as in the source, without the line that a store fetches first).
Roofs are those of the fastest batch; the kernels of kernel_sweep under them are medians. --place adds your own points,
--report the sections of a program's report. The compiler counts operations and bytes of the kernels after optimisation, or
as --counts chooses. The caches are those in sysfs.]],
  factors = prepare,
  constraints = cell,
  help = {
    kernel = "the computation", precision = "precision of the elements", build = "scalar, or width of the vectors in bits",
    level = "where the arrays lie",
  },
  unit = "ns",
  repeats = 15,
  rounds = 3,
  warmup = 0,
  quick = { repeats = 2, rounds = 1 },
  options = {
    { name = "place", metavar = "WHAT",
      help = "add NAME:INTENSITY:GFLOPS[:single], separated by commas, or the lines of a file; flops/byte, GFLOPS per core" },
    { name = "report", metavar = "DIR",
      help = "add the sections of a program compiled by pmlua cc --count that ran with PMLUA_REPORT=DIR" },
    { name = "counts", metavar = "WHO", choices = { "source", "final", "hand" }, default = "final",
      help = "who counts operations and bytes: the compiler at source or at final, or hand" },
    { name = "builds", metavar = "LIST",
      help = "some of scalar,128,256,512 (default: scalar,256,512 on x86-64, scalar,128 elsewhere)" },
    { name = "copies", type = "integer", metavar = "N", min = 0, max = #pml.sys.affinity(), default = 0,
      help = "number of cores to use; 0: all" },
  },
  examples = {
    "pmlua scripts/roofline.lua --quick",
    "pmlua scripts/roofline.lua --place stencil:0.4:2.5,solver:0.13:1.1",
    "PMLUA_REPORT=out ./solver; pmlua scripts/roofline.lua --report out",
    "pmlua scripts/roofline.lua --copies 1 --builds scalar,128,256,512",
  },
  measure = function(_, p, n)
    return lab:measure({ kernel = p.kernel, precision = p.precision, build = p.build, n = turns(p) }, n)
  end,
  columns = {
    { name = "overhead", unit = "ns", description = "time of a call with no elements",
      value = function(c) return last(c, "overhead") end },
    { name = "flops", unit = "", description = "floating-point operations of a call, by the source",
      value = function(c) return last(c, "flops") end },
    { name = "bytes", unit = "B", description = "bytes read and written by a call, by the source",
      value = function(c) return last(c, "bytes") end },
    { name = "gflops", unit = "GFLOPS", description = "rate of the slowest core: flops / (median - overhead)",
      value = rate "flops" },
    { name = "gbytes", unit = "GB/s", description = "bandwidth of the slowest core: bytes / (median - overhead)",
      value = rate "bytes" },
    { name = "cores", unit = "", description = "cores in use", value = function(c) return last(c, "cores") end },
  },
  analyse = function(run) roof.write(run, lab) end,
  plot = "roofline",
}
