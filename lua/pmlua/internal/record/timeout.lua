-- SPDX-License-Identifier: BSD-3-Clause
-- lua/pmlua/internal/record/timeout.lua - PMLUA_MPI_TIMEOUT: how long a rank waits for others, as MPI_Finalize reads it
-- (pml__mpi_reduction_timeout()).
--
-- Try:  print(require("pmlua.internal.record.timeout").seconds())

local M = {}

local WITHOUT_S <const> = 10
local MAX_S <const> = 86400

--- A number as strtod() reads it, which also takes inf and refuses spaces at the end.
local function number(text)
  if text:find "%s$" then return nil end
  return text:lower() == "inf" and math.huge or tonumber(text)
end

--- The time to wait in seconds, and a line about a value that is invalid.
---@return number, string?
function M.seconds()
  local text = os.getenv "PMLUA_MPI_TIMEOUT"
  if not text then return WITHOUT_S end
  local seconds = number(text)
  if seconds and seconds >= 0 then return math.min(seconds, MAX_S) end
  return WITHOUT_S, ("PMLUA_MPI_TIMEOUT='%s' is invalid: set it to seconds from 0 to %d; waits %d s"):format(
    text:sub(1, 40), MAX_S, WITHOUT_S)
end

return M
