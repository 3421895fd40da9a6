-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/scaling_spec.lua - the experiment, run for real by its command, with an MPI that is installed.

local tables = require "spec.scripts.tables"
local mpi = require "programs.mpi"
local mpi_job = require "spec.lua.mpi_job"

-- Cells by scaling and ranks, as strong2.
local function by_cell(rows)
  local by = {}
  for _, r in ipairs(rows) do by[r.scaling .. r.ranks] = r end
  return by
end

local function near(a, b) return math.abs(a - b) <= 1e-9 * math.abs(b) end

local name = mpi_job.first -- the programs run with each MPI in spec/scripts/mpi_programs_spec.lua
local job, missing = mpi.new { mpi = name }

describe("scripts/scaling.lua --quick", function()
  local text, dir, cells, sections
  setup(function()
    if not job then return end
    local rows
    text, dir, rows = tables.measure("scaling", ("--mpi %s --program stencil 200 30"):format(name))
    cells, sections = by_cell(rows), tables.read(dir .. "/sections.dat")
  end)
  teardown(function() if job then job:close() end end)

  local function it_is(what, test) it(what, job and test or function() pending(missing) end) end

  it_is("measures strong and weak scaling, and draws them", function()
    for _, cell in ipairs { "strong1", "strong2", "weak1", "weak2" } do
      local r = cells[cell]
      assert.is_true(r.status == "ok" and r.samples == 1 and r.median > 0, text)
      assert.equal(r.ranks / job.cpus, r.per_cpu)
    end
    assert.is_true(tables.drawn(dir), text)
    assert.same({ "stencil", job.title, job.cpus }, (function(r)
      return { r.program, r.mpi:gsub("_", " "), r.cpus }
    end)(tables.read(dir .. "/job.dat")[1]))
  end)

  it_is("has the efficiency as the product of its factors", function()
    for _, scaling in ipairs { "strong", "weak" } do
      local one, two = cells[scaling .. 1], cells[scaling .. 2]
      local grown = scaling == "weak" and 2 or 1
      assert.is_true(near(100 * grown * one.median / two.median / 2, two.efficiency))
      assert.is_true(near(one.efficiency, 100) and near(one.balance, 100) and near(one.computation, 100))
      assert.is_true(near(100 - one.mpi, one.communication))
      assert.is_true(near(two.computation * two.balance * two.communication, two.efficiency * (100 - one.mpi) * 100))
    end
  end)

  it_is("divides the time among the sections, and the time in MPI among its functions", function()
    local share, in_mpi, seen = {}, {}, {}
    for _, s in ipairs(sections) do
      local cell = s.scaling .. s.ranks
      share[cell], in_mpi[cell] = share[cell] or 0, in_mpi[cell] or 0
      assert.is_true(math.abs(s.below - share[cell]) < 1e-9)
      share[cell] = share[cell] + s.share
      in_mpi[cell] = in_mpi[cell] + s.share * (s.mpi or 0) / 100
      seen[s.section] = true
      if s.section == "inner" or s.section == "norm" then assert.equal(0, s.mpi) end
    end
    assert.same({ solve = true, inner = true, border = true, norm = true, post = true, wait = true, sum = true }, seen)
    local functions = {}
    for _, f in ipairs(tables.read(dir .. "/functions.dat")) do
      local cell = f.scaling .. f.ranks
      functions[cell] = (functions[cell] or 0) + f.share
    end
    for cell, r in pairs(cells) do
      assert.is_true(share[cell] <= 100 + 1e-9 and r.mpi > 0)
      assert.is_true(near(in_mpi[cell] / share[cell] * 100, r.mpi))
      assert.is_true(near(functions[cell], in_mpi[cell]))
    end
    assert.is_true(near(share.strong1, 100))
  end)

  it_is("has the functions of MPI that the program calls in its sections", function()
    local seen = {}
    for _, f in ipairs(tables.read(dir .. "/functions.dat")) do seen[f["function"]] = true end
    assert.same({ MPI_Irecv = true, MPI_Isend = true, MPI_Waitall = true, MPI_Allreduce = true }, seen)
  end)

  it_is("runs the user's program, with a problem that grows with the ranks", function()
    local arguments = ("--no-plot --mpi %s -- %s {n}00 10"):format(name, assert(job:program "stencil"))
    local _, _, rows = tables.measure("scaling", arguments)
    assert.same({ "weak", 1, "weak", 2 }, { rows[1].scaling, rows[1].ranks, rows[2].scaling, rows[2].ranks })
  end)

  it_is("reports shared cpus of ranks", function()
    local cpu = require "pmlua.core".sys.affinity()[1]
    local said = tables.shell(("taskset -c %d %s scripts/scaling.lua --quick --no-plot -o %s --mpi %s --program sort 1000 1")
      :format(cpu, tables.pmlua, tables.folder(), name))
    assert.truthy(said:find("2 ranks share 1 cpu:", 1, true), said)
  end)

  it_is("gives the reason if a program has no times", function()
    for program, why in pairs {
      ["--program sort 0 1"] = "usage: sort KEYS SORTS", ["-- true"] = "true: it has no sections",
    } do
      local said, code = tables.run("scaling", ("--no-plot --mpi %s %s"):format(name, program))
      assert.equal(1, code, said)
      assert.truthy(said:find(why, 1, true), said)
    end
  end)
end)

describe("scripts/scaling.lua", function()
  it("names a missing MPI and a missing folder, in one line", function()
    local said = tables.shell("PATH=/nowhere /bin/sh -c '" .. tables.pmlua .. " scripts/scaling.lua --quick --mpi mpich'")
    assert.truthy(said:find("MPICH not found", 1, true), said)
    said = tables.shell("TMPDIR=/nowhere " .. tables.pmlua .. " scripts/scaling.lua --quick --no-plot")
    assert.matches("^[^\n]*/nowhere[^\n]*\n$", said)
  end)
end)
