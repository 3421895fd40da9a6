-- SPDX-License-Identifier: BSD-3-Clause
-- spec/bench/cells.lua - processor time of a cell of an experiment, in a small run and in a large one.
--
-- Run by `make bench`. A cell of a run of 100,000 must not cost more than one of a run of 100. This reveals costs that grow with
-- the square of the cells: a searched table, a collected heap, files written for each cell.

local pml = require "pmlua"

local FEW, MANY, LIMIT = 100, 100000, 1
local dir = os.tmpname()
os.remove(dir)

local function seconds_per_cell(n)
  local levels = {}
  for i = 1, n do levels[i] = i end
  local before = os.clock()
  local run = assert(pml.experiment {
    name = "cells", unit = "ns", factors = { k = levels }, repeats = 2, rounds = 2, warmup = 0,
    measure = function(_, p) return p.k end,
  }:run { quiet = true, no_plot = true, out = dir })
  assert(run.status == "complete", run.meta.error)
  return (os.clock() - before) / n
end

-- Small runs before and after the large one: a machine that others use is not the same all the time.
local small = {}
for i = 1, 5 do small[i] = seconds_per_cell(FEW) end
local many = seconds_per_cell(MANY)
for i = 6, 10 do small[i] = seconds_per_cell(FEW) end
table.sort(small)
local few = (small[5] + small[6]) / 2
os.execute("rm -rf " .. dir)

print "\nan experiment's cells: two rounds of one sample, tables, trace; processor time of the whole run, per cell"
print(("%-36s %12s %12s %6s %6s"):format("figure", "ns", "in 100, ns", "ratio", "limit"))
print(("%-36s %12.0f %12.0f %6.2f %6.2f %s"):format(("a cell of %d"):format(MANY), 1e9 * many, 1e9 * few, many / few, LIMIT,
  many / few <= LIMIT and "ok" or "OVER"))
