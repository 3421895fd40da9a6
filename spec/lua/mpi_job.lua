-- SPDX-License-Identifier: BSD-3-Clause
-- spec/lua/mpi_job.lua - the MPIs that specs run jobs of, and how their programs are compiled.

local helper = require "spec.lua.helper"
local sh = require("spec.shell").sh

local M = { RUN = { openmpi = "mpirun.openmpi --allow-run-as-root --oversubscribe", mpich = "mpirun.mpich" } }

--- Why an MPI cannot be asked here, or nil.
function M.missing(name)
  if select(2, sh("command -v mpicc." .. name)) ~= 0 then return "mpicc." .. name .. " is not installed" end
  local shim = ("%s/preload/libpmlua-mpi-%s.so"):format(helper.build, name)
  if select(2, sh("test -e " .. shim)) ~= 0 then return shim .. " is not built" end
end

--- A program of spec/c/mpi, compiled into a folder.
function M.compile(name, program, folder, options, libraries)
  local to = ("%s/%s.%s"):format(folder, program, name)
  local out, code = sh(("mpicc.%s %s -o %s spec/c/mpi/%s.c -pthread %s"):format(name, options or "", to, program,
    libraries or ""))
  assert(code == 0, out)
  return to
end

return M
