-- SPDX-License-Identifier: BSD-3-Clause
-- spec/scripts/mpi_programs_spec.lua - tests of the MPI programs, for each installed MPI: correct results on any number of ranks,
-- and a failure if a result is wrong.

local tables = require "spec.scripts.tables"
local support = require "spec.core.support"
local build = require "programs.build"
local mpi = require "programs.mpi"
local mpi_job = require "spec.lua.mpi_job"
local write = require "spec.shell".write

local sources = "scripts/programs/mpi/"

-- Numbers of ranks, and what they run.
local commands = {
  { { 1, 2, 3 }, "stencil", "37", "25" }, { { 2 }, "stencil", "20", "25", "weak" },
  { { 1, 2, 3 }, "gradient", "11", "1" }, { { 2 }, "gradient", "8", "2", "weak" },
  { { 1, 2, 3 }, "sort", "10007", "2" }, { { 2 }, "sort", "3001", "1", "weak" },
  { { 2, 3 }, "ring", "pairs", "8", "3", "10" }, { { 2, 3 }, "ring", "around", "100003", "3", "7" },
}

-- Source changes that make a program's result wrong, though it runs to its end.
local faults = {
  { { "stencil", "37", "25" }, "0.25 %*", "0.2501 *" },
  { { "stencil", "37", "25" }, "at%(g, m, 1%)", "at(g, m - 1, 1)" },
  { { "gradient", "11", "1" }, "%-a, image", "-0.99 * a, image" },
  { { "sort", "10007", "1" }, "merge%(&got, run, j%->ranks%);", "(void)merge;" },
  { { "ring", "pairs", "8", "3", "10" }, "other, 0, MPI_COMM_WORLD%);", "other, 0, MPI_COMM_WORLD), g->in[0]++;" },
}

-- A program with a text of its source replaced, without pmlua.
local function faulty(job, name, what, by)
  local folder = job.folder.path
  write(folder .. "/program.h", support.slurp(sources .. "program.h"))
  local source, n = support.slurp(sources .. name .. ".c"):gsub(what, (by:gsub("%%", "%%%%")))
  assert.is_true(n > 0, name .. " has no " .. what)
  write(folder .. "/faulty.c", source)
  return assert(job.folder:program("faulty", { folder .. "/faulty.c" }, "-lm"))
end

for _, name in ipairs { "openmpi", "mpich" } do
  describe("The MPI programs with " .. name, function()
    local job, missing

    setup(function() job, missing = mpi.new { mpi = name } end)
    teardown(function() if job then job:close() end end)

    local each = support.it_unless(function() return not job and missing end)

    --- A test of behaviour that is the same with every MPI, run with one.
    local function once(what, test)
      if name == mpi_job.first then each(what, test) end
    end

    each("have the known result on 1, 2 and 3 ranks", function()
      for _, command in ipairs(commands) do
        local words = { assert(job:program(command[2])), table.unpack(command, 3) }
        for _, ranks in ipairs(command[1]) do
          local text, err = job:run(ranks, words, 120)
          assert.is_nil(err, table.concat(words, " "))
          assert.matches(("%s: [%%d.]+ s, ranks %d, error "):format(command[2], ranks), text)
        end
      end
    end)

    each("have sections in each rank", function()
      local expected = { stencil = 7, gradient = 6, sort = 7, ring = 1 }
      for _, command in ipairs(commands) do
        local words = { assert(job:program(command[2])), table.unpack(command, 3) }
        local processes, err = job:record(2, words, 120)
        assert.is_nil(err)
        for i, p in ipairs(processes) do
          assert.same({ i - 1, 2, expected[command[2]] }, { p.rank, p.size, #p.sections })
        end
        assert.equal(2, #processes)
      end
    end)

    once("notice a wrong result", function()
      for _, fault in ipairs(faults) do
        local command, what, by = table.unpack(fault)
        local words = { faulty(job, command[1], what, by), table.unpack(command, 2) }
        local text, err = job:run(2, words, 120)
        assert.is_nil(text, what)
        assert.matches("^" .. command[1] .. ": wrong result: error ", err)
      end
    end)

    once("share the cpus of the host with the most ranks", function()
      assert.equal(2 / job.cpus, job:per_cpu { "a", "b", "b" })
    end)

    once("need only MPI", function()
      local path = assert(job.folder:program("alone", { "mpi/stencil.c" }, "-lm"))
      assert.is_nil(tables.shell("ldd " .. build.quote(path)):find "pmlua")
    end)

    once("report errors in their command line", function()
      for command, says in pairs {
        ["stencil 37"] = "usage: stencil", ["stencil 3 1"] = "usage: stencil", ["gradient 11 0"] = "usage: gradient",
        ["gradient 11 1 strong"] = "usage: gradient", ["sort x 1"] = "usage: sort", ["ring pears 1 1 1"] = "usage: ring",
      } do
        local words = {}
        for word in command:gmatch "%S+" do words[#words + 1] = word end
        words[1] = assert(job:program(words[1]))
        local text, err = job:run(2, words, 60)
        assert.is_nil(text, command)
        assert.matches("^" .. says, err)
      end
    end)
  end)
end

describe("The module that runs MPI programs", function()
  it("refuses an unknown MPI", function()
    local job, err = mpi.new { mpi = "lam" }
    assert.is_nil(job)
    assert.equal("option --mpi is lam; choose openmpi or mpich", err)
  end)
end)
