-- SPDX-License-Identifier: BSD-3-Clause
-- spec/mpi_costs.lua - costs of MPI calls under `pmlua record --trace` beyond an intercepted call: the instructions of the hook
-- without MPI's own, for each installed MPI.
-- Try: lua5.4 -e 'for _, r in ipairs(require("spec.mpi_costs").rows("build")) do print(r.name, r.cost or r.why) end'

local M = {}

local sh = require("spec.shell").sh

local MPIS = { "openmpi", "mpich" }
local CALLS = { "Send", "Recv", "Sendrecv", "Isend", "Irecv", "Wait", "Test", "Waitall", "Barrier", "Allreduce", "Comm_rank" }
local REQUESTS = { Waitall = 4 } -- requests per call: the row has the cost of one request

--- Read a callgrind file: the instructions of each hook_MPI_NAME without its PMPI_NAME, and its number of calls.
local function hooks(file)
  local names, cost, calls, caller, callee, n = {}, {}, {}, nil, nil, nil
  local function name_of(text)
    local id, name = text:match "^%((%d+)%)%s*(.*)"
    if name ~= "" then names[id] = name end
    return names[id]
  end
  for line in io.lines(file) do
    local key, text = line:match "^(c?fn)=(.*)"
    if key == "fn" then
      caller = name_of(text):match "^hook_MPI_([%w_]+)"
    elseif key == "cfn" then
      callee = name_of(text)
      local hook = callee:match "^hook_MPI_([%w_]+)"
      if hook then caller = caller or "" end
    elseif line:match "^calls=" then
      n = tonumber(line:match "^calls=(%d+)")
    elseif line:match "^[%+%-%*%d]" then
      local of_mpi = n and callee:match "^P?MPI_"
      if caller and of_mpi then calls[caller] = (calls[caller] or 0) + (callee:match "MPI_(.*)" == caller and n or 0) end
      if caller and not of_mpi then cost[caller] = (cost[caller] or 0) + tonumber(line:match "(%d+)$") end
      n = nil
    end
  end
  return cost, calls
end

--- The hooks of a program under callgrind, or nil and why not.
local function count(compile, environment)
  local dir = os.tmpname()
  os.remove(dir)
  local out, code = sh(("mkdir %s %s/log && %s -o %s/cost 2>&1"):format(dir, dir, compile, dir))
  if code == 0 then
    out, code = sh(("cd %s && %s LD_BIND_NOW=1 PMLUA_CLOCK=counter valgrind -q --tool=callgrind --callgrind-out-file=%s/out "
      .. "./cost 2>&1"):format(dir, environment:gsub("LOG", dir .. "/log"), dir))
  end
  local cost, calls
  if code == 0 then cost, calls = hooks(dir .. "/out") end
  os.execute("rm -rf " .. dir)
  if code ~= 0 then return nil, out:match "[^\n]*" end
  return cost, calls
end

local function of_mpi(name, build)
  if select(2, sh("command -v mpicc." .. name)) ~= 0 then return nil, "mpicc." .. name .. " is not installed" end
  return count(("mpicc.%s -O2 spec/c/mpi/cost.c"):format(name), ("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
    .. "LD_PRELOAD=%s/preload/libpmlua-record.so PMLUA_RECORD_DIR=LOG PMLUA_RECORD_TRACE=1"):format(build))
end

--- Rows: name, and the cost or the reason for its lack. Costs of Send and Isend include the communication matrix.
---@param build string
---@return { name: string, cost: integer?, why: string? }[]
function M.rows(build)
  build = build:match "^/" and build or sh("cd " .. build .. " && pwd"):match "[^\n]*"
  local rows = {}
  for _, mpi in ipairs(MPIS) do
    local cost, calls = of_mpi(mpi, build)
    for _, call in ipairs(CALLS) do
      local row = { name = ("mpi_%s_%s"):format(call:lower(), mpi) }
      rows[#rows + 1] = row
      if cost then
        row.cost = cost[call] and math.floor(cost[call] / calls[call] / (REQUESTS[call] or 1) + 0.5) or 0
      else
        row.why = calls
      end
    end
  end
  local cost, why = count(("cc -O2 -std=c11 -D_GNU_SOURCE -Icore spec/c/mpi/cost_matrix.c -L%s -lpmlua -Wl,-rpath,%s"):format(
    build, build), "")
  rows[#rows + 1] = { name = "mpi_matrix", cost = cost and math.floor(cost.Matrix / 2000 + 0.5), why = not cost and why or nil }
  return rows
end

return M
