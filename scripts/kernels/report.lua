-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/kernels/report.lua - the tables of a sweep: plateaus by cache, steps by vector, operations counted and written.
--
-- Try:  pmlua scripts/kernel_sweep.lua --quick --no-plot | tail -40

local caches = require "kernels.caches"
local compiled = require "kernels.compiled"
local flops = require "kernels.flops"
local kernels = require "kernels.lab"
local stats = require "pmlua.stats"

local M = {}

--- A column of the experiment's own, of one cell.
local function derived(run, cell, name)
  for k, c in ipairs(run.exp.columns) do
    if c.name == name then return cell.derived and cell.derived[k] end
  end
end
M.derived = derived

-- f(cells of one curve by n, the curve) for each kernel, precision and build.
local function curves(run, lab, f)
  local at = {}
  for _, cell in ipairs(run.cells) do
    local p = cell.p
    local key = p.kernel .. p.precision .. p.build
    at[key] = at[key] or {}
    at[key][p.n] = cell
  end
  for _, kernel in ipairs(lab.chosen.kernels) do
    for _, precision in ipairs(lab.chosen.precisions) do
      for _, build in ipairs(lab.chosen.builds) do
        f(at[kernel .. precision .. build] or {}, { kernel = kernel, precision = precision, build = build })
      end
    end
  end
end

local function certain(run, cell)
  return derived(run, cell, "subtraction") == "ok" and derived(run, cell, "gflops") or nil
end

