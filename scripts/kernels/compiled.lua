-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/kernels/compiled.lua - the operations of the kernels as the compiler counts them, without a PMU.
--
-- Try:  local ways, why = require("kernels.compiled").open(require "pmlua")
--
-- The kernels are built twice more, by pmlua cc --count: at source they count the operations of the source, the user's
-- perspective of the PMlib paper; at final those that the optimiser left, the system's. Their times are not used.

local kernels = require "kernels.lab"

local M = {}

M.STAGES = { "source", "final" }

local events = { "flop_count_I", "load_count_I", "store_count_I", "op_count_I" }

--- Load the kernels that count, by stage; nil and why otherwise.
---@return table<string, table>? ways by stage: source, final
---@return string? why
function M.open(pml)
  local ways, names = {}, {}
  for i, name in ipairs(events) do names[i] = "sde:::BYFL::" .. name end
  for _, at in ipairs(M.STAGES) do
    local workload = "counted/kernels_" .. at
    if not pml.sys.realpath(("%s/%s.so"):format(pml.paths.workloads, workload)) then
      return nil, "the kernels that count are not built; install clang-N and llvm-N-dev, N from 14 to 19, then run make"
    end
    local lab, err = kernels.new(pml, { copies = 1, batch_ns = 1, workload = workload })
    if not lab then return nil, err end
    ways[at] = { lab = lab, at = at }
  end
  local set, err = pml.eventset.open(names)
  if not set then return nil, err end
  for _, way in pairs(ways) do way.set = set end
  return ways
end

--- Count one call: operations, and bytes that its loads and stores access.
---@param way table one of open()
---@param o { kernel: string, precision: string, build: string, n: integer }
---@return { flops: number, bytes: number, operations: number }? each, string? why
function M.per_call(way, o)
  way.set:start()
  local samples, about = way.lab:measure({ kernel = o.kernel, precision = o.precision, build = o.build, n = o.n }, 1)
  local flops, loaded, stored, operations = way.set:read()
  if not samples then return nil, about end
  local calls = about.calls_made
  return { flops = flops / calls, bytes = (loaded + stored) / calls, operations = operations / calls }
end

return M
