-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/job.lua - the parallel job that this process belongs to, by what its launcher says.
--
-- Try:  mpirun -n 2 pmlua -e 'print(require("pmlua.internal.job").rank())'

local M = {}

--- Which rank of a parallel job this process is, and of how many; nil: there is no job, or it has one rank.
---@return integer? rank, integer? size
function M.rank()
  local rank, size = require "pmlua.core".sys.launched()
  if rank and size and size > 1 and rank < size then return rank, size end
end

return M
