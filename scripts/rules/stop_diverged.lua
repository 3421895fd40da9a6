-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/rules/stop_diverged.lua - a rule for a running solver: stops it when its residual explodes.
--
-- Try:  pmlua live --rules scripts/rules/stop_diverged.lua -- ./application
--
-- For the library of scripts/workloads/krylov: once a residual of the current solve is a million times the first one, the
-- rule writes 1 to Stop_I. Put your own library's names here, or call a function of the application instead:
-- pml.live.call("stop_solver"). The rule waits for events that do not exist yet.

local pml = require "pmlua"

local LIBRARY = "sde:::KRYLOV::"
local FACTOR = 1e6

local wish = assert(pml.sde.find(LIBRARY .. "Stop_I"))
local outcome = assert(pml.sde.find(LIBRARY .. "Outcome_I"))

pml.sde.watch(LIBRARY .. "IterativeResidual_RCRD_D", "1ms", function(_, series)
  local first = series[1]
  for _, residual in ipairs(series:new()) do
    if residual > FACTOR * first and outcome:read() == -1 and wish:read() == 0 then
      if wish:write(1) then print(("stopped: residual %.3g after %d iterations"):format(residual, #series - 1)) end
      return
    end
  end
end, { name = "stop_diverged" })
