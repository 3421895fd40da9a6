-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/mpi_layer_spec.lua - tools that stand between a program and MPI, as Darshan and mpiP do: each message
-- is recorded once, or pmlua says why none is.

local support = require "spec.core.support"
local mpi_job = require "spec.lua.mpi_job"
local mpi = require "spec.lua.mpi_log"

local RANKS <const>, ROUNDS <const> = 3, 5

describe("A tool before MPI", function()
  local folder = support.folder()

  local function layer(name, how)
    local made = mpi_job.compile(name, "layer", folder, ("-shared -fPIC -DLAYER=%d"):format(how), "-ldl")
    local to = ("%s/layer%d.%s.so"):format(folder, how, name)
    assert(os.rename(made, to))
    return to
  end

  --- Messages and broadcasts in the logs of a job with these libraries before MPI, and its report.
  local function run(name, ...)
    local libraries, to = {}, ("%s/%s.%s"):format(folder, name, table.concat({ ... }, "-"))
    for i, how in ipairs { ... } do libraries[i] = layer(name, how) end
    local program = mpi_job.compile(name, "layer", folder, "-Wl,--no-as-needed " .. table.concat(libraries, " "))
    local out = mpi_job.traced(name, RANKS, program, to)
    return to, out
  end

  for what, list in pairs { ["that calls the names with P"] = { 1 }, ["that asks the loader for what is next"] = { 2 },
    ["before another one"] = { 2, 1 } } do
    mpi_job.it_of_each(what .. " hides no message, and doubles none", function(name)
      local to = run(name, table.unpack(list))
      local logs = mpi.job(to)
      local messages, left = mpi.messages(logs)
      assert.are.same({}, left)
      assert.are.equal(RANKS * ROUNDS, #messages)
      for rank = 0, RANKS - 1 do assert.are.equal(RANKS, logs[rank].size) end
      local n = 0
      for _, operations in pairs(mpi.collectives(logs)) do
        for _, one in ipairs(operations) do n = n + (one.operation == "bcast" and 1 or 0) end
      end
      assert.are.equal(ROUNDS, n)
    end)
  end

  mpi_job.it_of_each("that takes the library's own addresses is named as the reason why no message is recorded", function(name)
    local to, out = run(name, 3)
    assert.matches("messages of MPI are not recorded: MPI_Init was called out of sight", out .. mpi_job.report(to))
  end)
end)
