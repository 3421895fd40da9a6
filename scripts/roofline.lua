-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/roofline.lua - the roofs of this machine, measured, and what stands under them.
--
-- Try:  pmlua scripts/roofline.lua --quick --place stencil:0.4:2.5
--
-- After S. Williams, A. Waterman, D. Patterson, Roofline (2009), as figure 8 of the PMlib paper has it: the peak of each
-- precision and vector width from multiply-adds that stay in registers, the bandwidth of each cache and of memory, the
-- envelope of both, and the kernels of kernel_sweep under it. All rates are per core with all cores at work. No PMU is
-- needed: operations and bytes are those that the compiler counts, or, where it cannot, those of the source by hand.

local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
package.path = here .. "?.lua;" .. package.path

local pml = require "pmlua"
local caches = require "kernels.caches"
local compiled = require "kernels.compiled"
local kernels = require "kernels.lab"
local roof = require "kernels.roof"

-- What the options and this machine make of the experiment; set when the factors are asked for.
local lab

-- A whole number of the peak's chains in every build, and so many that beginning and ending them is nothing.
local peak_turns = 384 * 256

local bandwidth = { load = 1, copy = 2, add = 3 } -- numbers that an element moves
local numbers = { load = 1, copy = 2, sqrt = 2 }

-- The counter of the operations of a kernel; nil: by hand.
local function counting(counts)
  if counts ~= "hand" and counts ~= "source" and counts ~= "final" then
    error(("option --counts is %s, it must be source, final or hand"):format(counts), 0)
  end
  local ways, why
  if counts ~= "hand" then ways, why = compiled.open(pml) end
  if why then io.stderr:write("roofline: operations and bytes are counted by hand: ", why, "\n") end
  return ways and ways[counts]
end

local function prepare(options)
  local x86 = pml.sys.uname().machine == "x86_64"
  local builds = kernels.choose(options.builds or (x86 and "scalar,256,512" or "scalar,128"), kernels.builds, "builds")
  local placed, err = roof.parse(options.place)
  if not placed then error("option --place: " .. err, 0) end
  local sections, why = roof.sections(pml, options.report)
  if not sections then error("option --report: " .. why, 0) end
  table.move(sections, 1, #sections, #placed + 1, placed)
  local cores = #pml.sys.affinity()
  if options.copies < 0 or options.copies > cores then
    error(("option --copies is %d, it must be from 0 to %d, the cpus of this process"):format(options.copies, cores), 0)
  end
  lab, err = kernels.new(pml, { copies = options.copies, batch_ns = options.quick and 50000 or 200000 })
  if not lab then error(err, 0) end
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
  -- what only moves bytes moves the same in single precision
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
The roofs of this machine, per core with all cores at work: peak rates of each precision and vector width, from
independent chains of fused multiply-adds in registers; the bandwidth of each cache and of memory, the best of reading,
copying and adding vectors that fill half of it (bytes of the source: a line that a store fetches first is not
counted). Roofs are those of the fastest batch; the kernels of kernel_sweep under them are medians. --place adds your own
sections, --report those that a program left. Operations and bytes of kernels are counted by the compiler after
optimisation, or as --counts chooses. Caches are those of sysfs.]],
  factors = prepare,
  constraints = cell,
  help = {
    kernel = "what is computed", precision = "of its elements", build = "scalar, or bits of its vectors",
    level = "where its vectors lie",
  },
  unit = "ns",
  repeats = 15,
  rounds = 3,
  warmup = 0,
  quick = { repeats = 2, rounds = 1 },
  options = {
    { name = "place", metavar = "WHAT",
      help = "NAME:INTENSITY:GFLOPS[:single], several separated by commas, or a file of such lines; flops per byte, per core" },
    { name = "report", metavar = "DIR",
      help = "place the sections of a run with PMLUA_REPORT=DIR of a program that was compiled by pmlua cc --count" },
    { name = "counts", metavar = "WHO", default = "final",
      help = "the counter of operations and bytes: the compiler at source or at final, or hand" },
    { name = "builds", metavar = "LIST",
      help = "some of scalar,128,256,512; without: scalar,256,512 on x86-64, scalar,128 elsewhere" },
    { name = "copies", type = "integer", metavar = "N", default = 0, help = "cores that work at once; 0: all" },
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
    { name = "overhead", unit = "ns", description = "of a call for no element",
      value = function(c) return last(c, "overhead") end },
    { name = "flops", unit = "", description = "floating-point operations of a call, by the source",
      value = function(c) return last(c, "flops") end },
    { name = "bytes", unit = "B", description = "read and written by a call, by the source",
      value = function(c) return last(c, "bytes") end },
    { name = "gflops", unit = "GFLOPS", description = "of the slowest core: flops / (median - overhead)", value = rate "flops" },
    { name = "gbytes", unit = "GB/s", description = "of the slowest core: bytes / (median - overhead)", value = rate "bytes" },
    { name = "cores", unit = "", description = "that work at once", value = function(c) return last(c, "cores") end },
  },
  analyse = function(run) roof.write(run, lab) end,
  plot = "roofline",
}
