-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/job.lua - the parallel job that this process belongs to, by what its launcher says.
--
-- Try:  mpirun -n 2 pmlua -e 'print(require("pmlua.internal.job").rank())'

local M = {}

-- Of Open MPI, of MPICH and what has its process manager, and of Slurm's.
local variables = {
  { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" }, { "PMI_RANK", "PMI_SIZE" }, { "PMIX_RANK", "PMIX_SIZE" },
  { "SLURM_PROCID", "SLURM_STEP_NUM_TASKS" },
}

--- Which rank of a parallel job this process is, and of how many; nil: there is no job, or it has one rank.
---@return integer? rank
---@return integer? size
function M.rank()
  for _, names in ipairs(variables) do
    local rank, size = tonumber(os.getenv(names[1]) or nil), tonumber(os.getenv(names[2]) or nil)
    rank, size = math.tointeger(rank), math.tointeger(size)
    if rank and size and size > 1 and rank >= 0 and rank < size then return rank, size end
  end
end

return M
