-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/mpi_job.lua - helpers for specs that run MPI jobs: the installed MPIs, and functions to compile, record and report.

local busted = require "busted"
local support = require "spec.core.support"
local sh = require("spec.shell").sh

local M = { RUN = { openmpi = "mpirun.openmpi --allow-run-as-root --oversubscribe", mpich = "mpirun.mpich" } }

--- Why jobs of an MPI cannot run here, or nil.
function M.missing(name)
  if select(2, sh("command -v mpicc." .. name)) ~= 0 then return "mpicc." .. name .. " is not installed" end
  local shim = ("%s/preload/libpmlua-mpi-%s.so"):format(support.build, name)
  if select(2, sh("test -e " .. shim)) ~= 0 then return shim .. " is not built" end
end

--- it() for jobs of an MPI, pending where it is missing.
function M.it_of(name)
  local because = M.missing(name)
  return function(what, test) busted.it(what, because and function() busted.pending(because) end or test) end
end

--- The one MPI for tests of behaviour that is the same with every MPI.
M.first = not M.missing "openmpi" and "openmpi" or "mpich"

--- it() for a test that needs only one MPI.
function M.it_once_of(name)
  return name == M.first and M.it_of(name) or function() end
end

--- A test with one MPI, whose name it gets.
function M.it_once(what, test)
  M.it_of(M.first)(what, function() return test(M.first) end)
end

--- An it() for each MPI, whose test gets the MPI's name.
function M.it_of_each(what, test)
  for name in pairs(M.RUN) do
    M.it_of(name)(("of %s %s"):format(name, what), function() return test(name) end)
  end
end

--- A program of spec/c/mpi, compiled into a folder. With -Icore it includes headers of this tree.
function M.compile(name, program, folder, options, libraries, environment)
  local file, to = program .. ".c", ("%s.%s"):format(program, name)
  options = (options or ""):gsub("%-Icore", "-I" .. support.root .. "/core")
  local command = ("%smpicc.%s %s -o %s %s -pthread %s"):format(environment and "env " .. environment .. " " or "", name,
    options, to, file, libraries or "")
  support.compile(folder, { [file] = support.slurp("spec/c/mpi/" .. file) }, command)
  return folder .. "/" .. to
end

--- Record a job into the folder @to: its output and exit status. It ends within @limit_s seconds (120).
---@param more { options: string?, environment: string?, limit_s: integer? }
function M.record(name, ranks, command, to, more)
  local out, code = sh(("%s %s -n %d %s/pmlua record --quiet %s -o %s -- %s"):format(more.environment or "", M.RUN[name], ranks,
    support.build, more.options or "", to, command), more.limit_s or 120)
  assert(code ~= 124, "the job hangs: " .. out)
  return out, code
end

--- The output of a job that is recorded with a trace into the folder @to, and succeeds.
function M.traced(name, ranks, command, to, environment)
  local out, code = M.record(name, ranks, command, to, { options = "--trace", environment = environment })
  assert(code == 0, out)
  return out
end

--- The output of pmlua report for a job.
function M.report(path, options, limit_s)
  local out, code = sh(("%s/pmlua report %s %s"):format(support.build, path, options or ""), limit_s)
  assert(code == 0, out)
  return out
end

return M
