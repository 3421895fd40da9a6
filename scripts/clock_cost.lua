-- SPDX-License-Identifier: BSD-3-Clause
-- scripts/clock_cost.lua - what looking at a clock costs from Lua.
--
--     pmlua scripts/clock_cost.lua --quick
local pml = require "pmlua"

local clocks = { ticks = pml.clock.ticks, ns = pml.clock.ns, ["os.clock"] = os.clock, ["os.time"] = os.time }

return pml.experiment {
  name        = "clock_cost",
  description = "cost of reading a clock from Lua, over 100 calls",
  factors     = { { "clock", { "ticks", "ns", "os.clock", "os.time" } } },
  repeats     = 100000,
  calls       = 100,
  setup       = function(p) return clocks[p.clock] end,
  measure     = function(read)
    local start = pml.clock.ticks()
    for _ = 1, 100 do read() end
    return pml.clock.ticks() - start
  end,
}