-- The median rate of the loops whose arrays lie in a level.
local function plateaus(run, lab)
  local columns = {
    { "kernel", "text", "the computation" }, { "precision", "text", "precision of the elements" },
    { "build", "text", "scalar, or width of the vectors in bits" },
  }
  for _, level in ipairs(lab.levels) do
    columns[#columns + 1] = { level.name, "GFLOPS", "rate per core, median of the lengths whose arrays lie there" }
  end
  local rows = {}
  curves(run, lab, function(by_n, c)
    local values, row = {}, { c.kernel, c.precision, c.build }
    for n, cell in pairs(by_n) do
      local level = n >= 64 and cell.summary and caches.level_of(lab.levels, derived(run, cell, "bytes"))
      local rate = level and certain(run, cell)
      if rate then
        values[level] = values[level] or {}
        table.insert(values[level], rate)
      end
    end
    for i, level in ipairs(lab.levels) do row[3 + i] = values[level.name] and stats.median(values[level.name]) end
    rows[#rows + 1] = row
  end)
  return { columns = columns, rows = rows }
end

-- Iterations per ns, including the call: subtracting the call from a very short loop leaves an uncertain rest.
local function gross(cell) return cell and cell.summary and cell.p.n / cell.summary.median end

-- The rate of a loop whose length is a multiple of the vector's, relative to a loop one iteration shorter: geometric mean
-- over the short loops.
local function steps(run, lab)
  local rows = {}
  curves(run, lab, function(by_n, c)
    local lanes = kernels.lanes[c.precision][c.build]
    local sum, count = 0, 0
    for n = lanes, 50, lanes do
      local at, before = gross(by_n[n]), gross(by_n[n - 1])
      if lanes > 1 and at and before then sum, count = sum + math.log(at / before), count + 1 end
    end
    local step = count > 0 and math.exp(sum / count) or nil
    if lanes > 1 then rows[#rows + 1] = { c.kernel, c.precision, c.build, lanes, count, step } end
  end)
  return { columns = {
    { "kernel", "text", "the computation" }, { "precision", "text", "precision of the elements" },
    { "build", "text", "width of the vectors in bits" },
    { "lanes", "", "elements of a vector" }, { "steps", "", "number of lengths compared" },
    { "step", "", "rate at a multiple of the vector over the rate one iteration before" },
  }, rows = rows }
end

local TURNS = 1000

-- The compiler's counts of a call: six cells, empty where it cannot count.
local function compiled_cells(ways, c, user)
  local cells = {}
  for i, at in ipairs(compiled.STAGES) do
    local each = ways and compiled.per_call(ways[at], { kernel = c.kernel, precision = c.precision, build = c.build, n = TURNS })
    cells[i], cells[2 + i], cells[4 + i] = each and each.flops, each and user and each.flops / user, each and each.bytes
  end
  return cells
end

-- Table IV: operations counted by the PMU and by the compiler, beside those in the source, counted by hand.
local function counted(run, lab, events)
  local counter, why = flops.open(lab.pml, events)
  local ways, unbuilt = compiled.open(lab.pml)
  local rows = {}
  curves(run, lab, function(by_n, c)
    local state, per_call, share = lab:missing(c.build) or why, nil, nil
    if not state then
      per_call, share = flops.per_call(counter, lab, { kernel = c.kernel, precision = c.precision, build = c.build, n = TURNS })
      state = per_call and "ok" or share
    end
    local n, cell = next(by_n)
    local each, bytes = cell and derived(run, cell, "flops"), cell and derived(run, cell, "bytes")
    local written = each and TURNS * each / n
    local own = not lab:missing(c.build) and compiled_cells(ways, c, written) or {}
    rows[#rows + 1] = {
      c.kernel, c.precision, c.build, written, per_call, per_call and written and per_call / written, per_call and share, state,
      own[1], own[2], own[3], own[4], bytes and TURNS * bytes / n, own[5], own[6],
    }
  end)
  if counter then counter.set:close() end
  return { columns = {
    { "kernel", "text", "the computation" }, { "precision", "text", "precision of the elements" },
    { "build", "text", "scalar, or width of the vectors in bits" },
    { "user", "flops", "operations of 1000 iterations, counted by hand from the source" },
    { "system", "flops", "the same, counted by the PMU" },
    { "ratio", "", "system / user" }, { "counted", "", "share of the time in which the events were counted" },
    { "state", "text", "ok, or why the PMU does not count" },
    { "source", "flops", "the same, counted by the compiler at source" },
    { "final", "flops", "the same, counted by the compiler at final" },
    { "source_ratio", "", "source / user" }, { "final_ratio", "", "final / user" },
    { "bytes", "B", "bytes of 1000 iterations, counted by hand" },
    { "source_bytes", "B", "the same, counted by the compiler at source" },
    { "final_bytes", "B", "the same, counted by the compiler at final" },
  }, rows = rows }, why, unbuilt
end

--- Write caches.dat, from which plots mark the caches.
function M.caches(run, levels)
  local rows = {}
  for i, l in ipairs(levels) do rows[i] = { l.name, l.bytes > 0 and l.bytes or nil, l.shared, l.set, l.source } end
  local t = { columns = {
    { "level", "text", "name of the cache" }, { "bytes", "B", "its size" }, { "shared", "", "cpus that share it" },
    { "set", "B", "working set per core assigned to this cache" }, { "source", "text", "where the size is from" },
  }, rows = rows }
  run:write_table("caches.dat", t, "the caches of a core")
  return t
end

--- Write the tables of a sweep and print them.
function M.sweep(run, lab)
  M.caches(run, lab.levels)
  local flat, stepped = plateaus(run, lab), steps(run, lab)
  local both, why, unbuilt = counted(run, lab, run.options.flop_events)
  run:write_table("plateaus.dat", flat, "rates in each cache")
  run:write_table("steps.dat", stepped, "height of the steps of short loops")
  run:write_table("workload.dat", both, "operations by the source, the PMU and the compiler")
  run:say_table(("Table 1. Plateaus: GFLOPS per core with %d cores at work, by where the arrays lie"):format(lab.cores), flat)
  run:say_table("Table 2. Steps: a loop of a whole number of vectors compared with one that is an iteration shorter (geometric\n"
    .. "mean, with the call)", stepped)
  if why then
    run:say("\nTable 3. Operations counted by the PMU and in the source: " .. why)
  else
    run:say_table("Table 3. Operations counted by the PMU and in the source", both, { "kernel", "precision", "build", "user",
      "system", "ratio", "counted", "state" })
  end
  if unbuilt then
    run:say("\nTable 4. Operations counted by the compiler and in the source: " .. unbuilt)
  else
    run:say_table("Table 4. Operations and bytes of 1000 iterations, counted by the compiler at source (user) and at final\n"
      .. "(system), and by hand", both, { "kernel", "precision", "build", "user", "source", "final",
      "source_ratio", "final_ratio", "bytes", "source_bytes", "final_bytes" })
  end
end

return M
